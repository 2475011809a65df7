"""The results table of the README, made from stored runs."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import wrap

from .._files import replace_file
from ..datasets import info
from .methods import Results

START, END = "<!-- results -->", "<!-- end of results -->"
_METHODS = {
    "random": "random",
    "|W|": "published network",
    "AEFS": "AEFS",
    "ScorerSelector": "ScorerSelector",
    "ColumnSubset": "ColumnSubset",
    "PCA, k components": "PCA, k components",
}


def readme_table(results: Results) -> str:
    """Return the table: error of each dataset after a ridge refit, on the splits and seeds that all methods share."""
    lines = [f"| dataset, k | {' | '.join(_METHODS.values())} |", "|---" * (len(_METHODS) + 1) + "|"]
    splits: set[int] = set()
    revisions = {item.revision for item in results.everything()}
    for name in results.datasets:
        compared = results.compared(name, "corrected", "ridge", methods=tuple(_METHODS))
        found = [compared.value(method) for method in _METHODS]
        values = [value for value in found if value is not None]
        if len(values) < len(found) or any(value.splits < value.splits_begun for value in values):
            continue
        splits |= {len(compared.splits)}
        lines.append(f"| {info(name).title}, {info(name).k} | {' | '.join(f'{value.mean:.4f}' for value in values)} |")
    text = (
        "Mean squared error on held-out samples (averaged over samples and features, features scaled to [0, 1] by the "
        f"training samples), when all features are reconstructed from the k selected ones by ridge regression. Mean of "
        f"{' or '.join(map(str, sorted(splits)))} splits, the same for all methods; random: of ten draws a split. "
        "k principal components are a guide, not a bound, on held-out samples. "
        f"{' '.join(revision.remark for revision in sorted(revisions))}"
    )
    return "\n".join([*wrap(text, 120), "", *lines])


def with_results(readme: str, table: str) -> str:
    """Return the README with the table between its marks.

    Raises
    ------
    ValueError
        If the marks are missing.
    """
    before, mark, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"The file has no lines {START} and {END} to put the results between; add them.")
    return f"{before}{START}\n{table}\n{END}{after}"


def write_readme(path: str | os.PathLike[str], results: Results) -> None:
    """Put the table into a README file."""
    readme = Path(path)
    replace_file(readme, with_results(readme.read_text(encoding="utf-8"), readme_table(results)).encode())
