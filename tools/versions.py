"""Run the tests with several versions of Python, each in an environment of its own, and write docs/versions.md.

``python tools/versions.py run 3.11 3.12`` installs the newest versions that pyproject.toml allows and runs the quick
tests, where warnings are errors; ``--oldest`` takes the oldest versions that it allows. ``--base`` installs the wheel
without extras and ``--all`` with all of them, and ``tools/try_install.py`` tries it. ``page`` writes the page from
stored results, docs/versions.json. Interpreters are those that uv finds; none is downloaded.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STORE, PAGE = ROOT / "docs" / "versions.json", ROOT / "docs" / "versions.md"
QUICK = "not slow and not data and not gpu and not browser"
SHOWN = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "torch")
PACKAGE = "stableselect"
COUNTED = ("passed", "failed", "skipped")
FIRST = "torch==2.13.0"
"""What is installed before ``all``, by pip, whose settings may name a build without CUDA."""
TEXT = """# Versions

What is supported: Python 3.11 and later, with the packages of `pyproject.toml` from the versions named there on. No
version is ruled out from above; what a newer one breaks is mended. The newest two releases of Python and of
scikit-learn count first. Linux on x86-64 is what everything below was run on. Windows and macOS are untested: nothing
in the base is meant to need Linux, but signals, locks of files and permissions differ there. PyPy and Python without a
global lock are untested. Before version 1.0 a minor release may change names, and says so in the changelog; files
saved by a release stay readable.

The table is written by `make versions`. *newest*: the newest versions that can be installed together, warnings are
errors. *oldest*: the oldest that `pyproject.toml` allows, without warnings of deprecation as errors. Both run the
tests that are not slow and need neither downloaded tables, a GPU nor a browser; "-" is what was not installed, without
which the tests that need it skip. *base*: the wheel without extras, where every selector is fitted, saved and loaded,
and what needs an extra must name it. *all*: the wheel with `[all]`, where besides every module is imported, every kind
of table read and every command run. Rows may be of different commits of stableselect: "-" is one that was
not stored, and "+" marks one with changes that were not committed yet.

{table}
{first}"""
FIRST_RESULT = """
A newcomer's way to a first result, in seconds, with {cores} cores and packages in pip's cache (`python
tools/first_result.py`): `git clone` {git clone}, then `make demo`, which makes an environment and reconstructs digits,
{make demo}; or `pip install` into an environment of one's own {pip install} and a first `select` {select}.
"""


def environment(python: str, kind: str, folder: Path, extras: str) -> Path | None:
    """Make an environment with the package installed; return its Python, or None where there is no such interpreter."""
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    venv = folder / f"{python}-{kind}"
    made = subprocess.run(
        [uv, "venv", "--quiet", "--clear", "--no-python-downloads", "--python", python, str(venv)],
        capture_output=True,
        text=True,
    )
    if made.returncode:
        print(f"Python {python} is left out: {' '.join(made.stderr.split())[:300]}", file=sys.stderr)
        return None
    inside = venv / "bin" / "python"
    install = [uv, "pip", "install", "--quiet", "--python", str(inside)]
    if kind not in ("base", "all"):
        how = ["--resolution", "lowest-direct"] if kind == "oldest" else []
        subprocess.run([*install, *how, "-e", f"{ROOT}[{extras}]"], check=True)
        return inside
    if not list(folder.glob("*.whl")):
        subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = map(str, folder.glob("*.whl"))
    if kind == "all":
        subprocess.run([*install, "pip"], check=True)
        install, wheel = [str(inside), "-m", "pip", "install", "--quiet"], f"{wheel}[all]"
        subprocess.run([*install, FIRST], check=True)
    subprocess.run([*install, wheel], check=True)
    return inside


def installed(python: Path) -> dict[str, str]:
    """Return the versions of what the page shows."""
    code = f"""
import json
from importlib import metadata
known = {{item.metadata["Name"].lower(): item.version for item in metadata.distributions()}}
import platform
print(json.dumps({{"python": platform.python_version()}} | {{n: known.get(n, "-") for n in {(*SHOWN, PACKAGE)!r}}}))"""
    return json.loads(subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout)


def commit(version: str) -> str:
    """Return the commit that is tested, with "+" where what is tested differs from it; the version without git."""
    git = ["git", "-C", str(ROOT)]
    try:
        found = subprocess.run([*git, "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return f"version {version}"
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src", "tests", "tools", "pyproject.toml"])
    return found.stdout.strip() + "+" * bool(changed.returncode)


def tested(python: Path, kind: str) -> dict[str, int]:
    """Run the tests and return how many passed, failed and were skipped."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), str(ROOT / "tools" / "try_install.py"), kind]
    if kind not in ("base", "all"):
        lenient = ["-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning"] if kind == "oldest" else []
        command = [str(python), "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", QUICK, *lenient]
    result = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True)
    print(result.stdout[-6000:], result.stderr[-2000:], sep="\n", file=sys.stderr)
    last = (result.stdout.strip().splitlines() or [""])[-1]
    found = {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|skipped|error)", last)}
    counts = {word: found.get(word, 0) for word in COUNTED}
    counts["failed"] += found.get("error", 0) + (not found)
    return counts


def run(pythons: list[str], kind: str, extras: str) -> int:
    """Test every interpreter and store what came of it; return the exit code."""
    code = 0
    with tempfile.TemporaryDirectory(prefix="versions") as folder:
        for python in pythons:
            inside = environment(python, kind, Path(folder), extras)
            if inside is None:
                continue
            row = {"kind": kind, **installed(inside)}
            row["commit"] = commit(row.pop(PACKAGE))  # before the tests: others may commit meanwhile
            row |= tested(inside, kind)
            row["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
            code |= bool(row["failed"])
            store(f"{python} {kind}", row)
            print(f"Python {python}, {kind}: {', '.join(f'{row[word]} {word}' for word in COUNTED)}")
    return code


def stored() -> dict[str, Any]:
    """Return the stored results."""
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def store(name: str, result: dict[str, Any]) -> None:
    """Add a result to the stored ones, or put it in place of an earlier one."""
    STORE.write_text(json.dumps(dict(sorted((stored() | {name: result}).items())), indent=1) + "\n")


def page() -> str:
    """Return the page for the stored results."""
    rows = stored()
    first = rows.pop("first result", None)
    heads = ("kind", "python", *SHOWN, *COUNTED, "date", "commit")
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    lines += [f"| {' | '.join(str(row.get(head, '-')) for head in heads)} |" for row in rows.values()]
    return TEXT.format(table="\n".join(lines), first=FIRST_RESULT.format(**first) if first else "")


def main() -> int:
    """Run the command given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="test some versions of Python")
    runs.add_argument("pythons", nargs="+")
    runs.add_argument("--oldest", dest="kind", action="store_const", const="oldest", default="newest")
    runs.add_argument("--base", dest="kind", action="store_const", const="base")
    runs.add_argument("--all", dest="kind", action="store_const", const="all")
    runs.add_argument("--extras", default="test", help="what is installed beside the base")
    commands.add_parser("page", help="write docs/versions.md")
    given = parser.parse_args()
    code = run(given.pythons, given.kind, given.extras) if given.command == "run" else 0
    PAGE.write_text(page())
    return code


if __name__ == "__main__":
    sys.exit(main())
