"""The page of the experiment, for no, some and all runs."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from stableselect.experiments import Comparison, Stored
from stableselect.paper._plots import Picture
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper._report import Table
from stableselect.paper.methods import Options, Results
from stableselect.paper.methods._methods import NO_RIDGE
from stableselect.paper.stability import _plan as _stability
from stableselect.paper.stability._found import find, twins
from stableselect.paper.stability._plan import RANDOM, packed
from stableselect.paper.stability._report import _side

EXPERIMENT = EXPERIMENTS["stability"]


def invent(run):
    """Return a record with columns drawn by the run's name, without its seed where the method makes no use of it."""
    if run.task == "interchangeable":
        return {"n_columns": 77, "pairs": packed(np.eye(77, dtype=bool)), "seconds": 0.0}
    named = run if _stability.is_seeded(run.method) else replace(run, seed=0)
    rng = np.random.default_rng(zlib.crc32(named.key.encode()))
    columns = rng.choice(77, 10, replace=False).tolist()
    return {"selected": columns, "n_columns": 77, "seconds": 1.0, "ridge": rng.uniform(), "least_squares": 1.0}


def test_few_subsamples_have_to_differ_more(made, of):
    """The same spread of the logarithm is clear of 1 over ten subsamples, and not over two."""

    def side(factor, spread, splits):
        signs = {split: 2 * (split % 2) - 1 for split in range(splits)}
        runs = {
            "LS": made(of("LS", range(splits)), lambda run: factor * np.exp(spread * signs[run.split])),
            RANDOM: made(of(RANDOM, range(splits)), lambda run: 1.0),
        }
        return _side(Comparison(runs, "ridge", every_seed=[RANDOM]).ratio("LS", RANDOM))

    # One subsample is no evidence; of two, Student's factor is 12.7, of ten 2.26.
    assert side(2.0, 0.0, 1) == 0
    assert [side(1.5, 0.2, splits) for splits in (2, 10)] == [0, 1]
    for splits in (4, 10):
        edge = np.log(1.5) / student.ppf(0.975, splits - 1) * (splits - 1) ** 0.5
        assert [side(1.5, share * edge, splits) for share in (0.99, 1.01)] == [1, 0]
        assert [side(1 / 1.5, share * edge, splits) for share in (0.99, 1.01)] == [-1, 0]


@pytest.mark.slow
def test_limits_and_methods_that_are_one_are_named(made, of, tmp_path):
    names = ("LS", "SPEC", "UDFS", "ConsensusSelector", "|W|", RANDOM)
    runs = [run for name in names for run in of(name, range(10), "arcene")]

    def columns(run):
        shift = {"LS": 0, "SPEC": 0, "UDFS": int(run.split > 4)}.get(run.method, names.index(run.method))
        return list(range(64 * shift, 64 * shift + 64))

    def error(run):
        # Subsample 7 is a hard one, and the network fails on 2.
        return (8.0 if run.split == 7 else 1.0) * (5.0 if (run.method, run.split) == ("|W|", 2) else 1.0)

    items = [replace(item, record=item.record | {"n_columns": 10_000}) for item in made(runs, error, columns)]
    results = Results(items, data_home=tmp_path)
    assert twins(find(results)) == [("LS", "SPEC", 10, 10)]
    document = EXPERIMENT.render(results)
    text = document.markdown()
    assert "ConsensusSelector on arcene 6 of 50 resamples; |W| on arcene 60 of 200 epochs." in text
    assert "Limited: ConsensusSelector 6 of 50 resamples, |W| 60 of 200 epochs" in text
    assert "should be counted once: LS and SPEC (10 of 10 runs)." in text
    (drawn,) = [block for block in document.blocks if isinstance(block, Picture) and block.name == "stability"]
    assert "LS and SPEC (10 of 10 runs)" in drawn.caption
    assert "Random features err 8.0 times as much on subsample 7 as on the median one." in text
    assert "|W| errs 5.0 times as much as random features on subsample 2, 1.00 times in the median." in text
    assert text.count("times as much") == 2


@pytest.mark.slow
def test_render_with_nothing_some_and_all(tmp_path):
    empty = EXPERIMENT.render(Results([], data_home=tmp_path))
    assert empty.data == []
    assert "Mice Protein (not available)" in empty.markdown()
    runs = [run for run in EXPERIMENT.runs("corrected", Options(fast=True)) if run.dataset == "mice_protein"]
    done = [Stored(run, "done", invent(run), "") for run in runs]
    one = EXPERIMENT.render(Results(done[1:2], data_home=tmp_path))
    assert "not run" in one.markdown()
    assert not any(isinstance(block, Picture) for block in one.blocks)
    lost = [Stored(item.run, "failed", {}, "lost") if item.run.method == "UDFS" else item for item in done]
    some = EXPERIMENT.render(Results(lost[:-20], data_home=tmp_path))
    assert "Runs that failed: UDFS 3." in some.markdown()
    full = EXPERIMENT.render(Results(done, data_home=tmp_path))
    (table,) = [block for block in full.blocks if isinstance(block, Table) and block.title.startswith("Mice")]
    assert [row[0] for row in table.rows] == list(_stability.methods())
    assert "not run" not in table.markdown()
    assert [block.name for block in full.blocks if isinstance(block, Picture)] == ["stability", "stability_seed"]
    lines = {(line["method"], line["measure"]): line for line in full.data}
    assert lines["ScorerSelector", "seed"]["value"] == 1
    assert lines["LS", "seed"]["value"] == ""
    assert "Seed stability exactly 1" in full.markdown()
    assert full.csv().count("\n") == len(full.data) + 1


@pytest.mark.slow
def test_what_is_said_is_what_the_runs_say(tmp_path):
    """Invented: LS never moves and loses to random, the network follows its seed, ridge 0 moves with the samples."""

    def record(columns, ridge):
        return {"selected": columns, "n_columns": 77, "seconds": 1.0, "ridge": ridge, "least_squares": ridge}

    def sets(run):
        block = {"LS": 0, "|W|": run.seed % 7, NO_RIDGE: run.split % 7, RANDOM: (run.seed + run.seed // 100) % 7}
        start = 10 * block[run.method]
        return list(range(start, start + 10))

    error = {"LS": 1.5, "|W|": 1.0, NO_RIDGE: 0.7, RANDOM: 1.0}
    runs = [
        run for run in EXPERIMENT.runs("corrected", Options()) if run.dataset == "mice_protein" and run.method in error
    ]
    items = [Stored(run, "done", record(sets(run), error[run.method]), "") for run in runs]
    document = EXPERIMENT.render(Results(items, data_home=tmp_path))
    text = " ".join(block for block in document.blocks if isinstance(block, str))
    assert "These lose to random features: LS on Mice Protein." in text
    assert "more stable than they are; from samples varied to both varied: |W| 1.00 to" in text
    assert "Most stable, both varied: LS 1.00" in text
    assert f"with the error relative to theirs: Mice Protein {NO_RIDGE} (" in text
    assert "|W| -0.15 (moved more by the seed than by the samples on 1 of 1)" in text
