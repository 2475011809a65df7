"""The laws of selectors: what must hold for every table and every setting."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import stableselect as ss
from stableselect.base import ScoreSelector

from .checks import (
    Refused,
    check_same,
    check_sentence,
    check_unchanged,
    expect,
    fit,
    fitted_state,
    may_refuse,
    must_fit,
    no_escaping_warnings,
)
from .selectors import draw_selector, uses_batches
from .tables import Generator, Table, draw_table, factors

BY_POSITION = {"RandomSelector", "ScorerSelectorNetwork", "CAE", "ConsensusSelector"}
"""Draw random numbers by feature position, so that the order of the features decides."""
UNIT_FREE = {"ColumnSubset", "ScorerSelector", "PFA", "UDFS", "NDFS", "AEFS", "AgnoSS", "GatedLaplacian"}
"""Documented not to depend on the unit of the whole table."""
GRAPH = {"LaplacianScore", "SPEC", "MCFS", "UDFS", "NDFS"}
COMPONENTS = {"PFA", "PivotedQR"}
"""Use the directions of principal components."""
GRADIENT = {"ScorerSelectorNetwork", "CAE", "FAE"}
"""Trained by Adam, which divides by the size of the gradient: where that vanishes, rounding decides (promises.md)."""
COUNTED = 1e-12
"""Directions of less than this share of the variance of features in units of their deviations count for nothing."""
ROUNDED = 8 * float(np.finfo(float).eps)
"""Rounding of a second moment, relative to the deviations of its two features."""
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


def row_order(trial: Trial) -> None:
    """Samples in another order."""
    order = trial.rng.permutation(len(trial.X))
    trial.same("other row order", must_fit("other row order", trial.selector, trial.X[order]))


def column_order(trial: Trial) -> None:
    """Features in another order."""
    order = trial.rng.permutation(trial.X.shape[1])
    place = np.argsort(order)
    moved = clone(trial.selector)
    for name in ("include", "exclude"):
        if trial.setting(name):
            moved.set_params(**{name: place[trial.setting(name)].tolist()})
    other = must_fit("columns", moved, trial.X[:, order])
    if isinstance(trial.selector, ScoreSelector) and tied(trial):  # "Exact ties go to the lowest index"
        return
    trial.same("other column order", other, order, scores=trial.clear)


def tied(trial: Trial) -> bool:
    """Tell whether a discarded feature scores as high as one that is not selected for being included."""
    scores, support = trial.fitted.scores_, trial.fitted.support_
    earned = np.setdiff1d(trial.fitted.selected_, trial.setting("include") or [])
    allowed = np.setdiff1d(np.flatnonzero(~support), trial.setting("exclude") or [])
    least, most = scores[earned].min(initial=np.inf), scores[allowed].max(initial=-np.inf)
    return bool(most >= least - 1e-9 * abs(least)) if earned.size else False


def form(trial: Trial) -> None:
    """The same table in another container or layout of memory."""
    X, names = trial.X, [f"f{j}" for j in range(trial.X.shape[1])]
    double, frozen = X.astype(np.float64), X.copy()
    frozen.flags.writeable = False
    forms: dict[str, Callable[[], Any]] = {
        "Fortran order": lambda: np.asfortranarray(X),
        "every second column": lambda: np.repeat(X, 2, axis=1)[:, ::2],
        "reversed strides": lambda: X[::-1].copy()[::-1],
        "read-only": lambda: frozen,
        "other byte order": lambda: X.astype(X.dtype.newbyteorder(">")),
        "double precision": lambda: double,
        "pandas": lambda: pd.DataFrame(X, columns=names),
        "polars": lambda: pl.DataFrame(double, schema=names, orient="row"),  # which it guesses where n = m
        "lists": double.tolist,
        **({"a tensor": lambda: import_module("torch").asarray(double)} if find_spec("torch") else {}),
        **{kind: lambda kind=kind: sparse.coo_array(double).asformat(kind) for kind in ("csr", "csc", "coo")},
    }
    what = str(trial.rng.choice(list(forms)))
    other = must_fit(what, trial.selector, forms[what]())
    trial.same(what, other)
    if what in ("pandas", "polars"):
        kept = [names[j] for j in sorted(other.selected_)]
        expect(list(other.get_feature_names_out()) == kept, f"{what}: other names than {kept}")


def threads(trial: Trial) -> None:
    """Two threads instead of one, on a table large enough for both."""
    X = factors(trial.rng, 300, 40)
    found = []
    for count in (1, 2):
        with threadpool_limits(count):
            found.append(fit(trial.selector, X))
    check_same("two threads", *found)


def weights_as_repeats(trial: Trial) -> None:
    """A weight of 2 is a sample listed twice."""
    counts = trial.rng.integers(0, 4, size=len(trial.X))
    counts[trial.rng.integers(len(counts))] = 1
    if 2 * np.count_nonzero(counts) <= trial.X.shape[1] < 2 * counts.sum():  # "Few samples" (promises.md)
        return
    weights, X = counts.astype(float), trial.X.copy()
    weighted = fit(trial.selector, X, sample_weight=weights)
    expect((weights == counts).all() and (X == trial.X).all(), "the weights or the table were changed")
    table = replace(trial.table, X=np.repeat(X, counts, axis=0))
    repeated = replace(trial, table=table, fitted=must_fit("repeats", trial.selector, table.X))
    if _to_rounding(repeated):  # repeats may make components of equal variance
        repeated.same_to_rounding("weights as repeats", repeated.fitted, weighted)


def unit(trial: Trial) -> None:
    """The whole table in another unit; powers of two are exact."""
    power = int(trial.rng.integers(-250, 250))
    other = must_fit(f"times 2^{power}", trial.selector, np.ldexp(trial.X.astype(np.float64), power))
    one, two = set(trial.fitted.selected_.tolist()), set(other.selected_.tolist())
    expect(one == two, f"times 2^{power}: features {sorted(one - two)} became {sorted(two - one)} of {len(one)}")


def refit(trial: Trial) -> None:
    """Fitted to another table in between."""
    selector = clone(trial.fitted)
    other = factors(trial.rng, 30, trial.X.shape[1])
    with no_escaping_warnings():
        selector.fit(other)
        selector.fit(trial.X)
    check_unchanged("fitted again", fitted_state(trial.fitted), fitted_state(selector))


def saved(trial: Trial) -> None:
    """Saved and loaded again."""
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        one, two = Path(folder, "one.sselect"), Path(folder, "two.sselect")
        ss.save(trial.fitted, one)
        loaded = ss.load(one)
        ss.save(loaded, two)
        expect(one.read_bytes() == two.read_bytes(), "saved again, the file differs")
    expect(vars(loaded).keys() == vars(trial.fitted).keys(), "loaded with other attributes")
    kept = loaded.transform(trial.X)
    expect((kept == trial.fitted.transform(trial.X)).all(), "transform differs after loading")
    expect((loaded.reconstruct(kept) == trial.fitted.reconstruct(kept)).all(), "reconstruct differs after loading")


def explained(trial: Trial) -> None:
    """The explanation is about the features selected."""
    explanation = trial.fitted.explain(trial.X)
    expect([kept.feature for kept in explanation.selected] == trial.fitted.selected_.tolist(), "other features")
    for lost in explanation.discarded:
        expect(np.isnan(lost.r2) or lost.r2 <= 1 + 1e-9, f"R2 of {lost.r2}")  # NaN for a constant feature


def partial_fits(trial: Trial) -> None:
    """Streamed in random blocks, against the moments of the whole table."""
    cuts = np.sort(trial.rng.integers(0, len(trial.X) + 1, size=trial.rng.integers(0, 4)))
    blocks = [block for block in np.split(trial.X[trial.rng.permutation(len(trial.X))], cuts) if len(block)]
    streamed = clone(trial.selector)
    with no_escaping_warnings():
        for block in blocks:
            streamed.partial_fit(block)
        whole = clone(trial.selector).fit_moments(ss.Moments.from_array(trial.X))
    trial.same_to_rounding(f"{len(blocks)} blocks", whole, streamed)


def centred(X: np.ndarray) -> np.ndarray:
    """Return the centred features, exactly zero for constant ones."""
    values = X.astype(np.float64)
    return np.where(np.ptp(values, axis=0) > 0, values - values.mean(axis=0), 0.0)


def loss(A: np.ndarray, chosen: list[int], ridge: float, limit: float = COUNTED) -> tuple[float, float]:
    """Return ColumnSubset's loss by its definition, a least-squares problem, and its rounding; A is centred.

    "Two features that differ by less than about 1e-6 of their spread count as one": directions with a share below
    ``limit`` of the variance of the chosen features, each in units of its own deviation, predict nothing.

    With B the coefficients of the residuals A B (those of the map, and of the features themselves), the loss is
    tr B'CB. It is the least there is, so that a small change D of C moves it by tr B'DB alone. Rounding changes C_ij
    by ROUNDED sqrt(C_ii C_jj), hence the loss by ROUNDED sum_j (sum_i |B_ij| sqrt(C_ii))^2: about ROUNDED of the total
    variance, but more, as much as what a direction explains times ROUNDED over its share, where chosen features are
    close to combinations of each other.
    """
    n, m = A.shape
    size = np.linalg.norm(A, axis=0)
    left = np.vstack([A[:, chosen], np.sqrt(n * ridge * np.mean(A**2)) * np.eye(len(chosen))])
    right = np.vstack([A, np.zeros((len(chosen), m))])
    unit = np.linalg.norm(left, axis=0)
    unit[unit == 0] = 1.0
    U, values, axes = np.linalg.svd(left / unit, full_matrices=False)
    kept = values**2 > limit * len(chosen)
    explained = U[:, kept].T @ right
    terms = size + (size[chosen] / unit) @ np.abs((axes[kept].T / values[kept]) @ explained)
    # Rounding also turns kept directions towards others, by ROUNDED k over the difference of their variances.
    near, far = values[kept, None], values[None, ~kept]
    turned = len(chosen) / (near**2 - far**2) * (far / near) * np.abs(explained @ (U[:, ~kept].T @ right).T)
    residual = right - U[:, kept] @ explained
    rounding = ROUNDED * float(np.sum(terms**2) + 2 * np.sum(turned))
    return float(np.sum(residual**2)) / (n * m), rounding / (n * m)


def optimum(trial: Trial) -> None:
    """Compare the objective with its definition, all single swaps, and all subsets where they are few."""
    fitted, m = trial.fitted, trial.X.shape[1]
    exponent = int(np.frexp(np.max(np.abs(trial.X)).astype(np.float64))[1])
    A = centred(np.ldexp(trial.X.astype(np.float64), -exponent))
    total, scale = float(np.mean(A**2)), np.ldexp(1.0, -2 * exponent)
    objective, bound = fitted.objective_ * scale, fitted.lower_bound_ * scale
    chosen, ridge = fitted.selected_.tolist(), fitted.ridge_
    # A direction just at the limit may count or not.
    both = [loss(A, chosen, ridge, (1 + side) * COUNTED) for side in (-0.01, 0.01)]
    mine, rounding = min(both, key=lambda one: abs(one[0] - objective))
    slack = 1e-8 * total + rounding
    expect(abs(mine - objective) <= slack, f"objective_ is {objective:.6g}, by definition {mine:.6g} of {total:.6g}")
    expect(bound <= objective + slack, "the lower bound is above the objective")
    include, exclude = trial.setting("include") or [], trial.setting("exclude") or []
    for out in set(chosen) - set(include):
        for into in set(range(m)) - set(chosen) - set(exclude):
            other = sum(loss(A, [into if j == out else j for j in chosen], ridge))
            expect(
                other >= mine - slack, f"{into} for {out} lowers the loss from {mine:.6g} to {other:.6g} of {total:.6g}"
            )
    if comb(m, len(chosen)) <= 300:
        allowed = [
            set(S)
            for S in combinations(range(m), len(chosen))
            if set(include) <= set(S) <= set(range(m)) - set(exclude)
        ]
        best = min(sum(loss(A, list(subset), ridge)) for subset in allowed)
        expect(bound <= best + slack, f"lower_bound_ {bound:.6g} is above the best loss {best:.6g} of {total:.6g}")


def scorer_losses(trial: Trial) -> None:
    """Compare the losses with the fitted network's own outputs."""
    fitted = trial.fitted
    X = trial.X.astype(np.float64)
    total = float(np.mean(centred(X) ** 2)) + 1e-20 * float(np.max(np.abs(X))) ** 2
    expect(fitted.lower_bound_ <= fitted.objective_ + 1e-8 * total, "the lower bound is above the objective")
    for path in ("selector", "scorer"):
        given, mine = getattr(fitted, f"loss_{path}_"), float(np.mean((X - fitted.forward(X, path)) ** 2))
        expect(abs(given - mine) <= 1e-7 * total, f"loss_{path}_ {given:.6g}, the network's {mine:.6g} of {total:.6g}")


