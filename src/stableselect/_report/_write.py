"""From any result to the file: which page it gets, and what is measured for it first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from .._files import PathLike, write_whole
from ..base import BaseSelector
from ..experiments import MethodComparison
from ..inspection import PanelEvaluation, StabilityAnalysis, held_out_report, overview
from ..persistence import TableSelection
from ..subset import StabilityFrontier
from ._chosen import Chosen
from ._comparison import comparison_page
from ._evaluation import evaluation_page
from ._page import render
from ._selection import selection_page
from ._stability import frontier_page

_SCALERS: dict[Any, Any] = {"standard": StandardScaler, "minmax": MinMaxScaler}
"""What scales as a selector does; errors are in its units."""
_MIN_SAMPLES = 10
"""Fewer samples leave too few to hold out."""


def report(
    result: Any,
    path: PathLike,
    X: Any = None,
    *,
    title: str | None = None,
    stability: bool | StabilityAnalysis = True,
    groups: Any = None,
    overwrite: bool = False,
    random_state: int = 0,
) -> Path:
    """Write a result as one page of HTML that a person can send; it needs no network and holds no link.

    Parameters
    ----------
    result : fitted selector or pipeline, or a result
        What the page is about: also a :class:`TableSelection`, what :func:`~stableselect.inspection.evaluate` or
        :func:`~stableselect.compare` returns, a frontier, or a result of ``workflow``.
    path : path
        The file to write.
    X : array or data frame of shape (n, m), optional
        For a selector: the samples it was fitted on. With them the page has errors on held-out samples, stability,
        look-alikes, and figures of every feature; without them what the selector keeps.
    title : str, optional
        Title of the page.
    stability : bool or StabilityAnalysis, default=True
        For a selector with X: whether to repeat the choice to see how stable it is, or what
        :func:`~stableselect.inspection.stability_analysis` has found.
    groups : array-like of shape (n,), optional
        For a selector with X: labels of samples that belong together, which are held out together.
    overwrite : bool, default=False
        Whether a file that exists may be replaced.
    random_state : int, default=0
        Decides the samples held out and drawn.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset, report
    >>> X = load_iris(as_frame=True).data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(ColumnSubset(2).fit(X), Path(folder) / "iris.html", X)
    ...     page.name, page.read_text().count("<h2")
    ('iris.html', 8)
    """
    html = report_html(result, X, title=title, stability=stability, groups=groups, random_state=random_state)
    with write_whole(path, overwrite=overwrite) as (stream,):
        stream.write(html.encode())
    return Path(path)


def report_html(
    result: Any,
    X: Any = None,
    *,
    title: str | None = None,
    stability: bool | StabilityAnalysis = True,
    groups: Any = None,
    random_state: int = 0,
    source: str = "",
    notes: Sequence[str] = (),
) -> str:
    """Return what :func:`report` writes; ``source`` and ``notes`` are for results that do not hold their own."""
    if isinstance(result, Pipeline):
        X = X if X is None else result[:-1].transform(X)
        result = result[-1]
    # Results of workflow are known by what they hold, since it needs an extra.
    if isinstance(result, BaseSelector):
        page = selection_page(_fitted(result, X, stability, groups, random_state), title)
    elif isinstance(result, TableSelection):
        page = selection_page(Chosen.from_table(result), title)
    elif hasattr(result, "selection") and hasattr(result, "overview"):
        page = selection_page(Chosen.from_table(result.selection, result.overview), title)
    elif isinstance(getattr(result, "evaluation", result), PanelEvaluation):
        page = evaluation_page(result, title)
    elif isinstance(getattr(result, "frontier", result), StabilityFrontier):
        page = frontier_page(result, title)
    elif isinstance(result, MethodComparison):
        page = comparison_page(result, title, source, notes)
    else:
        raise TypeError(
            f"There is no report for {type(result).__name__}; give a fitted selector, a TableSelection, what evaluate "
            "or compare returns, a StabilityFrontier, or a result of stableselect.workflow."
        )
    return render(page)


def _fitted(
    selector: BaseSelector, X: Any, stability: bool | StabilityAnalysis, groups: Any, random_state: int
) -> Chosen:
    """Return what is known of a fitted selector, and what is measured on its samples."""
    if X is None:
        return Chosen.from_selector(selector, explanation=selector.explain() if hasattr(selector, "_roles") else None)
    seen = overview(selector, X, stability=stability, groups=groups, random_state=random_state)
    errors = None
    missing = int(seen.summary.n_missing.sum())
    if seen.summary.n_samples >= _MIN_SAMPLES and not missing and not selector.support_.all():
        scaler = _SCALERS.get(getattr(selector, "scale", None))
        cv = None if groups is None else GroupShuffleSplit(1, test_size=0.2, random_state=random_state)
        errors = held_out_report(
            selector, X, scaler=scaler and scaler(), cv=cv, groups=groups, random_state=random_state
        )
    return Chosen.from_selector(selector, seen, seen.explanation, errors)
