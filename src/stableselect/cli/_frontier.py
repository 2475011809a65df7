"""The command ``frontier``: what stability costs in error."""

from __future__ import annotations

import shlex
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .._files import printable, write_whole
from . import _options as options
from ._shell import console, counted, program, progress_bar, reported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..subset import StabilityFrontier
    from ..workflow import TableFrontier


def frontier(
    table: options.TableToRead,
    k: options.Keep = None,
    output: Annotated[
        Path | None, options.value("OUT", "Picture to write: .png, .svg or .pdf.", "--output", "-o")
    ] = None,
    method: options.Method = "ColumnSubset",
    include: options.Include = None,
    exclude: options.Exclude = None,
    drop_columns: options.DropColumns = None,
    id_column: options.IdColumn = None,
    missing: options.Missing = None,
    batch: options.Batch = None,
    group_column: options.GroupColumn = None,
    time_column: options.TimeColumn = None,
    scale: options.Scale = "standard",
    ridge: options.Ridge = None,
    min_explained_variance: options.MinExplainedVariance = None,
    max_error_increase: options.MaxErrorIncrease = None,
    min_stability: options.MinStability = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
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
    """Show what stability costs: a few settings for selecting K columns of TABLE.

    Each setting is measured by its error on held-out rows and by how far it
    selects the same columns when other rows are held out. Prints those that no
    other beats in both, the one that 'select --criterion stability' uses, and
    how stable the whole procedure is, choice of the setting included.

    With -o OUT the picture is written there. A second file, named after OUT
    and ending in .frontier.csv, holds the figures of all settings tried. With
    --report PAGE both are written as one page.
    """
    given = options.parsed(locals())
    given["criterion"] = "stability" if min_stability is None else None
    with reported(debug, may_drop=True):
        from ..io import table_format
        from ..workflow import measure_frontier

        if output is not None:
            table_format(output, options.PICTURES, "a picture, ")
        targets = [] if output is None else [output, output.with_suffix(".frontier.csv")]
        pages = options.check_report(report)
        options.check_files([*targets, *pages], given)
        with progress_bar(2, quiet=quiet) as begin:
            begin("Reading the table")
            found = measure_frontier(*options.read_request(given), progress=begin)
            wrote = _write(found, targets, pages, force) if targets or pages else ""
        _report(found, _command(given), wrote, quiet)


def _write(found: TableFrontier, targets: list[Path], pages: list[Path], force: bool) -> str:
    """Write the picture, without matplotlib not, the figures and the page, and return what was done."""
    from ..io import write_stream

    missing, drawn = "", None
    if targets:
        try:
            drawn = _picture(found)
        except ImportError as error:
            missing, targets = f"No picture: {error}. ", targets[1:]
    with write_whole(*targets, *pages, overwrite=force) as streams:
        if drawn is not None:
            drawn.savefig(streams[0], format=targets[0].suffix[1:].lower(), dpi=150)
        if targets:
            write_stream(found.as_table(), streams[len(targets) - 1], ".csv")
        if pages:
            streams[-1].write(options.page_of(found))
    return f"{missing}Wrote {options.names_of([*targets, *pages])}."


def _picture(found: TableFrontier) -> Figure:
    """Draw the frontier; ImportError without matplotlib."""
    from ..plot import stability_frontier  # first: its error says what to install

    # isort: split
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8.4, 4.8), layout="constrained")
    stability_frontier(found.frontier, ax=drawn.subplots())
    of = f"{found.n_features_to_select} of {counted(found.n_features, 'column')}"
    title = f"{printable(found.source)}: {of}, {found.method}"
    drawn.suptitle(title, x=0.01, horizontalalignment="left", fontsize=11, parse_math=False)
    return drawn


def _command(given: dict[str, Any]) -> str:
    """Return the select command for the same request as a shell takes it, without options at their defaults."""
    from ..workflow import SelectionRequest

    words = [
        "select",
        *given["table"],
        *(f"--{name}" for name in ("no-header", "transpose") if given[name.replace("-", "_")]),
    ]
    for name in ("separator", "decimal", "encoding"):
        words += [f"--{name}", given[name]] if given[name] else []
    words += [word for value in given["na"] or () for word in ("--na", value)]
    for field in fields(SelectionRequest):
        value = given.get(field.name)
        if value in (None, [], field.default):
            continue
        for entry in value if isinstance(value, list) else [value]:
            words += [options.option(field.name), f"{entry:g}" if isinstance(entry, float) else str(entry)]
    return f"{program()} {shlex.join(words)}"


def _report(found: TableFrontier, command: str, wrote: str, quiet: bool) -> None:
    from ._report import frontier_table, frontier_words, not_reached

    report = console(quiet=quiet)
    frontier = found.frontier
    of = f"{found.n_features_to_select} of {counted(found.n_features, 'column')} of {printable(found.source)}"
    report.print(
        f"{found.method}, {of} ({counted(found.rows, 'row')}): {counted(frontier.error.size, 'setting')} tried."
    )
    report.print("Settings that no other beats in both error and stability, and the chosen one:\n")
    report.print(frontier_table(frontier))
    low, high = frontier.procedure_interval
    further = " With --min-stability settings that cost more error are tried too." if frontier.target is None else ""
    report.print(
        f"\n> is chosen: {_why(frontier)}. Repeated {frontier.n_repeats} times without a part of the rows, the whole "
        f"procedure has a stability of {frontier.procedure_stability:.2f} [{low:.2f}, {high:.2f}].{further}"
    )
    report.print()
    report.print(frontier_words(found.scaling))
    options.tell(report, [*([] if frontier.reached else [not_reached(frontier)]), *found.notes])
    report.print("\nTo select columns with this setting:\n")
    report.print(f"  {printable(command)}", soft_wrap=True)
    report.print(f"\n{wrote or 'Use -o frontier.png to plot every setting.'}")


def _why(frontier: StabilityFrontier) -> str:
    allowed, target = f"within {100 * frontier.max_error_increase:g}% of the lowest error", frontier.target
    if target is not None and frontier.stability[frontier.chosen] >= target:
        return f"the first {allowed} at a stability of {target:g} or more"
    since = "" if target is None else f", since none of these reaches {target:g}"
    return f"no setting after it {allowed} is more stable{since}"
