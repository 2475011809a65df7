"""The tables of ``make bench``, from the stored results, for the page that compares."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from api_pages import write_changed


def tables(root: Path) -> str:
    """Return what ``benchmarks/show.py`` prints, or a sentence where the benchmarks are not in this copy."""
    script = root / "benchmarks" / "show.py"
    if not script.exists():
        return "The benchmarks are not in this copy of the sources; `make bench` prints them in a clone."
    return subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout


def setup(app: Any) -> dict[str, bool]:
    """Write the tables before Sphinx looks for sources."""
    source = Path(__file__).parents[1]
    app.connect(
        "config-inited",
        lambda app, config: write_changed(source / "_generated" / "benchmarks.md", tables(source.parent)),
    )
    return {"parallel_read_safe": True}
