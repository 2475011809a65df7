"""One selector refitted with a row left out or replaced, and what its fitted maps lose at given points.

Selectors that work from moments have the row taken out of the moments; any other is fitted anew on the other rows.
Either way every fit uses the same seed: the theory of stability is about algorithms that are functions of their rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .._core import Resample, ResampledMoments
from ..base import BaseSelector, check_pair, resolve_columns
from ..neural import ScorerSelectorNetwork
from ..scorer import ScorerSelector


@dataclass(frozen=True)
class Outcome:
    """One refit, seen from the outside.

    Attributes
    ----------
    losses : dict of str to ndarray of shape (p,)
        Loss of every path at the points asked for.
    own : float
        Loss of the selector path at the row that was left out.
    support : ndarray of bool, shape (m,)
        The kept columns.
    """

    losses: dict[str, np.ndarray]
    own: float
    support: np.ndarray


class Refits:
    """A selector and a table, ready to be fitted on all rows or without any one of them.

    Parameters
    ----------
    selector : BaseSelector
        As :func:`prepare` returns it.
    X : ndarray of shape (n, m)
        The rows.
    spare : ndarray of shape (s, m), optional
        Rows that may take the place of one left out.
    """

    def __init__(self, selector: BaseSelector, X: np.ndarray, spare: np.ndarray | None = None) -> None:
        self.selector, self.X = selector, X
        self.table = X if spare is None else np.vstack([X, spare])
        self._moments: ResampledMoments | None = None
        n_folds = selector._moments_folds()
        if n_folds is not None:
            self._moments = ResampledMoments(self.table, n_folds)

    @property
    def downdates(self) -> bool:
        """Whether rows are taken out of the moments; else the selector is fitted anew."""
        return self._moments is not None

    def fit(self, row: int | None = None, spare: int | None = None) -> BaseSelector:
        """Fit on all rows, or without ``row``, or with a spare row in its place."""
        rows = np.arange(len(self.X))
        if row is not None:
            rows = np.delete(rows, row)
        if spare is not None:
            rows = np.append(rows, len(self.X) + spare)
        fitted: Any = clone(self.selector)
        if self._moments is None:
            return fitted.fit(self.table[rows])
        parts = self._moments.of(Resample(rows))
        return fitted.fit_moments(parts[0] if len(parts) == 1 else parts)

    def outcome(self, row: int, spare: int | None, points: np.ndarray) -> Outcome:
        """Refit without ``row`` and return the losses at ``points``."""
        fitted = self.fit(row, spare)
        own = path_losses(fitted, self.X[row : row + 1])["selector"]
        return Outcome(path_losses(fitted, points), float(own[0]), fitted.support_)


def prepare(selector: Any, X: ArrayLike, seed: int) -> BaseSelector:
    """Return an unfitted copy that depends on its rows alone and takes arrays without column names.

    Every unset ``random_state`` becomes ``seed``, and columns named in ``include`` and ``exclude`` become indices.
    """
    if not isinstance(selector, BaseSelector):
        raise TypeError(f"selector must be one of this package's selectors but is {type(selector).__name__}.")
    names = [str(name) for name in getattr(X, "columns", [])]
    m = int(np.shape(X)[1])
    copy: BaseSelector = clone(selector)
    changes: dict[str, Any] = {}
    for name, value in copy.get_params().items():
        kind = name.rsplit("__", 1)[-1]
        if kind == "random_state" and value is None:
            changes[name] = seed
        elif kind in ("include", "exclude") and value is not None:
            changes[name] = resolve_columns(value, m, names or None, kind)
    return copy.set_params(**changes)


def check_tables(X: ArrayLike, X_test: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to fit on, three at least, and the points to compare at, with the same columns."""
    rows, points = check_pair(X, X_test, ("X", "X_test"))
    if len(rows) < 3:
        raise ValueError(f"X must have at least 3 rows, so that 2 are left, but has {len(rows)}; give more rows.")
    return rows, points


def path_losses(fitted: BaseSelector, points: np.ndarray) -> dict[str, np.ndarray]:
    """Return the mean squared error per cell of every point, for every path the selector has.

    Parameters
    ----------
    fitted : BaseSelector
        A fitted selector.
    points : ndarray of shape (p, m)
        The points.

    Returns
    -------
    dict of str to ndarray of shape (p,)
        "selector": the point rebuilt from its kept columns. For a :class:`~stableselect.ScorerSelector` also "scorer",
        rebuilt from all scored columns, and "total": the first plus ``scorer_weight`` times the second.
    """
    if not isinstance(fitted, ScorerSelector | ScorerSelectorNetwork):
        return {"selector": np.mean((points - fitted.reconstruct(points[:, fitted.support_])) ** 2, axis=1)}
    # The theory is about the network's own output, which need not return the selected features unchanged.
    losses = {path: np.mean((points - fitted.forward(points, path)) ** 2, axis=1) for path in ("selector", "scorer")}
    losses["total"] = losses["selector"] + float(fitted.scorer_weight) * losses["scorer"]
    return losses
