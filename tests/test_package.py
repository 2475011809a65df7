"""The package as a whole: what importing it loads and what it names."""

import re
import subprocess
import sys

import pytest

import stableselect as ss


def loaded_by(code):
    """Return the modules that are loaded after some code, in a fresh interpreter."""
    code += "; import sys; print('modules:', *sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(result.stdout.rpartition("modules:")[2].split())


def test_import_loads_nothing_else():
    assert not {"numpy", "sklearn", "torch", "pyarrow"} & loaded_by("import stableselect")


@pytest.mark.slow
def test_selectors_need_no_extra():
    # scikit-learn itself loads pandas, pyarrow and rich where they are installed.
    loaded = loaded_by("import stableselect; stableselect.all_selectors(); stableselect.load")
    assert not {"torch", "typer", "matplotlib", "polars", "stableselect.io", "stableselect.cli"} & loaded


def test_help_loads_no_numerics():
    for words in ([], ["select", "--help"], ["--version"]):
        loaded = loaded_by(f"from stableselect.cli import main; main({words})")
        assert not {"numpy", "sklearn", "torch", "pyarrow", "matplotlib"} & loaded


def test_completing_a_method_loads_no_numerics():
    loaded = loaded_by("from stableselect.cli._completion import method; assert 'sPEC' in method('s')")
    assert not {"numpy", "sklearn", "torch", "pyarrow"} & loaded


@pytest.mark.slow
def test_names_and_submodules_come_when_they_are_used():
    code = ["import sys, stableselect"]
    for name in ss._SUBMODULES:
        # Another submodule may have brought it in already, so it is forgotten first.
        forget = f"sys.modules.pop('stableselect.{name}', 0); vars(stableselect).pop('{name}', 0)"
        code.append(f"{forget}; stableselect.{name}; assert 'stableselect.{name}' in sys.modules")
    loaded_by("; ".join(code))
    assert set(ss.__all__) <= set(dir(ss))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="module 'stableselect' has no attribute 'plots'"):
        _ = ss.plots


def test_lazy_names_are_the_public_ones():
    assert sorted(ss.__all__) == sorted([*ss._HOMES, *ss._SUBMODULES])
    assert all(getattr(ss, name) is not None for name in ss.__all__)


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
