"""Select columns of a table: check it, measure the selection on held-out rows, then select on all rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning

from .._core import GaussianModel, splits_of
from ..base import (
    Calibration,
    FactorModelWarning,
    HeldOutResiduals,
    NoValuesError,
    SketchWarning,
    StreamingSelector,
    TargetNotReachedWarning,
    TooFewSamplesError,
    UnevenFoldsWarning,
    UnscaledFeaturesWarning,
    whole_fits,
)
from ..inspection import HeldOutErrors, SelectionOverview, held_out_report, overview, table_summary
from ..persistence import BatchFigures, Completion, SelectedColumn, TableSelection, software_versions
from ..subset import Conditions, ConditionsCost
from ._notes import header_notes, left_out_note, map_notes, order_notes, together_notes, turned_notes, value_notes
from ._numbers import Numbers, Scaler, affine, hold_together, numbers_of, unscale_map
from ._prepare import AnyTable, Prepared, SelectionRequest, prepare
from ._together import N_FOLDS

MIN_ROWS = 10
"""Fewer rows than this leave too few to hold out."""

FEW_ROWS = 200
"""With fewer rows than this all of them are held out in turn, to learn how sure reconstructed values are."""

TOLD_ELSEWHERE = (
    FactorModelWarning,
    SketchWarning,
    TargetNotReachedWarning,
    UndefinedMetricWarning,
    UnevenFoldsWarning,
    UnscaledFeaturesWarning,
)
"""Warnings whose words are not those of a table: what they tell is in the path, the frontier, or a note of its own."""
_FACTORS = (
    "A covariance of all columns takes too long here, so that a model of few factors stands in for missing values."
)
_UNEVEN = "The rows fall into folds of very different sizes, so what is chosen by held-out error is less certain."


@dataclass(frozen=True, eq=False)
class TableOverview:
    """A selection from a table, and what a report shows beside it."""

    selection: TableSelection
    overview: SelectionOverview


@whole_fits()
def select_table(
    table: AnyTable, request: SelectionRequest | None = None, *, progress: Callable[[str], object] = lambda stage: None
) -> TableSelection:
    """Select columns of a table and measure the selection on rows it has not seen.

    For the errors, columns are selected on a random 80 % of the rows and all columns are reconstructed for the others.
    The selection itself, and the map that reconstructs the discarded columns, come from all rows.

    Parameters
    ----------
    table : Table or TableParts
        The table, as :func:`~stableselect.io.open_table` gives it. One that is not held in memory is read piece by
        piece where the method works from moments; errors are then those of a random sample of its rows.
    request : SelectionRequest, optional
        What to select, and how.
    progress : callable, optional
        Called with a few words as each stage begins.

    Returns
    -------
    TableSelection
        The selection, its errors and the map.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stableselect.io import Table
    >>> from stableselect.workflow import SelectionRequest, select_table
    >>> data = pa.table({"name": ["x", "y", "z"], "a": [1.0, 2, 4], "b": [2.0, 4, 8]})
    >>> selection = select_table(Table(data, "small.csv"), SelectionRequest(k=1, id_columns=["name"]))
    >>> selection.selected_names, selection.errors is None
    (['a'], True)
    """
    return _selected(table, request or SelectionRequest(), progress, inspect=False)[0]


@whole_fits()
def inspect_table(
    table: AnyTable, request: SelectionRequest | None = None, *, progress: Callable[[str], object] = lambda stage: None
) -> TableOverview:
    """Select columns of a table, as :func:`select_table` does, and measure what a report shows beside.

    Parameters
    ----------
    table, request, progress
        As for :func:`select_table`.

    Returns
    -------
    TableOverview

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sklearn.datasets import load_wine
    >>> from stableselect.io import Table
    >>> from stableselect.workflow import SelectionRequest, inspect_table
    >>> table = Table(pa.Table.from_pandas(load_wine(as_frame=True).data), "wine.csv")
    >>> found = inspect_table(table, SelectionRequest(k=4))
    >>> len(found.selection.selected), found.overview.stability.n_repeats
    (4, 10)
    """
    selection, seen = _selected(table, request or SelectionRequest(), progress, inspect=True)
    assert seen is not None
    return TableOverview(selection, seen)


def _selected(
    table: AnyTable, request: SelectionRequest, progress: Callable[[str], object], *, inspect: bool
) -> tuple[TableSelection, SelectionOverview | None]:
    """Return a selection and, where it is asked for, what a report shows beside."""
    asked = prepare(table, request)
    features, selector = asked.features, asked.selector
    numbers = numbers_of(asked, request)
    about = table_notes(asked, numbers, request)
    summary = table_summary(numbers.sample, features) if inspect else None  # before the rows are scaled in place
    with warnings.catch_warnings(record=True, action="always") as caught:
        progress("Measuring the error on held-out rows")
        left: list[HeldOutResiduals] = []
        errors, why_not = _errors(asked, numbers, request, left)
        progress("Selecting from all rows")
        seen = numbers.fit(selector)
        explanation = selector.explain(seen).named(features) if request.explain else None
        looked_at = None
        if inspect:
            progress("Measuring what the report shows")
            rows = numbers.scaled_sample() if seen is None else seen
            # What it repeats has the ridge weight found, so that nothing is held out inside.
            apart = numbers.together.groups is not None and hasattr(selector, "cv")
            alike = copy(selector).set_params(cv=None) if apart else selector
            looked_at = overview(
                alike, rows, summary=summary, groups=numbers.together.parts(), random_state=request.seed
            )
            looked_at = replace(looked_at, explanation=looked_at.explanation.named(features))
    kept = np.flatnonzero(selector.support_)
    coefficients, intercept = unscale_map(
        numbers.scaler, selector.reconstruction_coef_, selector.reconstruction_intercept_, kept
    )
    completion, known = _completion(selector, numbers.scaler, kept), numbers.in_units(seen, kept)
    if completion is not None:
        known = GaussianModel(completion.mean, completion.covariance).fill(known)
    position = {column: j for j, column in enumerate(table.columns)}
    selection = TableSelection(
        method=asked.method,
        settings=_settings(selector, features),
        scaling=request.scale,
        seed=request.seed,
        source=table.name,
        rows=numbers.rows,
        columns=tuple(table.columns),
        id_columns=tuple(asked.ids),
        features=tuple(features),
        selected=tuple(
            SelectedColumn(features[j], position[features[j]], float(selector.scores_[j])) for j in selector.selected_
        ),
        ridge=float(selector.ridge_) if hasattr(selector, "ridge_") and selector._maps_linearly() else None,
        optimality_gap=float(selector.optimality_gap_) if hasattr(selector, "proven_optimal_") else None,
        errors=errors,
        path=selector.path_ if asked.k is None else None,
        stability=selector.frontier_ if request.asks_for_stability else None,
        conditions_cost=_cost_of(selector, features),
        explanation=explanation,
        notes=(
            *about,
            *map_notes(selector, request),
            *_sketch_notes(selector),
            *notes_of(caught),
            *why_not,
            *_error_notes(errors, len(kept), asked),
        ),
        intercept=intercept,
        coefficients=coefficients,
        calibration=Calibration.of(known, left, numbers.rows) if request.batch is None and _covers(left) else None,
        versions=software_versions(),
        completion=completion,
        batches=_batches(selector, request, features),
    )
    return selection, looked_at


def _covers(left: list[HeldOutResiduals]) -> bool:
    """Tell whether every column has a value that was held out."""
    return bool(left) and bool(np.any([np.any(~np.isnan(part.residuals), axis=0) for part in left], axis=0).all())


def _completion(selector: Any, scaler: Scaler, kept: np.ndarray) -> Completion | None:
    """Return the model that fills in missing values of selected columns, in the table's own units."""
    if not hasattr(selector, "location_"):
        return None
    model = selector._model().part(kept)
    if scaler is None:
        return Completion(model.mean, model.covariance)
    slope, shift = (given[kept] for given in affine(scaler))
    return Completion((model.mean - shift) / slope, model.covariance / slope / slope[:, None])


