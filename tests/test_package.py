"""The package as a whole: what importing it loads and what it names."""

import re
import subprocess
import sys

import pytest

import stableselect as ss


@pytest.mark.slow
def test_import_needs_no_extra():
    # scikit-learn itself loads pandas, pyarrow and rich where they are installed.
    code = (
        "import sys, stableselect; "
        "extras = {'torch', 'typer', 'matplotlib', 'polars', 'stableselect.io', 'stableselect.cli'}; "
        "sys.exit(', '.join(sorted(extras & set(sys.modules))))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.strip() == ""


def test_registry_names_every_public_selector():
    public = {name for name in ss.__all__ if isinstance(getattr(ss, name), type)}
    selectors = {name for name in public if issubclass(getattr(ss, name), ss.BaseSelector)} - {"BaseSelector"}
    assert set(ss.all_selectors()) == selectors


@pytest.mark.parametrize("cls", ss.all_selectors().values(), ids=str)
def test_every_selector_is_documented_with_an_example(cls):
    for section in ("Parameters\n", "Examples\n"):
        assert section in cls.__doc__
    for parameter in cls().get_params():
        assert re.search(rf"\b{parameter}\b[\w, ]* : ", cls.__doc__), parameter