def _cell(value: float) -> Callable[[np.ndarray, Generator], Any]:
    def change(X: np.ndarray, rng: Generator) -> Any:
        bad = X.astype(np.float64)
        bad[rng.integers(len(X)), rng.integers(X.shape[1])] = value
        return bad

    return change


BAD_TABLES: dict[str, Callable[[np.ndarray, Generator], Any]] = {
    "nan": _cell(np.nan),
    "infinity": _cell(-np.inf),
    "one dimension": lambda X, rng: X[:, 0],
    "three dimensions": lambda X, rng: X[None],
    "no samples": lambda X, rng: X[:0],
    "no features": lambda X, rng: X[:, :0],
    "text": lambda X, rng: X.astype(str).astype(object) + "x",
    "complex": lambda X, rng: X + 1j,
    "none": lambda X, rng: None,
    "a name": lambda X, rng: "table.csv",
    "a dictionary": lambda X, rng: {"a": X},
    "dates": lambda X, rng: np.zeros(X.shape, "M8[s]"),
    "masked": lambda X, rng: np.ma.masked_array(X, np.arange(X.size).reshape(X.shape) == rng.integers(X.size)),
    "ragged": lambda X, rng: [[1.0, 2.0], [3.0]],
    "nan in a frame": lambda X, rng: pd.DataFrame(_cell(np.nan)(X, rng)),
    "nan in sparse": lambda X, rng: sparse.csr_array(_cell(np.nan)(X, rng)),
}
BAD_SETTINGS: dict[str, tuple[Any, ...]] = {
    "n_features_to_select": (0, -1, 10**6, 1.5, np.nan, "many", True, [2]),
    "ridge": (-1.0, np.nan, np.inf, "large", None),
    "include": ([10**6], ["no such name"], [0.5], 3.5),
    "exclude": ([10**6], ["no such name"], [None]),
    "random_state": ("seed", -1),
    "cv": (1, 0, "five"),
    "epochs": (0, -3, 1.5),
    "n_neighbors": (0, 2.5),
}


