"""The prose of the pages: every text is shown, and says what it is given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stableselect import paper
from stableselect.paper._report import prose, texts

USE = re.compile(r'prose\(\s*"([a-z0-9]+\.[a-z0-9_]+)"')


def test_every_text_is_used_and_every_text_used_is_there():
    source = "".join(path.read_text(encoding="utf-8") for path in Path(paper.__file__).parent.rglob("*.py"))
    there = {f"{room}.{name}" for room, part in texts().items() for name in part if room != "causes"}
    assert set(USE.findall(source)) == there


def test_paragraphs_stay_apart_and_lines_are_joined():
    assert [len(text.split("\n\n")) for text in (prose("assumptions.setting"), prose("tables.timing"))] == [4, 1]
    for part in texts().values():
        for text in part.values():
            assert text == text.strip()
            assert "\n" not in text.replace("\n\n", "") and "  " not in text


def test_values_are_filled_in_and_none_may_be_missing():
    assert prose("figure3.curves", dataset="COIL", bounded="cut").startswith("COIL. Mean squared error")
    with pytest.raises(KeyError):
        prose("figure3.curves", dataset="COIL")
