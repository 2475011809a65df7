"""Options of the commands, and from what a person types to a request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from ..workflow import SelectionRequest

OPTIONS = {
    "k": "-k",
    "method": "--method",
    "include": "--include",
    "exclude": "--exclude",
    "drop": "--drop-columns",
    "id_columns": "--id-column",
    "scale": "--scale",
    "ridge": "--ridge",
    "min_explained_variance": "--min-explained-variance",
    "criterion": "--criterion",
    "max_error_increase": "--max-error-increase",
    "min_stability": "--min-stability",
    "seed": "--seed",
    "explain": "--explain",
}
"""By field of a request: what it is called here."""


_NUMBERS = {
    "ridge": ("auto", -5e-324, math.inf, "auto or a number of at least 0"),
    "min_explained_variance": ("elbow", 0, 1, "a fraction above 0 and below 1, or elbow"),
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
        raise typer.BadParameter(f"must be {allowed}, got '{text}'.", param_hint=OPTIONS[field])
    return number


def _parse_k(text: str | None) -> Any:
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


TableToRead = Annotated[str, typer.Argument(metavar="TABLE", help="Table to select from; '-' reads CSV from stdin.")]
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
Method = Annotated[str, typer.Option("--method", metavar="NAME", help="Selection method; see 'stableselect methods'.")]
Include = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="NAMES", help="Always select these columns; repeatable, or with commas."),
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
        help="With -k auto: fraction of held-out variance to explain (default 0.9), or elbow.",
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
        help="Choose the lowest-error setting with stability of at least VALUE (0-1).",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of held-out rows and random methods.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT", help="File to write: .csv, .tsv, .parquet, .npy or .npz."),
]
NoHeader = Annotated[bool, typer.Option("--no-header", help="The first row is data; columns are called c0, c1, ...")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]


def parsed(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a request from the options of a command; names are still as they were typed."""
    if not 0 <= options["seed"] < 2**32:
        raise typer.BadParameter(f"must be from 0 to 2**32 - 1, got {options['seed']}.", param_hint="--seed")
    given = {name: options[name] for name in OPTIONS if name in options}
    given |= {"drop": options["drop_columns"] or [], "id_columns": options["id_column"] or []}
    given |= {name: _number(name, given[name]) for name in _NUMBERS}
    return given | {"k": _parse_k(given["k"])}


def possible_names(given: list[str] | None) -> list[str]:
    """Return what lists of names may mean before the table's own names are known."""
    return [name for value in given or [] for name in (value, *(part.strip() for part in value.split(",")))]


def make_request(fields: dict[str, Any], columns: Sequence[str]) -> SelectionRequest:
    """Return the request, with lists of names split at their commas."""
    from ..io import split_names
    from ..workflow import SelectionRequest

    names = {name: split_names(fields[name] or [], columns) for name in ("include", "exclude", "drop", "id_columns")}
    return SelectionRequest(**{**fields, **names})
