"""The examples on the pages for readers run as they stand."""

import doctest
from pathlib import Path


def test_the_page_on_stability():
    page = Path(__file__).parents[1] / "docs" / "stability.md"
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert found.attempted > 5 and not found.failed
