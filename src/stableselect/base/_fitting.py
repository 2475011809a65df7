"""What every fit shares: the features asked for, the table, and the attributes, which all follow from the selection."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core import (
    Array,
    Features,
    Moments,
    Roles,
    Stream,
    as_numbers,
    check_columns,
    check_values,
    container_of,
    in_memory,
    is_foreign,
    least_squares_map,
    open_table,
    row_blocks,
    significant,
)


class UnevenFoldsWarning(UserWarning):
    """Folds of very different sizes; ``fold_sizes_`` of the fitted selector has them."""


def warn_if_uneven(folds: Sequence[Moments]) -> None:
    """Warn of folds of very different numbers of samples."""
    sizes = [fold.n_samples for fold in folds]
    if 2 * len(sizes) * min(sizes) < sum(sizes):
        warnings.warn(
            f"The {len(sizes)} folds of {sum(sizes)} samples hold {min(sizes)} to {max(sizes)} of them, so what is "
            "chosen by held-out error is less certain; cv=KFold(...) of scikit-learn gives even folds.",
            UnevenFoldsWarning,
            stacklevel=4,
        )


@dataclass
class Selection:
    """What a method finds, from which :class:`BaseSelector` derives its fitted attributes.

    Attributes
    ----------
    order : sequence of int
        The k selected features, best first or in order of selection.
    scores : ndarray of shape (m,)
        Larger is better.
    coefficients : ndarray of shape (k, m) or None
        The linear map from the selected features, in ``order``, to all centred features; None for least squares.
    mean : ndarray of shape (m,) or None
        The feature means that go with ``coefficients``.
    intercept : ndarray of shape (m,) or None
        The map's intercept; None for the one that maps the means to themselves.
    include : sequence of int
        Features that were selected whatever they score.
    """

    order: list[int]
    scores: np.ndarray
    coefficients: np.ndarray | None = None
    mean: np.ndarray | None = None
    intercept: np.ndarray | None = None
    include: Sequence[int] = ()


@contextmanager
def unchanged_on_error(selector: BaseEstimator) -> Iterator[None]:
    """Give a selector its earlier attributes back when a fit fails."""
    before = dict(selector.__dict__)
    try:
        yield
    except BaseException:
        selector.__dict__.clear()
        selector.__dict__.update(before)
        raise


class Fitting(SelectorMixin, BaseEstimator):
    """The part of a selector that a fit passes through: it reads the table, and stores what was selected."""

    n_features_in_: int
    feature_names_in_: np.ndarray

    def _check_table(self, X: Any, *, reset: bool = True) -> Array:
        """Return X as a dense array, tensor or CSR matrix of finite numbers, and note its features.

        Containers that are not in memory are refused.
        """
        X, names = (X, None) if isinstance(X, np.ndarray) else in_memory(X, type(self).__name__)
        return self._check_plain(X, names, reset)

    def _open_table(self, X: Any, weights: Any = None, *, reset: bool = True) -> Array | Stream:
        """Return X as :meth:`_check_table` does, or as a stream where it is elsewhere and has more than one piece."""
        if isinstance(X, np.ndarray) or container_of(X) is None:
            return self._check_plain(X, None, reset)
        opened = open_table(X, weights, None if reset else self._features(), getattr(self, "missing", None))
        if not isinstance(opened, Stream):
            return self._check_plain(opened[0], opened[1].names, reset)
        if reset:
            self._note_features(opened.shape[1], opened.features.names)
        return opened

    def _read_pieces(self, X: Any) -> Iterator[Array]:
        """Read samples with the features of those fitted on, piece by piece."""
        opened = self._open_table(X, reset=False)
        if isinstance(opened, Stream):
            yield from (samples for samples, _ in opened.pieces())
        else:
            yield from (opened[part] for part in row_blocks(*opened.shape))

    def _features(self) -> Features:
        """Return the features of the table fitted on."""
        names = getattr(self, "feature_names_in_", None)
        return Features(
            None if names is None else tuple(names), self.n_features_in_, before="the table fitted on", by_place=True
        )

    def _note_features(self, n_features: int, names: tuple[str, ...] | None) -> None:
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _check_plain(self, X: Any, names: tuple[str, ...] | None, reset: bool) -> Array:
        X = as_numbers(X)
        if is_foreign(X):
            X = self._check_tensor(X, names, reset)
        elif names is None:
            if hasattr(X, "columns"):
                check_columns(X)
            X = _canonical(validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, reset=reset))
        else:  # an array whose names were beside it; scikit-learn would take it for one without names
            X = _canonical(check_array(X, accept_sparse="csr", ensure_all_finite=False))
            if reset:
                self._note_features(int(X.shape[1]), names)
            else:
                X = self._features().admit(X, names, 1)
        check_values(X, names=getattr(self, "feature_names_in_", None), missing=getattr(self, "missing", None))
        return X

    def _check_tensor(self, X: Array, names: tuple[str, ...] | None, reset: bool) -> Array:
        if X.ndim != 2 or 0 in X.shape:
            raise ValueError(f"Expected a tensor with samples and features, got shape {tuple(X.shape)}.")
        if reset:
            self._note_features(int(X.shape[1]), names)
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {self.n_features_in_} are expected.")
        return X

    def _keep_roles(self, roles: Roles) -> None:
        """Keep R2, shares, replacements and their costs for :meth:`explain`."""
        self._roles = roles.explaining

    def _moments_folds(self) -> int | None:
        """Return into how many folds a caller must split the moments that replace the samples; None: it cannot.

        0 means that the moments of all samples together are enough.
        """
        return None

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def _store(self, selection: Selection, X: Array = None) -> None:
        """Derive every fitted attribute from a selection; X is needed where that has no coefficients."""
        m = self.n_features_in_
        order = np.asarray(selection.order, dtype=np.int64)
        scores = np.asarray(selection.scores, dtype=np.float64)
        self.__dict__.pop("_calibration", None)  # of an earlier fit
        self.selected_ = order
        self.support_ = np.zeros(m, dtype=bool)
        self.support_[order] = True
        # A score must not put a discarded feature above one that earned its place, whatever order the search found.
        earned = np.setdiff1d(order, selection.include)
        limit = scores[earned].min(initial=np.inf)
        self.scores_ = np.where(self.support_, scores, np.minimum(scores, limit))
        by_score = np.argsort(-significant(scores), kind="stable")
        self.ranking_ = np.empty(m, dtype=np.int64)
        self.ranking_[np.concatenate([order, by_score[~self.support_[by_score]]])] = np.arange(1, m + 1)
        coefficients, mean = selection.coefficients, selection.mean
        if coefficients is None or mean is None:
            coefficients, mean = least_squares_map(X, order)
        in_table_order = np.argsort(order)
        self.reconstruction_coef_ = coefficients[in_table_order]
        intercept = selection.intercept
        self.reconstruction_intercept_ = mean - mean[order] @ coefficients if intercept is None else intercept

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn what the input may be."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = getattr(self, "missing", "raise") != "raise"
        return tags


def resolve_k(n_features_to_select: int | float | str | None, m: int) -> int:
    """Return the number of features to select of m: an integer, a fraction rounded up, or None for half."""
    wanted = n_features_to_select
    if wanted is None:
        return max(1, m // 2)
    if isinstance(wanted, Integral) and not isinstance(wanted, bool | np.bool_):
        if not 1 <= wanted <= m:
            raise ValueError(f"n_features_to_select must be between 1 and the number of features, {m}; got {wanted}.")
        return int(wanted)
    if isinstance(wanted, Real) and not isinstance(wanted, bool | np.bool_) and 0 < wanted <= 1:
        return max(1, int(np.ceil(round(float(wanted) * m, 9))))
    raise ValueError(
        "n_features_to_select must be a whole number, a fraction above 0 and at most 1, or None for half; "
        f"got {wanted!r}."
    )


def resolve_columns(columns: Iterable[str | int] | None, m: int, names: Sequence[str] | None, what: str) -> list[int]:
    """Return feature indices for names or indices given by a user, in their order, each once."""
    if columns is None:
        return []
    if isinstance(columns, str | Integral):
        columns = [columns]
    if isinstance(columns, Iterator):
        raise ValueError(f"{what} is an iterator, which only the first fit could read; give a list.")
    ordered = not isinstance(columns, set | frozenset)
    lookup = {} if names is None else {str(name): j for j, name in enumerate(names)}
    found: list[int] = []
    for column in columns:
        if isinstance(column, str):
            if column not in lookup:
                close = get_close_matches(column, lookup, n=1)
                hint = f"did you mean {close[0]!r}?" if close else "check the spelling."
                if names is None:
                    hint = "the samples have no feature names; give indices."
                raise ValueError(f"Unknown feature {column!r} in {what}: {hint}")
            found.append(lookup[column])
        elif isinstance(column, Integral) and not isinstance(column, bool) and -m <= column < m:
            found.append(int(column) % m)
        else:
            raise ValueError(f"Unknown feature {column!r} in {what}: expected a name or an index from 0 to {m - 1}.")
    return list(dict.fromkeys(found if ordered else sorted(found)))


def resolve_include_exclude(
    include: Iterable[str | int] | None,
    exclude: Iterable[str | int] | None,
    m: int,
    k: int | None,
    names: Sequence[str] | None,
) -> tuple[list[int], list[int]]:
    """Return the indices to force in and to leave out, after checking that k features can be selected with them.

    Where k is None, at least one feature has to be left.
    """
    forced = resolve_columns(include, m, names, "include")
    barred = resolve_columns(exclude, m, names, "exclude")
    both = sorted(set(forced) & set(barred))
    if both:
        shown = repr(str(names[both[0]])) if names is not None else both[0]
        raise ValueError(f"Feature {shown} is in both include and exclude; remove it from one.")
    if k is None:
        if len(barred) == m:
            raise ValueError("exclude leaves no feature to select; exclude fewer.")
        return forced, barred
    if len(forced) > k:
        raise ValueError(
            f"include names {len(forced)} features but only {k} are to be selected; raise the number or include fewer."
        )
    if m - len(barred) < k:
        raise ValueError(
            f"exclude leaves {m - len(barred)} features but {k} are to be selected; lower the number or exclude fewer."
        )
    return forced, barred


def _canonical(X: Array) -> Array:
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
