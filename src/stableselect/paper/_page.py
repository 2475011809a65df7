"""Write documents to the results folder: Markdown, CSV and pictures for each, and a page that links them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from .._files import replace_file
from .methods import Results
from .report import Document, Picture, Table

INDEX = "index.md"


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
    for revision in sorted({item.revision for item in done}):
        lines.append(f"Revision: {revision}. {revision.remark}".rstrip())
    for name in ("versions", "machine"):
        found = {", ".join(f"{k} {v}" for k, v in sorted(item.record.get(name, {}).items())) for item in done}
        lines += [f"{name.capitalize()}: {text}." for text in sorted(found)]
    if failed:
        lines.append(Table("Failed runs", ["run", "error"], [list(item) for item in failed]).markdown())
    return lines