def _batches(selector: Any, request: SelectionRequest, features: list[str]) -> BatchFigures | None:
    if request.batch is None:
        return None
    return BatchFigures(
        column=request.batch,
        labels=tuple(str(label) for label in selector.batches_.tolist()),
        explained=tuple(selector.batch_explained_variance_.tolist()),
        serve_one=tuple(features[j] for j in selector.batch_specific_),
    )


def _cost_of(selector: Any, features: list[str]) -> ConditionsCost | None:
    """Return what conditions cost, with column names for positions; None where that was not found out."""
    if getattr(selector, "conditions", None) is None and not getattr(selector, "include", None):
        return None
    cost: ConditionsCost | None = getattr(selector, "conditions_cost_", None)
    if cost is None:
        return None
    return replace(cost, free_selected=tuple(features[int(j)] for j in cost.free_selected))


def _sketch_notes(selector: Any) -> list[str]:
    size = getattr(selector, "sketch_size_", None)
    if size is None:
        return []
    why = ", since exact moments do not fit in memory" if selector.sketch == "auto" else ""
    return [
        f"The columns were selected from a sketch of the rows (sketched, r = {size}){why}; no bound follows from it."
    ]


def table_notes(asked: Prepared, numbers: Numbers, request: SelectionRequest) -> list[str]:
    """Return what there is to say of a table and of how it was read."""
    return [
        *asked.table.notes,
        *left_out_note(asked.left_out),
        *turned_notes(asked),
        *header_notes(asked.features, asked.table.named),
        *value_notes(asked, numbers.sample, request),
        *order_notes(numbers.sample, request),
        *together_notes(request),
        *numbers.notes,
    ]


