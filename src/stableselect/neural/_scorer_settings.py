"""Settings of a scorer-selector network for a given table: rules across parameters, and the defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from ._scorer_full_batch import STEPS
from ._scorer_parameters import Objective
from ._specs import Spec
from ._training import Stopping

_MOST_STEPS, _FEWEST_STEPS, _WORK = 9000, 500, 1.2e9
"""Steps of a nonlinear network, divided among its starts: maximum, minimum, and steps x weights in between."""
_MIN_WIDTH = 16
"""Smallest default latent width of a nonlinear network: while more than k features are selected, a narrow code mixes
them, and the important ones cannot be told apart."""
_FEWEST_TO_HOLD_OUT = 10
"""With fewer samples none are held out by default."""


@dataclass(frozen=True)
class NetworkSettings:
    """The settings of a training, with every default filled in."""

    solver: str
    linear: bool
    encoder: Spec
    decoder: Spec
    activation: str
    init: Literal["published", "pca", "search"]
    batch_size: int
    device: str
    width: int
    objective: Objective
    learning_rate: float | None
    decay: float
    validation_fraction: float
    stopping: Stopping
    n_starts: int


def network_settings(
    params: Mapping[str, Any], solver: str, linear: bool, n_samples: int | None, n_features: int, k: int
) -> NetworkSettings:
    """Return the settings for a table; raise if parameters contradict each other.

    Parameters
    ----------
    params : mapping
        The parameters of :class:`~stableselect.ScorerSelectorNetwork` by name.
    solver : {"full_batch", "minibatch"}
        What "auto" means for them, or the solver named.
    linear : bool
        Whether encoder and decoder are linear.
    n_samples : int or None
        Number of samples; None if only their moments are known, which "minibatch" cannot train on.
    n_features, k : int
        Number of features, and how many of them are to be selected.

    Returns
    -------
    NetworkSettings
    """
    init = params["init"]
    if not linear and init == "pca":
        raise ValueError("init='pca' starts linear networks; use init='search' or 'published' here.")
    if solver == "minibatch" and n_samples is None:
        raise ValueError(
            "solver='minibatch' trains on unweighted samples, not on moments or weights; use solver='full_batch'."
        )
    fraction = params["validation_fraction"]
    if solver == "full_batch" and fraction:
        raise ValueError(
            "solver='full_batch' works on the moments, which hold no samples out; use solver='minibatch' or drop "
            "validation_fraction."
        )
    n = 1 if n_samples is None else n_samples
    if fraction is None:
        fraction = 0.0 if linear or n < _FEWEST_TO_HOLD_OUT else 0.1
    if fraction and n < 2:
        raise ValueError("validation_fraction needs at least two samples; set it to 0.")
    rate = params["learning_rate"]
    if solver == "minibatch" and rate is None:
        rate = 1e-3 if linear else 5e-3
    searched = init == "search"
    n_starts = params["n_starts"] or (1 if linear or searched else 3)
    width = int(params["latent_width"] or (k if linear else max(k, _MIN_WIDTH)))
    epochs = params["epochs"]
    if epochs is None:
        n_batches = max(1, -(-(n - round(fraction * n)) // params["batch_size"]))
        epochs = _epochs(solver, n_starts * n_batches, 0 if linear else _n_weights(params, n_features, width))
    max_time = None if params["max_time"] is None else params["max_time"] / n_starts
    anneal = bool(not linear and not searched if params["anneal"] is None else params["anneal"])
    return NetworkSettings(
        solver,
        linear,
        **{name: params[name] for name in ("encoder", "decoder", "activation", "init", "batch_size", "device")},
        width=width,
        objective=Objective(k, params["score_function"], float(params["scorer_weight"]), anneal),
        learning_rate=rate,
        decay=1.0 if linear else 0.03,
        validation_fraction=float(fraction),
        stopping=Stopping(int(epochs), params["patience"], float(params["tol"]), max_time),
        n_starts=int(n_starts),
    )


def _n_weights(params: Mapping[str, Any], n_features: int, width: int) -> int:
    """Return about how many weights a nonlinear network has."""
    layers = [
        [n_in, *(spec if isinstance(spec, (tuple, list)) else ()), n_out]
        for spec, n_in, n_out in ((params["encoder"], n_features, width), (params["decoder"], width, n_features))
    ]
    return sum(a * b for sizes in layers for a, b in pairwise(sizes))


def _epochs(solver: str, batches: int, n_weights: int) -> int:
    """Return the default number of epochs; ``batches`` are those of one epoch of all starts."""
    if solver == "full_batch":
        return STEPS
    if not n_weights:
        return 200
    steps = min(_MOST_STEPS, max(_FEWEST_STEPS, _WORK / n_weights))
    return max(1, round(steps / batches))
