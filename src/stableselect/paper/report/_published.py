"""The published figures."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def published() -> dict[str, Any]:
    """Return the published figures."""
    return json.loads(resources.files(__package__).joinpath("published.json").read_text(encoding="utf-8"))


def published_value(dataset: str, method: str, measure: str) -> float | None:
    """Return a figure of Table 2 ("least_squares") or 3 ("accuracy", as a fraction); None where there is none."""
    value = published()[measure].get(dataset, {}).get(method)
    return value / 100 if value is not None and measure == "accuracy" else value
