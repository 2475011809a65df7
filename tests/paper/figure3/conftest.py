"""What the tests of Figure 3 share: a second computation of the losses, invented records, figures that are kept."""

from __future__ import annotations

import numpy as np
import pytest

from stableselect import ScorerSelectorNetwork
from stableselect.experiments import Stored
from stableselect.paper import _report
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.methods import Options

SEARCH = "ScorerSelector"
PATHS = ("selector", "scorer", "total")


def output(selector, x, path):
    """One sample through a linear network, written out."""
    kept = range(len(x)) if path == "scorer" else selector.selected_
    scored = [selector.score_weights_[j] * x[j] if j in kept else 0.0 for j in range(len(x))]
    intercept = selector.scorer_intercept_ if path == "scorer" else selector.encoder_intercept_
    latent = np.array(scored) @ selector.encoder_ + intercept
    return latent @ selector.decoder_ + selector.decoder_intercept_


@pytest.fixture
def losses():
    """The three losses of every sample of a fitted selector, from its weights."""

    def compute(selector, X):
        parts = {path: [np.mean((x - output(selector, x, path)) ** 2) for x in X] for path in ("selector", "scorer")}
        both = zip(parts["selector"], parts["scorer"], strict=True)
        return parts | {"total": [a + selector.scorer_weight * b for a, b in both]}

    return compute


@pytest.fixture
def bounded():
    """The test samples, which under the corrected protocol stay in the range of the training samples."""
    return lambda rows, protocol: rows.X_test if protocol == "paper" else np.minimum(np.maximum(rows.X_test, 0), 1)


@pytest.fixture
def network():
    """Make the published network with few epochs."""

    def make(k, seed, **settings):
        return ScorerSelectorNetwork.published(k, batch_size=256, random_state=seed).set_params(epochs=15, **settings)

    return make


def invent(run):
    """Records of the right form, with values that the tables can be checked against."""
    repeat = run.split + run.seed
    if run.task == "gap":
        n = 54 * run.details["share"]
        difference = 0.1 / n**0.5 * (1 + 0.1 * repeat)
        norms = {kind: {"all": 2.0 * run.k, "kept": 1.0 * run.k} for kind in ("product", "norms", "map")}
        test = 0.02 if run.method == SEARCH else 0.03
        return {"n": n, "difference": difference, "test": {"selector": test, "scorer": 0.01}, "norms": norms}
    if run.task == "beta":
        beta = 100.0 * (1 + 0.1 * repeat) / run.details["n"]
        found = {"beta": dict.fromkeys(PATHS, beta), "mean": dict.fromkeys(PATHS, beta / 10), "largest": 2 * beta}
        return found | {"shared": 40.0, "unchanged": 0.5, "held": found}
    # With the seed fixed the sets agree; with the seed free no two of them share a column.
    first = 0 if run.seed == 0 else run.seed * run.k
    return {"selected": list(range(first, first + run.k)), "test": {"selector": 0.04, "scorer": 0.03}}


@pytest.fixture
def stored():
    """Invented records of an experiment, in the order of its runs."""

    def make(name, options=Options()):  # noqa: B008
        runs = [run for protocol in ("paper", "corrected") for run in EXPERIMENTS[name].runs(protocol, options)]
        return [Stored(run, "done", invent(run), "") for run in runs]

    return make


@pytest.fixture
def no_pictures(monkeypatch):
    """Leave the pictures out, which take most of the time."""
    monkeypatch.setattr(_report, "can_draw", lambda: False)


@pytest.fixture
def figures(monkeypatch):
    """Keep the figures instead of writing them."""
    found = []
    monkeypatch.setattr(_report, "picture", lambda name, caption, figure: found.append(figure))
    return found
