"""The common selector: it checks the input once, calls one method that selects, and derives everything else."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core import (
    BLOCK_ELEMENTS,
    Array,
    Moments,
    Roles,
    check_finite,
    column_roles,
    float64,
    index,
    is_foreign,
    like,
    namespace,
    pseudo_inverse,
    to_numpy,
)
from ._explanation import Explanation, build_explanation
from ._validation import check_columns, resolve_k


@dataclass
class Selection:
    """What a method hands back to :class:`BaseSelector`.

    Attributes
    ----------
    order : sequence of int
        The k chosen columns, best first or in order of selection.
    scores : ndarray of shape (m,)
        Larger is better.
    coefficients : ndarray of shape (k, m) or None
        The linear map from the chosen columns, in ``order``, to all centred columns; None for least squares.
    mean : ndarray of shape (m,) or None
        The column means that go with ``coefficients``.
    intercept : ndarray of shape (m,) or None
        The map's intercept; None for the one that maps the means to themselves.
    """

    order: list[int]
    scores: np.ndarray
    coefficients: np.ndarray | None = None
    mean: np.ndarray | None = None
    intercept: np.ndarray | None = None


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


class BaseSelector(SelectorMixin, BaseEstimator):
    """Base of every selector: implement ``_select(X, k)`` and inherit the rest.

    Attributes
    ----------
    support_ : ndarray of bool, shape (m,)
        True for the kept columns.
    selected_ : ndarray of int, shape (k,)
        The kept columns in order of selection, best first.
    ranking_ : ndarray of int, shape (m,)
        1 is best; the kept columns have 1 to k in order of selection, the others follow by score.
    scores_ : ndarray of float, shape (m,)
        Larger is better; no dropped column scores above a kept one.
    reconstruction_coef_ : ndarray of shape (k, m)
        Linear map from the kept columns, in the order of :meth:`transform`, to all columns. For a network that is not
        linear it is the least-squares map, and :meth:`reconstruct` uses the network.
    reconstruction_intercept_ : ndarray of shape (m,)
        Its intercept.
    """

    n_features_to_select: int | float | str | None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the columns.

        Parameters
        ----------
        X : array, data frame, torch tensor or sparse matrix of shape (n, m)
            The table.
        y : None
            Ignored, for scikit-learn pipelines.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            X = self._check_table(X)
            k = resolve_k(self.n_features_to_select, X.shape[1])
            self._store(self._select(X, k), X)
        return self

    @abstractmethod
    def _select(self, X: Array, k: int) -> Selection:
        """Choose k columns of the checked table X."""

    def transform(self, X: Any) -> Any:
        """Return the kept columns of X, in the table's order.

        Parameters
        ----------
        X : array, data frame, torch tensor or sparse matrix of shape (n, m)
            A table with the columns of the one fitted on.

        Returns
        -------
        array of shape (n, k)
        """
        if not is_foreign(X):
            return super().transform(X)
        check_is_fitted(self)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has shape {tuple(X.shape)}, but {self.n_features_in_} columns are expected.")
        xp = namespace(X)
        return xp.take(X, index(np.flatnonzero(self.support_), X, xp), axis=1)

    def reconstruct(self, X_selected: Any) -> Array:
        """Rebuild all columns from the kept ones.

        Parameters
        ----------
        X_selected : array, data frame, sparse matrix or torch tensor of shape (n, k)
            The kept columns, in the order of :meth:`transform`; a data frame's columns are found by name.

        Returns
        -------
        array of shape (n, m)
            Every column as predicted from the kept ones.
        """
        check_is_fitted(self)
        k = int(self.support_.sum())
        if hasattr(X_selected, "columns") and hasattr(self, "feature_names_in_"):
            wanted = list(self.get_feature_names_out())
            missing = [name for name in wanted if name not in list(X_selected.columns)]
            if missing:
                raise ValueError(f"reconstruct needs the kept columns, but {missing[0]!r} is missing.")
            X_selected = X_selected[wanted]
        if is_foreign(X_selected):
            xp = namespace(X_selected)
            check_finite(X_selected)
        else:
            if sparse.issparse(X_selected):
                X_selected = X_selected.toarray()
            X_selected, xp = np.asarray(X_selected, dtype=np.float64), namespace()
            check_finite(X_selected)
        if X_selected.ndim != 2 or X_selected.shape[1] != k:
            raise ValueError(
                f"reconstruct expects the {k} kept columns, got an array of shape {tuple(X_selected.shape)}; "
                "pass the output of transform."
            )
        values = xp.astype(X_selected, xp.float64, copy=False)
        decoded = self._decode(to_numpy(values))
        if decoded is not None:
            return like(decoded, values, xp)
        coef = like(self.reconstruction_coef_, values, xp)
        return values @ coef + like(self.reconstruction_intercept_, values, xp)[None, :]

    def _decode(self, values: np.ndarray) -> np.ndarray | None:
        """Rebuild all columns from the kept ones, in the table's order, where the map is not linear."""
        return None

    def explain(self, X: Any = None) -> Explanation:
        """Say what stands for every dropped column and what could stand in for every kept one.

        Parameters
        ----------
        X : table of shape (n, m), optional
            The table fitted on. Selectors that work from moments do not need it.

        Returns
        -------
        Explanation
        """
        check_is_fitted(self)
        roles = self._stored_roles()
        if roles is None:
            if X is None:
                raise ValueError(f"{type(self).__name__} keeps no moments of the table; call explain(X) with it.")
            gram, _ = Moments.from_array(self._check_table(X, reset=False)).operator().normalised()
            found = column_roles(gram, self.selected_.tolist(), 0.0)
            roles = found.r2, found.shares, found.substitutes, found.costs
        return build_explanation(getattr(self, "feature_names_in_", None), self.selected_, *roles)

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the fitted selector to one file, which :func:`stableselect.load` reads.

        The file is a zip of JSON and plain arrays, without pickles. A parameter that is neither data nor a random
        generator, such as a function, is not stored: ``load`` asks for it. Callbacks and metadata requests are dropped.
        A file that is replaced keeps its permissions, and a link is followed.

        Parameters
        ----------
        path : str or path
            The file, by convention with the suffix ``.sselect``.
        overwrite : bool, default=False
            Whether to replace a file of that name.
        """
        from ..persistence import save  # it reads the registry, which needs this module

        save(self, path, overwrite=overwrite)

    def _stored_roles(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
        """Return R2, shares, substitutes and their costs where ``fit`` kept them."""
        return getattr(self, "_roles", None)

    def _keep_roles(self, roles: Roles) -> None:
        self._roles = (roles.r2, roles.shares, roles.substitutes, roles.costs)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def _check_table(self, X: Any, *, reset: bool = True) -> Array:
        """Return X as a dense array, tensor or CSR matrix of finite numbers, and note its columns."""
        X = self._check_tensor(X, reset) if is_foreign(X) else self._check_array(X, reset)
        check_finite(X, names=getattr(self, "feature_names_in_", None))
        return X

    def _check_array(self, X: Any, reset: bool) -> Array:
        check_columns(X)
        return validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, reset=reset)

    def _check_tensor(self, X: Array, reset: bool) -> Array:
        xp = namespace(X)
        if getattr(X, "is_sparse", False) or getattr(X, "is_sparse_csr", False):
            raise ValueError("Sparse tensors are not supported; pass a scipy sparse matrix or a dense tensor.")
        if X.ndim != 2 or 0 in X.shape:
            raise ValueError(f"Expected a table with rows and columns, got shape {tuple(X.shape)}.")
        if xp.isdtype(X.dtype, "complex floating"):
            raise ValueError("Complex data not supported; pass the real and imaginary parts as columns of their own.")
        if reset:
            self.n_features_in_ = int(X.shape[1])
            self.__dict__.pop("feature_names_in_", None)
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} columns, but {self.n_features_in_} are expected.")
        return X.detach() if hasattr(X, "detach") else X

    def _store(self, selection: Selection, X: Array = None) -> None:
        """Derive every fitted attribute from a selection."""
        m = self.n_features_in_
        order = np.asarray(selection.order, dtype=np.int64)
        scores = np.asarray(selection.scores, dtype=np.float64)
        self.selected_ = order
        self.support_ = np.zeros(m, dtype=bool)
        self.support_[order] = True
        # A score must not put a dropped column above a kept one, whatever order the search found.
        self.scores_ = np.where(self.support_, scores, np.minimum(scores, scores[order].min()))
        by_score = np.argsort(-self.scores_, kind="stable")
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
        return tags


def least_squares_map(X: Array, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least-squares coefficients (k x m) from the chosen columns of X to all, and the column means.

    Only the moments between the chosen and all columns are gathered, a block of rows at a time; the cost is n k m.
    """
    n, m = X.shape
    step = max(1024, BLOCK_ELEMENTS // m)
    xp = namespace(X)
    blocks = [slice(start, start + step) for start in range(0, n, step)]

    def dense(part: slice) -> Array:
        return float64(X[part].toarray() if sparse.issparse(X) else X[part], xp)

    mean = sum(xp.sum(dense(part), axis=0) for part in blocks) / n
    cross: Array = 0.0
    for part in blocks:
        centred = dense(part) - mean[None, :]
        cross = cross + xp.take(centred, index(chosen, centred, xp), axis=1).T @ centred
    moments = to_numpy(cross)
    return pseudo_inverse(moments[:, chosen], 0.0, namespace()) @ moments, to_numpy(mean)
