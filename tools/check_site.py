"""Checks the built documentation: links inside it, texts for pictures, and that no page asks another host for anything.

``python tools/check_site.py docs/_build/html`` prints what is wrong, one line each, and the size of the site.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "object": "data",
}
"""By element: the attribute that names what a browser loads by itself."""
ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//", flags=re.IGNORECASE)
FROM_CSS = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//[^"')]+)""")


@dataclass
class Page:
    """What a page names, links to and loads."""

    names: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[tuple[str, str]] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)


class Reader(HTMLParser):
    """Gathers a page."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element names, links to or loads."""
        found = {name: value or "" for name, value in attrs}
        self.page.names |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and "href" in found:
            self.page.links.append(found["href"])
        elif found.get(LOADED.get(tag, "")):
            self.page.loaded.append((tag, found[LOADED[tag]]))
        # A thumbnail of the gallery stands beside its title, and would only repeat it to those who listen.
        wanted = "alt" not in found or not (found["alt"].strip() or found.get("src", "").endswith("_thumb.png"))
        if tag == "img" and wanted:
            self.page.silent.append(found.get("src", ""))


def read(path: Path) -> Page:
    """Return what is on a page."""
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.page


def broken(source: Path, link: str, pages: dict[Path, Page]) -> str:
    """Return what is wrong with a link inside the site, or an empty text."""
    parts = urlsplit(link)
    target = (source.parent / unquote(parts.path)).resolve() if parts.path else source
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return f"links to {link}, which is not there"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].names:
        return f"links to {link}, but that page has no such place"
    return ""


def problems(folder: Path) -> list[str]:
    """Return one line for each thing that is wrong."""
    folder = folder.resolve()
    pages = {path: read(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    found = []
    for path, page in pages.items():
        wrong = [broken(path, link, pages) for link in page.links if not re.match(r"[a-z]+:|//", link)]
        wrong += [broken(path, name, pages) for _, name in page.loaded if not re.match(r"[a-z]+:|//", name)]
        wrong += [f"loads {name} from elsewhere" for _, name in page.loaded if ELSEWHERE.match(name)]
        wrong += [f"shows {name} without an alt text" for name in page.silent]
        found += [f"{path.relative_to(folder)} {words}" for words in dict.fromkeys(wrong) if words]
    for path in sorted(folder.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        found += [f"{path.relative_to(folder)} loads {url} from elsewhere" for url in FROM_CSS.findall(text)]
    return found


def main(folder: Path) -> int:
    """Print what is wrong and how large the site is; return 1 if anything is wrong."""
    if not (folder / "index.html").exists():
        print(f"There is no site in {folder}; build it by 'make docs'.")
        return 1
    found = problems(folder)
    print(*found, sep="\n", end="\n" if found else "")
    files = [path for path in folder.rglob("*") if path.is_file()]
    pages, size = sum(path.suffix == ".html" for path in files), sum(path.stat().st_size for path in files)
    print(f"{pages} pages, {size / 1e6:.1f} MB, {len(found)} problems in {folder}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/_build/html")))
