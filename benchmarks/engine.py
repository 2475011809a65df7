"""`make bench-engine`: how well the engine uses the machine, part by part.

A part is a name with two functions: one measures it and keeps each finished piece in the store, one shows what is kept
as Markdown. Without names all parts are measured anew; what falls short of its goal stays in the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import _engine_threads
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


PARTS = {
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
