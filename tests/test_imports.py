"""The check of the import order finds each kind of violation, and the tree has none."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "tools" / "check_imports.py"

if not SCRIPT.exists():
    pytest.skip("tools/ is not in this copy of the tests", allow_module_level=True)

main = runpy.run_path(str(SCRIPT))["main"]

CONTRACT = """
[tool.imports]
ignore = [{ignore}]

[[tool.imports.contract]]
package = "house"
layers = ["cellar", "kitchen | bath", "attic", "__init__"]
never.attic = ["cellar"]

[[tool.imports.contract]]
package = "house.attic"
layers = ["box", "*"]
"""
SOUND = {
    "__init__.py": "from .attic import view\n__version__ = '1'",
    "cellar/__init__.py": "from ._jam import jam, _lid",
    "cellar/_jam.py": "from .. import __version__\njam = 1\n_lid = 2",
    "kitchen/__init__.py": "from ._cook import cook",
    "kitchen/_cook.py": "from ..cellar import jam\ncook = jam",
    "bath/__init__.py": "import json\nfrom house.cellar import jam",
    "attic/__init__.py": "from ._view import view",
    "attic/_view.py": "from .. import bath\nfrom ..kitchen import cook\nfrom ._light import on\nview = cook",
    "attic/_light.py": "from .box import bulb\non = bulb",
    "attic/box/__init__.py": "bulb = 1",
}


@pytest.fixture
def check(tmp_path, capsys):
    """Return a function that checks a house with some files changed and gives the exit code and the printed lines."""

    def run(changed, ignore=""):
        for name, text in {**SOUND, **changed}.items():
            path = tmp_path / "src" / "house" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        project = tmp_path / "pyproject.toml"
        project.write_text(CONTRACT.format(ignore=ignore))
        return main([str(project)]), capsys.readouterr().out.splitlines()

    return run


def test_a_sound_tree_passes(check):
    assert check({}) == (0, ["Imports point one way."])


@pytest.mark.parametrize(
    "file, text, reason",
    [
        ("cellar/_jam.py", "from ..kitchen import cook", "cellar lies below kitchen"),
        ("cellar/_jam.py", "def f():\n    from ..attic import view", "cellar lies below attic"),
        ("cellar/_jam.py", "import house.attic", "cellar lies below attic"),
        (
            "cellar/_jam.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .. import attic",
            "below attic",
        ),
        ("cellar/_jam.py", "from .. import view", "cellar lies below __init__"),
        ("bath/__init__.py", "from ..kitchen import cook", "bath and kitchen are siblings"),
        ("attic/_view.py", "from ..cellar import jam", "attic may not use cellar"),
        ("kitchen/_cook.py", "from ..cellar._jam import jam", "_jam is private to cellar"),
        ("kitchen/_cook.py", "from ..cellar import _jam", "_jam is private to cellar"),
        ("kitchen/_cook.py", "from ..cellar import _lid", "_lid is private to cellar"),
        ("kitchen/_cook.py", "import house.cellar._jam", "_jam is private to cellar"),
        ("attic/box/__init__.py", "from .._view import view", "box lies below _view"),
        ("shed/__init__.py", "from ..cellar import jam", "shed has no place among the layers of house"),
    ],
)
def test_an_import_against_the_order_is_named(check, file, text, reason):
    code, lines = check({file: text})
    assert code == 1
    assert any(Path(file).name in line and reason in line for line in lines)


def test_a_cycle_inside_a_room_is_named(check):
    code, lines = check({"cellar/_jam.py": "from ._jar import jar", "cellar/_jar.py": "from ._jam import jam"})
    assert code == 1
    assert (
        len(lines) == 1
        and lines[0].startswith("cycle: ")
        and {"house.cellar._jam", "house.cellar._jar"} <= set(lines[0].split())
    )


def test_a_module_may_not_import_its_own_room(check):
    code, lines = check({"cellar/_jam.py": "from . import _lid"})
    assert code == 1 and lines[0].startswith("cycle: ")


def test_what_is_ignored_passes_until_it_is_repaired(check):
    entry = '"house.cellar.* -> house.kitchen"'
    assert check({"cellar/_jam.py": "from ..kitchen import cook"}, entry)[0] == 0
    code, lines = check({}, entry)
    assert code == 1 and "nothing is left to ignore" in lines[0]


@pytest.mark.slow
def test_this_package_keeps_its_order(capsys):
    assert main([str(ROOT / "pyproject.toml")]) == 0, capsys.readouterr().out
