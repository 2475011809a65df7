from __future__ import annotations

import pytest

from stableselect.paper._renamed import METHODS, PROTOCOLS, renamed
from stableselect.paper.methods import find_method


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("PCA floor", "PCA, k components"),
        ("ScorerSelector search", "ScorerSelector"),
        ("ScorerSelector search, weight 1/8", "ScorerSelector, weight 1/8"),
        ("ScorerSelector annealed", "ScorerSelectorNetwork annealed"),
        ("all columns", "all features"),
        ("|W|, weight 2", "|W|, weight 2"),
        ("LS with fault A", "LS with fault A"),
    ],
)
def test_old_names_are_read_under_the_new_ones(old, new):
    run = {"dataset": "glioma", "method": old, "protocol": "sound", "split": 1}
    assert renamed(run) == {"dataset": "glioma", "method": new, "protocol": "corrected", "split": 1}
    assert renamed(renamed(run)) == renamed(run)
    assert find_method(new).name == new.removesuffix(" with fault A")


def test_an_old_name_is_not_used_again():
    for table in (METHODS, PROTOCOLS):
        assert not set(table) & set(table.values())
    for old in METHODS:
        with pytest.raises(ValueError, match="There is no method"):
            find_method(old)
