from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from stableselect.experiments import (
    Comparison,
    MixedRevisionsError,
    Revision,
    Run,
    Stored,
    by_repeat,
    part_of,
    refuse_mixed,
    stale_words,
    stalled,
)
from stableselect.inspection import fit_power_law


def run(method, split, seed, value, status="done", revision=None):
    run = Run("glioma", method, "corrected", split, seed, 64)
    record = {"ridge": value, "seconds": value} if status == "done" else {}
    return Stored(run, status, record, "", Revision() if revision is None else revision)


def runs(table):
    """Return the runs of methods from {method: {(split, seed): value}}."""
    return {m: [run(m, *repeat, value) for repeat, value in values.items()] for m, values in table.items()}


def test_only_splits_that_all_methods_have_count():
    compared = Comparison(runs({"a": {(0, 0): 1.0, (1, 0): 9.0}, "b": {(0, 0): 3.0}}), "ridge")
    assert compared.splits == (0,)
    assert compared.splits_begun == (0, 1)
    assert (compared.value("a").mean, compared.value("b").mean) == (1.0, 3.0)
    assert {compared.value(m).mark for m in "ab"} == {"1 of 2 splits"}
    assert compared.value("a").spread is None


def test_a_mean_is_over_splits_of_means_over_shared_seeds():
    table = {"a": {(0, 0): 1.0, (0, 1): 3.0, (0, 2): 99.0, (1, 0): 8.0}, "b": {(0, 0): 0.0, (0, 1): 0.0, (1, 0): 0.0}}
    compared = Comparison(runs(table), "ridge")
    value = compared.value("a")
    assert compared.by_split("a") == {0: 2.0, 1: 8.0}
    assert (value.mean, value.count, value.mark) == (5.0, 3, "")
    assert value.spread == pytest.approx(np.std([2.0, 8.0], ddof=1) / math.sqrt(2))
    assert compared.median("a") == 3.0
    repeats = compared.value("a", over="repeats")
    assert repeats.mean == 4.0
    assert repeats.spread == pytest.approx(np.std([1.0, 3.0, 8.0], ddof=1))


def test_a_method_without_a_seed_stands_beside_any_and_draws_are_marked():
    table = {
        "seeded": {(s, seed): 1.0 for s in range(2) for seed in range(2)},
        "fixed": {(s, 0): 2.0 for s in range(2)},
        "draws": {(s, seed): float(seed) for s in range(2) for seed in range(10)},
    }
    compared = Comparison(runs(table), "ridge", seedless=["fixed"], every_seed=["draws"])
    assert {label: compared.value(label).count for label in table} == {"seeded": 4, "fixed": 2, "draws": 20}
    assert {label: compared.value(label).mark for label in table} == {"seeded": "", "fixed": "", "draws": "10 seeds"}
    # Without being told, one seed is what all three share.
    assert {Comparison(runs(table), "ridge").value(label).count for label in table} == {2}


def test_failed_runs_are_begun_and_counted():
    items = runs({"a": {(0, 0): 1.0}})
    items["a"] += [run("a", split, 0, None, "failed") for split in range(1, 5)]
    items["a"].append(run("a", 5, 0, None, "running"))
    value = Comparison(items, "ridge").value("a")
    assert (value.mark, value.failed, value.count) == ("1 of 5 splits", 4, 1)
    items = runs({"a": {(0, 0): 1.0, (0, 1): 2.0}})
    items["a"].append(run("a", 0, 2, None, "failed"))
    assert Comparison(items, "ridge").value("a").mark == "2 of 3 runs"


def test_methods_without_the_measure_take_no_part():
    items = runs({"a": {(0, 0): 1.0, (1, 0): 2.0}}) | {"none": [run("none", 0, 0, None)], "empty": []}
    compared = Comparison(items, "ridge")
    assert compared.labels == ["a"]
    assert compared.value("a").splits == 2
    assert compared.value("none") is compared.value("empty") is compared.median("none") is None
    assert compared.ratio("a", "none") is compared.difference("none", "a") is None
    assert Comparison({}, "ridge").splits == ()


