"""Options of the commands, and from what a person types to a request."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .._files import PathLike, printable
from . import _completion
from ._conditions import OPTIONS as CONDITIONS
from ._conditions import columns_named, conditions_of

if TYPE_CHECKING:
    import pyarrow as pa

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
    typer.Option(
        "--keep",
        "-k",
        metavar="K",
        help="Number of columns to select, a fraction such as 0.1, or 'auto' (default: half).",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME",
        help="Selection method; see 'stableselect methods'.",
        autocompletion=_completion.method,
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="NAMES", help="Always select these columns; repeatable, with commas, or a file."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="NAMES", help="Reconstruct these columns but never select them."),
]
DropColumns = Annotated[list[str] | None, typer.Option("--drop-columns", metavar="NAMES", help="Ignore these columns.")]
IdColumn = Annotated[
    list[str] | None,
    typer.Option("--id-column", metavar="NAMES", help="Identifier column: copied to the output, never selected."),
]
Scale = Annotated[
    Literal["none", "minmax", "standard"],
    typer.Option("--scale", metavar="HOW", help="none, minmax or standard: scaling before columns are compared."),
]
Ridge = Annotated[
    str | None,
    typer.Option("--ridge", metavar="WEIGHT", help="Ridge weight, a number or auto; larger is more repeatable."),
]
MinExplainedVariance = Annotated[
    str | None,
    typer.Option(
        "--min-explained-variance",
        metavar="FRACTION",
        help="With -k auto: fraction of held-out variance to explain (default 0.9).",
    ),
]
Criterion = Annotated[
    Literal["error", "stability"] | None,
    typer.Option(
        "--criterion", metavar="WHAT", help="error, or stability: prefer columns that other rows would give too."
    ),
]
MaxErrorIncrease = Annotated[
    str | None,
    typer.Option(
        "--max-error-increase",
        metavar="FRACTION",
        help="Largest relative increase in held-out error accepted for stability (default 0.05).",
    ),
]
MinStability = Annotated[
    str | None,
    typer.Option(
        "--min-stability",
        metavar="VALUE",
        help="Give up error, within --max-error-increase, until the stability is at least VALUE (0-1).",
    ),
]
Missing = Annotated[
    Literal["raise", "em", "factors"] | None,
    typer.Option("--missing", metavar="HOW", help="raise, or em: a Gaussian stands in for missing values; or factors."),
]
Batch = Annotated[
    str | None,
    typer.Option("--batch", metavar="COLUMN", help="Batches (instruments, days): select by what varies within them."),
]
GroupColumn = Annotated[
    str | None,
    typer.Option("--group-column", metavar="COLUMN", help="Rows with the same entry are held out together."),
]
Labels = Annotated[
    str | None,
    typer.Option("--label-column", "--labels", metavar="COLUMN", help="Column of classes, to compare accuracy too."),
]
IgnoredIdColumn = Annotated[
    list[str] | None, typer.Option("--id-column", metavar="NAMES", help="Identifier column, which is ignored too.")
]
Folds = Annotated[int, typer.Option("--folds", metavar="N", min=2, help="Number of folds.")]
TimeColumn = Annotated[
    str | None,
    typer.Option("--time-column", metavar="COLUMN", help="Rows are held out in blocks that follow each other in time."),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", min=1, help="Processes for the searches of a choice for stability."),
]
Sketch = Annotated[
    str | None,
    typer.Option(
        "--sketch", metavar="R", help="Select from a sketch of R rows, or auto: where memory is too small otherwise."
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of held-out rows and random methods.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT", help="File to write: .csv, .tsv, .parquet, .npy or .npz."),
]
Separator = Annotated[
    str | None,
    typer.Option("--separator", metavar="MARK", help="Between columns of text: ';', tab, ... (default: recognised)."),
]
Decimal = Annotated[
    Literal[".", ","] | None,
    typer.Option("--decimal", metavar="MARK", help="Before decimals: . or , (default: recognised)."),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="Encoding of text, such as latin-1 (default: recognised)."),
]
Na = Annotated[
    list[str] | None,
    typer.Option("--na", metavar="WORD", help="A word for missing values, besides NA, -, ? and the like; repeatable."),
]
Transpose = Annotated[
    bool, typer.Option("--transpose", help="The rows of the file are the columns (genes as rows); text names them.")
]
NamingColumn = Annotated[
    str | None,
    typer.Option("--id-column", metavar="NAME", help="With --transpose: the column that names the rows of the file."),
]
NoHeader = Annotated[bool, typer.Option("--no-header", help="The first row is data; columns are called c0, c1, ...")]
QuoteFormulas = Annotated[
    bool,
    typer.Option(
        "--quote-formulas",
        help="For spreadsheets: write text that they would run as a formula (=...) with an apostrophe before it.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="PAGE", help="Page to write for people who were not there: .html."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]


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


def files_of(tables: list[str]) -> list[PathLike]:
    """Return the files that the tables of a command name."""
    from ..io import find_parts

    return [] if tables == ["-"] else [*find_parts(tables)]


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
