"""Settings of a scorer-selector network for a given table: rules across parameters, and the defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ._scorer_full_batch import STEPS
from ._scorer_parameters import Objective
from ._training import Stopping

_MOST_STEPS, _FEWEST_STEPS, _WORK = 9000, 500, 1.2e9
"""Steps of a nonlinear network, divided among its starts: maximum, minimum, and steps x weights in between."""
_MIN_WIDTH = 16
"""Smallest default latent width of a nonlinear network: while more than k features are selected, a narrow code mixes
them, and the important ones cannot be told apart."""
_FEWEST_TO_HOLD_OUT = 10
"""With fewer samples none are held out by default."""


class NetworkSettings:
    """The settings of a training, with every default filled in; raises if parameters contradict each other.

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
    """

    def __init__(
        self, params: Mapping[str, Any], solver: str, linear: bool, n_samples: int | None, n_features: int, k: int
    ) -> None:
        self.solver, self.linear, self.init = solver, linear, params["init"]
        self.encoder, self.decoder, self.activation = params["encoder"], params["decoder"], params["activation"]
        self.batch_size, self.device = int(params["batch_size"]), params["device"]
        if self.init == "auto":
            self.init = "published" if linear or params["anneal"] else "kernel"
        if linear and self.init == "kernel":
            raise ValueError("init='kernel' starts nonlinear networks; use init='search' here.")
        if not linear and self.init == "pca":
            raise ValueError("init='pca' starts linear networks; use init='kernel', 'search' or 'published' here.")
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
        self.validation_fraction = float(fraction)
        self.learning_rate, self.decay = params["learning_rate"], 1.0 if linear else 0.03
        if solver == "minibatch" and self.learning_rate is None:
            self.learning_rate = 1e-3 if linear else 5e-3
        plain = linear or self.init != "published"
        anneal = bool(not plain if params["anneal"] is None else params["anneal"])
        self.objective = Objective(k, params["score_function"], float(params["scorer_weight"]), anneal)
        self.n_starts = int(params["n_starts"] or (1 if plain else 3))
        self.width = int(params["latent_width"] or (k if linear else max(k, _MIN_WIDTH)))
        n_batches = max(1, -(-(n - round(fraction * n)) // self.batch_size))
        epochs = params["epochs"] or self._default_epochs(n_features, self.n_starts * n_batches)
        max_time = None if params["max_time"] is None else params["max_time"] / self.n_starts
        self.stopping = Stopping(int(epochs), params["patience"], float(params["tol"]), max_time)

    def _default_epochs(self, n_features: int, batches: int) -> int:
        """Return the default number of epochs; ``batches`` are those of one epoch of all starts."""
        if self.linear:
            return STEPS if self.solver == "full_batch" else 200
        ends = (self.encoder, n_features, self.width), (self.decoder, self.width, n_features)
        layers = [[n_in, *(spec if isinstance(spec, (tuple, list)) else ()), n_out] for spec, n_in, n_out in ends]
        n_weights = sum(a * b for sizes in layers for a, b in pairwise(sizes))
        steps = min(_MOST_STEPS, max(_FEWEST_STEPS, _WORK / n_weights))
        return max(1, round(steps / batches))
