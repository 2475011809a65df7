"""Times a newcomer's way from ``git clone`` to a first result: by ``make demo``, and by pip as the README says.

``python tools/first_result.py`` prints the seconds of each step, on what git keeps of this copy, and writes them to
docs/versions.md. Packages come from pip's cache where they are in it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from typing import Any

import versions

STEPS = {
    "git clone": "git clone --quiet {root} copy",
    "make demo": "make --silent -C copy demo PYTHON={python}",
    "pip install": "{python} -m venv own && own/bin/pip install --quiet './copy[cli,plot]'",
    "select": "own/bin/stableselect select copy/demo/digits.csv -k 8 --scale none",
}


def main() -> int:
    """Take the steps in an empty folder, keep the seconds of each, and return the exit code."""
    names = {"root": versions.ROOT, "python": getattr(sys, "_base_executable", sys.executable)}
    names = {name: shlex.quote(str(path)) for name, path in names.items()}
    settings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    seconds: dict[str, Any] = {"cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        for step, command in STEPS.items():
            start = time.perf_counter()
            result = subprocess.run(
                command.format(**names), shell=True, cwd=folder, env=settings, capture_output=True, text=True
            )
            if result.returncode:
                print(f"{step} failed: {(result.stderr or result.stdout)[-2000:]}", file=sys.stderr)
                return 1
            seconds[step] = round(time.perf_counter() - start, 1)
            print(f"{step}: {seconds[step]} s", flush=True)
    versions.store("first result", seconds)
    versions.PAGE.write_text(versions.page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
