"""The pages of the API reference, one for every room from its ``__all__``: a new public name appears by itself."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import stableselect

FAMILIES = {
    "subset": "Column subset selection",
    "scorer": "Scorer-selector model",
    "neural": "Trained networks",
    "graph": "Graph methods",
    "filters": "Filters and random selection",
    "ensemble": "Ensembles",
}
"""The rooms with selectors, and their headings in the reference."""
HEADINGS = ("Functions", "Classes", "Constants")
_ORDER = (
    "base",
    "metrics",
    "inspection",
    "plot",
    "pp",
    "io",
    "workflow",
    "datasets",
    "experiments",
    "testing",
    "paper",
)


def rooms() -> list[str]:
    """Return the rooms with public names of their own, in the order of the reference; unknown ones come last."""
    found = {"base", *stableselect._SUBMODULES}
    return [*(room for room in _ORDER if room in found), *sorted(found - set(_ORDER))]


def summary(module: str, title: str, names: list[str]) -> list[str]:
    """Return a heading and a table of names that links to a page for each of them, or nothing without names."""
    if not names:
        return []
    table = [f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree: generated", ""]
    return [title, "-" * len(title), "", *table, *(f"   {name}" for name in names), ""]


def constants(module: str, names: list[str]) -> list[str]:
    """Return a heading and the constants themselves, which need no page of their own."""
    if not names:
        return []
    return ["Constants", "---------", "", *(line for name in names for line in (f".. autodata:: {module}.{name}", ""))]


def kind(module: ModuleType, name: str) -> str:
    """Return under which heading a public name belongs."""
    value = getattr(module, name)
    if inspect.isclass(value):
        return "Classes"
    if inspect.isfunction(value):
        return "Functions"
    return "Submodules" if inspect.ismodule(value) else "Constants"


def selectors_page() -> str:
    """Return the page of the names in ``stableselect`` itself, under the family each of them comes from."""
    found: dict[str, list[str]] = {}
    for name in stableselect.__all__:
        if kind(stableselect, name) != "Submodules":
            room = getattr(stableselect, name).__module__.split(".")[1]
            found.setdefault(room if room in FAMILIES else "other", []).append(name)
    lines = ["stableselect", "============", ""]
    for room, title in {**FAMILIES, "other": "What all selectors share"}.items():
        lines += summary("stableselect", title, found.get(room, []))
    return "\n".join(lines)


def room_page(room: str) -> str:
    """Return the page of one room; of ``base`` its own classes only, since its functions serve the other rooms."""
    module = importlib.import_module(f"stableselect.{room}")
    name = module.__name__
    names = {title: [one for one in module.__all__ if kind(module, one) == title] for title in HEADINGS}
    lines = [name, "=" * len(name), "", f".. automodule:: {name}", "   :no-members:", ""]
    if room == "base":
        return "\n".join(
            [*lines, *summary(name, "Classes", [one for one in names["Classes"] if one not in stableselect.__all__])]
        )
    lines += summary(name, "Functions", names["Functions"]) + summary(name, "Classes", names["Classes"])
    return "\n".join([*lines, *constants(name, names["Constants"])])


def pages() -> dict[str, str]:
    """Return the text of every page, by the module it describes."""
    return {"stableselect": selectors_page(), **{f"stableselect.{room}": room_page(room) for room in rooms()}}


def write(folder: Path) -> None:
    """Write the pages and the list of them; those that stay as they were are not touched."""
    texts = pages()
    entries = "\n".join(f"   {name}" for name in texts)
    texts["modules"] = f"Python\n======\n\n.. toctree::\n   :maxdepth: 1\n\n{entries}\n"
    for name, text in texts.items():
        write_changed(folder / f"{name}.rst", text)


def write_changed(path: Path, text: str) -> None:
    """Write a page unless it has this text already, so that Sphinx need not read it again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def skip_inherited(app: Any, what: str, name: str, item: object, skip: bool, options: object) -> bool | None:
    """Leave out what scikit-learn's base classes bring along: its manual describes it."""
    return True if str(getattr(item, "__module__", "")).startswith("sklearn") else None


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for sources."""
    app.connect("config-inited", lambda app, config: write(Path(app.srcdir) / "api"))
    app.connect("autodoc-skip-member", skip_inherited)
    return {"parallel_read_safe": True}
