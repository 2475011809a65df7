"""The one training loop: limits, best weights, callbacks, interruption, divergence."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import stableselect as ss
from stableselect.neural import _training
from stableselect.neural._training import Stopping, Trainable, hold_out, train, train_starts


class Script(Trainable):
    """Plays losses back; its only weight is the number of epochs trained."""

    def __init__(self, losses, held_out=None, settles=0.0):
        self.losses, self.held_out, self.settles = losses, held_out, settles
        self.epochs, self.weight, self.progress = 0, 0, []

    @property
    def settled(self):
        return self.progress[-1][1] >= self.settles

    def train_epoch(self, start, end):
        self.progress.append((start, end))
        loss = self.losses[self.epochs]
        self.epochs += 1
        self.weight = self.epochs
        if isinstance(loss, BaseException):
            raise loss
        return (loss, loss / 2)

    def validate(self):
        return None if self.held_out is None else self.held_out[self.epochs - 1]

    def state(self):
        return self.weight

    def restore(self, state):
        self.weight = state


def test_the_last_weights_are_kept_when_nothing_is_held_out():
    trainable = Script([3.0, 1.0, 2.0])
    history = train(trainable, Stopping(3))
    assert (trainable.weight, history.best_epoch, history.stop_reason) == (3, 3, "epochs")
    assert history.losses == [(3.0, 1.5), (1.0, 0.5), (2.0, 1.0)]


def test_the_weights_of_least_validation_loss_are_restored():
    trainable = Script([3.0, 2.0, 1.0, 0.5], held_out=[3.0, 1.0, 2.0, 1.5])
    history = train(trainable, Stopping(4))
    assert (trainable.weight, history.best_epoch, history.validation) == (2, 2, [3.0, 1.0, 2.0, 1.5])


def test_patience_counts_gains_of_tol_only():
    trainable = Script([1.0, 0.9999, 0.9998, 0.9, 0.1], held_out=None)
    history = train(trainable, Stopping(5, patience=2, tol=1e-2))
    assert (history.stop_reason, trainable.epochs, trainable.weight) == ("patience", 3, 3)


def test_epochs_before_the_schedule_ends_do_not_compete():
    trainable = Script([1.0] * 10, held_out=[0.1] * 5 + [2.0, 1.0, 3.0, 4.0, 5.0], settles=0.6)
    history = train(trainable, Stopping(10, patience=3))
    assert (trainable.weight, history.best_epoch, history.stop_reason) == (7, 7, "patience")


def test_the_schedule_runs_from_zero_to_one():
    trainable = Script([1.0] * 4)
    train(trainable, Stopping(4))
    assert trainable.progress == [(0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0)]


def test_the_schedule_ends_in_time(monkeypatch):
    clock = iter(np.arange(0.0, 100.0))
    monkeypatch.setattr(_training.time, "monotonic", lambda: next(clock))
    trainable = Script([1.0] * 1000)
    history = train(trainable, Stopping(1000, max_time=10.0))
    assert history.stop_reason == "max_time" and trainable.epochs == 10
    ends = [end for _, end in trainable.progress]
    assert ends == sorted(ends) and ends[-1] == 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_stops_with_its_likely_cause(bad):
    with pytest.raises(ValueError, match=r"became (nan|inf) in epoch 2.*scale them.*learning_rate"):
        train(Script([1.0, bad, 1.0]), Stopping(3))


def test_an_interruption_keeps_the_best_weights():
    trainable = Script([3.0, 2.0, 1.0, KeyboardInterrupt()], held_out=[2.0, 1.0, 3.0])
    with pytest.warns(UserWarning, match="Interrupted after 3 of 9 epochs"):
        history = train(trainable, Stopping(9))
    assert (trainable.weight, history.stop_reason) == (2, "interrupted")


def test_an_interruption_before_the_first_epoch_ends_is_an_interruption():
    with pytest.raises(KeyboardInterrupt):
        train(Script([KeyboardInterrupt()]), Stopping(3))


@pytest.mark.parametrize(("n", "fraction"), [(10, 0.1), (2, 0.9), (100, 0.333), (5, 0.0)])
def test_held_out_and_training_samples_make_up_the_data(n, fraction):
    kept, held = hold_out(n, fraction, np.random.RandomState(0))
    assert sorted([*kept, *held]) == list(range(n)) and len(kept) >= 1
    assert len(held) == (0 if fraction == 0 else min(n - 1, max(1, round(fraction * n))))


class Recorder:
    """A callback of scikit-learn's protocol that asks to stop after a number of epochs."""

    def __init__(self, stop_after=None):
        self.events, self.stop_after = [], stop_after

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.events.append(f"end {context.task_name}")
        if context.task_name == "epoch":
            assert np.isfinite(metadata["losses"]).all()
            return metadata["epoch"] == self.stop_after
        return None

    def teardown(self, estimator, context):
        self.events.append("teardown")


@pytest.mark.parametrize("solver", ["full_batch", "minibatch"])
def test_callbacks_see_every_epoch_and_may_stop(tall, solver):
    pytest.importorskip("sklearn.callback")
    recorder = Recorder(stop_after=3)
    selector = ss.ScorerSelectorNetwork(3, solver=solver, epochs=9, random_state=0).set_callbacks(recorder)
    selector.fit(tall)
    assert recorder.events == [
        "setup",
        "begin fit",
        *["begin epoch", "end epoch"] * 3,
        "end fit",
        "teardown",
    ]
    assert (selector.n_epochs_, selector.stop_reason_) == (3, "callback")


