"""Benchmark results in JSON, written as each part ends, so that a stopped run goes on where it was."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import stableselect

RESULTS = Path(__file__).parent / "results"


class Store:
    """One results file: a dictionary of finished parts."""

    def __init__(self, name: str) -> None:
        self.path = RESULTS / f"{name}.json"
        self.content: dict[str, Any] = {"parts": {}}
        if self.path.exists():
            self.content = json.loads(self.path.read_text())

    def part(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return a finished part, or compute, store and return it."""
        if key not in self.content["parts"]:
            value = compute()
            self.content["versions"] = versions()
            self.content["parts"][key] = value
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.path.with_suffix(".tmp")
            temporary.write_text(json.dumps(self.content, indent=1, sort_keys=True) + "\n")
            os.replace(temporary, self.path)
        return self.content["parts"][key]


def versions() -> dict[str, Any]:
    """Return what the numbers were measured with."""
    return {
        "stableselect": stableselect.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "cpu": cpu_model(),
    }


def cpu_model() -> str:
    """Return the name of the processor."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
