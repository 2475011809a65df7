"""Write files: Markdown, CSV and pictures of each experiment, a page that links them, and the table of the README."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from .._files import replace_file
from ..datasets import info
from ..experiments import Stored, stale_words
from ._plots import Picture
from ._report import Document, Table, prose
from .methods import Results

INDEX = "index.md"
START, END = "<!-- results -->", "<!-- end of results -->"
_IN_README = ("random", "|W|", "AEFS", "ScorerSelector", "ColumnSubset", "PCA, k components")


def write_document(folder: str | os.PathLike[str], document: Document) -> list[Path]:
    """Write the files of one experiment and return their paths."""
    base = Path(folder)
    base.mkdir(parents=True, exist_ok=True)
    files = {f"{document.name}.md": document.markdown().encode()}
    if document.data:
        files[f"{document.name}.csv"] = document.csv().encode()
    for block in document.blocks:
        if isinstance(block, Picture):
            files[f"{block.name}.png"] = block.png
            files[f"{block.name}.svg"] = block.svg
    return [replace_file(base / name, content) for name, content in files.items()]


def write_index(folder: str | os.PathLike[str], documents: Sequence[Document], results: Results) -> Path:
    """Write the page that links the experiments and says how their figures were made."""
    links = "\n".join(f"- [{document.title}]({document.name}.md)" for document in documents)
    parts = ["# Experiments of the paper", links, "## How these figures were made", *_provenance(results)]
    return replace_file(Path(folder) / INDEX, ("\n\n".join(parts) + "\n").encode())


def _provenance(results: Results) -> list[str]:
    """Return revisions, versions and machines of all runs, and the runs that failed."""
    runs = results.everything()
    done = [item for item in runs if item.status == "done"]
    failed = sorted((str(item.run), item.error) for item in runs if item.status == "failed")
    lines = [f"{len(done)} runs ({results.mode}), {len(failed)} failed. One thread each."]
    for revision, number in sorted(Counter(item.revision for item in done).items()):
        lines.append(f"Revision: {revision} ({number:,} runs).")
    lines += [words] if (words := stale_words(done)) else []
    for name in ("versions", "machine"):
        found = {", ".join(f"{k} {v}" for k, v in sorted(item.record.get(name, {}).items())) for item in done}
        lines += [f"{name.capitalize()}: {text}." for text in sorted(found)]
    if failed:
        lines.append(Table("Failed runs", ["run", "error"], [list(item) for item in failed]).markdown())
    return lines


def readme_table(results: Results) -> str:
    """Return the table: error of each dataset after a ridge refit, on the splits and seeds that all methods share."""
    heads = ("published network" if name == "|W|" else name for name in _IN_README)
    lines = [f"| dataset, k | {' | '.join(heads)} |", "|---" * (len(_IN_README) + 1) + "|"]
    splits: set[int] = set()
    runs: list[Stored] = []
    for name in results.datasets:
        compared = results.compared(name, "corrected", "ridge", methods=_IN_README)
        found = [compared.value(method) for method in _IN_README]
        values = [value for value in found if value is not None]
        if len(values) < len(found) or any(value.splits < value.splits_begun for value in values):
            continue
        splits |= {len(compared.splits)}
        runs += [item for method in _IN_README for item in results.stored(name, method, "corrected")]
        lines.append(f"| {info(name).title}, {info(name).k} | {' | '.join(f'{value.mean:.4f}' for value in values)} |")
    text = prose("tables.readme", splits=" or ".join(map(str, sorted(splits))), stale=stale_words(runs))
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
