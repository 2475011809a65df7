"""A trial: a selector, a table, and what every fit must give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .checks import check_same, expect
from .selectors import uses_batches
from .tables import Generator, Table

GRAPH = {"LaplacianScore", "SPEC", "MCFS", "UDFS", "NDFS"}
COMPONENTS = {"PFA", "PivotedQR"}
"""Use the directions of principal components."""
GRADIENT = {"ScorerSelectorNetwork", "CAE", "FAE"}
"""Trained by Adam, which divides by the size of the gradient: where that vanishes, rounding decides (promises.md)."""
MAY_BE_NAN = {"expected_false_selections_"}
"""Documented: infinite or NaN where there is no bound."""


@dataclass
class Trial:
    """A selector with its settings, a table, and the fit of the one to the other."""

    rng: Generator
    table: Table
    selector: Any
    fitted: Any = None

    @property
    def name(self) -> str:
        """The selector's class."""
        return type(self.selector).__name__

    @property
    def X(self) -> np.ndarray:
        """The table's values."""
        return self.table.X

    def setting(self, name: str, default: Any = None) -> Any:
        """Return a parameter of the selector."""
        return getattr(self.selector, name, default)

    @property
    def held_out(self) -> bool:
        """Whether something is chosen by held-out error."""
        chosen = self.setting("ridge") == "auto" or self.setting("n_features_to_select") == "auto"
        return chosen or self.setting("criterion") == "stability" or self.setting("min_stability") is not None

    @property
    def determined(self) -> bool:
        """Whether some features are almost determined by others, so that second moments hold few digits of the rest.

        ColumnSubset: "Once the selected features span the data (what is left is below 1e-10 of the total), further ones
        are chosen by the gain under a small ridge". A direction of variance near that limit can fall on either side.
        """
        return not self.table.extreme and few_digits(self.X)

    @property
    def clear(self) -> bool:
        """Whether rounding may move the scores by rounding only.

        ScorerSelector takes the weights of the selected features from their own second moments, in the unit of the
        table: where those have a small direction, "scores can carry few correct digits". Components of equal variance,
        as of one-hot features of equal counts, have no directions of their own.
        """
        if self.name == "ScorerSelector":
            own = not self.table.extreme and few_digits(self.X[:, self.fitted.selected_])
            return not (self.determined or own or self.table.kind == "one-hot")
        return not self.determined

    def same_to_rounding(self, what: str, one: Any, other: Any) -> None:
        """Raise unless two fits to sums in another order agree."""
        scorer, clear = self.name == "ScorerSelector", self.clear
        if scorer and not clear:
            deviation = self.X.std(axis=0)
            # ScorerSelector: "where standard deviations differ by a factor of 1e6 or more the weights can miss the
            # least objective by some percent".
            missed = 0.05 if deviation.max() > 1e6 * deviation[deviation > 0].min() else 1e-6
            slack = missed * one.objective_ + 1e-8 * (1 + one.scorer_weight) * float(np.mean(centred(self.X) ** 2))
            gap = abs(one.objective_ - other.objective_)
            expect(gap <= slack, f"{what}: the objective {one.objective_:.6g} became {other.objective_:.6g}")
        if not (scorer and self.determined):  # it may take another twin that is as good (promises.md)
            check_same(what, one, other, scores=clear)

    def same(self, what: str, other: Any, order: Any = None, *, scores: bool = True) -> None:
        """Raise unless another fit agrees with this one; ``scores=False`` leaves the scores out."""
        check_same(what, self.fitted, other, order, scores=scores)


def few_digits(X: np.ndarray) -> bool:
    """Tell whether second moments hold few digits of some direction: its variance is small beside the total."""
    values = np.linalg.svd(centred(X), compute_uv=False) ** 2
    shares = values / max(values.sum(), np.finfo(float).tiny)
    return bool(np.any((shares > 1e-18) & (shares < 1e-8)))


def centred(X: np.ndarray) -> np.ndarray:
    """Return the centred features, exactly zero for constant ones."""
    values = X.astype(np.float64)
    return np.where(np.ptp(values, axis=0) > 0, values - values.mean(axis=0), 0.0)


def always(trial: Trial) -> None:
    """Hold what every fitted selector promises, whatever the law."""
    selector, m = trial.fitted, trial.X.shape[1]
    k, wanted = len(selector.selected_), trial.setting("n_features_to_select")
    if isinstance(wanted, int):
        expect(k == wanted, f"{k} features for {wanted}")
    expect(len(set(selector.selected_.tolist())) == k == selector.support_.sum(), f"not {k} distinct features")
    expect(set(np.flatnonzero(selector.support_)) == set(selector.selected_), "support_ and selected_ differ")
    expect(sorted(selector.ranking_) == list(range(1, m + 1)), "ranking_ is not a permutation")
    expect((np.argsort(selector.ranking_)[:k] == selector.selected_).all(), "ranking_ and selected_ differ")
    include, exclude = trial.setting("include") or [], trial.setting("exclude") or []
    expect(selector.support_[include].all(), "an included feature is missing")
    expect(not selector.support_[exclude].any(), "an excluded feature is selected")
    earned = np.setdiff1d(selector.selected_, include)
    if k < m and earned.size:
        least, most = selector.scores_[earned].min(), selector.scores_[~selector.support_].max()
        expect(least >= most, "a discarded feature scores above a selected one")
    for name, value in vars(selector).items():
        if name.endswith("_") and isinstance(value, float | np.ndarray) and name not in MAY_BE_NAN:
            array = np.asarray(value)
            expect(array.dtype.kind != "f" or np.isfinite(array).all(), f"{name} is not finite")
    kept = selector.transform(trial.X)
    rebuilt = selector.reconstruct(kept)
    expect(rebuilt.shape == trial.X.shape, "reconstruct has another shape")
    expect((rebuilt[:, selector.support_] == kept).all(), "reconstruct changed a selected feature")


def to_rounding(trial: Trial) -> bool:
    """Tell whether a sum in another order may not change the choice."""
    if uses_batches(trial.selector):  # "Adam on mini-batches of samples": the batches follow the order of the samples
        return False
    if trial.name in GRADIENT and (trial.table.ties or trial.setting("init") == "search"):
        return False
    if trial.name in COMPONENTS and not _told_apart(trial):
        return False
    if trial.name == "PFA" and trial.setting("retained_variance") == 1.0:  # all features may be equally far apart
        return False
    # neighbour_graph: "beyond 4 k + 16 neighbours the list is cut ... The order of samples then still does not matter,
    # except for which of several equal samples is joined."
    base = type(trial.setting("estimator")).__name__
    by_graph = trial.name in GRAPH or base in GRAPH
    few = len(trial.X) <= 4 * trial.setting("n_neighbors", 5) + 16
    return not by_graph or few or len(np.unique(trial.X, axis=0)) == len(trial.X)


def _told_apart(trial: Trial) -> bool:
    """Tell whether no two components used have equal variances, and none almost no variance (promises.md)."""
    A = centred(trial.X)
    if trial.table.extreme or not A.any():
        return True
    A = A / np.abs(A).max()
    deviations = A.std(axis=0)
    A = A / np.where(deviations > 0, deviations, 1.0) if trial.setting("standardise") else A
    values = np.linalg.svd(A, compute_uv=False) ** 2
    shares = np.append(values / values.sum(), 0.0)
    q = int(np.searchsorted(np.cumsum(shares), trial.setting("retained_variance", 1.0) - 1e-12)) + 1
    return bool(np.all(-np.diff(shares[: q + 1]) > 1e-6))
