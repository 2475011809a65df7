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
