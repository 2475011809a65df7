"""Judge columns of a table that someone else has chosen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa

from .._core import BlockKFold
from ..inspection import PanelEvaluation, evaluate, table_summary
from ..io import Table, listed
from ._labelled import labelled_numbers
from ._notes import order_notes, together_notes
from ._prepare import RequestError, Scaling, SelectionRequest
from ._select import notes_of


@dataclass(frozen=True)
class EvaluationRequest:
    """Which columns of a table to judge, and how.

    Parameters
    ----------
    columns : iterable of str
        The panel.
    labels : str, optional
        Column of class labels, for the accuracy of a classifier.
    group_column : str, optional
        Column that says which rows belong together, such as replicates or batches: they are held out together.
    time_column : str, optional
        Column of times: the folds are blocks of rows that follow each other.
    drop : iterable of str
        Columns to ignore.
    id_columns : iterable of str
        Identifiers, which are ignored too.
    scale : {"none", "minmax", "standard"}, default="standard"
        Scaling, so that columns in different units count alike; learnt without the held-out rows.
    folds : int, default=5
        Number of folds.
    n_random : int, default=100
        Random panels to compare with.
    n_resamples : int, default=0
        Parts of the rows to select from, to see how often each column of the panel is selected; 0 takes the folds.
    seed : int, default=0
        Seed of folds, random panels and shuffled tables.

    Examples
    --------
    >>> from stableselect.workflow import EvaluationRequest
    >>> EvaluationRequest(["a", "b"]).n_random
    100
    """

    columns: Iterable[str]
    labels: str | None = None
    group_column: str | None = None
    time_column: str | None = None
    drop: Iterable[str] = ()
    id_columns: Iterable[str] = ()
    scale: Scaling = "standard"
    folds: int = 5
    n_random: int = 100
    n_resamples: int = 0
    seed: int = 0


@dataclass(frozen=True, eq=False)
class TableEvaluation:
    """What a panel of a table is worth, where it came from, and what the person who runs this should know."""

    source: str
    rows: int
    scaling: str
    evaluation: PanelEvaluation
    notes: tuple[str, ...]
    fingerprint: str


def evaluate_table(
    table: Table, request: EvaluationRequest, *, progress: Callable[[str], object] = lambda stage: None
) -> TableEvaluation:
    """Judge columns of a table on held-out rows, as :func:`~stableselect.inspection.evaluate` does.

    Parameters
    ----------
    table : Table
        The table, as :func:`~stableselect.io.read_table` gives it.
    request : EvaluationRequest
        The columns, and how to judge them.
    progress : callable, optional
        Called with a few words as each stage begins.

    Returns
    -------
    TableEvaluation

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sklearn.datasets import load_wine
    >>> from stableselect.io import Table
    >>> from stableselect.workflow import EvaluationRequest, evaluate_table
    >>> table = Table(pa.Table.from_pandas(load_wine(as_frame=True).data), "wine.csv")
    >>> found = evaluate_table(table, EvaluationRequest(["alcohol", "hue"], n_random=20))
    >>> found.rows, found.evaluation.panel
    (178, ['alcohol', 'hue'])
    """
    columns = list(request.columns)
    if not columns:
        raise RequestError("columns", "names no column; name one or more.")
    if twice := sorted({name for name in columns if columns.count(name) > 1}):
        raise RequestError("columns", f"{listed(twice)} is named twice; name each column once.")
    same = {name: getattr(request, name) for name in ("drop", "id_columns", "scale", "group_column", "time_column")}
    wanted = SelectionRequest(len(columns), include=columns, **same)
    try:
        read = labelled_numbers(table, wanted, labels=request.labels, folds=request.folds)
    except RequestError as error:
        raise RequestError(
            "columns" if error.parameter in ("include", "k") else error.parameter, error.reason
        ) from None
    if len(columns) == len(read.features):
        m = len(columns)
        raise RequestError("columns", f"names all {m} columns, so nothing is left to reconstruct; name fewer.")
    X = read.X
    fingerprint = table_summary(X, read.features).fingerprint
    progress("Judging the panel")
    with warnings.catch_warnings(record=True, action="always") as caught:
        evaluation = evaluate(
            columns,
            pa.table(list(X.T), names=read.features),
            y=read.labels,
            scaler=read.scaler,
            cv=BlockKFold(request.folds) if request.time_column is not None else request.folds,
            groups=read.groups,
            n_random=request.n_random,
            n_resamples=request.n_resamples,
            random_state=request.seed,
        )
    notes = (*read.notes, *together_notes(wanted), *order_notes(X, wanted), *notes_of(caught))
    return TableEvaluation(table.name, len(X), request.scale, evaluation, notes, fingerprint)
