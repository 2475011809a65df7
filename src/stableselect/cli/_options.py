"""Options of the commands, and from what a person types to a request."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .._files import check_outputs, printable
from . import _completion
from ._conditions import OPTIONS as CONDITIONS
from ._conditions import columns_named, conditions_of

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from ..io import Table, TableParts
    from ..workflow import SelectionRequest

_NAMES = {"k": "-k", "drop": "--drop-columns", "id_columns": "--id-column", "n_jobs": "--jobs"}
"""By field of a request: the option, where it is not called as the field is."""


PICTURES = (".png", ".svg", ".pdf")
_TEXT = (".csv", ".tsv")
_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
"""Words for separators that are awkward to type."""
_HINTS = {
    "transpose the table.": "--transpose",
    "without a header.": "--no-header",
    "scale the columns.": "--scale standard",
    "drop it.": "--drop-columns",
    "drop it if so.": "--drop-columns",
    "by their time.": "--time-column",
}
"""By how a note ends: the option that does what it says. Names of columns are in quotes there and cannot match."""


def option(field: str) -> str:
    """Return the option for a field of a request."""
    return _NAMES.get(field, "--" + field.replace("_", "-"))


_NUMBERS = {
    "ridge": ("auto", -5e-324, 1e100, "auto or a number from 0 to 1e99"),
    "min_explained_variance": (None, 0, 1, "a fraction above 0 and below 1"),
    "max_error_increase": (None, -5e-324, math.inf, "a fraction of at least 0, such as 0.05"),
    "min_stability": (None, 0, math.nextafter(1, 2), "above 0 and at most 1"),
}
"""By field: a word that is taken as it is, what a number must be above and below, and that in words."""


def _number(field: str, text: str | None) -> Any:
    word, above, below, allowed = _NUMBERS[field]
    if text is None or text == word:
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not above < number < below:
        raise typer.BadParameter(f"must be {allowed}, got '{text}'.", param_hint=option(field))
    return number


def _parse_sketch(text: str | None) -> Any:
    if text is None or text == "auto":
        return text
    if not (text.isascii() and text.isdigit() and int(text)):
        raise typer.BadParameter(f"must be auto or a whole number from 1, got '{text}'.", param_hint="--sketch")
    return int(text)


def parsed_k(text: str | None) -> Any:
    """Return K as a number of columns or as a fraction; None and "auto" stay."""
    if text is None or text == "auto":
        return text
    try:
        wanted = float(text) if any(mark in text for mark in ".eE") else int(text)
    except ValueError:
        wanted = 0
    if wanted > 0 and (isinstance(wanted, int) or wanted <= 1):
        return wanted
    allowed = "a whole number from 1, a fraction above 0.0 and up to 1.0, or auto"
    raise typer.BadParameter(f"must be {allowed}, got '{text}'.", param_hint="-k")


def value(metavar: str, text: str, *names: str, **more: Any) -> Any:
    """Declare an option that takes a value; without names it is called as its parameter is."""
    return typer.Option(*names, metavar=metavar, help=text, **more)


def flag(text: str, *names: str) -> Any:
    """Declare an option that takes none; it needs a name, or typer adds one that begins with "no"."""
    return typer.Option(*names, help=text)


TableToRead = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE", help="Table to select from: a file, several parts, 'logs/*.csv', a folder, or '-' for stdin."
    ),
]
Selection = Annotated[
    Path,
    typer.Argument(metavar="SELECTION", help="File that select -o wrote (.selection.json) or Python saved (.sselect)."),
]
Keep = Annotated[
    str | None,
    value("K", "Number of columns to select, a fraction such as 0.1, or 'auto' (default: half).", "--keep", "-k"),
]
Method = Annotated[
    str, value("NAME", "Selection method; see 'stableselect methods'.", autocompletion=_completion.method)
]
Include = Annotated[
    list[str] | None, value("NAMES", "Always select these columns; repeatable, with commas, or a file.")
]
Exclude = Annotated[list[str] | None, value("NAMES", "Reconstruct these columns but never select them.")]
DropColumns = Annotated[list[str] | None, value("NAMES", "Ignore these columns.")]
IdColumn = Annotated[list[str] | None, value("NAMES", "Identifier column: copied to the output, never selected.")]
Scale = Annotated[
    Literal["none", "minmax", "standard"],
    value("HOW", "none, minmax or standard: scaling before columns are compared."),
]
Ridge = Annotated[str | None, value("WEIGHT", "Ridge weight, a number or auto; larger is more repeatable.")]
MinExplainedVariance = Annotated[
    str | None, value("FRACTION", "With -k auto: fraction of held-out variance to explain (default 0.9).")
]
Criterion = Annotated[
    Literal["error", "stability"] | None,
    value("WHAT", "error, or stability: prefer columns that other rows would give too."),
]
MaxErrorIncrease = Annotated[
    str | None, value("FRACTION", "Largest relative increase in held-out error accepted for stability (default 0.05).")
]
MinStability = Annotated[
    str | None,
    value("VALUE", "Give up error, within --max-error-increase, until the stability is at least VALUE (0-1)."),
]
Missing = Annotated[
    Literal["raise", "em", "factors"] | None,
    value("HOW", "raise, or em: a Gaussian stands in for missing values; or factors."),
]
Batch = Annotated[str | None, value("COLUMN", "Batches (instruments, days): select by what varies within them.")]
GroupColumn = Annotated[str | None, value("COLUMN", "Rows with the same entry are held out together.")]
Labels = Annotated[
    str | None, value("COLUMN", "Column of classes, to compare accuracy too.", "--label-column", "--labels")
]
IgnoredIdColumn = Annotated[list[str] | None, value("NAMES", "Identifier column, which is ignored too.")]
Folds = Annotated[int, value("N", "Number of folds.", min=2)]
TimeColumn = Annotated[str | None, value("COLUMN", "Rows are held out in blocks that follow each other in time.")]
Jobs = Annotated[int | None, value("N", "Processes for the searches of a choice for stability.", "--jobs", "-j", min=1)]
Sketch = Annotated[
    str | None, value("R", "Select from a sketch of R rows, or auto: where memory is too small otherwise.")
]
Seed = Annotated[int, value("N", "Seed of held-out rows and random methods.")]
Output = Annotated[Path | None, value("OUT", "File to write: .csv, .tsv, .parquet, .npy or .npz.", "--output", "-o")]
Separator = Annotated[str | None, value("MARK", "Between columns of text: ';', tab, ... (default: recognised).")]
Decimal = Annotated[Literal[".", ","] | None, value("MARK", "Before decimals: . or , (default: recognised).")]
Encoding = Annotated[str | None, value("NAME", "Encoding of text, such as latin-1 (default: recognised).")]
Na = Annotated[list[str] | None, value("WORD", "A word for missing values, besides NA, -, ? and the like; repeatable.")]
Transpose = Annotated[
    bool, flag("The rows of the file are the columns (genes as rows); text names them.", "--transpose")
]
NamingColumn = Annotated[str | None, value("NAME", "With --transpose: the column that names the rows of the file.")]
NoHeader = Annotated[bool, flag("The first row is data; columns are called c0, c1, ...", "--no-header")]
QuoteFormulas = Annotated[
    bool,
    flag(
        "For spreadsheets: write text that they would run as a formula (=...) with an apostrophe before it.",
        "--quote-formulas",
    ),
]
Report = Annotated[Path | None, value("PAGE", "Page to write for people who were not there: .html.")]
Force = Annotated[bool, flag("Overwrite files that exist.", "--force")]
ConditionsFiles = Annotated[
    list[Path] | None,
    value(
        "FILE",
        "Costs, groups, blocks, distances, penalties, weights: a TOML, or a CSV with a row a column; repeatable.",
    ),
]
Budget = Annotated[float | None, value("TOTAL", "The selected columns cost no more; K is then the most to select.")]
MinDistance = Annotated[float | None, value("D", "Selected columns are at least so far apart (x, y, z of a CSV).")]
GrowFrom = Annotated[
    list[str] | None, value("PANEL", "Keep these columns and add to them: names, a text or a selection file.")
]
ShrinkFrom = Annotated[list[str] | None, value("PANEL", "Select from these columns only: the same.")]
Quiet = Annotated[bool, flag("Print no report.", "--quiet", "-q")]
Debug = Annotated[bool, flag("Show the traceback of an error.", "--debug")]


def parsed(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a command with numbers for text, and under the names that a request has for them."""
    if not 0 <= options["seed"] < 2**32:
        raise typer.BadParameter(f"must be from 0 to 2**32 - 1, got {options['seed']}.", param_hint="--seed")
    numbers = {name: _number(name, options[name]) for name in _NUMBERS}
    columns = {"drop": options["drop_columns"] or [], "id_columns": options["id_column"] or []}
    made = {"k": parsed_k(options["k"]), "n_jobs": options["jobs"], "sketch": _parse_sketch(options.get("sketch"))}
    return options | numbers | columns | made


