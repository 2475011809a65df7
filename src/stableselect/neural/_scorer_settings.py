"""The scorer-selector's settings: what is allowed, and what the defaults come to for a given table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any

from .._core import Array
from ..subset import Problem
from ._layers import ACTIVATIONS
from ._scorer_full_batch import EPOCHS as GRADIENT_EPOCHS
from ._specs import check_network

if TYPE_CHECKING:
    from ._scorer_selector import ScorerSelector

_MOST_STEPS, _FEWEST_STEPS, _WORK = 9000, 500, 1.2e9
"""Steps of a network that is not linear, shared out among its starts: at most, at least, and steps x weights in
between."""
_LEAST_WIDTH = 16
"""Latent width of such a network at least: while more than k columns are kept, a narrow code mixes them, and which one
matters cannot be told."""


@dataclass(frozen=True)
class TrainingProblem(Problem):
    """A search's problem with the samples to train on, where they are known, and whether they have weights."""

    rows: Array = None
    weighted: bool = False


@dataclass(frozen=True)
class Settings:
    """The settings with every default filled in."""

    width: int
    linear: bool
    anneal: bool
    epochs: int
    starts: int
    validation_fraction: float
    learning_rate: float | None
    decay: float
    batch_size: int


def check_settings(selector: ScorerSelector, problem: TrainingProblem) -> Settings:
    """Refuse settings that make no sense together, and fill in the defaults."""
    choices = {
        "score_function": ("abs", "square"),
        "solver": ("search", "full_batch", "minibatch"),
        "init": ("published", "pca", "search"),
        "activation": tuple(ACTIVATIONS),
    }
    for name, allowed in choices.items():
        if getattr(selector, name) not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {getattr(selector, name)!r}.")
    solver = selector.solver
    check_weight(selector.scorer_weight)
    if selector.batch_size is None:
        raise ValueError("batch_size must be a whole number of at least 1, got None.")
    selector._check_training()
    linear = check_network("encoder", selector.encoder) & check_network("decoder", selector.decoder)
    if not linear and solver != "minibatch":
        raise ValueError(
            f"solver={solver!r} trains linear networks; use solver='minibatch' with this encoder and decoder."
        )
    if not linear and selector.init == "pca":
        raise ValueError("init='pca' starts linear networks; use init='search' or 'published' here.")
    if solver != "search" and (problem.include or problem.exclude):
        raise ValueError("include and exclude work with solver='search' only; use it or drop them.")
    if solver == "minibatch" and (problem.rows is None or problem.weighted):
        raise ValueError("solver='minibatch' trains on unweighted rows; use solver='search' or 'full_batch' here.")
    if solver == "full_batch" and selector.validation_fraction:
        raise ValueError("solver='full_batch' sees moments, of which no rows can be held out; use solver='minibatch'.")
    n = 1 if problem.rows is None else problem.rows.shape[0]
    share = selector.validation_fraction
    if share is None:
        share = 0.0 if linear or n < 10 else 0.1
    if share and n < 2:
        raise ValueError("validation_fraction needs two rows at least; set it to 0.")
    anneal = selector.anneal
    if anneal is None:
        anneal = not linear and selector.init != "search"
    rate = selector.learning_rate
    if solver == "minibatch" and rate is None:
        rate = 1e-3 if linear else 5e-3
    starts = (1 if linear or selector.init == "search" else 3) if selector.n_starts is None else selector.n_starts
    width = _width(selector, problem, linear)
    return Settings(
        width=width,
        linear=linear,
        anneal=bool(anneal),
        epochs=_epochs(selector, n - round(share * n), starts, _n_weights(selector, problem, width, linear)),
        starts=starts,
        validation_fraction=float(share),
        learning_rate=rate,
        decay=1.0 if linear else 0.03,
        batch_size=selector.batch_size,
    )


def check_weight(weight: Any) -> None:
    """Refuse a scorer weight that is no number of at least 0."""
    if not isinstance(weight, Real) or not 0 <= float(weight) < float("inf"):
        raise ValueError(f"scorer_weight must be a number of at least 0, got {weight!r}.")


def _width(selector: ScorerSelector, problem: TrainingProblem, linear: bool) -> int:
    if selector.latent_width is not None:
        return int(selector.latent_width)
    return problem.k if linear else max(problem.k, _LEAST_WIDTH)


def _n_weights(selector: ScorerSelector, problem: TrainingProblem, width: int, linear: bool) -> int:
    """Return about how many weights a network has that is not linear; 0 for a linear one."""
    if linear:
        return 0
    m = problem.gram.n_features
    layers = [
        [n_in, *(spec if isinstance(spec, (tuple, list)) else ()), n_out]
        for spec, n_in, n_out in ((selector.encoder, m, width), (selector.decoder, width, m))
    ]
    return sum(a * b for sizes in layers for a, b in pairwise(sizes))


def _epochs(selector: ScorerSelector, n: int, starts: int, n_weights: int) -> int:
    if selector.epochs is not None:
        return int(selector.epochs)
    if selector.solver == "full_batch":
        return GRADIENT_EPOCHS
    if not n_weights:
        return 200
    steps = min(_MOST_STEPS, max(_FEWEST_STEPS, _WORK / n_weights))
    return max(1, round(steps / (starts * max(1, -(-n // selector.batch_size)))))
