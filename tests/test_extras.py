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


COPIES = """
import os, traceback
for number, code in enumerate({codes!r}):
    if os.fork() == 0:
        os.dup2(os.open(f"{{number}}.txt", os.O_WRONLY | os.O_CREAT), 2)
        try:
            exec(code)
            ended = 0
        except SystemExit as stop:
            ended = stop.code
        except Exception:
            traceback.print_exc()
            ended = 1
        sys.stderr.flush()
        os._exit(ended)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    """By name, the exit code and the errors of each: tried in copies of one interpreter that has just started."""
    folder = tmp_path_factory.mktemp("doors")
    ended, out, told = run(COPIES.format(codes=[code for code, _ in DOORS.values()]), str(folder))
    assert ended == 0, told
    errors = [(folder / f"{number}.txt").read_text(encoding="utf-8") for number in range(len(DOORS))]
    return dict(zip(DOORS, zip(map(int, out.split()), errors, strict=True), strict=True))


@pytest.mark.parametrize("what", DOORS)
def test_what_is_missing_is_told(what, doors):
    ended, told = doors[what]
    assert ended != 0
    assert "pip install" in told.splitlines()[-1] and DOORS[what][1] in told.splitlines()[-1]


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