def check_quoting(suffix: str, quote: bool) -> None:
    """Raise if quotes are asked for in a file that is not text."""
    if quote and suffix not in _TEXT:
        raise typer.BadParameter(f"is for .csv and .tsv files, not for {suffix}.", param_hint="--quote-formulas")


def for_spreadsheets(table: pa.Table, suffix: str, quote: bool) -> tuple[pa.Table, list[str]]:
    """Return a table as it is to be written, and a note where a spreadsheet would run parts of it as formulas."""
    from ..io import formulas, listed, quote_formulas

    if suffix not in _TEXT:
        return table, []
    if quote:
        return quote_formulas(table), []
    names, cells = formulas(table)
    found = [f"column {listed(names)}"] * bool(names) + ["1 cell" if cells == 1 else f"{cells} cells"] * bool(cells)
    if not found:
        return table, []
    return table, [f"A spreadsheet would run text as formulas: {' and '.join(found)}; --quote-formulas prevents it."]


def with_option(note: str) -> str:
    """Return a note with the option that does what it says."""
    found = next((name for words, name in _HINTS.items() if note.endswith(words)), None)
    return printable(note if found is None else f"{note.removesuffix('.')} ({found}).")


def tell(report: Console, notes: Iterable[str], wrote: Iterable[Path] = ()) -> None:
    """Print notes, with the options that do what they say, and what was written."""
    for note in notes:
        report.print(f"Note: {with_option(note)}")
    if told := names_of(wrote):
        report.print(f"Wrote {told}.")


