"""What Figure 3 shows of no, some and all of its runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stableselect.experiments import Stored
from stableselect.paper._plots import Picture
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper._report import Table
from stableselect.paper.methods import Options, Results

NAMES = [f"figure3{letter}" for letter in "abcdefgh"]
ONE_OF_EACH = [pytest.param(name, marks=[pytest.mark.slow] * (name[-1] in "adfh")) for name in NAMES]
SEARCH = "ScorerSelector"


@pytest.mark.parametrize("name", NAMES)
def test_fast_runs_are_small(name):
    for protocol in ("paper", "corrected"):
        runs = EXPERIMENTS[name].runs(protocol, Options(fast=True))
        assert len(runs) <= 16
        assert {run.dataset for run in runs} == {"coil20"}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(
            pytest.param(name, Options(), marks=pytest.mark.slow)
            for name in ("figure3a", "figure3d", "figure3f", "figure3h")
        ),
        ("figure3e", Options(fast=True)),
    ],
)
def test_all_runs_make_a_table_and_a_picture(stored, name, options, tmp_path):
    document = EXPERIMENTS[name].render(Results(stored(name, options), data_home=tmp_path))
    assert [block.name for block in document.blocks if isinstance(block, Picture)] == [name]
    assert any(isinstance(block, Table) for block in document.blocks)
    assert ("Not for comparison" in document.markdown()) == options.fast


@pytest.mark.parametrize("options", [Options(), Options(fast=True)], ids=["full", "fast"])
@pytest.mark.parametrize("name", NAMES)
def test_all_runs_leave_no_gap(stored, name, options, tmp_path, no_pictures):
    text = EXPERIMENTS[name].render(Results(stored(name, options), data_home=tmp_path)).markdown()
    assert "Pictures are left out" in text
    assert "not run" not in text
    assert "nan" not in text


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_failures_are_named(stored, name, tmp_path, no_pictures):
    def shown(items):
        return EXPERIMENTS[name].render(Results(items, data_home=tmp_path)).markdown()

    def failed(item):
        return Stored(item.run, "failed", {}, "ValueError: no")

    items = stored(name)
    first = replace(items[0].run, split=0, seed=0)
    marks = ("(4 of 5 runs)", "(9 of 10 splits)")
    whole = shown(items)
    assert not any(words in whole for words in ("| failed", *marks))
    # Where one repeat failed, the value says so; where all of a setting did, there is the word in its place.
    one = shown([failed(items[0]), *items[1:]])
    assert any(mark in one for mark in marks)
    setting = shown([failed(item) if replace(item.run, split=0, seed=0) == first else item for item in items])
    assert setting.count(" failed |") >= 1
    assert not any(mark in setting for mark in marks)


@pytest.mark.parametrize("name", NAMES)
def test_without_runs_the_reason_is_given(name, tmp_path, no_pictures):
    (tmp_path / "mnist_fashion.npz").touch()
    nothing = EXPERIMENTS[name].render(Results([], data_home=tmp_path))
    assert "not run" in nothing.markdown()
    assert not any(isinstance(block, Picture) for block in nothing.blocks)


def test_the_rates_are_fitted(stored, tmp_path, no_pictures):
    text = EXPERIMENTS["figure3a"].render(Results(stored("figure3a"), data_home=tmp_path)).markdown()
    assert "falling as n to the -0.50 (95 % -0.50 to -0.50, over 5 seeds on the same samples)" in text
    assert "falling as n to the -0.50 (95 % -0.50 to -0.50, over 5 draws of samples)" in text
    assert "the networks' test error is 1.50 times the search's" in text
    text = EXPERIMENTS["figure3e"].render(Results(stored("figure3e"), data_home=tmp_path)).markdown()
    assert "-1.00 [-1.00, -1.00]" in text
    # One pair with seed 0 beside seeds 0 to 4: 1 over the mean of 1 to 1.4; the invented mean changes are as beta.
    assert "move the network's losses 0.83 times as far" in text
    assert "one pair of fits for each n" in text
    # By numpy.polyfit, in another form of the same least squares.
    sizes, printed = np.log([3000, 4000, 5000, 6000]), np.log([0.2002, 0.1299, 0.1025, 0.0734])
    assert f"{np.polyfit(sizes, printed, 1)[0]:.2f}" in text


def test_a_difference_that_grows_is_not_said_to_fall(stored, tmp_path, no_pictures):
    items = [
        replace(item, record=item.record | {"difference": 1e-3 * item.run.details["share"]})
        for item in stored("figure3a")
    ]
    text = EXPERIMENTS["figure3a"].render(Results(items, data_home=tmp_path)).markdown()
    assert "growing as n to the 1.00" in text
    assert "falling as n" not in text


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_runs_of_another_limit_are_not_mixed_in(stored, name, tmp_path, no_pictures):
    items = stored(name)
    others = [
        replace(item, run=replace(item.run, cap=7), record=other.record)
        for item, other in zip(items, items[::-1], strict=True)
    ]
    expected = EXPERIMENTS[name].render(Results(items, data_home=tmp_path)).markdown()
    assert EXPERIMENTS[name].render(Results([*others, *items], data_home=tmp_path)).markdown() == expected


@pytest.mark.slow
def test_every_panel_over_n_has_numbers_on_its_axes(stored, tmp_path, figures):
    EXPERIMENTS["figure3e"].render(Results(stored("figure3e"), data_home=tmp_path))
    (figure,) = figures
    figure.draw_without_rendering()
    for axis in figure.axes:
        low, high = axis.get_ylim()
        shown = [tick for tick in axis.get_yticks() if low <= tick <= high]
        assert len(shown) > 1
        assert all(label.get_text() and "10^" not in label.get_text() for label in axis.get_yticklabels())


def test_a_picture_names_only_what_it_shows(stored, tmp_path, figures):
    items = [item for item in stored("figure3a") if item.run.method != SEARCH]
    EXPERIMENTS["figure3a"].render(Results(items, data_home=tmp_path))
    (figure,) = figures
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert set(names) == {"network |W|", "network W^2", "printed |W|", "printed W^2", "read off the printed figure"}
    (read,) = [line for line in figure.axes[0].lines if line.get_label() == "read off the printed figure"]
    assert read.get_linestyle() == "None"
