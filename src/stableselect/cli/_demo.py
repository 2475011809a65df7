"""The command ``demo``: sixteen pixels that stand for handwritten digits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer
from rich.console import Console
from rich.text import Text
from sklearn.datasets import load_digits

from ..io import Selection, Table, replacing, shown, write_table
from ..workflow import SELECT_STAGES, select_table
from ._report import errors_table
from ._shell import Debug, Quiet, console, program, progress_bar, reported

_SHAPE = (8, 8)
_KEPT = 16
_NEW = 10
"""The first ten rows, a nought to a nine, are left out of the choice and rebuilt at the end."""


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write to.")] = Path("demo"),
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Choose 16 pixels of handwritten digits and rebuild the digits.

    Writes the table, the kept pixels, the selection and a picture to DIR,
    over those of an earlier demo.
    """
    with reported(debug):
        if output.exists() and not output.is_dir():
            raise ValueError(f"{shown(str(output))} is a file; give a folder for --output.")
        report = console(quiet=quiet)
        X = load_digits().data
        digits, new = _as_table(X[_NEW:], "digits.csv"), _as_table(X[:_NEW], "new_digits.csv")
        with progress_bar(len(SELECT_STAGES), quiet=quiet) as begin:
            selection = select_table(digits, _KEPT, scale="none", progress=begin)
        output.mkdir(parents=True, exist_ok=True)
        kept = selection.apply(digits)
        for table, name in ((digits.data, digits.name), (new.data, new.name), (kept, "kept_pixels.csv")):
            write_table(table, output / name)
        selection.save(output / "kept_pixels.selection.json")

        report.print(f"Handwritten digits: {selection.rows} images of 8 x 8 pixels, each pixel a column.")
        report.print(f"{selection.method} kept {_KEPT} of {X.shape[1]} pixels; numbers give the order of choice:\n")
        _draw(report, selection)
        if selection.errors is not None:
            report.print(errors_table(selection.errors, selection.scaling))
        rebuilt = selection.reconstruct(Table(selection.apply(new), new.name))
        picture = _save_picture(output / "digits.png", X[:_NEW], selection, _as_array(rebuilt))
        report.print(f"\n{picture}")
        report.print(f"Tables and selection are in {shown(str(output))}. Try next:\n")
        path = shown(str(output))
        for line in (
            f"{program()} select {path}/digits.csv -k 8 --scale none --explain",
            f"{program()} apply {path}/kept_pixels.selection.json {path}/new_digits.csv",
        ):
            report.print(f"  {line}", soft_wrap=True)


def _as_table(X: np.ndarray, name: str) -> Table:
    rows, columns = _SHAPE
    names = [f"row{i}_col{j}" for i in range(rows) for j in range(columns)]
    return Table(pa.Table.from_arrays([pa.array(pixel) for pixel in X.astype(np.int64).T], names=names), name)


def _as_array(table: pa.Table) -> np.ndarray:
    return np.column_stack([column.to_numpy() for column in table.columns])


def _draw(report: Console, selection: Selection) -> None:
    """Draw the image's grid with the order of choice at each kept pixel."""
    order = {column.index: rank for rank, column in enumerate(selection.selected, 1)}
    rows, columns = _SHAPE
    for i in range(rows):
        line = Text("  ")
        for j in range(columns):
            rank = order.get(i * columns + j)
            line.append("  ." if rank is None else f"{rank:3d}", style="dim" if rank is None else "bold green")
        report.print(line)


def _save_picture(path: Path, images: np.ndarray, selection: Selection, rebuilt: np.ndarray) -> str:
    """Save the picture and say so, or say what it needs."""
    try:
        from ..plot import reconstructed_images
    except ImportError as error:
        return f"No picture: {error}"
    chosen = np.isin(selection.features, selection.kept)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    reconstructed_images(images, chosen, rebuilt, shape=_SHAPE, axes=figure.subplots(3, len(images)))
    with replacing(path) as (temporary,):
        figure.savefig(temporary, format="png", dpi=100)
    return f"Wrote {shown(str(path))}: ten digits the choice has not seen, their kept pixels, and the rebuilt digits."
