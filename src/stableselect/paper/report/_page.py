"""Write documents to the results folder: Markdown, CSV and pictures for each, and one HTML page for all.

The page needs no other file and no network: its pictures are inside it.
"""

from __future__ import annotations

import base64
import html
import os
from collections.abc import Sequence
from pathlib import Path

from ..._files import write_whole
from ..methods import Results
from ._document import Block, Document, Picture, Table

PAGE = "index.html"

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 0 1rem 3rem; }
h1, h2 { line-height: 1.2; }
p { max-width: 60rem; }
h2 { border-top: 1px solid #8886; margin-top: 3rem; padding-top: 1rem; }
h3 { font-size: .9375rem; margin: 1.75rem 0 .4rem; }
.scroll { overflow-x: auto; margin: 0 0 .5rem; }
table { border-collapse: separate; border-spacing: 0; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .5rem; border-bottom: 1px solid #8884; text-align: right; white-space: nowrap; }
tbody th, thead th:first-child { text-align: left; font-weight: 400; position: sticky; left: 0; background: Canvas; }
thead th { font-weight: 600; border-bottom: 2px solid #8888; }
.note, figcaption { font-size: .875rem; margin: .3rem 0; }
figure { margin: 1.5rem 0; }
img { max-width: 100%; height: auto; background: #fff; }
"""


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
    return [_write(base / name, content) for name, content in files.items()]


def write_page(folder: str | os.PathLike[str], documents: Sequence[Document], results: Results) -> Path:
    """Write the page of all experiments and return its path."""
    return _write(Path(folder) / PAGE, page(documents, results).encode())


def page(documents: Sequence[Document], results: Results) -> str:
    """Return one self-contained HTML page."""
    links = "".join(f"<li><a href='#{html.escape(d.name)}'>{html.escape(d.title)}</a></li>" for d in documents)
    sections = "\n".join(
        f"<section id='{html.escape(d.name)}'><h2>{html.escape(d.title)}</h2>\n"
        + "\n".join(_block(block) for block in d.blocks)
        + "</section>"
        for d in documents
    )
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>Experiments of the paper</title><style>{_STYLE}</style></head>\n<body>"
        f"<h1>Experiments of the paper</h1>\n<ul>{links}</ul>\n{sections}\n"
        f"<section id='provenance'><h2>How these figures were made</h2>\n{_provenance(results)}</section>"
        "</body></html>\n"
    )


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return block.html()
    if isinstance(block, Picture):
        image = base64.b64encode(block.png).decode("ascii")
        caption = html.escape(block.caption)
        source = f"data:image/png;base64,{image}"
        return f"<figure><img alt='{caption}' src='{source}'><figcaption>{caption}</figcaption></figure>"
    return f"<p>{html.escape(block)}</p>"


def _provenance(results: Results) -> str:
    """Return versions and machines of all cells, and the cells that failed."""
    cells = results.everything()
    done = [item for item in cells if item.status == "done"]
    failed = sorted((str(item.cell), item.error) for item in cells if item.status == "failed")
    lines = [f"{len(done)} cells ({results.mode}), {len(failed)} failed. One thread a cell."]
    for name in ("versions", "machine"):
        found = {", ".join(f"{k} {v}" for k, v in sorted(item.record.get(name, {}).items())) for item in done}
        lines += [f"{name.capitalize()}: {text}." for text in sorted(found)]
    text = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
    if not failed:
        return text
    return text + Table("Failed cells", ["cell", "error"], [list(item) for item in failed]).html()


def _write(path: Path, content: bytes) -> Path:
    with write_whole(path, overwrite=True) as (stream,):
        stream.write(content)
    return path