def notes_of(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    """Return every warning once, on one line."""
    caught = list(caught)
    kinds = {warning.category for warning in caught}
    own = [_UNEVEN] * (UnevenFoldsWarning in kinds) + [_FACTORS] * (FactorModelWarning in kinds)
    told = (warning for warning in caught if not issubclass(warning.category, TOLD_ELSEWHERE))
    return [*own, *dict.fromkeys(" ".join(str(warning.message).split()) for warning in told)]


def _errors(
    asked: Prepared, numbers: Numbers, request: SelectionRequest, left: list[HeldOutResiduals]
) -> tuple[HeldOutErrors | None, list[str]]:
    """Return the errors on held-out rows, or None and a note that says why there are none.

    ``left`` gets what is left of the held-out rows. Where they would be few, all rows are held out in turn, unless that
    takes long.
    """
    rows, m = numbers.sample.shape
    if rows < MIN_ROWS:
        count = "1 row" if rows == 1 else f"{rows} rows"
        return None, [f"No errors on held-out rows: the table has {count} and {MIN_ROWS} are needed."]
    model, together, splits = clone(asked.selector), numbers.together, None
    quick = isinstance(asked.selector, StreamingSelector) and not (asked.k is None or request.asks_for_stability)
    try:
        if together.groups is not None:
            splits = splits_of(together.splitter(N_FOLDS), numbers.sample, together.groups)
            fewest = min(np.unique(together.groups[train]).size for train, _ in splits)
            hold_together(model, together, request, fewest)
        errors = held_out_report(
            model,
            numbers.sample,
            scaler=numbers.scaler,
            cv=splits,
            groups=together.groups,
            batch=together.batch,
            random_state=request.seed,
            residuals=left,
            all_folds=rows < FEW_ROWS and quick,
        )
    except TooFewSamplesError:  # all rows may still be enough
        return None, ["No errors on held-out rows: too few rows are left without them to fill the folds."]
    except NoValuesError:
        return None, ["No errors on held-out rows: without them a column has no values."]
    if errors.n_selected == m:
        return None, ["No errors on held-out rows: all columns are selected, so nothing is reconstructed."]
    return errors, []


def _error_notes(errors: HeldOutErrors | None, k: int, asked: Prepared) -> list[str]:
    notes = []
    if errors is not None and asked.has_choice(k) and errors.selection >= errors.random:
        notes.append("On held-out rows this selection is no better than columns drawn at random.")
    if errors is not None and errors.n_selected != k:
        notes.append(
            f"The errors are those of {errors.n_selected} columns, the number chosen without the held-out rows."
        )
    return notes


def _settings(selector: Any, features: list[str]) -> dict[str, Any]:
    """Return the selector's parameters as JSON values, with column names for positions."""
    settings = {}
    for key, value in selector.get_params(deep=False).items():
        if key in ("include", "exclude") and value is not None:
            value = [features[j] for j in value]
        elif isinstance(value, Conditions):
            value = value.mapped(lambda j: features[int(j)]).as_plain()
        elif isinstance(value, np.generic):
            value = value.item()
        settings[key] = value if isinstance(value, bool | int | float | str | list | dict | None) else str(value)
    return settings
