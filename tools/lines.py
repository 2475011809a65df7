"""Count files and lines of the package: code, docstrings, comments and blank lines.

python tools/lines.py [FOLDER]
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path


def count(path: Path) -> tuple[int, int, int, int]:
    """Return the lines of code, docstrings, comments and blanks of one file."""
    text = path.read_text(encoding="utf-8")
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    found = [0, 0, 0, 0]
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        kind = 1 if number in docstrings else 3 if not bare else 2 if bare.startswith("#") else 0
        found[kind] += 1
    return found[0], found[1], found[2], found[3]


def main() -> None:
    """Print one line per room and the total."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / "stableselect")
    rooms: dict[str, list[tuple[int, int, int, int]]] = {}
    longest = (0, "")
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        rooms.setdefault(parts[0] if len(parts) > 1 else ".", []).append(count(path))
        longest = max(longest, (len(path.read_text(encoding="utf-8").splitlines()), str(path.relative_to(root))))
    print(f"{'room':<14}{'files':>6}{'code':>8}{'docs':>8}{'comment':>8}{'blank':>8}")
    for room, counts in rooms.items():
        print(f"{room:<14}{len(counts):>6}" + "".join(f"{sum(column):>8}" for column in zip(*counts, strict=True)))
    every = [counted for counts in rooms.values() for counted in counts]
    print(f"{'all':<14}{len(every):>6}" + "".join(f"{sum(column):>8}" for column in zip(*every, strict=True)))
    print(f"longest: {longest[1]}, {longest[0]} lines")


if __name__ == "__main__":
    main()
