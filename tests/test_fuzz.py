"""A few of the cases of ``make fuzz``, the same every time; and the machine that runs them finds what is broken."""

import os
import time
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

from fuzz.cases import Outcome, run_case
from fuzz.checks import Broken
from fuzz.invariance import form, weights_as_repeats
from fuzz.machine import CASES_PER_SEED, State, fuzz, run_cases
from fuzz.optima import loss, optimum
from fuzz.tables import EXTREME, Table
from fuzz.trials import Trial, centred
from stableselect import PFA, ColumnSubset, ScorerSelector
from stableselect.base import ScoreSelector

SHORT = {"selector": range(240), "preparing": range(160), "moments": range(120), "file": range(160)}
OPEN: dict[str, set[int]] = {"selector": set(), "preparing": set(), "moments": set(), "file": set()}
"""Cases of these that are broken so far; each goes from here with its cause."""


@pytest.mark.slow
@pytest.mark.parametrize("family", SHORT)
def test_promises_hold(family):
    outcomes = [run_case(case, family=family) for case in SHORT[family] if case not in OPEN[family]]
    assert [outcome.line() for outcome in outcomes if outcome.result == "broken"] == []
    assert sum(outcome.result == "held" for outcome in outcomes) > 0.8 * len(outcomes)


class Largest(ScoreSelector):
    """A sound selector: features score by their largest value."""

    def __init__(self, n_features_to_select=None, *, include=None, exclude=None):
        self.n_features_to_select = n_features_to_select
        self.include = include
        self.exclude = exclude

    def _score_features(self, X, k):
        rows = X.toarray() if hasattr(X, "toarray") else X
        return np.asarray(self._of(np.asarray(rows, dtype=np.float64)))

    def _of(self, rows):
        return rows.max(axis=0)


class FirstSample(Largest):
    """The order of the samples decides."""

    def _of(self, rows):
        return rows[0]


class FirstFeature(Largest):
    """The order of the features decides."""

    def _of(self, rows):
        return -np.arange(rows.shape[1])


class Forgetful(Largest):
    """Selects a single feature, whatever was asked for."""

    def fit(self, X, y=None):
        super().fit(X)
        self.selected_ = self.selected_[:1]
        return self


class Careless(Largest):
    """Changes the table it is given."""

    def _of(self, rows):
        largest = rows.max(axis=0)
        rows[:] = 0
        return largest


def broken(selector):
    outcomes = [run_case(case, family="selector", classes={"Largest": selector}) for case in range(80)]
    # Very large and very small tables, dates and masked arrays are refused, or not, by the base class; only registered
    # selectors can be saved.
    elsewhere = [o for o in outcomes if o.kind in EXTREME or o.law in ("bad input", "saved")]
    return [o.message for o in outcomes if o.result == "broken" and o not in elsewhere]


def test_a_sound_selector_holds():
    assert broken(Largest) == []


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        (FirstSample, "other row order: features"),
        (FirstFeature, "other column order: features"),
        (Forgetful, "1 features for "),
        (Careless, "the table was changed"),
    ],
)
def test_a_broken_selector_is_found(selector, told):
    assert any(told in message for message in broken(selector))


def test_another_twin_must_be_as_good(rng):
    X = rng.normal(size=(30, 4))[:, [0, 1, 2, 3, 3]] + 1e-6 * rng.normal(size=(30, 5))
    trial = Trial(rng, Table("near twins", X), ScorerSelector(2, ridge=0.0, include=[3]))
    assert trial.determined
    trial.fitted = one = trial.selector.fit(X)
    trial.same_to_rounding("the twin", one, ScorerSelector(2, ridge=0.0, include=[4], exclude=[3]).fit(X))
    kept = [j for j in one.selected_ if j != 3]
    with pytest.raises(Broken, match="another feature: the objective"):
        trial.same_to_rounding("another feature", one, ScorerSelector(2, ridge=0.0, exclude=[3, 4, *kept]).fit(X))


