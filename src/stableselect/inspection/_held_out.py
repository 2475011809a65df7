"""What a selection is worth on samples it has not seen, beside random features, the mean and principal components."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._core import check_batch, refit_errors, splits_of, units
from .._refit import resolve_names
from ..base import BaseSelector, Figures, HeldOutResiduals, check_table, whole_fits
from ..metrics import mean_predictor_error, pca_reconstruction_error

_TEST_FRACTION = 0.2
_DRAWS = 10
_REFIT_SAMPLES = 10_000
"""More samples than this, and than 20 per selected feature, make the refits slower and no better."""


@dataclass(frozen=True)
class HeldOutErrors(Figures):
    """Mean squared errors on samples kept out of both selection and refit, averaged over samples and features.

    Attributes
    ----------
    n_train, n_refit, n_test : int
        Samples that the features were selected on, that the maps were fitted on, and that were held out.
    n_selected : int
        Number of features selected without the held-out samples.
    selection : float
        Error of reconstructing all features from these by a ridge regression.
    random, random_std : float
        The same for features drawn at random, which obey ``include`` and ``exclude``: mean and standard deviation.
    n_draws : int
        Number of random draws.
    mean_predictor : float
        Error of predicting the mean, without any features.
    pca : float
        Error of as many principal components; a guide to what can be reached, not a bound on held-out samples.
    selection_least_squares, random_least_squares : float
        Errors of maps fitted by least squares.
    """

    n_train: int
    n_refit: int
    n_test: int
    n_selected: int
    selection: float
    random: float
    random_std: float
    n_draws: int
    mean_predictor: float
    pca: float
    selection_least_squares: float
    random_least_squares: float


def held_out_report(
    selector: BaseSelector,
    X: Any,
    *,
    scaler: Any = None,
    cv: Any = None,
    groups: Any = None,
    batch: Any = None,
    random_state: int | np.random.RandomState | None = 0,
    residuals: list[HeldOutResiduals] | None = None,
    all_folds: bool = False,
) -> HeldOutErrors:
    """Select features on a part of the samples and measure the reconstruction of the rest.

    Parameters
    ----------
    selector : BaseSelector
        The selector; a clone of it is fitted.
    X : array or data frame of shape (n_samples, n_features)
        At least two samples. Values may be missing for a selector with ``missing="em"``: errors are then
        over those that are there.
    scaler : transformer, optional
        For example ``StandardScaler()``. A clone is fitted on the samples selected on, and errors are in scaled units.
    cv : splitter, iterable or None, default=None
        None: one random split, which holds out 20 %. Otherwise a scikit-learn splitter or (train, test) indices; the
        errors, and the numbers of samples and features, are means over its splits.
    groups : array-like of shape (n_samples,), optional
        Labels of samples that belong together, for a ``cv`` that keeps them together; a selector that holds samples
        out or draws them gets them too.
    batch : array-like of shape (n_samples,), optional
        Labels of batches: every batch is moved to the mean of all, by the samples selected on, as in
        :meth:`ColumnSubset.fit() <stableselect.ColumnSubset.fit>`.
    random_state : int, RandomState or None, default=0
        Draws the held-out samples and the random features.
    residuals : list, optional
        Gets what a linear map leaves of the held-out samples, in the units of X: one entry for every split.
    all_folds : bool, default=False
        Whether ``residuals`` gets four more entries, where there is no ``cv``: the other samples, held out in turn.

    Returns
    -------
    HeldOutErrors
        Errors of the selection, of random features, of the mean and of principal components. Where every feature is
        selected nothing has to be reconstructed, and all but the error of the mean are 0.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from stableselect import ColumnSubset
    >>> from stableselect.inspection import held_out_report
    >>> errors = held_out_report(ColumnSubset(5), load_wine().data, scaler=StandardScaler())
    >>> errors.n_test, errors.pca < errors.selection < errors.random < errors.mean_predictor
    (36, True)
    """
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    X = check_table(X, "X", missing=getattr(selector, "missing", "raise"))
    n, m = X.shape
    if n < 2:
        raise ValueError(f"held_out_report needs at least 2 samples, got {n}.")
    model = clone(selector)
    roles = resolve_names(model, m, names)
    rng = check_random_state(random_state)
    labels: Any = None if groups is None else units(groups, n)[0]
    codes = None if batch is None else check_batch(batch)[1]
    if codes is not None and len(codes) != n:
        raise ValueError(f"batch must hold one label for each of the {n} samples, but holds {len(codes)}.")

    def fitted(fit_on: np.ndarray, held_out: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        """Fit the selector, note what it leaves of the held-out samples, and return it with both parts, scaled."""
        train, test, unit = X[fit_on], X[held_out], 1.0
        if codes is not None:
            train, test = _within_batches(train, codes[fit_on], test, codes[held_out])
        if scaler is not None:
            own = clone(scaler)
            train, test = own.fit_transform(train), own.transform(test)
            zero, one = (own.inverse_transform(np.full((1, m), value)) for value in (0.0, 1.0))
            unit = one - zero
        fresh = clone(model)
        by_group = labels is not None and getattr(fresh, "_keeps_groups", bool)()
        with whole_fits():
            fresh.fit(train, **({"groups": labels[fit_on]} if by_group else {}))
        if residuals is not None:
            left = _residuals(fresh, train, test)
            residuals.append(replace(left, residuals=left.residuals * unit))
        return fresh, train, test

    if cv is None:
        order = rng.permutation(n)
        n_test = max(1, round(_TEST_FRACTION * n))
        found = _errors(*fitted(order[n_test:], order[:n_test]), roles, rng)
        for rows in np.array_split(order[n_test:], round(1 / _TEST_FRACTION) - 1) if all_folds else ():
            with suppress(ValueError):  # the samples that are left may be too few, or too much alike
                fitted(np.setdiff1d(order, rows), rows)
        return found
    splits = splits_of(cv, X, groups)
    parts = [astuple(_errors(*fitted(rng.permutation(train), test), roles, rng)) for train, test in splits]
    means = np.mean(parts, axis=0)
    return HeldOutErrors(
        *(round(mean) if isinstance(one, int) else mean for mean, one in zip(means.tolist(), parts[0], strict=True))
    )


def _within_batches(
    train: np.ndarray, before: np.ndarray, test: np.ndarray, after: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return both tables with every batch moved to the mean of all; a batch without training samples stays."""
    moves = np.zeros((max(before.max(), after.max()) + 1, train.shape[1]))
    for code in np.unique(before):
        moves[code] = train[before == code].mean(axis=0) - train.mean(axis=0)
    return train - moves[before], test - moves[after]