def bad_input(trial: Trial) -> None:
    """Give something that must be refused; a sentence says so, and the fitted selector stays as it was."""
    rng, selector, table, given = trial.rng, trial.fitted, trial.X, {}
    settings = [name for name in BAD_SETTINGS if name in selector.get_params(deep=False)]
    parameters = selector.get_params(deep=False)
    if rng.random() < 0.6:
        what = str(rng.choice(list(BAD_TABLES)))
        table = BAD_TABLES[what](table, rng)
    elif rng.random() < 0.3 and hasattr(selector, "partial_fit") and not uses_batches(selector):
        n = len(table)
        bad = [np.ones(n + 1), -np.ones(n), np.full(n, np.nan), np.zeros(n), np.ones((n, 2)), ["a"] * n]
        bad += [np.full(n, 1e308)]
        position = int(rng.integers(len(bad) - (n == 1)))
        what, given = f"weights {position}", {"sample_weight": bad[position]}
    else:
        name = str(rng.choice(settings))
        value = BAD_SETTINGS[name][rng.integers(len(BAD_SETTINGS[name]))]
        what = f"{name}={value!r}"
        selector.set_params(**{name: value})
    before = fitted_state(selector)
    try:
        with no_escaping_warnings():
            selector.fit(table, **given)
    except Exception as error:
        check_sentence(error)
        check_unchanged(f"a failed fit ({what})", before, fitted_state(selector))
    else:
        expect(False, f"{what} was accepted")
    finally:
        selector.set_params(**parameters)


