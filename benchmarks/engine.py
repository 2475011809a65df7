"""`make bench-engine`: how well the engine uses the machine, part by part.

A part is a name with two functions: one measures it and keeps each finished piece in the store, one shows what is kept
as Markdown. Without names all parts are measured anew; what falls short of its goal stays in the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import _engine_speed
import _engine_threads
from _data import available
from _store import Store


class Part(NamedTuple):
    """How a part is measured and shown."""

    title: str
    measure: Callable[[Store], None]
    show: Callable[[Store], str]


def pieces(store: Store, part: str) -> dict:
    """Return the finished pieces of a part, by name."""
    prefix = f"{part} | "
    return {key.removeprefix(prefix): value for key, value in store.content["parts"].items() if key.startswith(prefix)}


def measure_threads(store: Store) -> None:
    """Measure every selector."""
    for name in _engine_threads.CASES:
        store.part(f"threads | {name}", lambda name=name: _engine_threads.measure(name))


def measure_default(store: Store) -> None:
    """Measure the default on every table."""
    for name, given in _engine_speed.tables().items():
        store.part(f"default | {name}", lambda given=given: _engine_speed.measure_default(*given))


def measure_moments(store: Store) -> None:
    """Measure the moments of every number of features."""
    for m in _engine_speed.MOMENTS:
        store.part(f"moments | {m}", lambda m=m: _engine_speed.measure_moments(m))


def measure_stability(store: Store) -> None:
    """Measure a choice for stability with every number of processes."""
    for n_jobs in _engine_speed.processes() if available("mnist_fashion") else []:
        store.part(f"stability | {n_jobs}", lambda n_jobs=n_jobs: _engine_speed.measure_stability(n_jobs))


PARTS = {
    "default": Part(
        f"The default (at most {_engine_speed.DEFAULT_GOAL} times ridge 0 on tall tables)",
        measure_default,
        lambda store: _engine_speed.default_table(pieces(store, "default")),
    ),
    "moments": Part(
        f"Moments (at most {_engine_speed.MOMENTS_GOAL} times X'X)",
        measure_moments,
        lambda store: _engine_speed.moments_table(pieces(store, "moments")),
    ),
    "stability": Part(
        "A choice for stability, MNIST-Fashion 6,000 x 784, 50 features",
        measure_stability,
        lambda store: _engine_speed.stability_table(pieces(store, "stability")),
    ),
    "threads": Part(
        f"Two threads against one (a fit of a second or more: at most {_engine_threads.GOAL} times as long)",
        measure_threads,
        lambda store: _engine_threads.table(pieces(store, "threads")),
    ),
}


def table() -> str:
    """Return everything that is stored, as Markdown."""
    store = Store("engine")
    shown = [f"### {part.title}\n\n{part.show(store)}" for name, part in PARTS.items() if pieces(store, name)]
    versions = store.content.get("versions", {})
    machine = f"{versions.get('cores')} cores, {versions.get('cpu')}"
    return "\n\n".join([machine, *shown]) if shown else "not measured yet"


def main(names: list[str]) -> None:
    """Measure the named parts, or all."""
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        sys.exit(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    store = Store("engine")
    for name in names or PARTS:
        for piece in pieces(store, name):  # a timing is not resumed
            del store.content["parts"][f"{name} | {piece}"]
        PARTS[name].measure(store)
    print(table())


if __name__ == "__main__":
    main(sys.argv[1:])
