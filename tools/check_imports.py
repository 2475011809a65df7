"""Check that imports between the rooms of a package point one way.

A room is a module or subpackage directly under a package that has a contract in ``pyproject.toml``::

    [[tool.imports.contract]]
    package = "stableselect"
    layers = ["_core", "base", "subset | graph | filters"]   # lowest first
    only.metrics = ["_core", "base"]                         # metrics imports these rooms and no other
    never.paper = ["_core"]                                  # paper imports any lower room but these

A module may import from lower layers; rooms separated by ``|`` never import each other. The layer ``*`` holds all rooms
that are not named, which may import each other. An import from another room takes a public name from a public module.
No module may import itself through others. Imports inside functions and under ``TYPE_CHECKING`` count like any other;
names such as ``__version__`` may be read from everywhere.

Usage: ``python tools/check_imports.py [pyproject.toml]``. Prints every violation and exits with 1 if there is one.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple


class Import(NamedTuple):
    """One imported name: ``name`` of the module ``target``, or the module itself where ``name`` is empty."""

    importer: str
    target: str
    name: str
    where: str

    def __str__(self) -> str:
        return f"{self.where}: {self.importer} -> {self.target}{'.' * bool(self.name)}{self.name}"

    def matches(self, importer: str, target: str) -> bool:
        """Tell whether two patterns such as ``house.attic.*`` fit the modules."""
        return fnmatchcase(self.importer, importer) and fnmatchcase(self.target, target)


def read_modules(source: Path) -> dict[str, Path]:
    """Return the file of every module under a source folder, by dotted name."""
    modules = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def read_imports(modules: dict[str, Path]) -> Iterator[Import]:
    """Yield what the modules import from each other; imports of anything else are left out."""
    for module, path in modules.items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            where = f"{path}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import):
                yield from (Import(module, alias.name, "", where) for alias in node.names if alias.name in modules)
            elif isinstance(node, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
                base = ".".join([*above, *([node.module] if node.module else [])])
                for alias in node.names:
                    if f"{base}.{alias.name}" in modules:
                        yield Import(module, f"{base}.{alias.name}", "", where)
                    elif base in modules:
                        yield Import(module, base, alias.name, where)


class Contract:
    """The order of the rooms of one package."""

    def __init__(self, package: str, layers: list[str], only: dict[str, Any], never: dict[str, Any]) -> None:
        self.package = package
        self.layer = {room.strip(): i for i, layer in enumerate(layers) for room in layer.split("|")}
        self.only = only
        self.never = never

    def room(self, module: str) -> str | None:
        """Return the room of a module; ``"__init__"`` for the package itself, None outside of it."""
        if module == self.package:
            return "__init__"
        inside = module.startswith(self.package + ".")
        return module.removeprefix(self.package + ".").split(".")[0] if inside else None

    def complaint(self, found: Import) -> str | None:
        """Return why an import breaks the contract, or None."""
        here, there = self.room(found.importer), self.room(found.target)
        if here is None or there is None or here == there or is_dunder(found.name):
            return None
        below, above = (self.layer.get(room, self.layer.get("*")) for room in (there, here))
        if below is None or above is None:
            return f"{there if below is None else here} has no place among the layers of {self.package}"
        if below > above:
            return f"{here} lies below {there}"
        if below == above:
            return None if below == self.layer.get("*") else f"{here} and {there} are siblings"
        if there not in self.only.get(here, [there]) or there in self.never.get(here, []):
            return f"{here} may not use {there}"
        inside = found.target.removeprefix(self.package).split(".")[2:]
        private = [part for part in (*inside, found.name) if part.startswith("_")]
        return f"{private[0]} is private to {there}" if private else None


def is_dunder(name: str) -> bool:
    """Tell whether a name is one such as ``__version__``."""
    return name.startswith("__") and name.endswith("__")


def check(source: Path, settings: dict[str, Any]) -> list[str]:
    """Return one line for every violation of the contracts in the modules under a source folder."""
    contracts = [
        Contract(item["package"], item["layers"], item.get("only", {}), item.get("never", {}))
        for item in settings["contract"]
    ]
    unused = set(settings.get("ignore", []))
    patterns = [(entry, *entry.split(" -> ")) for entry in sorted(unused)]
    complaints, graph = [], {}
    modules = read_modules(source)
    for found in read_imports(modules):
        matching = {entry for entry, here, there in patterns if found.matches(here, there)}
        unused -= matching
        if matching or (is_dunder(found.name) and any(found.target == one.package for one in contracts)):
            continue
        graph.setdefault(found.importer, set()).add(found.target)
        complaints += [f"{found} ({why})" for one in contracts if (why := one.complaint(found))]
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        complaints.append("cycle: " + " -> ".join(reversed(error.args[1])))
    return complaints + [f"pyproject.toml: nothing is left to ignore for {entry!r}" for entry in sorted(unused)]


def main(arguments: list[str]) -> int:
    """Check the tree beside a ``pyproject.toml``; return the exit code."""
    project = Path(arguments[0] if arguments else "pyproject.toml")
    settings = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["imports"]
    complaints = check(project.parent / "src", settings)
    print("\n".join(complaints) if complaints else "Imports point one way.")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