def test_callbacks_are_torn_down_when_training_fails(tall):
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    selector = ss.ScorerSelectorNetwork(3, solver="minibatch", learning_rate=1e30, random_state=0).set_callbacks(
        recorder
    )
    with pytest.raises(ValueError, match="The loss became"):
        selector.fit(tall * 1e30)
    assert recorder.events[-1] == "teardown"


@pytest.mark.parametrize(
    "setting",
    [
        {"patience": 0},
        {"n_starts": 1.5},
        {"tol": -1},
        {"max_time": 0},
        {"validation_fraction": 1.0},
        {"epochs": 0},
        {"learning_rate": np.nan},
        {"batch_size": None},
        {"scorer_weight": -1.0},
        {"scorer_weight": np.inf},
        {"score_function": "cube"},
        {"init": "zeros"},
        {"solver": "search"},
        {"device": 0},
        {"anneal": "yes"},
    ],
)
def test_parameters_out_of_range_raise(tall, setting):
    (name,) = setting
    with pytest.raises(ValueError, match=f"The '{name}' parameter of ScorerSelectorNetwork must be"):
        ss.ScorerSelectorNetwork(3, **({"solver": "minibatch"} | setting)).fit(tall)


def test_a_linear_network_holds_rows_out_and_starts_several_times_without_torch(tall):
    selector = ss.ScorerSelectorNetwork(
        3,
        solver="minibatch",
        epochs=30,
        learning_rate=0.02,
        validation_fraction=0.2,
        n_starts=2,
        patience=5,
        random_state=0,
    ).fit(tall)
    assert len(selector.validation_history_) == selector.n_epochs_ <= 30
    assert selector.validation_history_[selector.best_epoch_ - 1] == selector.validation_history_.min()


@pytest.mark.parametrize(
    "settings", [{"solver": "minibatch"}, {"solver": "minibatch", "anneal": True}, {"solver": "full_batch"}]
)
def test_the_losses_are_those_of_the_network_as_it_is(tall, settings):
    selector = ss.ScorerSelectorNetwork(3, epochs=15, learning_rate=0.02, random_state=0, **settings).fit(tall)
    for path, loss in (("selector", selector.loss_selector_), ("scorer", selector.loss_scorer_)):
        assert np.mean((selector.forward(tall, path) - tall) ** 2) == pytest.approx(loss, rel=1e-4)


def test_patience_keeps_the_weights_of_the_best_step(tall):
    settings = {"solver": "full_batch", "epochs": 400, "learning_rate": 0.3, "random_state": 2}
    selector = ss.ScorerSelectorNetwork(3, patience=5, **settings).fit(tall)
    assert selector.stop_reason_ == "patience"
    steps = [
        ss.ScorerSelectorNetwork(3, **(settings | {"epochs": 400})).fit(tall).loss_history_[: selector.n_epochs_ - 1]
    ]
    objectives = steps[0] @ [1, selector.scorer_weight]
    assert selector.objective_ <= 1.02 * objectives.min()


class Failing(Script):
    """A script that fails from its first epoch."""

    def train_epoch(self, start, end):
        raise self.losses[0]


def run_starts(scripts, **stopping):
    """Train scripts as the starts of one fit."""
    return train_starts(lambda start: scripts[start], Stopping(**stopping), len(scripts))


def test_the_start_whose_kept_weights_are_best_wins():
    scripts = [Script([2.0, 1.5, 1.5, 1.5]), Script([1.0, 3.0, 3.0, 3.0])]
    trained, history = run_starts(scripts, epochs=4, patience=2)
    assert trained is scripts[1]
    assert history.best_epoch == 1


def test_a_start_that_diverges_drops_out():
    scripts = [Script([np.nan]), Script([1.0])]
    assert run_starts(scripts, epochs=1)[0] is scripts[1]
    with pytest.raises(ValueError, match="The loss became"):
        run_starts([Script([np.nan]), Script([np.inf])], epochs=1)


def test_an_interruption_in_a_later_start_keeps_the_earlier_one():
    scripts = [Script([1.0]), Failing([KeyboardInterrupt()]), Script([0.5])]
    with pytest.warns(UserWarning, match="start 2 of 3"):
        assert run_starts(scripts, epochs=1)[0] is scripts[0]


def test_a_callback_stops_all_starts(tall):
    pytest.importorskip("sklearn.callback")
    recorder = Recorder(stop_after=1)
    ss.ScorerSelectorNetwork(3, solver="minibatch", epochs=5, n_starts=3, random_state=0).set_callbacks(recorder).fit(
        tall
    )
    assert recorder.events.count("end epoch") == 1


def test_a_validation_loss_that_is_not_finite_stops():
    with pytest.raises(ValueError, match="became nan in epoch 1"):
        train(Script([1.0], held_out=[np.nan]), Stopping(1))


def test_a_schedule_cut_short_is_told(tall):
    pytest.importorskip("sklearn.callback")
    selector = ss.ScorerSelectorNetwork(3, solver="minibatch", anneal=True, epochs=50, random_state=0)
    with pytest.warns(ConvergenceWarning, match="while more than k features were still selected. Increase epochs"):
        selector.set_callbacks(Recorder(stop_after=2)).fit(tall)


@pytest.mark.parametrize("solver", ["full_batch", "minibatch"])
def test_the_searched_start_begins_at_the_search(tall, solver):
    found = ss.ScorerSelector(3).fit(tall)
    begun = ss.ScorerSelectorNetwork(3, solver=solver, init="search", epochs=1, learning_rate=1e-12).fit(tall)
    assert set(begun.selected_) == set(found.selected_)
    assert begun.loss_selector_ == pytest.approx(found.loss_selector_, rel=1e-2)
    assert begun.ridge_ == ss.ColumnSubset(3).fit(tall).ridge_
