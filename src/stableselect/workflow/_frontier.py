"""The frontier of held-out error against stability of a table, and that as a table of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .. import __version__
from ..io import Scale, Scaling, Table, TableError
from ..subset import StabilityFrontier
from ._notes import notes_of
from ._prepare import Prepared, prepare
from ._stability import fit, stability_settings

FRONTIER_STAGES = ("Measuring settings",)
"""What ``progress`` is told, in order."""


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

    def as_table(self) -> pa.Table:
        """Return one row for each setting, in the order they were tried, with what they all share."""
        frontier = self.frontier
        p = frontier.error.size
        shared = {
            "table": self.source,
            "method": self.method,
            "n_features_to_select": self.n_features_to_select,
            "scale": self.scaling,
        }
        own = {
            "setting": [frontier.describe(i) for i in range(p)],
            "error": frontier.error,
            "stability": frontier.stability,
            "standard_error": frontier.standard_error,
            "ridge": frontier.ridge,
            "map_ridge": frontier.map_ridge,
            "exchange": frontier.exchange,
            "consensus": frontier.consensus,
            "latent_width": [int(width) or None for width in frontier.latent_width],
            "pareto_optimal": frontier.pareto_optimal,
            "chosen": np.arange(p) == frontier.chosen,
        }
        return pa.table(
            {key: [value] * p for key, value in shared.items()} | own | {"stableselect_version": [__version__] * p}
        )


def measure_frontier(
    table: Table,
    n_features_to_select: int | float | str | None = None,
    *,
    method: str = "ColumnSubset",
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    drop_columns: Iterable[str] = (),
    id_columns: Iterable[str] = (),
    scale: Scaling = "standard",
    ridge: float | str | None = None,
    min_explained_variance: float | str | None = None,
    max_error_increase: float | None = None,
    min_stability: float | None = None,
    progress: Callable[[str], object] = lambda stage: None,
) -> TableFrontier:
    """Measure the settings that ``select_table`` chooses from where it is asked for stability, on all rows.

    Parameters are those of :func:`~stableselect.io.select_table`.
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
        seed=0,  # those who have a frontier draw no numbers
        settings={
            "ridge": ridge,
            "min_explained_variance": min_explained_variance,
            **stability_settings(method, "stability", max_error_increase, min_stability),
        },
    )
    m = len(asked.features)
    _check_choice(asked, asked.k)
    progress(FRONTIER_STAGES[0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X = Scale.learn(asked.X, scale).apply(asked.X)
        selector = fit(asked.selector, X)
    k = len(selector.selected_)
    _check_choice(asked, k)
    return TableFrontier(
        frontier=selector.frontier_,
        method=asked.method,
        n_features_to_select=k,
        n_features=m,
        scaling=scale,
        source=table.name,
        rows=X.shape[0],
        notes=(*asked.notes, *notes_of(caught)),
    )


def _check_choice(asked: Prepared, k: int | None) -> None:
    """Refuse where there is nothing to choose; None leaves the number open."""
    m = len(asked.features)
    if k == m:
        raise TableError(
            f"All {m} columns would be kept, so stability is undefined; keep fewer (-k) to see a frontier."
        )
    if k is not None and not asked.has_choice(k):
        raise TableError(
            "--include and --exclude leave no choice, so stability is undefined; name fewer columns to see a frontier."
        )
