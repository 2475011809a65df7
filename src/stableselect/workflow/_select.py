"""Choose columns of a table: check it, measure the choice on held-out rows, then choose on all rows."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, Literal

import numpy as np
import scipy
import sklearn
from sklearn.base import clone

from .. import __version__
from ..base import Explanation
from ..io import HELD_OUT_STAGES, MIN_ROWS, Chosen, HeldOutErrors, Scale, Scaling, Selection, Table, held_out_errors
from ..subset import SelectionPath
from ._notes import notes_of
from ._prepare import Prepared, prepare
from ._stability import TooFewRows, asks_for_stability, choice_record, fit, stability_settings

SELECT_STAGES = (*HELD_OUT_STAGES, "Choosing on all rows")
"""What ``progress`` is told, in order."""


def select_table(
    table: Table,
    n_features_to_select: int | float | Literal["auto"] | None = None,
    *,
    method: str = "ColumnSubset",
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    drop_columns: Iterable[str] = (),
    id_columns: Iterable[str] = (),
    scale: Scaling = "standard",
    ridge: float | str | None = None,
    min_explained_variance: float | str | None = None,
    criterion: Literal["error", "stability"] | None = None,
    max_error_increase: float | None = None,
    min_stability: float | None = None,
    seed: int = 0,
    explain: bool = False,
    progress: Callable[[str], object] = lambda stage: None,
) -> Selection:
    """Choose columns of a table and measure the choice on rows it has not seen.

    For the errors, columns are chosen on a random 80 % of the rows and all columns are rebuilt for the others. The
    selection itself, and the map that rebuilds the dropped columns, come from all rows.

    Parameters
    ----------
    table : Table
        The table, as :func:`read_table` gives it.
    n_features_to_select : int, float or "auto", optional
        How many columns to keep, or which share of them (rounded up); half by default. "auto" takes as many as
        ``min_explained_variance`` asks for; the errors are then those of the number chosen without the held-out rows.
    method : str, default="ColumnSubset"
        Name of a selector; case, ``-`` and ``_`` do not matter.
    include, exclude : iterable of str
        Columns to keep in any case, and columns to rebuild but never keep.
    drop_columns : iterable of str
        Columns to leave out altogether.
    id_columns : iterable of str
        Columns to carry along without using them.
    scale : {"none", "minmax", "standard"}, default="standard"
        Scaling before the choice, so that columns in different units count alike. Results are in the original units.
    ridge : float or "auto", optional
        Ridge weight, for methods that have one; the method's own default otherwise.
    min_explained_variance : float or "elbow", optional
        For "auto": the share of the variance of held-out rows to explain, 0.9 by default, or the elbow of the error.
    criterion : {"error", "stability"}, optional
        Take the most repeatable way to search whose held-out error is within ``max_error_increase`` of the least; for
        ``ColumnSubset`` and ``ScorerSelector``. The selection says what that is and what it costs.
    max_error_increase : float, optional
        For ``criterion="stability"``: the share by which the error may lie above the least, 0.05 by default.
    min_stability : float, optional
        Take the way of least held-out error that is at least so stable (Nogueira's measure, at most 1).
    seed : int, default=0
        Seed of the held-out rows, of the random columns, and of methods that are random.
    explain : bool, default=False
        Whether to say which kept columns stand for which dropped ones.
    progress : callable, optional
        Called with a few words as each stage begins.

    Returns
    -------
    Selection
        The choice, its errors and the map.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stableselect.io import Table
    >>> from stableselect.workflow import select_table
    >>> data = pa.table({"name": ["x", "y", "z"], "a": [1.0, 2, 4], "b": [2.0, 4, 8]})
    >>> selection = select_table(Table(data, "small.csv"), 1, id_columns=["name"])
    >>> selection.kept, selection.errors is None
    (['a'], True)
    """
    asked = prepare(
        table,
        n_features_to_select,
        method=method,
        include=include,
        exclude=exclude,
        drop_columns=drop_columns,
        id_columns=id_columns,
        scale=scale,
        seed=seed,
        settings={
            "ridge": ridge,
            "min_explained_variance": min_explained_variance,
            **stability_settings(method, criterion, max_error_increase, min_stability),
        },
    )
    X, features, selector, notes = asked.X, asked.features, asked.selector, asked.notes
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        errors, n_measured = _errors(asked, scale, seed, progress)
        progress(SELECT_STAGES[-1])
        learnt = Scale.learn(X, scale)
        X = learnt.apply(X)
        fit(selector, X)
        explanation = _explanation(selector.explain(X), features) if explain else None
    notes += notes_of(caught)
    kept = np.flatnonzero(selector.support_)
    rebuilds = n_measured != len(features)
    notes += _error_notes(errors, X.shape[0], rebuilds=rebuilds, has_choice=asked.has_choice(len(kept)))
    if errors is not None and n_measured != len(kept):
        notes.append(f"The errors are those of {n_measured} columns: without the held-out rows, -k auto keeps so many.")

    coefficients, intercept = learnt.unscale_map(
        selector.reconstruction_coef_, selector.reconstruction_intercept_, kept
    )
    position = {column: j for j, column in enumerate(table.columns)}
    return Selection(
        selected=tuple(
            Chosen(features[j], position[features[j]], float(selector.scores_[j])) for j in selector.selected_
        ),
        columns=tuple(table.columns),
        id_columns=tuple(asked.ids),
        features=tuple(features),
        coefficients=coefficients,
        intercept=intercept,
        method=asked.method,
        settings=_settings(selector, features),
        scaling=scale,
        seed=seed,
        source=table.name,
        rows=X.shape[0],
        errors=errors,
        notes=tuple(notes),
        explanation=explanation,
        versions={
            "stableselect": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        path=_path(selector.path_, features) if asked.k is None else None,
        stability=choice_record(selector.frontier_) if asks_for_stability(selector) else None,
    )


def _errors(
    asked: Prepared, scale: Scaling, seed: int, progress: Callable[[str], object]
) -> tuple[HeldOutErrors | None, int | None]:
    """Return the errors on held-out rows, and how many columns were chosen without these."""
    X, selector = asked.X, asked.selector
    if X.shape[0] < MIN_ROWS:
        return None, None
    chosen = np.zeros(0, dtype=int)

    def choose(train: np.ndarray) -> np.ndarray:
        nonlocal chosen
        with warnings.catch_warnings():
            if selector.n_features_to_select == "auto" or asks_for_stability(selector):
                # The choice on all rows warns of the same, with the figures that count.
                warnings.simplefilter("ignore")
            chosen = np.asarray(fit(clone(selector), train).selected_)
        return chosen

    try:
        errors = held_out_errors(
            X,
            choose,
            scaling=scale,
            include=np.array(asked.forced, dtype=int),
            exclude=np.array(asked.barred, dtype=int),
            seed=seed,
            progress=progress,
        )
    except TooFewRows:
        return None, None  # all rows may still be enough
    return errors, chosen.size


def _error_notes(errors: HeldOutErrors | None, rows: int, *, rebuilds: bool, has_choice: bool) -> list[str]:
    if not rebuilds:
        return ["No errors on held-out rows: without these all columns are kept, and nothing is rebuilt."]
    if errors is None and rows >= MIN_ROWS:
        return ["No errors on held-out rows: the other rows are too few to measure stability with."]
    if errors is None:
        return [f"No errors on held-out rows: the table has {rows} rows and {MIN_ROWS} are needed."]
    if has_choice and errors.selection >= errors.random:
        return ["On held-out rows this selection is no better than columns drawn at random."]
    return []


def _explanation(explained: Explanation, features: list[str]) -> dict[str, Any]:
    """Return what a selector says of its choice as JSON values, with column names for positions and null for nan."""

    def name(column: str | int | None) -> str | None:
        return features[column] if isinstance(column, int) else column

    def number(value: float) -> float | None:
        return None if np.isnan(value) else float(value)

    return {
        "dropped": [
            {
                "column": name(entry.feature),
                "r2": number(entry.r2),
                "explained_by": [[name(column), number(share)] for column, share in entry.explained_by],
            }
            for entry in explained.discarded
        ],
        "kept": [
            {
                "column": name(entry.feature),
                "replacement": name(entry.replacement),
                "error_increase": number(entry.error_increase),
            }
            for entry in explained.selected
        ],
    }


def _path(path: SelectionPath, features: list[str]) -> dict[str, Any]:
    """Return how the number of columns was chosen as JSON values."""
    record = {field.name: getattr(path, field.name) for field in fields(path)}
    record |= {"order": [features[j] for j in path.order], "n_features_range": list(path.n_features_range)}
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in record.items()}


def _settings(selector: Any, features: list[str]) -> dict[str, Any]:
    """Return the selector's settings as JSON values, with column names for positions."""
    settings = {}
    for key, value in selector.get_params(deep=False).items():
        if key in ("include", "exclude") and value is not None:
            value = [features[j] for j in value]
        elif isinstance(value, np.generic):
            value = value.item()
        settings[key] = value if isinstance(value, bool | int | float | str | list | None) else str(value)
    return settings
