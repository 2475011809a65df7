"""Without an optional package the rest works, and what needs it says which extra to install."""

import subprocess
import sys

import pytest

from tools.try_install import DOORS

pytestmark = pytest.mark.slow
OPTIONAL = ("typer", "rich", "pyarrow", "openpyxl", "matplotlib", "torch", "pooch", "PIL", "anndata", "dask", "pandas")
OPTIONAL += ("polars", "duckdb", "h5py", "zarr", "skops", "jinja2", "pytest")
FILES = {"odd.xlsx": ("openpyxl", "[excel]"), "odd.h5ad": ("h5py", "[tables]")}


WITHOUT = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {blocked} else super().find_spec(name, path, target)

sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
import numpy, stableselect
X, folder = numpy.random.default_rng(0).normal(size=(30, 4)), {folder!r}
"""


def run(code, folder, blocked=OPTIONAL):
    """Run code in a fresh interpreter that finds none of the packages; return exit code, output and errors."""
    begin = WITHOUT.format(blocked=blocked, folder=folder)
    result = subprocess.run(
        [sys.executable, "-c", begin + code], capture_output=True, text=True, cwd=folder, timeout=120
    )
    return result.returncode, result.stdout, result.stderr


@pytest.mark.parametrize("what", DOORS)
def test_what_is_missing_is_told(what, tmp_path):
    code, advice = DOORS[what]
    ended, _, told = run(code, str(tmp_path))
    assert ended != 0
    assert "pip install" in told.splitlines()[-1] and advice in told.splitlines()[-1]


@pytest.mark.parametrize("name", FILES)
def test_a_file_names_the_extra_that_reads_it(name, tmp_path):
    missing, extra = FILES[name]
    (tmp_path / name).write_bytes(b"PK\x03\x04")
    ended, _, told = run(f"import stableselect.io; stableselect.io.read_table({name!r})", str(tmp_path), (missing,))
    assert ended == 1
    assert f'{name} needs {missing}: pip install "stableselect{extra}"' in told


def test_every_selector_works_without_any(tmp_path):
    code = """
for name, cls in sorted(stableselect.all_selectors().items()):
    selector = cls().fit(X)
    selector.reconstruct(selector.transform(X))
    stableselect.save(selector, f"{name}.sselect")
    assert (stableselect.load(f"{name}.sselect").support_ == selector.support_).all()
print(len(stableselect.all_selectors()))
"""
    ended, out, told = run(code, str(tmp_path))
    assert ended == 0 and int(out) > 15, told


def test_version_and_doctor_need_no_extra(tmp_path):
    begin = "from stableselect.cli import main; sys.exit(main([{!r}]))"
    assert run(begin.format("--version"), str(tmp_path))[:2] == (0, "stableselect 0.1.0\n")
    ended, out, told = run(begin.format("doctor"), str(tmp_path))
    assert (ended, told) == (0, "")
    assert "numpy" in out and "GPU: not looked for, which takes torch" in out
