"""Settings of the documentation; ``make docs`` builds it into ``docs/_build/html``."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType

from sphinx.application import Sphinx

import stableselect

project = "stableselect"
author = "The stableselect developers"
version = release = stableselect.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser"]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "stableselect"
html_theme_options = {"navigation_with_keys": False, "show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
html_sidebars = {"index": []}
html_show_sourcelink = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False

FAMILIES = {
    "subset": "Column subset selection",
    "scorer": "Scorer-selector model",
    "neural": "Trained networks",
    "graph": "Graph methods",
    "filters": "Filters and random selection",
    "ensemble": "Ensembles",
}
"""The rooms with selectors, and their headings in the reference."""
ROOMS = ("metrics", "inspection", "plot", "datasets", "pp", "io", "workflow", "experiments", "testing", "paper")
"""The rooms with public names of their own, in the order of the reference; the selectors come before them."""


def summary(module: str, title: str, names: list[str]) -> list[str]:
    """Return a heading and a table of names that links to a page for each of them, or nothing without names."""
    if not names:
        return []
    table = [f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree: generated", ""]
    return [title, "-" * len(title), "", *table, *(f"   {name}" for name in names), ""]


def documented(module: ModuleType) -> list[str]:
    """Return the public classes and functions of a module; constants and modules have no page of their own."""
    return [name for name in module.__all__ if callable(getattr(module, name))]


def selectors_page() -> str:
    """Return the page of the names in ``stableselect`` itself, under the family each of them comes from."""
    rooms: dict[str, list[str]] = {}
    for name in documented(stableselect):
        room = getattr(stableselect, name).__module__.split(".")[1]
        rooms.setdefault(room if room in FAMILIES else "other", []).append(name)
    lines = ["stableselect", "============", ""]
    for room, title in {**FAMILIES, "other": "What all selectors share"}.items():
        lines += summary("stableselect", title, rooms.get(room, []))
    return "\n".join(lines)


def room_page(room: str) -> str:
    """Return the page of one room."""
    module = importlib.import_module(f"stableselect.{room}")
    name = module.__name__
    lines = [name, "=" * len(name), "", f".. automodule:: {name}", "   :no-members:", ""]
    for title, wanted in (("Functions", False), ("Classes", True)):
        chosen = [one for one in documented(module) if inspect.isclass(getattr(module, one)) == wanted]
        lines += summary(name, title, chosen)
    return "\n".join(lines)


def write_reference(app: Sphinx, config: object) -> None:
    """Write one page for every room from its ``__all__``, so that a new public name appears by itself."""
    folder = Path(__file__).parent / "api"
    pages = {"stableselect": selectors_page(), **{f"stableselect.{room}": room_page(room) for room in ROOMS}}
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def skip_inherited(app: Sphinx, what: str, name: str, item: object, skip: bool, options: object) -> bool | None:
    """Leave out what scikit-learn's base classes bring along: its manual describes it."""
    return True if str(getattr(item, "__module__", "")).startswith("sklearn") else None


def setup(app: Sphinx) -> None:
    """Connect the functions above."""
    app.connect("config-inited", write_reference)
    app.connect("autodoc-skip-member", skip_inherited)