def _to_rounding(trial: Trial) -> bool:
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


def _places_do_not_matter(trial: Trial) -> bool:
    """Tell whether the order of the features may not change the choice: they do not tie, nor are drawn by position."""
    # Two standardised features have the same loadings. Folds follow the positions of the features.
    ties = trial.table.ties or (trial.setting("standardise", False) and trial.X.shape[1] == 2)
    return not (ties or trial.name in BY_POSITION or trial.held_out) and _to_rounding(trial)


def _streams(trial: Trial) -> bool:
    return hasattr(trial.selector, "partial_fit") and not uses_batches(trial.selector)


def _for_error(trial: Trial) -> bool:
    """Tell whether neither stability nor the number of features is measured, which takes folds."""
    measured = trial.setting("criterion") == "stability" or trial.setting("min_stability") is not None
    return not measured and trial.setting("n_features_to_select") != "auto"


LAWS: dict[str, tuple[Callable[[Trial], None], Callable[[Trial], bool], float]] = {
    # Samples are sorted before anything is summed; "Adam on mini-batches of samples" follows their order.
    "row order": (row_order, lambda t: not uses_batches(t.selector), 4),
    "column order": (column_order, _places_do_not_matter, 2),
    "form": (form, lambda t: not uses_batches(t.selector), 3),
    "threads": (threads, lambda t: t.table.kind == "factors" and _to_rounding(t), 1),
    "weights as repeats": (weights_as_repeats, lambda t: _streams(t) and _to_rounding(t), 2),
    # "A sample's own values decide its fold", so that a unit moves what is held out.
    "unit": (unit, lambda t: t.name in UNIT_FREE and not t.table.extreme and not t.held_out, 1),
    "refit": (refit, lambda t: True, 1),
    "saved": (saved, lambda t: True, 1),
    "explained": (explained, lambda t: True, 1),
    "partial fits": (partial_fits, lambda t: _streams(t) and _to_rounding(t) and _for_error(t), 2),
    "optimum": (
        optimum,
        lambda t: t.name == "ColumnSubset" and t.setting("exchange") and _for_error(t) and t.X.shape[1] <= 12,
        3,
    ),
    "scorer losses": (scorer_losses, lambda t: t.name == "ScorerSelector", 2),
    "bad input": (bad_input, lambda t: True, 2),
}
"""By name: the law, for which trials it holds by the documentation, and how often to draw it."""


def selector_case(rng: Generator, note: Any, classes: Mapping[str, type] | None = None) -> None:
    """Draw a table, a selector and a law, and hold the law."""
    trial = Trial(rng, draw_table(rng), None)
    trial.selector = draw_selector(rng, trial.table, classes)
    note.kind, note.subject = trial.table.kind, trial.name
    note.detail = f"{trial.selector!r} on {trial.table}".replace("\n", " ")
    odds = {name: law[2] for name, law in LAWS.items() if law[1](trial)}
    note.law = str(rng.choice(list(odds), p=np.array(list(odds.values())) / sum(odds.values())))
    given, state = trial.X.copy(), np.random.get_state()[1].copy()  # noqa: NPY002
    try:
        trial.fitted = fit(trial.selector, trial.X)
    except Refused as refused:
        expect(may_refuse(refused, trial.table.extreme), f"refused: {refused}")
        raise
    always(trial)
    LAWS[note.law][0](trial)
    expect((given == trial.X).all(), "the table was changed")
    expect((state == np.random.get_state()[1]).all(), "the global random state was changed")  # noqa: NPY002
