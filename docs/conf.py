"""Settings of the documentation; ``make docs`` builds it into ``docs/_build/html``."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

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

ROOMS = ("metrics", "inspection", "plot", "datasets", "io", "workflow", "experiments", "paper")
"""The rooms with public names of their own, in the order of the reference; the selectors come before them."""


def first_sentence(module: str) -> str:
    """Return the first line of a module's docstring without its full stop."""
    return (inspect.getdoc(importlib.import_module(module)) or module).splitlines()[0].rstrip(".")


def summary(module: str, names: list[str]) -> list[str]:
    """Return a table of names that links to a page for each of them."""
    entries = (f"   {name}" for name in names)
    return [f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree: generated", "", *entries, ""]


def is_documented(item: object) -> bool:
    """Tell whether a public name is a class or function; constants and modules have no page of their own."""
    return callable(item) and not inspect.ismodule(item)


def selectors_page() -> str:
    """Return the page of the names in ``stableselect`` itself, under the room each of them comes from."""
    rooms: dict[str, list[str]] = {}
    for name in stableselect.__all__:
        item = getattr(stableselect, name)
        if is_documented(item):
            rooms.setdefault(item.__module__.split(".")[1], []).append(name)
    lines = ["stableselect", "============", ""]
    # A room that has selectors comes first.
    selectors = stableselect.all_selectors()
    for room, names in sorted(rooms.items(), key=lambda entry: not set(entry[1]) & set(selectors)):
        title = first_sentence(f"stableselect.{room}")
        lines += [title, "-" * len(title), "", *summary("stableselect", names)]
    return "\n".join(lines)


def room_page(room: str) -> str:
    """Return the page of one room."""
    module = f"stableselect.{room}"
    public = importlib.import_module(module)
    names = [name for name in public.__all__ if is_documented(getattr(public, name))]
    lines = [module, "=" * len(module), "", f".. automodule:: {module}", "   :no-members:", ""]
    for title, wanted in (("Functions", False), ("Classes", True)):
        chosen = [name for name in names if inspect.isclass(getattr(public, name)) == wanted]
        if chosen:
            lines += [title, "-" * len(title), "", *summary(module, chosen)]
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
