"""Everything measured fold by fold: panels, random ones, one selected without the fold, and principal components."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import NearestNeighbors

from .._core import Moments
from ..base import counted, whole_fits
from ..metrics import downstream_accuracy
from ..subset import N_FOLDS, ColumnSubset
from ._panel_folds import Fold
from ._panel_result import PanelRow

_JUDGED = 10
"""Random panels whose neighbours and accuracy are measured."""
_MOST_TRAIN, _MOST_TEST = 2000, 500
"""Samples of a fold that neighbours are looked for among, and for."""
_SEED = 0
"""Of the trees and of the principal components of large tables: the same for every row of the comparison."""


def unremarked() -> AbstractContextManager[Any]:
    """Say nothing of how a selection to compare with was made: its settings are not the user's."""
    return warnings.catch_warnings(action="ignore", category=UserWarning)


def _held_together(together: tuple[Any, np.ndarray] | None, train: np.ndarray) -> tuple[Any, np.ndarray | None]:
    """Return a splitter and groups for the samples fitted on; none where these are too few to hold some out."""
    if together is None:
        return None, None
    splitter, groups = together[0], together[1][train]
    found = np.unique(groups).size
    if found < 2:
        return None, None
    return (GroupKFold(min(N_FOLDS, found)) if splitter is None else splitter), groups


class Measures:
    """Sums over the held-out samples of all folds.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        The table.
    unit : float
        What scaled values are divided by. All figures are ratios, which it does not change; squares stay in range.
    y : ndarray of shape (n,) or None
        Labels.
    scaler : transformer or None
        Fitted on the samples of each fold that are fitted on.
    splits : sequence of (train, test)
        Indices of samples.
    panels : sequence of array of int
        The panel judged, and others to measure feature by feature.
    random : sequence of array of int
        Random panels.
    n_neighbors : int
        Neighbours to compare.
    rng : Generator
        Draws the samples that neighbours are looked for among and for.
    together : (splitter or None, ndarray), optional
        For samples that belong together: what holds out blocks of time, and the group or time of every sample.

    Attributes
    ----------
    errors : ndarray of shape (number of panels, m)
        Squared errors.
    total : ndarray of shape (m,)
        Squared errors of the mean.
    random : ndarray
        Explained variance of each random panel.
    selections : list of ndarray of int
        What was selected without each fold.
    """

    def __init__(
        self,
        X: np.ndarray,
        unit: float,
        y: np.ndarray | None,
        scaler: Any,
        splits: Sequence[tuple[np.ndarray, np.ndarray]],
        panels: Sequence[np.ndarray],
        random: Sequence[np.ndarray],
        n_neighbors: int,
        rng: np.random.Generator,
        together: tuple[Any, np.ndarray] | None = None,
    ) -> None:
        m = X.shape[1]
        self.n_neighbors = min([n_neighbors, *(min(len(train), _MOST_TRAIN) for train, _ in splits)])
        self.errors, self.total = np.zeros((len(panels), m)), np.zeros(m)
        self.selections: list[np.ndarray] = []
        self._random, self._summed = np.zeros(len(random)), {"selected": 0.0, "components": 0.0}
        self._kept: dict[str, list[float]] = {}
        self._right: dict[str, list[float]] = {}
        for train, test in counted(splits, "folds"):
            fit, held = X[train], X[test]
            if scaler is not None:
                own = clone(scaler)
                fit, held = np.asarray(own.fit_transform(fit)), np.asarray(own.transform(held))
            k = len(panels[0])
            with whole_fits(), unremarked():
                own = _held_together(together, train)
                selected = ColumnSubset(k, cv=own[0]).fit(fit, groups=own[1]).selected_
            self.selections.append(selected)
            fit, held = fit / unit, held / unit
            fold = Fold(Moments.from_array(fit), Moments.from_array(held))
            pca = PCA(min(k, *fit.shape), random_state=_SEED).fit(fit)
            size = fold.n_test
            self.total += size * fold.none
            for i, panel in enumerate(panels):
                self.errors[i] += size * fold.errors(panel)
            self._random += [size * float(fold.errors(panel).sum()) for panel in random]
            self._summed["selected"] += size * float(fold.errors(selected).sum())
            self._summed["components"] += size * float(fold.component_errors(pca.components_.T).sum())
            ways = {"panel": panels[0], "selected": selected, "all": np.arange(m)}
            ways |= {f"random {i}": panel for i, panel in enumerate(random[:_JUDGED])}
            self._neighbours(fit, held, ways, pca, rng)
            if y is not None:
                self._labels(fit, held, y[train], y[test], ways)
        self.random = 1 - self._random / self.total.sum()

    def _neighbours(
        self, fit: np.ndarray, held: np.ndarray, ways: dict[str, np.ndarray], pca: PCA, rng: np.random.Generator
    ) -> None:
        """Count neighbours kept."""
        among, who = (
            part if len(part) <= most else part[np.sort(rng.choice(len(part), most, replace=False))]
            for part, most in ((fit, _MOST_TRAIN), (held, _MOST_TEST))
        )
        views = {name: (among[:, at], who[:, at]) for name, at in ways.items()}
        views["components"] = (pca.transform(among), pca.transform(who))

        def nearest(name: str) -> np.ndarray:
            base, queries = views[name]
            found = NearestNeighbors(n_neighbors=self.n_neighbors).fit(base).kneighbors(queries, return_distance=False)
            near = np.zeros((len(queries), len(base)), dtype=bool)
            np.put_along_axis(near, found, True, axis=1)
            return near

        truth = nearest("all")
        for name in views:
            kept = np.mean(truth & nearest(name), axis=1) * len(among) / self.n_neighbors
            self._kept.setdefault(name, []).extend(kept.tolist())

    def _labels(
        self, fit: np.ndarray, held: np.ndarray, before: np.ndarray, after: np.ndarray, ways: dict[str, np.ndarray]
    ) -> None:
        """Count labels that are got right."""
        for name, at in ways.items():
            accuracy = downstream_accuracy(fit, before, held, after, at, random_state=_SEED)
            self._right.setdefault(name, []).extend([accuracy] * len(after))
        values, counts = np.unique(before, return_counts=True)
        self._right.setdefault("none", []).extend((after == values[np.argmax(counts)]).tolist())

    def comparison(self) -> list[PanelRow]:
        """Return the rows, panel first."""
        total = self.total.sum()
        explained = {
            "panel": 1 - self.errors[0].sum() / total,
            **{name: 1 - left / total for name, left in self._summed.items()},
            "random": self.random.mean(),
            "all": 1.0,
            "none": 0.0,
        }

        def mean(of: dict[str, list[float]], name: str) -> float:
            found = [value for key, values in of.items() if key.split()[0] == name for value in values]
            return float(np.mean(found)) if found else float("nan")

        names = ("panel", "selected", "random", "components", "all", "none")
        return [
            PanelRow(name, float(explained[name]), mean(self._kept, name), mean(self._right, name)) for name in names
        ]