def test_scores_of_selected_features_in_units_far_apart(rng):
    X = rng.normal(size=(4, 6)) * [1, 1, 1e-5, 1, 1, 1]
    trial = Trial(rng, Table("far units", X), ScorerSelector(3, ridge=0.0, scorer_weight=1.0, include=[0, 1, 2]))
    trial.fitted = one = trial.selector.fit(X)
    assert not trial.determined and not trial.clear
    other = ScorerSelector(3, ridge=0.0, scorer_weight=1.0, include=[0, 1, 2]).fit(X)
    other.scores_ = other.scores_ * (1 + 1e-5 * np.arange(6))
    trial.same_to_rounding("other scores", one, other)
    other.objective_ += 1e-6 * np.mean(centred(X) ** 2)
    with pytest.raises(Broken, match="another minimum: the objective"):
        trial.same_to_rounding("another minimum", one, other)
    with pytest.raises(Broken, match="another feature: features"):
        trial.same_to_rounding("another feature", one, ScorerSelector(3, ridge=0.0, include=[0, 1, 3]).fit(X))


def test_the_difference_of_twins_counts_from_a_millionth_of_their_spread(rng):
    X = rng.normal(size=(20, 4))
    X = np.column_stack([X, X[:, 0]])
    X[:, 4] += 1e-7 * rng.normal(size=20)
    trial = Trial(rng, Table("near twins", X), ColumnSubset(2, ridge=0.0, include=[0, 4]))
    trial.fitted = trial.selector.fit(X)
    optimum(trial)
    A = centred(X)
    assert trial.fitted.objective_ == pytest.approx(loss(A, [0], 0.0)[0])
    assert loss(A, [0, 4], 0.0, limit=0.0)[0] < 0.999 * trial.fitted.objective_
    trial.fitted.objective_ = loss(A, [0, 4], 0.0, limit=0.0)[0]
    with pytest.raises(Broken, match="by definition"):
        optimum(trial)


@pytest.mark.parametrize("apart", [1e-5, 1e-3])
def test_a_loss_is_as_exact_as_second_moments_allow(rng, apart):
    X = rng.normal(size=(20, 4))
    X = np.column_stack([X, X[:, 0]])
    X[:, 4] += apart * rng.normal(size=20)
    A = centred(X)
    mine, rounding = loss(A, [0, 4], 0.0)
    residual = A - A[:, [0, 4]] @ np.linalg.lstsq(A[:, [0, 4]], A, rcond=1e-15)[0]
    assert mine == pytest.approx(np.mean(residual**2), rel=1e-9)
    # What their difference explains, known to 8 eps over its share of the variance, is a few percent of the total.
    share = np.mean((A[:, 4] - A[:, 0]) ** 2) / np.mean(A[:, 0] ** 2) / 2
    assert 1e-3 < rounding / (np.mean(A**2) * 8 * 2.2e-16 / share) < 1
    trial = Trial(rng, Table("near twins", X), ColumnSubset(2, ridge=0.0, include=[0, 4]))
    trial.fitted = trial.selector.fit(X)
    optimum(trial)
    trial.fitted.objective_ += 2e-8 * np.mean(A**2) + 2 * rounding
    with pytest.raises(Broken, match="by definition"):
        optimum(trial)


@pytest.mark.parametrize("seed", range(4))
def test_rounding_mixes_directions_on_both_sides_of_the_limit(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 6))
    # Twins of the first two features, apart by d of these in directions of their own: shares d^2 / 8 of the four.
    own = np.linalg.qr(np.column_stack([np.ones(20), X[:, :2], rng.normal(size=(20, 2))]))[0][:, 3:]
    X[:, 2:4] = X[:, :2] + np.sqrt([8 * 0.98e-12, 8 * 1.02e-12] * X[:, :2].var(axis=0) * 20) * own
    trial = Trial(rng, Table("near twins", X), ColumnSubset(4, ridge=0.0, include=[0, 1, 2, 3]))
    trial.fitted = trial.selector.fit(X)
    optimum(trial)


def test_every_form_holds_where_columns_are_next_to_each_other(rng):
    X = np.asfortranarray(rng.normal(size=(6, 6)))
    trial = Trial(rng, Table("factors", X), Largest(2))
    trial.fitted = trial.selector.fit(X)
    for _ in range(60):
        form(trial)


