"""Times a newcomer's way from ``git clone`` to a first result: by ``make demo``, and by pip as the README says.

``python tools/first_result.py`` prints the seconds of each step. Packages come from pip's cache where they are in it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STEPS = {
    "git clone": "git clone --quiet {root} copy",
    "make demo": "make --silent -C copy demo PYTHON={python}",
    "make demo, again": "make --silent -C copy demo PYTHON={python}",
    "pip install": "{python} -m venv own && own/bin/pip install --quiet './copy[cli,plot]'",
    "select": "own/bin/stableselect select copy/demo/digits.csv -k 8 --scale none",
}


def main() -> int:
    """Take the steps in an empty folder, print the seconds of each, and return the exit code."""
    names = {"root": shlex.quote(str(ROOT)), "python": shlex.quote(getattr(sys, "_base_executable", sys.executable))}
    settings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for step, command in STEPS.items():
            start = time.perf_counter()
            result = subprocess.run(
                command.format(**names), shell=True, cwd=folder, env=settings, capture_output=True, text=True
            )
            seconds[step] = time.perf_counter() - start
            if result.returncode:
                print(f"{step} failed: {(result.stderr or result.stdout)[-2000:]}", file=sys.stderr)
                return 1
            print(f"{step}: {seconds[step]:.1f} s")
    for steps in (("git clone", "make demo"), ("git clone", "pip install", "select")):
        print(f"First result by {', '.join(steps)}: {sum(seconds[step] for step in steps):.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
