"""The command ``select``: select columns of a table."""

from __future__ import annotations

import warnings
from typing import Annotated

from .._files import printable, write_whole
from . import _options as options
from ._shell import console, progress_bar, reported


def select(
    table: options.TableToRead,
    k: options.Keep = None,
    output: options.Output = None,
    method: options.Method = "ColumnSubset",
    include: options.Include = None,
    exclude: options.Exclude = None,
    drop_columns: options.DropColumns = None,
    id_column: options.IdColumn = None,
    missing: options.Missing = None,
    batch: options.Batch = None,
    group_column: options.GroupColumn = None,
    time_column: options.TimeColumn = None,
    conditions: options.ConditionsFiles = None,
    budget: options.Budget = None,
    min_distance: options.MinDistance = None,
    grow_from: options.GrowFrom = None,
    shrink_from: options.ShrinkFrom = None,
    scale: options.Scale = "standard",
    ridge: options.Ridge = None,
    min_explained_variance: options.MinExplainedVariance = None,
    criterion: options.Criterion = None,
    max_error_increase: options.MaxErrorIncrease = None,
    min_stability: options.MinStability = None,
    sketch: options.Sketch = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    explain: Annotated[
        bool, options.flag("Explain discarded columns and name replacements for selected ones.", "--explain")
    ] = False,
    report: options.Report = None,
    no_header: options.NoHeader = False,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    na: options.Na = None,
    transpose: options.Transpose = False,
    quote_formulas: options.QuoteFormulas = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Select the K columns of TABLE from which all others can best be reconstructed.

    Without -o the selected columns are printed, best first.

    With -o OUT they are written there as they are, unscaled. A second file,
    named after OUT and ending in .selection.json, holds the selection: columns,
    errors, settings and the linear map that reconstructs the other columns.

    With --report PAGE all that is known of the choice is written as one page.
    """
    given = options.parsed(locals())
    with reported(debug, may_drop=True):
        from ..base import NovelSamplesWarning
        from ..io import apply, check_writable, needed, table_format, write_stream
        from ..persistence import to_json
        from ..workflow import inspect_table, select_table
        from ._report import selection_report

        suffix = "" if output is None else table_format(output)
        options.check_quoting(suffix or ".csv", quote_formulas)
        targets = [] if output is None else [output, output.with_suffix(".selection.json")]
        pages = options.check_report(report)
        notes: list[str] = []
        options.check_files([*targets, *pages], given)
        with progress_bar(4 if pages else 3, quiet=quiet) as begin:
            begin("Reading the table")
            data, request = options.read_request(given)
            if output is not None:
                ids = [name for name in data.columns if name in {*request.id_columns, *data.ids}]
                if ids:
                    check_writable(data.head(ids).data, suffix)
            looked_at = inspect_table(data, request, progress=begin) if pages else None
            selection = select_table(data, request, progress=begin) if looked_at is None else looked_at.selection
            if targets:
                # These are the rows selected on, or some of them.
                with warnings.catch_warnings(action="ignore", category=NovelSamplesWarning):
                    chosen = apply(selection, needed(selection, data))
                kept, notes = options.for_spreadsheets(chosen, suffix, quote_formulas)
            with write_whole(*targets, *pages, overwrite=force) as streams:
                if targets:
                    write_stream(kept, streams[0], suffix)
                    streams[1].write(to_json(selection).encode())
                if looked_at is not None:
                    streams[-1].write(options.page_of(looked_at))
        if not targets:
            for column in selection.selected:
                print(printable(column.name))
        report_on = console(stderr=not targets, quiet=quiet)  # standard output may carry the columns
        report_on.print(*selection_report(selection, targets), sep="\n")
        options.tell(report_on, (*selection.notes, *notes), (*targets, *pages))
