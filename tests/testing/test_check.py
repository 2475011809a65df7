"""The laws find what is broken: one faulty selector for each."""

from __future__ import annotations

import numpy as np
import pytest

import stableselect as ss
from stableselect.base import ScoreSelector
from stableselect.testing import check_selector, selector_checks


class Own(ScoreSelector):
    """Select by variance, as it should be."""

    def __init__(self, n_features_to_select=None, *, include=None, exclude=None):
        self.n_features_to_select, self.include, self.exclude = n_features_to_select, include, exclude

    def _score_features(self, X, k):
        return np.asarray(ss.Moments.from_array(X).variance)


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


class TooMany(Own):
    def fit(self, X, y=None):
        super().fit(X)
        self.selected_ = np.append(self.selected_, self.selected_[:1])
        return self


class AnyNumber(Own):
    def fit(self, X, y=None):
        try:
            return super().fit(X)
        except ValueError:
            self.n_features_to_select = 1
            return super().fit(X)


class FirstSample(Own):
    def _score_features(self, X, k):
        return np.abs(dense(X)[0])


class Position(Own):
    def _score_features(self, X, k):
        return np.asarray(ss.Moments.from_array(X).variance) * np.arange(1, X.shape[1] + 1)


class GlobalSeed(Own):
    def _score_features(self, X, k):
        return super()._score_features(X, k) + np.random.random(X.shape[1])  # noqa: NPY002


class NeedsSamples(Own):
    def _score_features(self, X, k):
        if X.shape[0] < 3:
            raise ZeroDivisionError("no samples")
        return super()._score_features(X, k)


class Overflows(Own):
    def _score_features(self, X, k):
        with np.errstate(over="ignore"):
            return np.exp(super()._score_features(X, k) / 1e3)


class Constants(Own):
    def _score_features(self, X, k):
        return -super()._score_features(X, k)


class AtLeastTwo(Own):
    def _score_features(self, X, k):
        return np.ones(X.shape[1]) * np.cov(dense(X).T).diagonal()


class Shifted(Own):
    def reconstruct(self, X, **how):
        return super().reconstruct(X, **how) + 1.0


class Praised(Own):
    def score(self, X, y=None, **how):
        return 1.0


class Wilful(Own):
    def fit(self, X, y=None):
        self.include, kept = None, self.include
        super().fit(X)
        self.include = kept
        return self


class Silent(Own):
    def explain(self, X=None):
        found = super().explain(X)
        found.discarded.pop()
        return found


class Careless(Own):
    def fit(self, X, y=None):
        if isinstance(X, np.ndarray):
            X[0, 0] = 0.0
        return super().fit(X)


class Rounded(Own):
    def _score_features(self, X, k):
        scores = np.asarray(ss.Moments.from_array(X).variance)
        return scores if dense(X).dtype == np.float64 else -scores


class DenseOnly(Own):
    def _score_features(self, X, k):
        return np.asarray(X - X.mean(axis=0)).std(axis=0) if isinstance(X, np.ndarray) else np.arange(X.shape[1]) * 1.0


class Nameless(Own):
    def fit(self, X, y=None):
        return super().fit(X.to_numpy() if hasattr(X, "to_numpy") else X)


class Forgetful(Own):
    def fit(self, X, y=None):
        self.__dict__.pop("selected_", None)
        self.__dict__.pop("support_", None)
        return super().fit(X)


BROKEN = {
    TooMany: "exactly_k_features",
    AnyNumber: "bad_k_is_refused",
    FirstSample: "sample_order_does_not_matter",
    Position: "feature_order_does_not_matter",
    GlobalSeed: "same_seed_same_result",
    NeedsSamples: "awkward_tables_give_k_features",
    Overflows: "extreme_scales_give_k_features",
    Constants: "constant_features_come_last",
    AtLeastTwo: "one_feature",
    Shifted: "all_features_are_reconstructed_exactly",
    Praised: "score_is_minus_the_mean_squared_error",
    Wilful: "include_and_exclude_are_obeyed",
    Silent: "explanation_covers_every_feature",
    Careless: "input_is_left_alone",
    Rounded: "single_precision_agrees_with_double",
    DenseOnly: "sparse_agrees_with_dense",
    Nameless: "data_frames_keep_names",
    Forgetful: "a_refused_table_changes_nothing",
}


@pytest.mark.parametrize("cls", BROKEN)
def test_a_faulty_selector_is_found(cls):
    with pytest.raises(Exception):  # noqa: B017 - any error breaks the law
        selector_checks()[BROKEN[cls]](cls())


def test_the_message_names_the_laws_and_some_can_be_left_out():
    with pytest.raises(AssertionError) as caught:
        check_selector(Position())
    assert str(caught.value).startswith("Position breaks 1 of 23 laws:\n- feature_order_does_not_matter: ")
    check_selector(Position(), skip=["feature_order_does_not_matter"])


def test_a_sound_one_passes_and_is_not_changed():
    own = Own(3)
    check_selector(own)
    assert own.n_features_to_select == 3 and not hasattr(own, "selected_")


def test_what_is_no_selector_and_no_check_is_refused():
    with pytest.raises(TypeError, match="make one, as in MySelector"):
        check_selector(Own)
    with pytest.raises(ValueError, match="skip names 'luck', which is no check"):
        check_selector(Own(), skip=["luck"])
