"""Table 1: the datasets."""

from __future__ import annotations

from ...datasets import info, names
from .._report import NONE, Document, experiment
from ..methods import NOT_AVAILABLE, Results

_FASHION_ROWS = 10_000
"""Rows of MNIST-Fashion that the experiments use, as Table 1 counts them."""


@experiment("table1", "Table 1: statistics of the datasets", lambda protocol, options: [])
def table1(page: Document, results: Results) -> None:
    """Show the sizes of the datasets, and which are here."""
    rows = []
    for place, name in enumerate(names(), 1):
        found = info(name)
        used = min(found.n_rows, _FASHION_ROWS) if name == "mnist_fashion" else found.n_rows
        missing = results.reason(name) == NOT_AVAILABLE
        image = NONE if found.image_shape is None else f"{found.image_shape[0]} x {found.image_shape[1]}"
        here = NOT_AVAILABLE if missing else "yes"
        size = {"samples": used, "features": found.n_columns, "classes": found.n_classes}
        size |= {"k": found.k, "batch_size": found.batch_size}
        rows.append([f"{place} {found.title}", *(f"{number:,}" for number in size.values()), image, here])
        page.data.append({"dataset": name, **size, "available": not missing})
    header = ["dataset", "samples", "features", "classes", "k", "batch", "image", "available"]
    notes = ["k features are selected of each dataset. MNIST-Fashion has 70,000 images, of which 10,000 are used."]
    page.table("Datasets", header, rows, notes)
