"""Selectors of other packages: the example of the documentation, and packages that are broken."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from sklearn.datasets import load_wine

import stableselect as ss
from stableselect._registry import GROUP, EntryPointWarning, find_selector
from stableselect.cli import main

EXAMPLE = Path(__file__).parents[1] / "docs" / "example_package"


def install(folder, name, points, **modules):
    """Put a package into a folder as pip would: modules, and what importlib.metadata reads."""
    about = folder / f"{name.replace('-', '_')}-0.1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    lines = [f"{key} = {value}" for key, value in points.items()]
    (about / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.fixture
def spread(site):
    if not EXAMPLE.is_dir():
        pytest.skip("the documentation is not in this copy")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    install(site, project["name"], project["entry-points"][GROUP])
    shutil.copytree(EXAMPLE / "stableselect_spread", site / "stableselect_spread")
    return importlib.import_module("stableselect_spread").SpreadScore


@pytest.fixture
def wine(tmp_path):
    path = tmp_path / "wine.csv"
    load_wine(as_frame=True).data.to_csv(path, index=False)
    return path


def test_a_registered_selector_is_listed_found_and_compared(spread):
    assert ss.available_selectors()["SpreadScore"] is spread and "SpreadScore" not in ss.all_selectors()
    assert list(ss.available_selectors())[-1] == "SpreadScore"
    assert find_selector("spread-score") == ("SpreadScore", spread)
    X = load_wine().data
    found = ss.compare(X, 3, methods=["spread_score"], cv=2)
    assert found.row("SpreadScore").n_selected == 3
    from stableselect.experiments._methods import default_methods

    assert "SpreadScore" in default_methods()


def test_a_registered_selector_at_the_command_line(spread, wine, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["methods", "--names"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "SpreadScore"
    assert main(["methods"]) == 0
    assert "Select the features whose middle half spreads widest" in " ".join(capsys.readouterr().out.split())
    out = tmp_path / "out.csv"
    assert main(["select", str(wine), "-k", "2", "--method", "spreadscore", "--scale", "none", "-o", str(out)]) == 0
    X = load_wine(as_frame=True).data
    widest = (X.quantile(0.75) - X.quantile(0.25)).nlargest(2).index
    assert set(out.read_text().splitlines()[0].split(",")) == set(widest)
    assert main(["compare", str(wine), "-k", "2", "-m", "SpreadScore", "--folds", "2", "-q"]) == 0
    capsys.readouterr()
    assert main(["select", str(wine), "--method", "Spread"]) == 2
    assert "did you mean SpreadScore?" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_the_tests_of_the_example_pass(spread):
    scope = {}
    exec((EXAMPLE / "tests" / "test_spread.py").read_text(), scope)
    tests = [item for name, item in scope.items() if name.startswith("test_")]
    assert len(tests) == 3
    for test in tests:
        test()


SOUND = """
from stableselect import VarianceScore
class Sound(VarianceScore):
    "Fine."
class Other:
    "Not a selector."
"""
FAULTS = {
    "missing module": ("Fine", "no_such_module:Fine", "ModuleNotFoundError: No module named 'no_such_module'"),
    "missing name": ("Fine", "sound:Nothing", "AttributeError"),
    "error": ("Fine", "raising:Fine", "RuntimeError: on purpose and on two lines"),
    "exit": ("Fine", "leaving:Fine", "SystemExit"),
    "not a selector": ("Fine", "sound:Other", "sound:Other is not a subclass of stableselect.BaseSelector"),
    "not a class": ("Fine", "sound", "sound is not a subclass of stableselect.BaseSelector"),
    "a name of ours": ("column-subset", "sound:Sound", "the name is taken by stableselect"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_entry_point_is_a_warning_of_one_sentence(site, fault):
    name, value, reason = FAULTS[fault]
    install(site, "sound-package", {"Sound": "sound:Sound"}, sound=SOUND)
    raising = "raise RuntimeError('on purpose\\nand on two lines')"
    install(site, "broken-package", {name: value}, raising=raising, leaving="raise SystemExit(3)")
    with pytest.warns(EntryPointWarning) as caught:
        found = ss.available_selectors()
    (warning,) = caught
    text = str(warning.message)
    assert text.startswith(f"The selector {name} of the package broken-package cannot be used (") and reason in text
    assert text.endswith("; update or remove that package.") and "\n" not in text
    assert "Sound" in found and "Fine" not in found and found["ColumnSubset"] is ss.ColumnSubset


def test_of_two_packages_with_one_name_the_first_is_taken(site):
    for package in ("b", "a"):
        text = SOUND.replace('"Fine."', f"package = {package!r}")
        install(site, f"package-{package}", {"Sound": f"sound_{package}:Sound"}, **{f"sound_{package}": text})
    with pytest.warns(EntryPointWarning, match="Sound of the package package-b .*taken by package-a"):
        assert ss.available_selectors()["Sound"].package == "a"


def test_packages_are_not_looked_at_for_a_selector_of_ours(site):
    install(site, "broken-package", {"Fine": "no_such_module:Fine"})
    assert find_selector("column_subset")[0] == "ColumnSubset"


def test_a_registered_selector_that_cannot_be_used_is_not_said_to_be_missing(site):
    install(site, "broken-package", {"Fine": "no_such_module:Fine"})
    with pytest.warns(EntryPointWarning), pytest.raises(ValueError, match="'fine' is registered but cannot be used"):
        find_selector("fine")
    with pytest.warns(EntryPointWarning), pytest.raises(ValueError, match="there is no 'Boom'"):
        find_selector("Boom")


@pytest.mark.slow
def test_the_command_line_tells_of_broken_packages_without_a_traceback(site, wine):
    install(site, "broken-package", {"Fine": "no_such_module:Fine", "ColumnSubset": "sound:Sound"}, sound=SOUND)
    commands = ["methods"], ["select", str(wine), "-k", "2", "--method", "Fine"]
    code = f"import sys; sys.path.insert(0, {str(site)!r}); from stableselect.cli import main\n"
    code += f"for words in {commands!r}: sys.stderr.write(f'code {{main(words)}}\\n')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    told, lines = [], []
    for line in ended.stderr.splitlines():
        lines.append(line)
        if line.startswith("code "):
            told.append(lines)
            lines = []
    assert [len(lines) for lines in told] == [3, 4] and ended.returncode == 0
    for lines, code in zip(told, ("0", "2"), strict=True):
        assert all(line.startswith("stableselect: ") for line in lines[:-1]) and lines[-1] == f"code {code}"
        assert "the name is taken by stableselect" in lines[0] and "No module named 'no_such_module'" in lines[1]
