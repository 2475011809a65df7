"""The command ``evaluate``: judge columns that someone else has chosen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .._files import printable, write_whole
from . import _options as options
from ._conditions import columns_named
from ._shell import console, counted, progress_bar, reported

if TYPE_CHECKING:
    from ..workflow import TableEvaluation


def evaluate(
    table: options.TableToRead,
    columns: Annotated[
        list[str],
        options.value(
            "NAMES", "The panel: names (repeatable, or with commas), a text file of names, or a selection file."
        ),
    ],
    output: Annotated[
        Path | None, options.value("OUT", "File to write all figures to: .json.", "--output", "-o")
    ] = None,
    labels: options.Labels = None,
    group_column: options.GroupColumn = None,
    time_column: options.TimeColumn = None,
    drop_columns: options.DropColumns = None,
    id_column: options.IgnoredIdColumn = None,
    scale: options.Scale = "standard",
    folds: options.Folds = 5,
    random: Annotated[int, options.value("N", "Random panels to compare with.", min=1)] = 100,
    resamples: Annotated[
        int | None, options.value("N", "Select on N parts of the rows, not only on the folds.", min=2)
    ] = None,
    seed: Annotated[int, options.value("N", "Seed of folds and random panels.", min=0, max=2**32 - 1)] = 0,
    report: options.Report = None,
    no_header: options.NoHeader = False,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    na: options.Na = None,
    transpose: options.Transpose = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Judge any panel: columns of TABLE that were chosen by hand or elsewhere.

    All figures are for held-out rows: how much of the table the panel explains,
    beside random panels, one selected on the other rows, and principal
    components; what each of its columns is worth, which are redundant, the best
    swap, and what to add. It also says where there is nothing to select at all.

    With -o OUT all figures are written there as JSON, with --report PAGE as one
    page for people who were not there.
    """
    given = locals()
    with reported(debug, may_drop=True):
        from ..io import table_format
        from ..persistence import as_json
        from ..workflow import EvaluationRequest, evaluate_table

        if output is not None:
            table_format(output, (".json",), "a report, ")
        targets = [] if output is None else [output]
        pages = options.check_report(report)
        options.check_files([*targets, *pages], given)
        with progress_bar(2, quiet=quiet) as begin:
            begin("Reading the table")
            data = options.read_whole(given, "be judged at once")
            same = ("labels", "group_column", "time_column", "scale", "folds", "seed")
            request = EvaluationRequest(
                columns_named(columns, data.columns, files=True),
                drop=columns_named(drop_columns or [], data.columns),
                id_columns=columns_named(id_column or [], data.columns),
                n_random=random,
                n_resamples=resamples or 0,
                **{name: given[name] for name in same},
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
    options.tell(report, found.notes, (*targets, *pages))
