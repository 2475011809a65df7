"""Features of an AnnData: selected by any selector, and written back beside the table."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from inspect import signature
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from .._core import read_parts, take_features
from ..base import BaseSelector
from ..subset import ColumnSubset


def select_features(
    adata: Any,
    n_top_genes: int | float | Literal["auto"] | None = None,
    *,
    layer: str | None = None,
    mask_var: Any = None,
    batch_key: str | None = None,
    key_added: str = "stableselect",
    inplace: bool = True,
    subset: bool = False,
    estimator: BaseSelector | None = None,
) -> Any:
    """Select the genes from which the others can best be reconstructed, and mark them in ``adata.var``.

    The values are taken as they are: normalise and log-transform counts first. Sparse matrices stay sparse, and an
    ``X`` in a file or on Dask is read chunk by chunk.

    Parameters
    ----------
    adata : AnnData
        Cells and genes.
    n_top_genes : int, float, "auto" or None, default=None
        How many to select, as ``n_features_to_select`` of the selector; None for what ``estimator`` says.
    layer : str, optional
        Select in ``adata.layers[layer]`` instead of ``adata.X``.
    mask_var : str or array of bool of shape (n_vars,), optional
        The genes to consider, for instance ``"highly_variable"``: the others are neither selected nor reconstructed.
    batch_key : str, optional
        Column of ``adata.obs`` with batches: genes are selected by what varies within them.
    key_added : str, default="stableselect"
        Name of what is written.
    inplace : bool, default=True
        Write to ``adata``; otherwise return a data frame.
    subset : bool, default=False
        Keep the selected genes only, in ``adata`` or in the data frame.
    estimator : BaseSelector, optional
        The selector, which is left as it was; None for :class:`~stableselect.ColumnSubset`.

    Returns
    -------
    DataFrame or None
        None with ``inplace=True``. Otherwise a row for every gene, with the columns of ``adata.var`` below.

    Notes
    -----
    With ``key_added="stableselect"`` these are written, or replaced:

    ``.var["stableselect"]``
        Whether the gene is selected.
    ``.var["stableselect_rank"]``, ``.var["stableselect_score"]``
        1 is best; larger scores are better. Not a number for genes that the mask leaves out.
    ``.var["stableselect_intercept"]``, ``.varm["stableselect"]``
        The linear map: every gene is predicted as its intercept plus its row times the selected genes, which are in the
        order of ``adata.var``.
    ``.uns["stableselect"]``
        Settings (those that are None are left out), versions, and the loss where the selector has one.

    Examples
    --------
    >>> import anndata
    >>> from sklearn.datasets import load_iris
    >>> import stableselect.pp
    >>> adata = anndata.AnnData(load_iris(as_frame=True).data.rename(index=str))
    >>> stableselect.pp.select_features(adata, 2)
    >>> adata.var_names[adata.var["stableselect"]].tolist()
    ['sepal length (cm)', 'petal length (cm)']
    """
    selector = _selector(estimator, n_top_genes)
    if not hasattr(adata, "var_names") or not hasattr(adata, "isbacked"):
        raise TypeError(f"Expected an AnnData, got a {type(adata).__name__}; call fit of a selector for other tables.")
    batch = {} if batch_key is None else {"batch": _batches(adata, batch_key, selector)}
    if not isinstance(key_added, str) or not key_added:
        raise TypeError(f"key_added must be a name, but is {key_added!r}.")
    if inplace and adata.isbacked and (subset or adata.is_view):
        what = "A file keeps all of its genes" if subset else "Nothing can be written to a view of a file"
        raise ValueError(f"{what}; pass adata.to_memory(), or inplace=False.")
    considered = np.flatnonzero(_mask(adata, mask_var))
    selector.fit(_table(adata, layer, considered), **batch)
    columns = _columns(adata, selector, considered, key_added)
    if not inplace:
        import pandas as pd

        frame = pd.DataFrame(columns, index=adata.var_names)
        return frame[frame[key_added]] if subset else frame
    for name, values in columns.items():
        adata.var[name] = values
    adata.varm[key_added] = _of_all(adata, considered, selector.reconstruction_coef_.T)
    adata.uns[key_added] = _settings(selector, layer=layer, mask_var=mask_var, batch_key=batch_key)
    if subset:
        adata._inplace_subset_var(columns[key_added])
    return None


def _selector(estimator: Any, n_top_genes: Any) -> BaseSelector:
    if estimator is None:
        return ColumnSubset(n_top_genes)
    if not isinstance(estimator, BaseSelector):
        raise TypeError(f"estimator must be a selector, such as ColumnSubset(), but is {estimator!r}.")
    selector = clone(estimator)
    return selector if n_top_genes is None else selector.set_params(n_features_to_select=n_top_genes)


def _batches(adata: Any, batch_key: Any, selector: BaseSelector) -> np.ndarray:
    """Return the batch of every cell."""
    if "batch" not in signature(selector.fit).parameters:
        raise ValueError(f"{type(selector).__name__} takes no batches; leave batch_key out, or use ColumnSubset.")
    if batch_key not in adata.obs:
        raise ValueError(f"batch_key is {batch_key!r}, but adata.obs has no such column.")
    return np.asarray(adata.obs[batch_key].astype(str))


def _mask(adata: Any, mask_var: Any) -> np.ndarray:
    """Return which genes are considered."""
    m = adata.n_vars
    if mask_var is None:
        return np.ones(m, dtype=bool)
    if isinstance(mask_var, str):
        if mask_var not in adata.var:
            raise ValueError(f"mask_var is {mask_var!r}, but adata.var has no such column.")
        mask_var = adata.var[mask_var]
    mask = np.asarray(mask_var)
    if mask.shape != (m,) or mask.dtype != bool or not mask.any():
        raise ValueError(f"mask_var must hold True or False for each of the {m} genes, and True for some of them.")
    return mask


def _table(adata: Any, layer: str | None, considered: np.ndarray) -> Any:
    """Return the values of the genes considered, with their names; in parts where they are in a file."""
    if layer is not None and layer not in adata.layers:
        raise ValueError(f"layer is {layer!r}, but adata has {', '.join(map(repr, adata.layers)) or 'no layers'}.")
    if layer is None and len(considered) == adata.n_vars:
        return adata
    if layer is None and adata.isbacked:
        return _Parts(adata, considered)
    matrix = adata.X if layer is None else adata.layers[layer]
    if matrix is None:
        raise ValueError("This AnnData has no X; name the layer to select in.")
    return _named(matrix[:, considered], adata.var_names[considered])


def _named(matrix: Any, names: Any) -> Any:
    import anndata
    import pandas as pd

    obs = pd.DataFrame(index=pd.RangeIndex(matrix.shape[0]).astype(str))
    return anndata.AnnData(matrix, obs=obs, var=pd.DataFrame(index=names))


class _Parts:
    """Some genes of an AnnData in a file, chunk by chunk; they can be read again."""

    def __init__(self, adata: Any, considered: np.ndarray) -> None:
        self._adata, self._considered = adata, considered

    def __iter__(self) -> Iterator[Any]:
        names = self._adata.var_names[self._considered]
        for samples, _ in read_parts(self._adata):
            yield _named(take_features(samples, self._considered), names)


def _of_all(adata: Any, considered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values for all genes, not a number for those that were not considered."""
    wide = np.full((adata.n_vars, *values.shape[1:]), np.nan)
    wide[considered] = values
    return wide


def _columns(adata: Any, selector: BaseSelector, considered: np.ndarray, key: str) -> dict[str, np.ndarray]:
    chosen = np.zeros(adata.n_vars, dtype=bool)
    chosen[considered[selector.support_]] = True
    found = {
        "rank": selector.ranking_,
        "score": selector.scores_,
        "intercept": selector.reconstruction_intercept_,
    }
    return {key: chosen, **{f"{key}_{name}": _of_all(adata, considered, values) for name, values in found.items()}}


def _settings(selector: BaseSelector, **given: Any) -> dict[str, Any]:
    """Return what was asked for, in types that AnnData's files hold."""
    plain = (bool, int, float, str, np.number, np.bool_)
    asked = {**given, "estimator": type(selector).__name__, **selector.get_params(deep=False)}
    if not isinstance(asked["mask_var"], str | None):
        asked["mask_var"] = "an array"
    params = {
        name: value if isinstance(value, plain) else str(value) for name, value in asked.items() if value is not None
    }
    settings: dict[str, Any] = {"params": params}
    settings["versions"] = {name: version(name) for name in ("stableselect", "anndata", "numpy", "scikit-learn")}
    if hasattr(selector, "objective_"):
        settings["objective"] = float(selector.objective_)
    return settings
