"""The package as a whole: what importing it loads, what it names, and that the README's example runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import stableselect as ss

ROOT = Path(__file__).parents[1]


def test_import_needs_no_extra():
    # scikit-learn itself loads pandas, pyarrow and rich where they are installed.
    code = (
        "import sys, stableselect; "
        "extras = {'torch', 'typer', 'matplotlib', 'polars', 'stableselect.io', 'stableselect.cli'}; "
        "sys.exit(', '.join(sorted(extras & set(sys.modules))))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.strip() == ""


def test_registry_names_every_public_selector():
    public = {name for name in ss.__all__ if isinstance(getattr(ss, name), type)}
    selectors = {name for name in public if issubclass(getattr(ss, name), ss.BaseSelector)} - {"BaseSelector"}
    assert set(ss.all_selectors()) == selectors


@pytest.mark.parametrize("cls", ss.all_selectors().values(), ids=str)
def test_every_selector_is_documented_with_an_example(cls):
    for section in ("Parameters\n", "Examples\n"):
        assert section in cls.__doc__
    for parameter in cls().get_params():
        assert re.search(rf"\b{parameter}\b[\w, ]* : ", cls.__doc__), parameter


def test_readme_example_runs(capsys):
    text = (ROOT / "README.md").read_text()
    example = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL)[1]
    exec(compile(example, "README.md", "exec"), {})
    assert "pixel" in capsys.readouterr().out


def test_readme_names_the_two_commands():
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text and "make test" in text
