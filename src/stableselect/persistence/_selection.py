"""A selection made from a table: the columns, where they came from, and the map that reconstructs the others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._core import GaussianModel, check_reconstructed
from ..base import Calibration, Explanation, NovelSamplesWarning, check_noise, data_frame, html_table
from ..inspection import HeldOutErrors
from ..subset import ConditionsCost, SelectionPath, StabilityFrontier

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class SelectedColumn:
    """One selected column: its name, its position in the table it came from, and its score (larger is better)."""

    name: str
    index: int
    score: float


@dataclass(frozen=True, eq=False)
class Completion:
    """The Gaussian by which missing values of selected columns are filled in, given the others.

    Attributes
    ----------
    mean, covariance : ndarrays of shape (k,) and (k, k)
        Of the selected columns, in table order and in the table's own units.
    """

    mean: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True)
class BatchFigures:
    """How a selection by what varies within batches serves each of them.

    Attributes
    ----------
    column : str
        The column of the labels.
    labels : tuple of str
        The batches.
    explained : tuple of float
        Fraction of the variance within each batch that the selected columns explain.
    serve_one : tuple of str
        Selected columns that serve one batch only.
    """

    column: str
    labels: tuple[str, ...]
    explained: tuple[float, ...]
    serve_one: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TableSelection:
    """Columns selected from a table, with all that is needed to use the selection on another one.

    :func:`stableselect.workflow.select_table` makes one, ``stableselect select -o`` writes one to a
    ``.selection.json`` file, and :func:`stableselect.load` reads it.

    Attributes
    ----------
    method, settings, scaling, seed
        How the columns were selected.
    source : str
        Name of the file.
    rows : int
        Number of rows.
    columns : tuple of str
        Every column of the table.
    id_columns : tuple of str
        Identifiers: copied to the output, never selected.
    features : tuple of str
        The columns that could be selected, in table order; those the map reconstructs.
    selected : tuple of SelectedColumn
        The selected columns, in order of selection.
    ridge : float or None
        Ridge weight that was used; None for methods without one.
    optimality_gap : float or None
        No other choice of as many columns can lower the error on these rows by a larger fraction, so that 0 means
        proven optimal; None for methods without such a bound.
    errors : HeldOutErrors or None
        Errors on held-out rows; None where there are none.
    path : SelectionPath or None
        How the number of columns was chosen, where it was; positions are those in ``features``.
    stability : StabilityFrontier or None
        The settings compared, where stability was asked for.
    conditions_cost : ConditionsCost or None
        What the conditions cost against the free choice, where there were conditions; ``settings`` has them.
    explanation : Explanation or None
        Which selected columns explain each discarded one, and the best replacement of each selected one.
    notes : tuple of str
        What the person who runs this should know, one sentence each.
    intercept : ndarray of shape (m,)
        Added to the product of selected columns and coefficients.
    coefficients : ndarray of shape (k, m)
        Rows follow the selected columns in table order, columns follow ``features``; in the table's own units.
    versions : dict
        Versions of the software that made the selection.
    calibration : Calibration or None
        How sure reconstructed values are, and what the rows were like; None where too few could be held out, and in
        files of earlier versions.
    completion : Completion or None
        What fills in missing values of selected columns, where the selection was made with ``missing="em"``.
    batches : BatchFigures or None
        How each batch is served, where columns were selected by what varies within batches.

    See Also
    --------
    stableselect.workflow.select_table : Make a selection.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from stableselect.io import Table
    >>> from stableselect.workflow import SelectionRequest, select_table
    >>> table = Table(pa.table({"a": [1.0, 2, 3], "b": [2.0, 4, 6], "c": [5, 5, 5]}), "small.csv")
    >>> selection = select_table(table, SelectionRequest(k=1, ridge=0.0))
    >>> selection.selected_names, selection.reconstruct(np.array([[4.0]])).round(6).tolist()
    (['a'], [[4.0, 8.0, 5.0]])
    """

    method: str
    settings: dict[str, Any]
    scaling: str
    seed: int
    source: str
    rows: int
    columns: tuple[str, ...]
    id_columns: tuple[str, ...]
    features: tuple[str, ...]
    selected: tuple[SelectedColumn, ...]
    ridge: float | None
    optimality_gap: float | None
    errors: HeldOutErrors | None
    path: SelectionPath | None
    stability: StabilityFrontier | None
    conditions_cost: ConditionsCost | None
    explanation: Explanation | None
    notes: tuple[str, ...]
    intercept: np.ndarray
    coefficients: np.ndarray
    versions: dict[str, str]
    calibration: Calibration | None = None
    completion: Completion | None = None
    batches: BatchFigures | None = None

    def __post_init__(self) -> None:
        for what in ("columns", "features", "id_columns"):
            if len(set(getattr(self, what))) != len(getattr(self, what)):
                raise ValueError(f"{what} repeat a name")
        for column in self.selected:
            if self.columns[column.index : column.index + 1] != (column.name,):
                raise ValueError(f"selected column '{column.name}' is not column {column.index} of the table")
        chosen = {column.name for column in self.selected}
        if not chosen or len(chosen) != len(self.selected) or not chosen <= set(self.features):
            raise ValueError("the selected columns are not different ones of the features")
        if not set(self.features) <= set(self.columns) or not set(self.id_columns) <= {*self.columns} - {
            *self.features
        }:
            raise ValueError("the features or id columns are not columns of the table")
        k, m = len(chosen), len(self.features)
        arrays = [("coefficients", self.coefficients, (k, m)), ("intercept", self.intercept, (m,))]
        if self.completion is not None:
            arrays += [("mean", self.completion.mean, (k,)), ("covariance", self.completion.covariance, (k, k))]
        for what, array, shape in arrays:
            if array.shape != shape or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
                raise ValueError(f"{what} should be finite numbers of shape {shape}")
        if self.calibration is not None:
            self.calibration.check(len(chosen), len(self.features))

    @property
    def selected_names(self) -> list[str]:
        """Names of the selected columns in table order."""
        chosen = {column.name for column in self.selected}
        return [name for name in self.features if name in chosen]

    def to_frame(self) -> DataFrame:
        """Return the selected columns in order of selection as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            With the columns name, index and score.
        """
        return data_frame(self._listed())

    def _repr_html_(self) -> str:
        of = f"{len(self.selected)} of {len(self.features)} columns of {self.source}, by {self.method}"
        return html_table(of, self._listed())

    def _listed(self) -> dict[str, list[Any]]:
        return {name: [getattr(column, name) for column in self.selected] for name in ("name", "index", "score")}

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X.

        Parameters
        ----------
        X : data frame or array of shape (n, m)
            A data frame's columns are found by name, whatever else it has; an array has the columns ``features``.

        Returns
        -------
        data frame or ndarray of shape (n, k)
            In table order.
        """
        if hasattr(X, "columns"):
            return X[self._present(X)]
        return _checked(X, len(self.features), "the features")[:, self.support]

    @property
    def support(self) -> np.ndarray:
        """Which of the features are selected, as a mask."""
        return np.isin(self.features, self.selected_names)

    def reconstruct(self, X_selected: Any, *, return_std: bool = False, noise: Any = None) -> Any:
        """Return all features: the selected ones as they are, the others reconstructed from them.

        Rows that are unlike those of the table give a ``NovelSamplesWarning``.

        Parameters
        ----------
        X_selected : data frame or array of shape (n, k)
            The selected columns, as :meth:`transform` returns them; a data frame's columns are found by name. Where the
            selection was made with ``missing="em"``, values may be missing: they are filled in from the others.
        return_std : bool, default=False
            Whether to return standard deviations too. Those of selected columns are 0, or their noise.
        noise : float, array of shape (k,) or dict, optional
            With ``return_std``: standard deviation of the noise that the selected columns have here beyond that of the
            table; one for all, one for each, or by name.

        Returns
        -------
        data frame or ndarray of shape (n, m)
        std : data frame or ndarray of shape (n, m)
            Only with ``return_std``.
        """
        values = self._values(X_selected)
        if return_std or noise is not None:
            if not return_std:
                raise ValueError("noise is part of the standard deviations; ask for them with return_std=True.")
            extra = check_noise(noise, self.selected_names)
            std = self.calibrated().deviations(values, self.coefficients, self.support, extra)
            return self.reconstruct(X_selected), self._like(X_selected, std)
        if self.completion is not None and np.isnan(values).any():
            values = GaussianModel(self.completion.mean, self.completion.covariance).fill(values)
        with np.errstate(over="ignore", invalid="ignore"):
            rebuilt = (self.coefficients.T @ values.T).T  # column after column in memory, as tables are kept
            rebuilt += self.intercept
        check_reconstructed(rebuilt, values)
        if told := self.calibration and self.calibration.unlike(values, self.selected_names, "rows"):
            warnings.warn(told, NovelSamplesWarning, stacklevel=2)
        rebuilt[:, self.support] = values
        return self._like(X_selected, rebuilt)

    def reconstruct_interval(self, X_selected: Any, level: float = 0.9, *, noise: Any = None) -> tuple[Any, Any]:
        """Return intervals that hold each value with a given probability.

        Parameters
        ----------
        X_selected : data frame or array of shape (n, k)
            The selected columns.
        level : float, default=0.9
            The fraction of values to hold, from 0.5 to 0.99.
        noise : float, array of shape (k,) or dict, optional
            As for :meth:`reconstruct`.

        Returns
        -------
        low, high : data frame or ndarray of shape (n, m)
            The ends of the intervals. Both are the value itself for a selected column without noise.
        """
        reach = self.calibrated().reach(level, self.support)
        made, std = self.reconstruct(X_selected, return_std=True, noise=noise)
        return made - std * reach, made + std * reach

    def novelty(self, X_selected: Any) -> np.ndarray:
        """Return how unlike those of the table rows are: above 1 they are unlike them.

        It is the Mahalanobis distance in the selected columns, relative to one and a half times the distance that 99 %
        of the held-out rows keep, or to that of the farthest row of the table if this is larger.

        Parameters
        ----------
        X_selected : data frame or array of shape (n, k)
            The selected columns.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.calibrated().novelty(self._values(X_selected))

    def calibrated(self) -> Calibration:
        """Return the calibration, or raise if there is none."""
        if self.calibration is None and self.batches is not None:
            raise ValueError(
                "This selection does not say how sure it is, for its columns were selected within batches. Select "
                "without batches, from a table with the mean of its batch subtracted from every row."
            )
        if self.calibration is None:
            raise ValueError(
                "This selection does not say how sure it is: too few rows were held out, or an earlier version made "
                "it. Select again from the table."
            )
        return self.calibration

    def _values(self, X_selected: Any) -> np.ndarray:
        named = hasattr(X_selected, "columns")
        values = X_selected[self._present(X_selected)] if named else X_selected
        return _checked(values, len(self.selected), "the selected columns").astype(np.float64)

    def _like(self, X_selected: Any, values: np.ndarray) -> Any:
        """Return values of all features as the same kind of table."""
        if not hasattr(X_selected, "columns"):
            return values
        made = type(X_selected)(dict(zip(self.features, values.T, strict=True)))
        if hasattr(X_selected, "index"):
            made.index = X_selected.index
        return made

    def _present(self, frame: Any) -> list[str]:
        names = self.selected_names
        missing = [name for name in names if name not in frame.columns]
        if missing:
            raise ValueError(f"X lacks {len(missing)} of the {len(names)} selected columns, first {missing[0]!r}.")
        return names


def _checked(X: ArrayLike, n_columns: int, what: str) -> np.ndarray:
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] != n_columns:
        raise ValueError(f"Expected {what}, {n_columns} columns; got an array of shape {array.shape}.")
    return array
