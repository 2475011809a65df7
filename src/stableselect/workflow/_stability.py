"""Asking for stability by the names of options: what can be asked of which method, and what came of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core import row_folds
from .._registry import all_selectors
from ..io import TableError
from ..subset import FEWEST_FOLDS, FEWEST_STABILITY_FOLDS, STABILITY_FOLDS, StabilityFrontier
from ._methods import find_method


class TooFewRows(TableError):
    """Rows too few to measure stability with."""


def stability_settings(
    method: str, criterion: str | None, max_error_increase: float | None, min_stability: float | None
) -> dict[str, Any]:
    """Return the settings of the selector, after checking that the method has them and that they go together."""
    settings = {"criterion": criterion, "max_error_increase": max_error_increase, "min_stability": min_stability}
    given = [key for key, value in settings.items() if value is not None]
    name, cls = find_method(method)
    if given and not hasattr(cls, "frontier_"):
        able = " and ".join(key for key, other in all_selectors().items() if hasattr(other, "frontier_"))
        raise TableError(f"Stability can be asked of {able} only, not of {name}; use one of these by --method.")
    if max_error_increase is not None and min_stability is not None:
        raise TableError(
            "--max-error-increase limits the error and --min-stability sets the stability; say one of the two."
        )
    if given == ["max_error_increase"]:
        raise TableError("--max-error-increase goes with --criterion stability; say both or neither.")
    if max_error_increase is not None and not 0 <= max_error_increase < math.inf:
        raise TableError(
            f"--max-error-increase must be a share of at least 0, such as 0.05, not {max_error_increase:g}."
        )
    if min_stability is not None and not 0 < min_stability <= 1:
        raise TableError(f"--min-stability must be above 0 and at most 1, not {min_stability:g}.")
    return settings


def asks_for_stability(selector: Any) -> bool:
    """Tell whether a selector is to trade error for stability."""
    return (
        getattr(selector, "criterion", "error") == "stability" or getattr(selector, "min_stability", None) is not None
    )


def fit(selector: Any, X: np.ndarray) -> Any:
    """Fit and return a selector; refuse rows too few to measure stability with, where it is asked for."""
    asks = asks_for_stability(selector)
    if asks or getattr(selector, "n_features_to_select", None) == "auto":
        filled = np.unique(row_folds(X, selector._folds_needed())).size
        if not asks and filled < FEWEST_FOLDS:
            raise TableError(
                f"-k auto measures numbers of columns on held-out parts of the rows, and {X.shape[0]} rows fill "
                f"{filled} of them where {FEWEST_FOLDS} are needed; give more rows or say how many columns to keep."
            )
        if asks and filled < FEWEST_STABILITY_FOLDS:
            raise TooFewRows(
                f"Stability is measured on {STABILITY_FOLDS} parts of the rows, and {X.shape[0]} rows (equal ones go "
                f"to the same part) fill {filled} of them where {FEWEST_STABILITY_FOLDS} are needed; give more rows or "
                "do not ask for stability."
            )
    return selector.fit(X)


def choice_record(frontier: StabilityFrontier) -> dict[str, Any]:
    """Return the setting taken, its stability and what it costs as JSON values, null for nan."""
    i = frontier.chosen

    def number(value: float) -> float | None:
        return None if np.isnan(value) else float(value)

    return {
        "stability": number(frontier.stability[i]),
        "standard_error": number(frontier.standard_error[i]),
        "error": float(frontier.error[i]),
        "least_error": float(frontier.error.min()),
        "setting": frontier.describe(i),
        "ridge": float(frontier.ridge[i]),
        "map_ridge": float(frontier.map_ridge[i]),
        "exchange": bool(frontier.exchange[i]),
        "consensus": float(frontier.consensus[i]),
        "latent_width": int(frontier.latent_width[i]) or None,
        "n_settings": int(frontier.error.size),
        "max_error_increase": None if frontier.target is not None else frontier.max_error_increase,
        "target": frontier.target,
        "reached": bool(frontier.reached),
    }