def _residuals(model: Any, train: np.ndarray, test: np.ndarray) -> HeldOutResiduals:
    """Return what a linear map leaves of the held-out samples."""
    kept = model.support_
    seen, given = train[:, kept], test[:, kept]
    if hasattr(model, "location_"):
        seen = model._model().part(np.flatnonzero(kept)).fill(seen)
    if model._maps_linearly():
        rebuilt = model.reconstruct(given)
    else:
        rebuilt = given @ model.reconstruction_coef_ + model.reconstruction_intercept_
    return HeldOutResiduals.of(seen, test, rebuilt, kept)


def _errors(
    model: Any, train: np.ndarray, test: np.ndarray, roles: tuple[list[int], list[int]], rng: np.random.RandomState
) -> HeldOutErrors:
    """Return the errors of one split; the samples fitted on are in random order."""
    (include, exclude), m = roles, train.shape[1]
    chosen = model.selected_
    test, there, given = _completed(model, test)
    train = train if there is None else model._model().fill(train)

    # Samples are in random order, so the first ones are a fair part; every rival is fitted on the same ones.
    refit = train[: max(_REFIT_SAMPLES, 20 * chosen.size)]
    free = np.setdiff1d(np.arange(m), [*include, *exclude])
    rest = chosen.size - len(include)
    draws = [np.array([*include, *rng.choice(free, rest, replace=False)], dtype=int) for _ in range(_DRAWS)]

    if chosen.size == m:
        errors = [(0.0, 0.0)] * (_DRAWS + 1)
    else:
        errors = refit_errors(refit, given, [chosen, *draws], there)
    random = [ridge for ridge, _ in errors[1:]]
    return HeldOutErrors(
        n_train=train.shape[0],
        n_refit=refit.shape[0],
        n_test=test.shape[0],
        n_selected=int(chosen.size),
        selection=errors[0][0],
        random=float(np.mean(random)),
        random_std=float(np.std(random, ddof=1)),
        n_draws=_DRAWS,
        mean_predictor=mean_predictor_error(refit, test, where=there),
        pca=0.0 if chosen.size == m else pca_reconstruction_error(refit, test, chosen.size, where=there),
        selection_least_squares=errors[0][1],
        random_least_squares=float(np.mean([least_squares for _, least_squares in errors[1:]])),
    )


def _completed(
    model: Any, test: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None, Callable[[np.ndarray], np.ndarray]]:
    """Return held-out samples completed, which values were there, and the samples as some features show them.

    Missing values of these features are completed by the fitted selector's model, given these features alone.
    """
    if not hasattr(model, "location_"):
        return test, None, lambda features: test
    gaussian, whole = model._model(), model._model().fill(test)

    def given(features: np.ndarray) -> np.ndarray:
        seen = whole.copy()
        seen[:, features] = gaussian.part(features).fill(test[:, features])
        return seen

    return whole, ~np.isnan(test), given
