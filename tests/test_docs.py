"""Every Python example on the pages for readers runs as it stands.

The ``python`` and ``pycon`` blocks of a page run in order, in one namespace and in an empty folder; blocks with prompts
must print what they show. A comment ``<!-- needs: torch -->`` before a block names modules without which the page is
skipped, or markers such as ``data`` and ``slow``: a block with a marker is a test of its own and stands alone.
"""

import doctest
import importlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("STABLESELECT_DATA", ROOT.parent / "shared" / "data")).absolute()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^(?:[ ]*<!-- needs: (?P<needs>[^\n]*?) -->\n+)?(?P<indent>[ ]*)```(?:python|pycon)\n(?P<code>.*?)^(?P=indent)```",
    flags=re.DOTALL | re.MULTILINE,
)
MARKERS = {"slow", "data", "gpu", "browser"}
LONG = {
    f"docs/{name}.md"
    for name in ("generalization", "stability", "start/genes", "start/report_variables", "start/research")
}
LONG |= {f"docs/user_guide/{name}.md" for name in ("batches", "gpu", "large_tables", "networks")}
"""Pages whose examples together are a slow test."""


@dataclass
class Block:
    """One example of a page."""

    page: Path
    line: int
    code: str
    needs: set[str]

    def run(self, namespace):
        if ">>>" in self.code:
            name = f"{self.page.name}, line {self.line}"
            test = doctest.DocTestParser().get_doctest(self.code, namespace, name, str(self.page), self.line)
            runner = doctest.DocTestRunner()
            printed = []
            runner.run(test, out=printed.append, clear_globs=False)
            assert not runner.failures, "".join(printed)
            namespace.update(test.globs)
        else:
            exec(compile("\n" * self.line + self.code, str(self.page), "exec"), namespace)


def blocks_of(page):
    """Return the Python blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        indent = match["indent"]
        code = "".join(line.removeprefix(indent) for line in match["code"].splitlines(keepends=True))
        line = text.count("\n", 0, match.start("code"))
        found.append(Block(page, line, code, set((match["needs"] or "").replace(",", " ").split())))
    return found


def examples():
    """Return one case for every page, and one for every block with a marker."""
    cases = []
    for page in PAGES:
        if not page.exists() or "_build" in page.parts:
            continue
        name = str(page.relative_to(ROOT))
        blocks = blocks_of(page)
        together = [block for block in blocks if not block.needs & MARKERS]
        if together:
            cases.append(pytest.param(together, id=name, marks=[pytest.mark.slow] * (name in LONG)))
        for block in blocks:
            if block.needs & MARKERS:
                marks = [getattr(pytest.mark, marker) for marker in sorted(block.needs & MARKERS)]
                cases.append(pytest.param([block], id=f"{name}:{block.line}", marks=marks))
    return cases


@pytest.mark.parametrize("blocks", examples())
def test_examples_run(blocks, tmp_path, monkeypatch):
    needs = set().union(*(block.needs for block in blocks))
    for module in sorted(needs - MARKERS):
        pytest.importorskip(module)
    if "matplotlib" in needs:
        importlib.import_module("matplotlib").use("agg")
    if "data" in needs:
        if not DATA.is_dir():
            pytest.skip("there is no folder of benchmark tables; set STABLESELECT_DATA")
        monkeypatch.setenv("STABLESELECT_DATA", str(DATA))
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block in blocks:
        block.run(namespace)


def test_every_fence_of_python_is_found():
    """A block that the expression above overlooks would never run."""
    for page in PAGES:
        if page.exists() and "_build" not in page.parts:
            fences = re.findall(
                r"^\s*```\s*(?:python|pycon|py)\b", page.read_text(encoding="utf-8"), flags=re.MULTILINE
            )
            assert len(blocks_of(page)) == len(fences), page


def test_commands_and_files_named_on_the_front_pages_exist():
    makefile = ROOT / "Makefile"
    if not makefile.exists():
        pytest.skip("the Makefile is not in this copy")
    targets = set(re.findall(r"^([a-z-]+):", makefile.read_text(encoding="utf-8"), flags=re.MULTILINE))
    for page in PAGES[:2]:
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"(?:`|^)make ([a-z-]+)", text, flags=re.MULTILINE)) <= targets
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
            assert (ROOT / link).exists(), link


def test_a_wrong_output_fails(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n- indented:\n\n  ```pycon\n  >>> 1 + 1\n  3\n\n  ```\n")
    (block,) = blocks_of(page)
    with pytest.raises(AssertionError, match=r"page\.md"):
        block.run({})


def test_blocks_share_a_namespace_and_name_what_they_need(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 2\n```\n\n<!-- needs: torch, data -->\n```pycon\n>>> x + 1\n3\n\n```\n")
    first, second = blocks_of(page)
    assert (first.needs, second.needs) == (set(), {"torch", "data"})
    namespace = {}
    first.run(namespace)
    second.run(namespace)
