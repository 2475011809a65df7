"""`make bench-engine`: how well the engine uses the machine, part by part.

A part has pieces: each is measured and kept in the store by itself, and one function shows them all as Markdown.
Without names all parts are measured anew; what falls short of its goal stays in the table.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import _engine_scale
import _engine_speed
import _engine_threads
from _data import available
from _store import Store

Work = Callable[[], Any]


class Part(NamedTuple):
    """A part: how each of its pieces is measured, by name, and how they are shown."""

    title: str
    works: Callable[[], dict[str, Work]]
    show: Callable[[dict[str, Any]], str]


def pieces(store: Store, part: str) -> dict:
    """Return the finished pieces of a part, by name."""
    prefix = f"{part} | "
    return {key.removeprefix(prefix): value for key, value in store.content["parts"].items() if key.startswith(prefix)}


def default() -> dict[str, Work]:
    """Every table."""
    return {name: partial(_engine_speed.measure_default, *given) for name, given in _engine_speed.tables().items()}


def growth() -> dict[str, Work]:
    """Return the code as it is and, where BEFORE names the source folder of an earlier state, that one."""
    before = os.environ.get("BEFORE")
    found: dict[str, Work] = {"before": partial(_engine_scale.measure, "growth", before)} if before else {}
    return {**found, "now": partial(_engine_scale.measure, "growth")}


def wide() -> dict[str, Work]:
    """Return both commands, where the command line is installed."""
    goals = _engine_scale.WIDE_GOALS if find_spec("typer") else ()
    return {k: partial(_engine_scale.measure, f"wide {k}") for k in goals}


PARTS = {
    "default": Part(
        _engine_speed.DEFAULT_TITLE,
        default,
        _engine_speed.default_table,
    ),
    "moments": Part(
        f"Moments (at most {_engine_speed.MOMENTS_GOAL} times X'X)",
        lambda: {str(m): partial(_engine_speed.measure_moments, m) for m in _engine_speed.MOMENTS},
        _engine_speed.moments_table,
    ),
    "stability": Part(
        "A choice for stability, MNIST-Fashion 6,000 x 784, 50 features (two cores: at most "
        f"{_engine_speed.STABILITY_GOAL:.0f} s)",
        lambda: {str(n): partial(_engine_speed.measure_stability, n) for n in _engine_speed.processes()},
        _engine_speed.stability_table,
    ),
    "threads": Part(
        f"Two threads against one (a fit of a second or more: at most {_engine_threads.GOAL} times as long)",
        lambda: {name: partial(_engine_threads.measure, name) for name in _engine_threads.CASES},
        _engine_threads.table,
    ),
    "wide": Part(
        "The command line, 500 x 20,000",
        wide,
        _engine_scale.wide_table,
    ),
    "scale": Part(
        f"Long and wide tables (memory: at most {_engine_scale.MEMORY_GOAL:.0f} GB)",
        lambda: {name: partial(_engine_scale.measure, name) for name in ("sparse counts", "memory map")},
        _engine_scale.scale_table,
    ),
    "growth": Part(
        "Exponents of the default's time in samples, features and selected features",
        growth,
        _engine_scale.growth_table,
    ),
    "network": Part(
        "ScorerSelectorNetwork, ISOLET, 50 features, full batch",
        lambda: {"isolet": partial(_engine_scale.measure, "network")} if available("isolet") else {},
        _engine_scale.network_table,
    ),
}


def table() -> str:
    """Return everything that is stored, as Markdown."""
    store = Store("engine")
    shown = [
        f"### {part.title}\n\n{part.show(pieces(store, name))}" for name, part in PARTS.items() if pieces(store, name)
    ]
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
        works = PARTS[name].works()
        if not works:
            print(f"{name} is not measured here: what it needs is missing")
        for piece in pieces(store, name) if works else ():  # a timing is not resumed
            del store.content["parts"][f"{name} | {piece}"]
        for piece, work in works.items():
            store.part(f"{name} | {piece}", work)
    print(table())


if __name__ == "__main__":
    main(sys.argv[1:])
