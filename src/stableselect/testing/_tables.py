"""Tables that the laws are tried on, and what they share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..base import BaseSelector

Make = Callable[..., BaseSelector]
"""From a number of features to a selector of so many, not fitted, with a seed."""
M = 12
"""Features of most tables."""


def rng() -> np.random.Generator:
    """Return the generator of all tables of one law."""
    return np.random.default_rng(20211)


def tall() -> np.ndarray:
    """Return 60 samples of correlated features."""
    draw = rng()
    return draw.normal(size=(60, M)) @ draw.normal(size=(M, M))


AWKWARD: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "duplicates": lambda X: np.hstack([X[:, :4], X[:, :4], X[:, :4]]),
    "constants": lambda X: np.where(np.arange(M) % 3 == 0, 0.1, X),
    "zeros": lambda X: np.where(np.arange(M) < 5, 0.0, X),
    "all zero": lambda X: np.zeros_like(X),
    "near collinear": lambda X: X[:, [0] * M] + 1e-9 * X,
    "rank three": lambda X: X[:, :3] @ np.arange(36.0).reshape(3, M) ** 0.5,
    "few samples": lambda X: X[:4],
    "two samples": lambda X: X[:2],
    "one sample": lambda X: X[:1],
    "one value": lambda X: np.ones((1, M)),
}
"""Tables on which there is little or nothing to choose by."""
SCALES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tiny": lambda X: X * 1e-139,
    "huge": lambda X: X * 1e138,
    "units apart": lambda X: X * np.where(np.arange(M) % 2, 1e-139, 1e138),
    "far from zero": lambda X: X + 1e7,
}
"""Tables whose squares nearly leave the range of numbers, or cancel."""


def hold(condition: Any, words: str) -> None:
    """Raise ``AssertionError`` with these words unless the condition holds."""
    if not condition:
        raise AssertionError(words)


def refused(call: Callable[[], Any], words: str, what: str) -> None:
    """Raise ``AssertionError`` unless a call raises ``ValueError`` with words that match."""
    try:
        call()
    except ValueError as error:
        hold(re.search(words, str(error)), f"{what} must be refused with words like {words!r} but says: {error}")
        return
    raise AssertionError(f"{what} must be refused by a ValueError but is accepted")


def check_result(selector: Any, m: int, k: int, included: Iterable[int] = ()) -> None:
    """Hold what every fitted selector promises of its attributes."""
    chosen = selector.selected_
    hold(chosen.shape == (k,) and len(set(chosen.tolist())) == k, f"selected_ must hold {k} features but is {chosen}")
    hold(selector.support_.dtype == bool and selector.support_.sum() == k, "support_ must be a mask of these features")
    hold(set(np.flatnonzero(selector.support_)) == set(chosen.tolist()), "support_ and selected_ must agree")
    hold(sorted(selector.ranking_) == list(range(1, m + 1)), "ranking_ must hold every rank once")
    np.testing.assert_array_equal(np.argsort(selector.ranking_)[:k], chosen, "ranking_ must begin with selected_")
    scores = selector.scores_
    hold(scores.shape == (m,) and np.all(np.isfinite(scores)), "scores_ must be one finite number for each feature")
    earned = np.setdiff1d(chosen, list(included))
    if k < m and earned.size:
        hold(scores[earned].min() >= scores[~selector.support_].max(), "no other feature may score higher")
    hold(selector.reconstruction_coef_.shape == (k, m), "reconstruction_coef_ must be of shape (k, m)")
    finite = np.all(np.isfinite(selector.reconstruction_coef_)) and np.all(
        np.isfinite(selector.reconstruction_intercept_)
    )
    hold(finite, "the map must be finite")