@pytest.mark.parametrize(("counts", "held"), [([1, 1, 2, 3, 2], True), ([1, 1, 2, 2, 2], False)])
def test_repeats_may_make_components_of_equal_variance(counts, held, monkeypatch):
    class Drawn:
        def integers(self, *limits, size=None):
            return 0 if size is None else np.array(counts)

    class Weightless(PFA):
        """Takes all samples as they are."""

        def fit(self, X, y=None, sample_weight=None):
            return super().fit(X)

    monkeypatch.setattr("fuzz.trials.COMPONENTS", {"Weightless"})
    X = np.eye(3)[[0, 1, 0, 2, 1]]
    trial = Trial(Drawn(), Table("one-hot", X), Weightless(2, retained_variance=0.5))
    trial.fitted = trial.selector.fit(X)
    with nullcontext() if held else pytest.raises(Broken, match="weights as repeats"):
        weights_as_repeats(trial)


def test_a_broken_reader_is_found(monkeypatch):
    def read(path, **options):
        raise KeyError("\x1b[31m")

    monkeypatch.setattr("fuzz.files.read_table", read)
    outcomes = [run_case(case, family="file") for case in range(30)]
    assert any("KeyError instead of a sentence" in outcome.message for outcome in outcomes)


def test_broken_moments_are_found(monkeypatch):
    monkeypatch.setattr("stableselect.Moments.merge", lambda self, other: self if self.n_samples else other)
    assert any(run_case(case, family="moments").result == "broken" for case in range(20))


@pytest.mark.parametrize(
    ("where", "broken_by", "told"),
    [
        # Scaled by one spread for all features.
        (
            "stableselect._core.Moments._scaling",
            lambda self, kind: (self._mean, np.full(self.n_features, 2.0)),
            "scale_",
        ),
        # Means of other batches.
        (
            "stableselect.ColumnSubset._moves",
            lambda self, batch, n: np.ones((n, self.n_features_in_)),
            "around the mean of the batch",
        ),
        ("stableselect._core.GaussianModel.fill", lambda self, X: X, "ValueError: Input X contains NaN"),
        ("stableselect.SketchedMoments.remove", lambda self, samples: self, "remove was accepted"),
    ],
)
def test_what_prepares_wrongly_is_found(monkeypatch, where, broken_by, told):
    monkeypatch.setattr(where, broken_by)
    outcomes = (run_case(case, family="preparing") for case in range(100))
    assert any(told in outcome.message for outcome in outcomes)


@pytest.mark.parametrize("case", [3, 4, 5])
def test_a_case_is_a_function_of_its_number(case):
    bad = {"Bad": FirstSample}
    assert run_case(case, family="selector", classes=bad) == run_case(case, family="selector", classes=bad)
    assert run_case(case) == run_case(case)


@pytest.mark.slow
def test_crashes_and_hangs_are_reported_and_the_other_cases_run():
    (crash,) = run_cases([3], jobs=1, runner=os._exit)
    assert (crash.case, crash.result, crash.message) == (3, "broken", "the process ended with code 3")
    hangs = list(run_cases([1000, 2000], jobs=1, limit=0.2, runner=time.sleep))
    assert [outcome.case for outcome in hangs] == [1000, 2000]
    assert all(outcome.message == "still running after 0.2 seconds" for outcome in hangs)


@pytest.mark.slow
def test_a_second_call_goes_on_and_broken_cases_give_exit_code_1(tmp_path, capsys):
    assert fuzz(tmp_path, 5, 0.005, 1, runner=Outcome) == 0
    after = State(tmp_path, 5)
    assert after.next > 5 * CASES_PER_SEED and after.counts.total() == after.next - 5 * CASES_PER_SEED
    assert fuzz(tmp_path, 5, 0.005, 1, runner=partial(Outcome, result="broken")) == 1
    assert fuzz(tmp_path, 5, 0.005, 1, "moments", runner=Outcome) == 0
    assert f"from case {after.next};" in capsys.readouterr().out
    assert State(tmp_path, 5).broken[0]["case"] == after.next
    assert State(tmp_path, 5, "moments").next > 5 * CASES_PER_SEED


def test_results_after_a_gap_do_not_count(tmp_path):
    state = State(tmp_path, 1)
    first = state.next
    state.add(Outcome(first + 1, result="broken"))
    state.add(Outcome(first + 3))
    assert state.next == first
    state.add(Outcome(first))
    state.save()
    again = State(tmp_path, 1)
    assert again.next == first + 2 and again.counts.total() == 2 and len(again.broken) == 1
