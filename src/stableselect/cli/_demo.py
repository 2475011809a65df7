"""The command ``demo``: handwritten digits reconstructed from sixteen of their pixels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from rich.text import Text

from .._files import printable, write_whole
from . import _options as options
from ._shell import console, program, progress_bar, reported

if TYPE_CHECKING:
    import numpy as np

    from ..io import Table
    from ..persistence import TableSelection

_SHAPE = (8, 8)
_KEPT = 16
_NEW = 10
"""The first ten rows, a zero to a nine, are left out of the selection and reconstructed at the end."""


def demo(
    output: Annotated[Path, options.value("DIR", "Folder to write to.", "--output", "-o")] = Path("demo"),
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Select 16 pixels of handwritten digits and reconstruct the digits.

    Writes the table, the selected pixels, the selection and a picture to DIR,
    over those of an earlier demo.
    """
    with reported(debug):
        from sklearn.datasets import load_digits

        from ..io import apply, write_table
        from ..persistence import save
        from ..workflow import SelectionRequest, select_table
        from ._report import errors_table

        if output.exists() and not output.is_dir():
            raise ValueError(f"{printable(str(output))} is a file; give a folder for --output.")
        report = console(quiet=quiet)
        X = load_digits().data
        digits, new = _as_table(X[_NEW:], "digits.csv"), _as_table(X[:_NEW], "new_digits.csv")
        with progress_bar(2, quiet=quiet) as begin:
            selection = select_table(digits, SelectionRequest(k=_KEPT, scale="none"), progress=begin)
        output.mkdir(parents=True, exist_ok=True)
        kept = apply(selection, digits)
        for table, name in ((digits.data, digits.name), (new.data, new.name), (kept, "selected_pixels.csv")):
            write_table(table, output / name)
        save(selection, output / "selected_pixels.selection.json", overwrite=True)

        report.print(f"Handwritten digits: {selection.rows} images of 8 x 8 pixels, each pixel a column.")
        report.print(f"{selection.method} selected {_KEPT} of {X.shape[1]} pixels; numbers give their order:\n")
        _draw(report, selection)
        if selection.errors is not None:
            report.print(errors_table(selection.errors, selection.scaling))
        picture = _save_picture(output / "digits.png", X[:_NEW], selection)
        report.print(f"\n{picture}")
        path = printable(str(output))
        report.print(f"Tables and selection are in {path}. Try next:\n")
        for line in (
            f"{program()} select {path}/digits.csv -k 8 --scale none --explain",
            f"{program()} apply {path}/selected_pixels.selection.json {path}/new_digits.csv",
        ):
            report.print(f"  {line}", soft_wrap=True)


def _as_table(X: np.ndarray, name: str) -> Table:
    import pyarrow as pa

    from ..io import Table

    rows, columns = _SHAPE
    names = [f"row{i}_col{j}" for i in range(rows) for j in range(columns)]
    return Table(pa.table(list(X.astype("int64").T), names=names), name)


def _draw(report: Console, selection: TableSelection) -> None:
    """Draw the image's grid with the order of selection at each selected pixel."""
    order = {column.index: rank for rank, column in enumerate(selection.selected, 1)}
    rows, columns = _SHAPE
    for i in range(rows):
        line = Text("  ")
        for j in range(columns):
            rank = order.get(i * columns + j)
            line.append("  ." if rank is None else f"{rank:3d}", style="dim" if rank is None else "bold green")
        report.print(line)


def _save_picture(path: Path, images: np.ndarray, selection: TableSelection) -> str:
    """Save the picture; return what was done, or what it needs."""
    try:
        from ..plot import reconstructed_images
    except ImportError as error:
        return f"No picture: {error}"
    chosen = [name in selection.selected_names for name in selection.features]
    reconstructed = selection.reconstruct(selection.transform(images))
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    reconstructed_images(images, chosen, reconstructed, shape=_SHAPE, axes=figure.subplots(3, len(images)))
    with write_whole(path, overwrite=True) as (stream,):
        figure.savefig(stream, format="png", dpi=100)
    what = "ten digits held out of the selection, their selected pixels, and their reconstruction"
    return f"Wrote {printable(str(path))}: {what}."
