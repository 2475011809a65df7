"""Options of the commands that choose from a table: which table, how many columns, and how."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

TableToRead = Annotated[str, typer.Argument(metavar="TABLE", help="Table to choose from; '-' reads CSV from stdin.")]
Keep = Annotated[
    str | None,
    typer.Option("--keep", "-k", metavar="K", help="Columns to keep, a share such as 0.1, or auto; default half."),
]
Method = Annotated[str, typer.Option(metavar="NAME", help="How to choose; see 'stableselect methods'.")]
Include = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Keep this column; repeatable.")]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Never keep this column, but rebuild it; repeatable.")
]
DropColumns = Annotated[
    list[str] | None, typer.Option(metavar="NAMES", help="Leave these out; repeatable, or with commas.")
]
IdColumn = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Carry along, do not use; repeatable.")]
ScaleHow = Annotated[
    str, typer.Option(metavar="HOW", help="none, minmax or standard; columns in different units need it.")
]
Ridge = Annotated[str | None, typer.Option(metavar="WEIGHT", help="auto or a number; larger is more repeatable.")]
MinExplainedVariance = Annotated[
    str | None,
    typer.Option(metavar="SHARE", help="For -k auto: share of held-out variance to explain, 0.9, or elbow."),
]
MaxErrorIncrease = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="What stability may cost: error above the least; 0.05 by default."),
]
MinStability = Annotated[
    float | None,
    typer.Option(metavar="VALUE", help="Take the least error that is so stable (up to 1), whatever it costs."),
]


def parse_k(text: str | None) -> int | float | Literal["auto"] | None:
    """Return K as a whole number of columns or as a share; "auto" and None stand for themselves."""
    if text is None:
        return None
    if text == "auto":
        return "auto"
    try:
        wanted = float(text) if any(mark in text for mark in ".eE") else int(text)
    except ValueError:
        wanted = 0
    if isinstance(wanted, int) and wanted >= 1:
        return wanted
    if isinstance(wanted, float) and 0 < wanted <= 1:
        return wanted
    raise ValueError(f"-k must be a whole number from 1 up, a share above 0.0 and up to 1.0, or auto, not '{text}'.")


def parse_target(text: str | None, wanted: int | float | str | None) -> float | str | None:
    """Return the share that -k auto is to explain; "elbow" and None stand for themselves."""
    if text is None:
        return None
    if wanted != "auto":
        raise ValueError("--min-explained-variance goes with -k auto; say both or neither.")
    if text == "elbow":
        return text
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise ValueError(f"--min-explained-variance must be a share above 0 and below 1, or elbow, not '{text}'.")
    return share


def parse_ridge(text: str | None) -> float | str | None:
    """Return the ridge weight; "auto" and None stand for themselves."""
    if text is None or text == "auto":
        return text
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight < float("inf"):
        raise ValueError(f"--ridge must be 'auto' or a number of at least 0, not '{text}'.")
    return weight
