"""Judge any panel of features on held-out samples, beside random, selected and ideal ones of the same size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .._core import (
    BlockKFold,
    Moments,
    Subsample,
    SwapState,
    best_swap,
    feature_names,
    forward_search,
    held_out_splits,
    in_memory,
    open_columns,
    seed_sequence,
    to_numpy,
    units,
)
from ..base import check_count, check_labels, check_some_selected, check_table, resolve_columns
from ..subset import ColumnSubset
from ._panel_folds import measure_structure, ridge_weight
from ._panel_measures import Measures, unremarked
from ._panel_result import PanelChange, PanelEvaluation, PanelMember
from ._stability_analysis import stability_analysis

_REDUNDANT = 0.95
"""A member of which the others explain this fraction is redundant."""
_ADDED = 3
"""Features that the advice adds."""


def evaluate(
    panel: Iterable[str | int] | ArrayLike,
    X: Any,
    *,
    y: ArrayLike | None = None,
    scaler: Any = None,
    cv: Any = 5,
    groups: Any = None,
    n_random: int = 100,
    n_neighbors: int = 10,
    n_permutations: int = 20,
    n_resamples: int = 0,
    random_state: int | np.random.RandomState | None = 0,
) -> PanelEvaluation:
    """Judge a panel of features, wherever it comes from, on samples held out.

    Every figure comes from folds: a ridge map from the panel to all features is fitted on the other folds and measured
    on the one held out. Random panels, a selected one, principal components and the mean are measured on the same folds
    by the same map.

    Parameters
    ----------
    panel : sequence of str or int, or mask
        The features: names, indices or a Boolean mask. At least one, and not all.
    X : array or data frame of shape (n, m)
        The table.
    y : array-like of shape (n,), optional
        Class labels; with them, the accuracy of extra trees (50 of them) is compared too.
    scaler : transformer, optional
        For example ``StandardScaler()``, so that features in different units count alike. A clone is fitted on the
        samples of each fold that are fitted on.
    cv : int, splitter or iterable, default=5
        Number of folds, a scikit-learn splitter, or (train, test) indices.
    groups : array-like of shape (n,), optional
        Labels of samples that belong together, such as replicates or batches: they are held out together.
    n_random : int, default=100
        Random panels of the same size. Where there are no more others, all of them are taken.
    n_neighbors : int, default=10
        Neighbours to compare, at most as many as there are samples to fit on. In large tables up to 500 held-out
        samples look for them among up to 2,000 others.
    n_permutations : int, default=20
        Shuffled tables for the test whether there is anything to select; 0 leaves it out.
    n_resamples : int, default=0
        Subsamples of 80 % of the samples on which ``ColumnSubset`` is run to see how often it selects each member; 0
        takes the runs of the folds, which are there already.
    random_state : int, RandomState or None, default=0
        Decides the folds (where ``cv`` is an integer), the random panels, the shuffles and the trees.

    Returns
    -------
    PanelEvaluation

    See Also
    --------
    held_out_report : The error of what a selector selects.
    stability_analysis : How far a selector's choice repeats itself.

    Notes
    -----
    Explained variance is one minus the squared error over all held-out samples and all features, those of the panel
    included, over that of the mean. The ridge weight of every map has the smallest generalised cross-validation error
    on the samples fitted on. Swap and additions are found on all samples, by the training loss, and their gains
    measured on the folds; they were chosen with these samples in view, and so look slightly better than they are.

    The test whether there is anything to select lets a forward search select as many features as the panel has, at most
    ten, without the held-out samples, and compares what they explain with the same in tables whose features were
    shuffled one by one. It is about the table and not about the panel. It takes samples to be independent: features
    that drift together in time do explain each other.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from stableselect.inspection import evaluate
    >>> X = load_wine(as_frame=True).data
    >>> found = evaluate(["alcohol", "hue", "proline"], X, scaler=StandardScaler())
    >>> round(found.explained_variance, 2), found.n_beaten, found.nothing_to_select
    (0.43, 45, False)
    >>> found.swap.drop, found.swap.add, round(found.swap.gain, 2)
    ('proline', 'flavanoids', 0.08)
    """
    X, carried = in_memory(X, "evaluate")
    names = carried or feature_names(getattr(X, "columns", None))
    table = check_table(X, "X")
    n, m = table.shape
    chosen = _resolve(panel, m, names)
    k = chosen.size
    labels = None if y is None else check_labels(y, n, "y", "X")
    n_random, n_neighbors = check_count(n_random, "n_random", 1), check_count(n_neighbors, "n_neighbors", 1)
    for value, name in ((n_permutations, "n_permutations"), (n_resamples, "n_resamples")):
        if check_count(value, name, 0) == 1:
            raise ValueError(f"{name} must be 0 or at least 2 but is 1, which says nothing of the spread; raise it.")
    fold_seed, draw_seed, shuffle_seed, resample_seed = seed_sequence(random_state).spawn(4)
    splits = held_out_splits(cv, table, groups, fold_seed)
    rng = np.random.default_rng(draw_seed)

    whole = table if scaler is None else np.asarray(clone(scaler).fit_transform(table.copy()))
    unit = float(np.max(np.abs(whole - whole.mean(axis=0))))
    if not np.ptp(whole, axis=0).any():  # a mean may be off by rounding
        raise ValueError("X must have a feature that varies but all are constant; there is nothing to judge.")
    swapped, added = _advice(whole / unit, chosen)
    panels = [chosen, *(np.delete(chosen, i) for i in range(k))]
    if swapped is not None:
        panels.append(np.where(chosen == swapped[0], swapped[1], chosen))
    panels += [np.array([*chosen, *added[: i + 1]]) for i in range(len(added))]
    random = _random_panels(m, chosen, n_random, rng)
    together = None
    if groups is not None or isinstance(cv, BlockKFold):
        together = (cv if isinstance(cv, BlockKFold) else None), units(groups, n)[0]
    found = Measures(table, unit, labels, scaler, splits, panels, random, n_neighbors, rng, together)

    def label(j: Any) -> str | int:
        return int(j) if names is None else names[int(j)]

    explained = 1 - found.errors.sum(axis=1) / found.total.sum()
    # A mean can miss a constant by rounding.
    total = np.where((found.total > 0) & (table != table[0]).any(axis=0), found.total, np.nan)
    from_others = 1 - found.errors[1 + np.arange(k), chosen] / total[chosen]
    selections = [np.isin(chosen, selected) for selected in found.selections]
    if n_resamples:
        parts = Subsample(n_resamples, random_state=resample_seed)
        with unremarked():
            runs = stability_analysis(ColumnSubset(k), whole, cv=parts, groups=groups, similarity=False)
        selections = list(runs.supports[:, chosen])
    swap = None
    if swapped is not None:
        swap = PanelChange(label(swapped[0]), label(swapped[1]), float(explained[1 + k] - explained[0]))
    gains = np.diff([explained[0], *explained[1 + k + (swap is not None) :]])
    structure = None
    if n_permutations:
        structure = measure_structure(whole / unit, splits, k, n_permutations, np.random.default_rng(shuffle_seed))
    return PanelEvaluation(
        panel=[label(j) for j in chosen],
        n_samples=n,
        n_features=m,
        n_splits=len(splits),
        comparison=found.comparison(),
        random=found.random,
        members=[
            PanelMember(label(j), float(explained[0] - without), float(r2), bool(r2 >= _REDUNDANT), float(often))
            for j, without, r2, often in zip(
                chosen, explained[1 : 1 + k], from_others, np.mean(selections, axis=0), strict=True
            )
        ],
        r2=1 - found.errors[0] / total,
        feature_names=[label(j) for j in range(m)],
        swap=swap,
        additions=[PanelChange(None, label(j), float(gain)) for j, gain in zip(added, gains, strict=True)],
        structure=structure,
        n_neighbors=found.n_neighbors,
        random_state=int(random_state) if isinstance(random_state, Integral) else None,
    )


def _resolve(panel: Any, m: int, names: Sequence[str] | None) -> np.ndarray:
    """Return the panel as sorted indices; raise where it names no feature, one twice, or all."""
    if not isinstance(panel, str) and np.asarray(panel).dtype.kind == "b":
        chosen = check_some_selected(np.asarray(panel), m)
    else:
        given: list[Any] = [panel] if isinstance(panel, str | Integral) else list(() if panel is None else panel)
        found = resolve_columns(given, m, names, "panel")
        if not found:
            raise ValueError("panel must hold at least one feature but is empty; name one or more.")
        if len(found) < len(given):
            each = [resolve_columns([feature], m, names, "panel")[0] for feature in given]
            twice = next(feature for i, feature in enumerate(given) if each[i] in each[:i])
            raise ValueError(f"panel must hold distinct features but holds {twice!r} twice; name each feature once.")
        chosen = np.sort(np.array(found, dtype=np.intp))
    if chosen.size == m:
        raise ValueError(f"panel holds all {m} features, so nothing is left to reconstruct; leave some of them out.")
    return chosen


def _random_panels(m: int, chosen: np.ndarray, wanted: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return panels of the same size; all others where there are no more than wanted."""
    if comb(m, chosen.size) - 1 <= wanted:
        return [np.array(panel) for panel in combinations(range(m), chosen.size) if panel != tuple(chosen.tolist())]
    return [np.sort(rng.choice(m, chosen.size, replace=False)) for _ in range(wanted)]


def _advice(X: np.ndarray, chosen: np.ndarray) -> tuple[tuple[int, int] | None, list[int]]:
    """Return the best swap (feature to drop, feature to add) and the next features to add, by the training loss."""
    gram, k = Moments.from_array(X).operator(), chosen.size
    rows = to_numpy(gram.rows(chosen))
    alpha = ridge_weight(rows, rows[:, chosen], gram.trace(), len(X))[0]
    state = SwapState(gram, chosen.tolist(), alpha)
    gain, rounding, position, feature = best_swap(state, open_columns(gram, chosen.tolist()), ())
    swap = (int(chosen[position]), int(feature)) if gain > max(rounding, 0.0) else None
    more = min(k + _ADDED, gram.n_features)
    return swap, forward_search(gram, more, alpha, include=chosen.tolist())[k:]
