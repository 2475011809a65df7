"""Progress: who listens is told counts and time; what nobody asked for is silent."""

import re

import numpy as np
import pytest

import stableselect as ss
from stableselect.base import _progress as module
from stableselect.base import counted, progress_text, steps, told_to
from stableselect.inspection import stability_analysis


@pytest.fixture
def heard(monkeypatch):
    """Collect every report, without waiting between them."""
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    reports = []
    with told_to(lambda *report: reports.append(report[:3])):
        yield reports


def test_every_step_is_reported_with_its_count(heard):
    assert list(counted("abc", "letters")) == ["a", "b", "c"]
    assert heard == [("letters", 1, 3), ("letters", 2, 3), ("letters", 3, 3)]


def test_only_the_outermost_loop_is_reported(heard):
    for _ in counted("ab", "outer"):
        list(counted("xyz", "inner"))
    assert [what for what, *_ in heard] == ["outer", "outer"]


def test_after_a_loop_that_ends_early_the_next_one_is_reported(heard):
    for letter in counted("abc", "first"):
        if letter == "b":
            break
    with pytest.raises(ZeroDivisionError), steps("second", 5) as advance:
        advance()
        1 / 0  # noqa: B018
    with steps("third") as advance:
        advance()
    assert heard == [("first", 1, 3), ("second", 1, 5), ("third", 1, None)]


def test_reports_are_not_more_frequent_than_anyone_reads():
    reports = []
    with told_to(lambda *report: reports.append(report)):
        list(counted(range(10_000), "steps"))
    assert len(reports) < 100
    assert reports[-1][:3] == ("steps", 10_000, 10_000)


def test_nobody_is_told_without_asking(capfd):
    list(counted("abc", "letters"))
    ss.UDFS(2).fit(np.random.default_rng(0).normal(size=(20, 5)))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (("fits", 1, 4, 2.0), "fits 1 of 4, 6.0 s left"),
        (("fits", 4, 4, 8.0), "fits 4 of 4"),
        (("products", 3, None, 75.0), "products 3"),
        (("epochs", 10, 1000, 100.0), "epochs 10 of 1000, 2 h 45 min left"),
    ],
)
def test_words(told, text):
    assert progress_text(*told) == text


VERBOSE = {
    "ColumnSubset": "votes",
    "ScorerSelector": "votes",
    "LaplacianScore": "blocks of distances",
    "SPEC": "blocks of distances",
    "MCFS": "regressions",
    "UDFS": "steps",
    "NDFS": "steps",
    "InfFS": "products",
    "GatedLaplacian": "steps",
    "KernelSubset": "sets",
    "ScorerSelectorNetwork": "epochs",
    "CAE": "epochs",
    "AEFS": "epochs",
    "AgnoSS": "epochs",
    "FAE": "epochs",
    "ConsensusSelector": "fits",
}


def test_every_selector_with_verbose_is_tested():
    assert {name for name, cls in ss.all_selectors().items() if "verbose" in cls().get_params()} == set(VERBOSE)


@pytest.mark.parametrize("name", VERBOSE)
def test_verbose_prints_counts_to_standard_error(name, rng, monkeypatch, capfd):
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    monkeypatch.setattr(module, "_LINE_SECONDS", 0.0)
    monkeypatch.setattr("stableselect.graph._neighbours._BLOCK_ROWS", 16)
    settings = {"epochs": 4, "max_iter": 4, "n_clusters": 3, "n_resamples": 4, "random_state": 0, "verbose": True}
    if VERBOSE[name] == "votes":
        settings["criterion"] = "stability"
    selector = ss.all_selectors()[name](n_features_to_select=2)
    selector.set_params(**{key: value for key, value in settings.items() if key in selector.get_params()})
    X = rng.normal(size=(40, 6))
    chosen = selector.fit(X).selected_.tolist()
    out, err = capfd.readouterr()
    assert out == ""
    assert re.search(rf"^{name} after [\d.]+ s: {VERBOSE[name]} 1( of \d+)?(, .* left)?$", err, re.MULTILINE), err
    assert selector.set_params(verbose=False).fit(X).selected_.tolist() == chosen
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_stability_analysis_counts_its_fits(rng, capfd, n_jobs):
    stability_analysis(ss.VarianceScore(2), rng.normal(size=(30, 5)), n_repeats=6, n_jobs=n_jobs, verbose=True)
    assert "s: fits 6 of 6\n" in capfd.readouterr().err