def test_differences_and_ratios_are_paired_by_split():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 2, size=(2, 6))
    table = {"a": {(i, 0): x for i, x in enumerate(a)}, "b": {(i, 0): x for i, x in enumerate(b)}}
    compared = Comparison(runs(table), "ridge")
    found, expected = compared.difference("a", "b"), stats.ttest_rel(a, b).confidence_interval(0.95)
    assert found.mean == pytest.approx(np.mean(a - b))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    ratio, logs = compared.ratio("a", "b"), stats.ttest_rel(np.log(a), np.log(b)).confidence_interval(0.95)
    assert ratio.mean == pytest.approx(stats.gmean(a / b))
    assert (ratio.low, ratio.high) == pytest.approx((math.exp(logs.low), math.exp(logs.high)))
    assert ratio.splits == 6
    single = Comparison(runs({"a": {(0, 0): 2.0}, "b": {(0, 0): 4.0}}), "ridge").ratio("a", "b")
    assert (single.mean, single.error) == (0.5, None)
    assert math.isnan(single.low)
    assert Comparison(runs({"a": {(0, 0): 0.0}, "b": {(0, 0): 4.0}}), "ridge").ratio("a", "b") is None


def test_a_power_law_is_fitted_through_the_repeats_that_have_every_size():
    sizes = [10, 20, 40]
    table = {n: {(split, 0): 3.0 / n for split in range(3 if n < 40 else 2)} for n in sizes}
    fitted = Comparison(runs(table), "ridge").fit(sizes, fit_power_law)
    assert fitted.slope == pytest.approx(-1.0)
    assert Comparison(runs(table), "ridge").fit([10, 20, 80], fit_power_law) is None


OLD, NEW = Revision(), Revision(engine=2)


def revised(method, revision, current, status="done"):
    return replace(run(method, 0, 0, 1.0, status, revision), current=current)


@pytest.mark.parametrize(
    ("a", "b", "mixed"),
    [
        ((OLD, OLD), (NEW, NEW), False),  # this version computes both
        ((OLD, OLD), (OLD, NEW), False),  # an earlier version computed both
        ((OLD, NEW), (NEW, NEW), True),
        ((NEW, NEW), (OLD, NEW), True),
        ((NEW, OLD), (OLD, NEW), True),
        ((OLD, OLD), (OLD, OLD), False),
    ],
)
def test_runs_are_compared_where_one_version_computes_them_all(a, b, mixed):
    items = {"a": [revised("a", *a)], "b": [revised("b", *b)]}
    if mixed:
        with pytest.raises(MixedRevisionsError, match=r"engine 1, folds 1, protocol 1; engine 2.*run [ab](, b)? again"):
            Comparison(items, "ridge")
    else:
        assert Comparison(items, "ridge").labels == ["a", "b"]


def test_a_run_without_a_number_is_not_mixed_in():
    items = {"a": [revised("a", NEW, NEW)], "b": [revised("b", OLD, NEW, "failed")]}
    assert Comparison(items, "ridge").labels == ["a"]
    refuse_mixed([])


def test_runs_that_this_version_may_not_repeat_are_counted():
    kept, older = revised("a", OLD, OLD), revised("b", OLD, NEW)
    assert stale_words([]) == stale_words([kept, revised("b", NEW, NEW), replace(older, status="failed")]) == ""
    assert stale_words([kept, older, older]) == (
        "2 of 3 runs are of another revision (engine 1, folds 1, protocol 1); this version computes engine 2, folds "
        "1, protocol 1."
    )


def test_two_runs_of_one_repeat_are_an_error():
    with pytest.raises(ValueError, match="split 0 and seed 0"):
        by_repeat([run("a", 0, 0, 1.0), run("a", 0, 0, 2.0)], "ridge")


def test_parts_of_a_record():
    record = {"own": {"scorer": 1, "flag": True}, "list": [1]}
    assert part_of(record, "own.scorer") == 1.0
    assert part_of(record, lambda found: 2.5) == 2.5
    for measure in ("own", "own.flag", "own.scorer.deep", "nothing", "list"):
        assert part_of(record, measure) is None


def test_a_stalled_run_is_found():
    items = [run("a", split, 0, seconds) for split, seconds in enumerate([0.6, 250.0, 0.5, 0.7])]
    assert [item.run.split for item in stalled(items)] == [1]
    assert stalled(items[:1]) == stalled([]) == []