def names_of(paths: Iterable[Path]) -> str:
    """Return files as a sentence names them."""
    return " and ".join(printable(str(path)) for path in paths)


def check_report(page: Path | None) -> list[Path]:
    """Return the page to write, if one is; raise at once where it cannot be made."""
    if page is None:
        return []
    from ..io import table_format

    table_format(page, (".html", ".htm"), "a page, ")
    page_of(None)
    return [page]


def page_of(result: Any, **about: Any) -> bytes:
    """Return a result as a page; nothing for None, but an error where pages cannot be made."""
    from .._report import report_html

    return b"" if result is None else report_html(result, **about).encode()


def check_files(targets: Iterable[Path], given: dict[str, Any], *more: Path) -> None:
    """Raise if a file cannot be written, or is one that the command reads: a table, or one of those in ``more``."""
    from ..io import find_parts

    inputs = [] if given["table"] == ["-"] else find_parts(given["table"])
    check_outputs(targets, inputs=[*more, *inputs], overwrite=given["force"])


def reading(given: dict[str, Any]) -> dict[str, Any]:
    """Return how a table is to be read, as far as the options say."""
    from ..io import TextStyle

    separator = given["separator"]
    try:
        style = TextStyle(
            _SEPARATORS.get(separator, separator), given["decimal"], given["encoding"], tuple(given["na"] or ())
        )
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--separator, --decimal or --encoding") from error
    return {"header": not given["no_header"], "style": style, "transpose": given["transpose"]}


def read_whole(given: dict[str, Any], what: str) -> Table:
    """Read the table of a command that needs it in memory."""
    from ..io import Table, open_table

    kept = [name for name in (given["labels"], given["group_column"], *(given["id_column"] or ())) if name]
    table = open_table(given["table"], verbatim=kept, **reading(given))
    if not isinstance(table, Table):
        raise ValueError(f"{printable(table.name)} is too large to {what}; give a part of its rows.")
    return table


def read_request(given: dict[str, Any]) -> tuple[Table | TableParts, SelectionRequest]:
    """Read the table of a command, or begin to, and return it with the request for it."""
    from ..io import open_table
    from ..workflow import SelectionRequest

    possible = [name for value in given["id_columns"] for name in (value, *_split(value))]
    possible += [given[name] for name in ("batch", "group_column") if given.get(name)]
    table = open_table(given["table"], verbatim=possible, **reading(given))
    known = {field.name: given[field.name] for field in fields(SelectionRequest) if field.name in given}
    for role in ("include", "exclude", "drop", "id_columns"):
        files = role in ("include", "exclude")
        known[role] = columns_named(known[role], table.columns, files=files) if known[role] else []
    known["conditions"] = None
    if any(given.get(name) not in (None, []) for name in CONDITIONS):
        known["conditions"], include = conditions_of(given, table.columns)
        known["include"] += include
    if given["transpose"]:  # the column that named the rows is gone
        known["id_columns"] = [name for name in known["id_columns"] if name in table.columns]
    return table, SelectionRequest(**known)


def _split(value: str) -> list[str]:
    return [name.strip() for name in value.split(",")]
