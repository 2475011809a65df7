"""Settings of the documentation; ``make docs`` builds it into ``docs/_build/html``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

import stableselect

# Scripts of the gallery run with one thread, as everything else here does.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "stableselect"
author = "The stableselect developers"
version = release = stableselect.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "command_pages",
    "mathml",
    "stored_results",
]
exclude_patterns = ["_build", "_ext", "_generated", "_doors.md", "gallery", "auto_examples/sg_execution_times.rst"]
templates_path = ["_templates"]
nitpicky = True
# Types of other packages, and words in place of a type, have no page here.
nitpick_ignore_regex = [("py:.*", r"(?!stableselect\b).*")]

html_theme = "pydata_sphinx_theme"
html_title = "stableselect"
html_favicon = "_static/mark.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "logo": {
        "text": "stableselect",
        "image_light": "_static/mark.svg",
        "image_dark": "_static/mark.svg",
        "alt_text": "stableselect, home",
    },
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_nav_level": 1,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "start/*": [], "project/*": ["sidebar-nav-bs"]}
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
copyright = "The stableselect developers, BSD-3-Clause"

myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 3
autodoc_typehints = "none"
# Quotes are curled; two hyphens stay an option.
smartquotes_action = "q"
# The name of the class before every method does not fit beside the page.
toc_object_entries_show_parents = "hide"
autosummary_generate = True
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",
    "subsection_order": [f"gallery/{name}" for name in ("panels", "trust", "tables", "methods")],
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": (),
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "parallel": min(2, os.cpu_count() or 1),
    "doc_module": ("stableselect",),
    "backreferences_dir": "auto_examples/used",
}


def trim_examples(app: Any, tree: nodes.document) -> None:
    """Take off the empty line that ends an example, which a test needs and a reader does not."""
    for block in tree.findall(nodes.literal_block):
        if block.rawsource == block.astext():
            block.rawsource = block.astext().rstrip()
            block[:] = [nodes.Text(block.rawsource)]


def setup(app: Any) -> None:
    """Connect the function above."""
    app.connect("doctree-read", trim_examples)
