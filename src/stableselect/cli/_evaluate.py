"""The command ``evaluate``: judge columns that someone else has chosen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._files import check_outputs, printable, write_whole
from . import _options as options
from ._conditions import columns_named
from ._shell import Debug, Quiet, console, counted, progress_bar, reported

if TYPE_CHECKING:
    from ..workflow import TableEvaluation


def evaluate(
    table: options.TableToRead,
    columns: Annotated[
        list[str],
        typer.Option(
            "--columns",
            metavar="NAMES",
            help="The panel: names (repeatable, or with commas), a text file of names, or a selection file.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="File to write all figures to: .json.")
    ] = None,
    labels: options.Labels = None,
    group_column: options.GroupColumn = None,
    time_column: options.TimeColumn = None,
    drop_columns: options.DropColumns = None,
    id_column: options.IgnoredIdColumn = None,
    scale: options.Scale = "standard",
    folds: options.Folds = 5,
    random: Annotated[int, typer.Option("--random", metavar="N", min=1, help="Random panels to compare with.")] = 100,
    resamples: Annotated[
        int | None,
        typer.Option("--resamples", metavar="N", min=2, help="Select on N parts of the rows, not only on the folds."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="Seed of folds and random panels.")
    ] = 0,
    report: options.Report = None,
    no_header: options.NoHeader = False,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    na: options.Na = None,
    transpose: options.Transpose = False,
    force: options.Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Judge any panel: columns of TABLE that were chosen by hand or elsewhere.

    All figures are for held-out rows: how much of the table the panel explains,
    beside random panels, one selected on the other rows, and principal
    components; what each of its columns is worth, which are redundant, the best
    swap, and what to add. It also says where there is nothing to select at all.

    With -o OUT all figures are written there as JSON, with --report PAGE as one
    page for people who were not there.
    """
    how = options.reading(locals())
    with reported(debug, may_drop=True):
        from ..io import Table, open_table, table_format
        from ..persistence import as_json
        from ..workflow import EvaluationRequest, evaluate_table

        if output is not None:
            table_format(output, (".json",), "a report, ")
        targets = [] if output is None else [output]
        pages = options.check_report(report)
        check_outputs([*targets, *pages], inputs=options.files_of(table), overwrite=force)
        with progress_bar(2, quiet=quiet) as begin:
            begin("Reading the table")
            data = open_table(
                table, verbatim=[name for name in (labels, group_column, *(id_column or ())) if name], **how
            )
            if not isinstance(data, Table):
                raise ValueError(f"{printable(data.name)} is too large to be judged at once; give a part of its rows.")
            request = EvaluationRequest(
                columns_named(columns, data.columns, files=True),
                labels=labels,
                group_column=group_column,
                time_column=time_column,
                drop=columns_named(drop_columns or [], data.columns),
                id_columns=columns_named(id_column or [], data.columns),
                scale=scale,
                folds=folds,
                n_random=random,
                n_resamples=resamples or 0,
                seed=seed,
            )
            found = evaluate_table(data, request, progress=begin)
            judged = found.evaluation
            first = {
                "format": "stableselect evaluation",
                "version": 1,
                "verdict": judged.verdict,
                "nothing_to_select": judged.nothing_to_select,
                "n_beaten": judged.n_beaten,
            }
            with write_whole(*targets, *pages, overwrite=force) as streams:
                if targets:
                    streams[0].write(as_json(found, **first).encode())
                if pages:
                    streams[-1].write(options.page_of(found))
        _report(found, targets, pages, quiet)


def _report(found: TableEvaluation, targets: list[Path], pages: list[Path], quiet: bool) -> None:
    from ._report import evaluation_tables

    report, judged = console(quiet=quiet), found.evaluation
    of = f"{len(judged.panel)} of {counted(judged.n_features, 'column')} of {printable(found.source)}"
    report.print(f"{of}, judged on held-out rows ({counted(found.rows, 'row')} in {judged.n_splits} folds).")
    report.print(judged.verdict_on("columns", "rows"))
    file = printable(targets[0].name) if targets else None
    report.print(*evaluation_tables(judged, found.scaling, file), sep="\n")
    for note in found.notes:
        report.print(f"Note: {options.with_option(note)}")
    if targets or pages:
        report.print(f"Wrote {' and '.join(printable(str(path)) for path in (*targets, *pages))}.")
