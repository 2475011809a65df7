"""The command ``compare``: methods side by side on one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

from .._files import complain, printable, write_whole
from . import _completion
from . import _options as options
from ._shell import console, counted, reported

if TYPE_CHECKING:
    from ..experiments import MethodComparison, Run
    from ..workflow import LabelledNumbers


def compare(
    table: options.TableToRead,
    k: Annotated[
        str | None, options.value("K", "Columns to select: a number or a fraction (default: half).", "--keep", "-k")
    ] = None,
    method: Annotated[
        list[str] | None,
        options.value(
            "NAMES",
            "Compare these; repeatable, or with commas, or 'all' (default: those that are quick).",
            "--method",
            "-m",
            autocompletion=_completion.methods,
        ),
    ] = None,
    output: Annotated[
        Path | None, options.value("OUT", "Table of the figures to write: .csv or .tsv.", "--output", "-o")
    ] = None,
    plot: Annotated[Path | None, options.value("OUT", "Picture to write: .png, .svg or .pdf.")] = None,
    labels: options.Labels = None,
    group_column: options.GroupColumn = None,
    drop_columns: options.DropColumns = None,
    id_column: options.IgnoredIdColumn = None,
    scale: options.Scale = "standard",
    folds: options.Folds = 5,
    seeds: Annotated[int, options.value("N", "Seeds of methods that are random.", min=1)] = 2,
    seed: Annotated[int, options.value("N", "Decides the folds and the seeds.", min=0, max=2**32 - 1)] = 0,
    jobs: Annotated[int, options.value("N", "Processes, each on one thread.", "--jobs", "-j", min=1)] = 1,
    store: Annotated[
        Path | None, options.value("DIR", "Folder of finished runs (default: TABLE.compare, here).")
    ] = None,
    retry: Annotated[bool, options.flag("Compute failed runs again.", "--retry")] = False,
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
    """Compare methods on TABLE: error, accuracy, stability and time.

    Every method selects K columns on the same parts of the rows, and the other
    rows are reconstructed from them by one and the same regression. Random
    columns, principal components and the mean stand beside them.

    Stop it at any time and give the same command again: it goes on where it
    was. Finished runs are kept in the folder TABLE.compare.
    """
    given = locals()
    with reported(debug, may_drop=True):
        import pyarrow as pa

        from ..experiments import compare as compare_methods
        from ..io import table_format
        from ._progress import progress

        for target, suffixes, what in (
            (output, (".csv", ".tsv"), "a table, "),
            (plot, options.PICTURES, "a picture, "),
        ):
            if target is not None:
                table_format(target, suffixes, what)
        targets = [target for target in (output, plot, *options.check_report(report)) if target is not None]
        options.check_files(targets, given)
        data = options.read_whole(given, "compare methods on")
        numbers, wanted = _numbers(data, given)
        kept = Path(f"{Path(data.name).stem or 'table'}.compare") if store is None else store
        try:
            with progress(quiet=quiet, named=_named) as tell:
                found = compare_methods(
                    pa.table(list(numbers.X.T), names=numbers.features),
                    wanted,
                    methods=_methods(method),
                    y=numbers.labels,
                    scaler=numbers.scaler,
                    cv=folds,
                    groups=numbers.groups,
                    n_seeds=seeds,
                    store=kept,
                    jobs=jobs,
                    retry=retry,
                    random_state=seed,
                    report=tell,
                )
        except (KeyboardInterrupt, SystemExit):
            complain(f"Finished runs are kept in {kept}; the same command goes on from there.")
            raise
        wrote = _write(found, given, data.name, numbers.notes)
        wrote.append(f"Finished runs are kept in {printable(str(kept))}.")
        _report(found, data.name, numbers, scale, wrote, quiet)


def _numbers(data: Any, given: dict[str, Any]) -> tuple[LabelledNumbers, Any]:
    """Return the numbers of the table, and how many columns to select."""
    from ..base import resolve_k
    from ..workflow import RequestError, SelectionRequest, labelled_numbers

    wanted = options.parsed_k(given["k"])
    if wanted == "auto":
        raise RequestError("k", "methods are compared with the same number of columns; give a number.")
    drop, ids = (options.columns_named(given[one] or [], data.columns) for one in ("drop_columns", "id_column"))
    same = {name: given[name] for name in ("scale", "group_column")}
    request = SelectionRequest(wanted, drop=drop, id_columns=ids, **same)
    numbers = labelled_numbers(data, request, labels=given["labels"], folds=given["folds"])
    m = len(numbers.features)
    if wanted is not None and resolve_k(wanted, m) == m:
        raise RequestError("k", f"all {m} columns would be selected, so there is nothing to compare; select fewer.")
    return numbers, wanted


def _methods(given: list[str] | None) -> Any:
    """Return the methods to compare, by their registered names."""
    from .._registry import find_selector
    from ..workflow import RequestError

    names = [name.strip() for value in given or () for name in value.split(",")]
    if not names or names == ["all"]:
        return "all" if names else None
    try:
        return list(dict.fromkeys(find_selector(name)[0] for name in names))
    except ValueError as error:
        raise RequestError("method", str(error)) from None


def _named(run: Run) -> str:
    return f"{run.method}, fold {run.split + 1}, seed {run.seed}"


def _write(found: MethodComparison, given: dict[str, Any], source: str, notes: Sequence[str]) -> list[str]:
    """Write the figures, the picture, where it can be drawn, and the page; return what was done."""

    def figures(stream: BinaryIO, kind: str) -> None:
        import pyarrow as pa

        from ..experiments import MethodRow
        from ..io import write_stream

        columns = {
            field.name: pa.array([getattr(row, field.name) for row in found.rows], from_pandas=True)
            for field in fields(MethodRow)
        }
        write_stream(pa.table(columns), stream, kind)

    def picture(stream: BinaryIO, kind: str) -> None:
        from ..plot import method_comparison  # first: its error says what to install

        # isort: split
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(9.6, 1.6 + 0.3 * len(found.rows)), layout="constrained")
        method_comparison(found, figure=drawn)
        of = f"{found.n_features_to_select} of {counted(found.n_features, 'column')}"
        drawn.suptitle(f"{printable(source)}: {of}", x=0.01, horizontalalignment="left", fontsize=11, parse_math=False)
        drawn.savefig(stream, format=kind[1:], dpi=150)

    def page(stream: BinaryIO, kind: str) -> None:
        stream.write(options.page_of(found, source=source, notes=notes))

    said = []
    for name, write in (("output", figures), ("plot", picture), ("report", page)):
        if (path := given[name]) is not None:
            try:
                with write_whole(path, overwrite=given["force"]) as (stream,):
                    write(stream, path.suffix.lower())
                said.append(f"Wrote {printable(str(path))}.")
            except ImportError as error:
                if name != "plot":
                    raise
                said.append(f"No picture: {error}.")
    return said


def _report(
    found: MethodComparison, source: str, numbers: LabelledNumbers, scaling: str, last: list[str], quiet: bool
) -> None:
    from ._report import comparison_legend

    report = console(quiet=quiet)
    of = f"{found.n_features_to_select} of {counted(found.n_features, 'column')} of {printable(source)}"
    repeats = f"{counted(found.n_splits, 'fold')}, {counted(found.n_seeds, 'seed')}"
    report.print(f"{of} ({counted(found.n_samples, 'row')}): {repeats}, the same for all methods.\n")
    report.print("\n".join(found.lines()), soft_wrap=True)
    report.print(comparison_legend(scaling))
    for note in found.notes():
        report.print(f"Note: {note}")
    options.tell(report, numbers.notes)
    for line in last:
        report.print(line)
