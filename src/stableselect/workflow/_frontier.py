"""The frontier of held-out error against stability of a table, and that as a table of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from .. import __version__
from ..base import whole_fits
from ..inspection import table_summary
from ..subset import StabilityFrontier
from ._numbers import numbers_of
from ._prepare import AnyTable, Prepared, RequestError, SelectionRequest, prepare
from ._select import notes_of, table_notes


@dataclass(frozen=True)
class TableFrontier:
    """The frontier of a table, what it was measured for, and what the person who runs this should know."""

    frontier: StabilityFrontier
    method: str
    n_features_to_select: int
    n_features: int
    scaling: str
    source: str
    rows: int
    notes: tuple[str, ...]
    fingerprint: str

    def as_table(self) -> pa.Table:
        """Return one row for each setting, in the order they were tried, with what they all share."""
        frontier = self.frontier
        p = frontier.error.size
        shared = {
            "table": self.source,
            "method": self.method,
            "n_features_to_select": self.n_features_to_select,
            "scale": self.scaling,
            "procedure_stability": frontier.procedure_stability,
            "procedure_low": frontier.procedure_interval[0],
            "procedure_high": frontier.procedure_interval[1],
        }
        measured = {name: array for name, array in vars(frontier).items() if isinstance(array, np.ndarray)}
        own = {"setting": [frontier.describe(i) for i in range(p)], **measured} | {
            "pareto_optimal": frontier.pareto_optimal,
            "chosen": np.arange(p) == frontier.chosen,
        }
        return pa.table(
            {key: [value] * p for key, value in shared.items()} | own | {"stableselect_version": [__version__] * p}
        )


@whole_fits()
def measure_frontier(
    table: AnyTable, request: SelectionRequest | None = None, *, progress: Callable[[str], object] = lambda stage: None
) -> TableFrontier:
    """Measure, on all rows, the settings that :func:`select_table` chooses from where it is asked for stability.

    Parameters
    ----------
    table : Table or TableParts
        The table, as :func:`~stableselect.io.open_table` gives it.
    request : SelectionRequest, optional
        What to select, and how; its criterion is taken to be stability.
    progress : callable, optional
        Called with a few words as each stage begins.

    Returns
    -------
    TableFrontier
    """
    request = request or SelectionRequest(criterion="stability")
    if not request.asks_for_stability:
        request = replace(request, criterion="stability")
    asked = prepare(table, request)
    if asked.k is not None:
        _check_choice(asked, asked.k)
    progress("Measuring settings")
    numbers, selector = numbers_of(asked, request), asked.selector
    about = table_notes(asked, numbers, request)
    fingerprint = table_summary(numbers.sample, asked.features).fingerprint  # before the rows are scaled in place
    with warnings.catch_warnings(record=True, action="always") as caught:
        numbers.fit(selector)
    k = len(selector.selected_)
    _check_choice(asked, k)
    return TableFrontier(
        frontier=selector.frontier_,
        method=asked.method,
        n_features_to_select=k,
        n_features=len(asked.features),
        scaling=request.scale,
        source=table.name,
        rows=numbers.rows,
        notes=(*about, *notes_of(caught)),
        fingerprint=fingerprint,
    )


def _check_choice(asked: Prepared, k: int) -> None:
    """Raise if there is nothing to choose."""
    m = len(asked.features)
    if k == m:
        raise RequestError("k", f"all {m} columns would be selected, so stability is undefined; select fewer.")
    if not asked.has_choice(k):
        raise RequestError(
            "include", "the included and excluded columns leave no choice, so stability is undefined; name fewer."
        )
