"""Train a scorer-selector network: fill in its settings, choose engine and start, run the training loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

from .._core import Array, Gram, Moments, is_foreign, to_numpy
from ..subset import N_FOLDS, ColumnSubset, KernelSubset
from ._scorer_full_batch import STEPS, FullBatchTrainable
from ._scorer_minibatch import MinibatchTrainable
from ._scorer_parameters import (
    LinearMap,
    Network,
    Objective,
    Parameters,
    ScorerTrainable,
    pca_parameters,
    random_parameters,
    random_scores,
    search_parameters,
    top_features,
)
from ._specs import Networks, require_torch
from ._training import BLOCK_ROWS, History, Stopping, check_loss, hold_out, read_rows, warn_not_converged

Runner = Callable[[Callable[[int], Any], Stopping, int], tuple[Any, History]]
"""Trains what a function returns for each start; see ``train_starts``."""
_KERNEL_ROWS = 4000
"""Samples that ``init="kernel"`` looks at: as many to decide as to judge."""
_MOST_STEPS, _FEWEST_STEPS, _WORK = 9000, 500, 1.2e9
"""Steps of a nonlinear network, divided among its starts: maximum, minimum, and steps x weights in between."""
_MIN_WIDTH = 16
"""Smallest default latent width of a nonlinear network: while more than k features are selected, a narrow code mixes
them, and the important ones cannot be told apart."""
_SEARCHED_RATE, _ENOUGH = 2e-3, 400
"""Learning rate of a network that starts from a search; with fewer samples, or groups, it learns more slowly."""
_PATIENCE = 0.2
"""Its patience, as a fraction of the epochs."""
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
    n_groups : int or None
        Number of groups of samples that belong together; None if each is by itself.
    """

    def __init__(
        self,
        params: Mapping[str, Any],
        solver: str,
        linear: bool,
        n_samples: int | None,
        n_features: int,
        k: int,
        n_groups: int | None = None,
    ) -> None:
        self.solver, self.linear, self.init = solver, linear, params["init"]
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
        self.adds = not linear and self.init != "published" and not anneal
        if self.adds and params["learning_rate"] is None:
            self.learning_rate = _SEARCHED_RATE * min(1.0, (n_groups or n) / _ENOUGH)
        self.objective = Objective(k, params["score_function"], float(params["scorer_weight"]), anneal)
        self.n_starts = int(params["n_starts"] or (1 if plain else 3))
        self.width = int(params["latent_width"] or (k if linear else max(k, _MIN_WIDTH)))
        self.networks = Networks(params["encoder"], params["decoder"], params["activation"], self.width)
        n_batches = max(1, -(-(n - round(fraction * n)) // self.batch_size))
        epochs = params["epochs"] or self._default_epochs(n_features, self.n_starts * n_batches)
        max_time = None if params["max_time"] is None else params["max_time"] / self.n_starts
        patience = params["patience"] or (max(1, round(_PATIENCE * epochs)) if self.adds else None)
        self.stopping = Stopping(int(epochs), patience, float(params["tol"]), max_time)

    def _default_epochs(self, n_features: int, batches: int) -> int:
        """Return the default number of epochs; ``batches`` are those of one epoch of all starts."""
        if self.linear:
            return STEPS if self.solver == "full_batch" else 200
        ends = (self.networks.encoder, n_features, self.width), (self.networks.decoder, self.width, n_features)
        layers = [[n_in, *(spec if isinstance(spec, (tuple, list)) else ()), n_out] for spec, n_in, n_out in ends]
        n_weights = sum(a * b for sizes in layers for a, b in pairwise(sizes))
        steps = min(_MOST_STEPS, max(_FEWEST_STEPS, _WORK / n_weights))
        return max(1, round(steps / batches))


@dataclass(frozen=True)
class TrainingData:
    """What a network is trained on.

    Attributes
    ----------
    gram : Gram
        The moments of the centred features, scaled to mean variance one.
    unit : float
        The mean variance: an error in the gram's units times ``unit`` is one in the units of the data.
    mean : ndarray of shape (m,)
        Means of the features.
    X : array of shape (n, m) or None
        The samples; None if only their moments are known.
    groups : ndarray of int of shape (n,) or None
        Of samples that are held out together.
    searched : ColumnSubset or None
        The features of a search with a ridge regression from them, for ``init="search"`` and ``"kernel"``.
    """

    gram: Gram
    unit: float
    mean: np.ndarray
    X: Array = None
    groups: np.ndarray | None = None
    searched: ColumnSubset | None = None

    def start(self, settings: NetworkSettings, rng: np.random.RandomState, *, bias: bool) -> Parameters:
        """Return the initial weights of a linear network."""
        mean = self.mean if bias else None
        if settings.init == "published":
            return random_parameters(self.gram.n_features, settings.width, bias, rng)
        if settings.init == "pca":
            return pca_parameters(self.gram, settings.width, mean)
        assert self.searched is not None
        ridge, selected = self.searched.ridge_, self.searched.selected_.tolist()
        return search_parameters(self.gram, settings.width, settings.objective.scorer_weight, ridge, selected, mean)

    def start_scores(self, settings: NetworkSettings, rng: np.random.RandomState) -> np.ndarray:
        """Return the initial raw scores of a nonlinear network."""
        if self.searched is None:
            return random_scores(self.gram.n_features, rng)
        return np.where(self.searched.support_, 1.0, 0.5)


def linear_map(searched: ColumnSubset) -> LinearMap:
    """Return the ridge regression of a search, which leaves the features that it found as they are."""
    selected = np.flatnonzero(searched.support_)
    coefficients, intercept = searched.reconstruction_coef_.copy(), searched.reconstruction_intercept_.copy()
    coefficients[:, selected], intercept[selected] = np.eye(len(selected)), 0.0
    return LinearMap(coefficients, intercept, selected)


def map_without(searched: ColumnSubset, X: Array, rows: np.ndarray) -> LinearMap:
    """Return the same regression on some of the samples, so that what it leaves of the others can be judged."""
    blocks = (read_rows(X, rows[first : first + BLOCK_ROWS], np.float64) for first in range(0, len(rows), BLOCK_ROWS))
    again = ColumnSubset(len(searched.selected_), include=searched.selected_.tolist(), ridge=searched.ridge_)
    return linear_map(again.fit_moments(Moments.from_batches(blocks)))


def searched_features(
    init: str, k: int, folds: Sequence[Moments], X: Array, weights: np.ndarray | None, groups: np.ndarray | None
) -> ColumnSubset | None:
    """Return the features that training starts from, with a ridge regression from them; None for other starts.

    The kernel's search sees some thousand samples, evenly spaced, and has no seed: all seeds of a network start alike.
    """
    if init not in ("search", "kernel"):
        return None
    if init == "search" and groups is None:
        return ColumnSubset(k).fit_moments(folds)
    include = None
    if init == "kernel":
        n = int(X.shape[0])
        rows = np.unique(np.linspace(0, n - 1, min(n, _KERNEL_ROWS)).astype(np.int64))
        kernel = KernelSubset(k, map_samples=1)  # its map is not needed
        kernel.fit(read_rows(X, rows, np.float64), groups=None if groups is None else groups[rows])
        include = kernel.selected_.tolist()
    cv = None if groups is None else GroupKFold(min(N_FOLDS, int(groups.max()) + 1))
    return ColumnSubset(k, include=include, cv=cv).fit(X, sample_weight=weights, groups=groups)


def train_network(
    data: TrainingData, settings: NetworkSettings, rng: np.random.RandomState, run: Runner
) -> tuple[Network, History]:
    """Train a network and return it with its history.

    Parameters
    ----------
    data : TrainingData
        The data.
    settings : NetworkSettings
        The settings.
    rng : RandomState
        Draws the start, the batches and the held-out samples.
    run : callable
        Runs the training loop.

    Returns
    -------
    network : Network
        The network; its losses are in the units of the gram for "full_batch", in those of the data otherwise.
    history : History
        Record of the training.
    """
    minibatch = settings.solver == "minibatch"
    if minibatch and (not settings.linear or _wants_cuda(settings.device, data.X)):
        return _train_torch(data, settings, rng, run)
    make = _maker(data, settings, rng)
    trained, history = run(make, settings.stopping, settings.n_starts)
    _warn_if_not_settled(trained.settled, history)
    return trained.network(np.array(history.losses)), history


def _maker(
    data: TrainingData, settings: NetworkSettings, rng: np.random.RandomState
) -> Callable[[int], ScorerTrainable]:
    """Return the function that makes the linear network of a start, in NumPy."""
    if settings.solver == "full_batch":
        keeps_best = settings.stopping.patience is not None
        return lambda start: FullBatchTrainable(
            data.start(settings, rng, bias=False), data.gram, settings.objective, settings.learning_rate, keeps_best
        )
    X = to_numpy(data.X) if is_foreign(data.X) else data.X
    split = hold_out(X.shape[0], settings.validation_fraction, rng, data.groups)
    deviation = np.sqrt(to_numpy(data.gram.diagonal()) * data.unit)
    return lambda start: MinibatchTrainable(
        data.start(settings, rng, bias=True),
        X,
        settings.objective,
        deviation,
        split,
        learning_rate=settings.learning_rate,
        batch_size=settings.batch_size,
        rng=rng,
    )


def _train_torch(
    data: TrainingData, settings: NetworkSettings, rng: np.random.RandomState, run: Runner
) -> tuple[Network, History]:
    require_torch()
    from ._torch._networks import to_arrays
    from ._torch._searched import scorer_model
    from ._torch._trainable import train_in_torch

    split = hold_out(data.X.shape[0], settings.validation_fraction, rng, data.groups)
    maps = None
    if settings.adds and data.searched is not None:
        maps = map_without(data.searched, data.X, split[0]), linear_map(data.searched)
    groups = np.arange(data.X.shape[0]) if data.groups is None else data.groups

    def make(rows: Any) -> Any:
        begin = data.start(settings, rng, bias=True) if settings.linear else None
        w = data.start_scores(settings, rng) if begin is None else begin.w
        return scorer_model(settings.networks, settings.objective, w, begin, rows, rng, maps, groups[split[1]])

    trained, history = train_in_torch(
        run,
        data.X,
        split,
        make,
        settings.stopping,
        settings.n_starts,
        device=settings.device,
        batch_size=settings.batch_size,
        rng=rng,
        learning_rate=settings.learning_rate,
        decay=settings.decay,
    )
    _warn_if_not_settled(trained.settled, history)
    model: Any = trained.model
    losses, errors = np.array(history.losses)[:, 1:], model.errors
    check_loss(errors, len(losses))
    w, s = (part.detach().cpu().double().numpy() for part in (model.w, model.score_weights()))
    scores = model.ranks().cpu().double().numpy() if settings.objective.anneal or not settings.linear else w
    encoder, decoder = to_arrays(model.encoder), to_arrays(model.decoder)
    selected = top_features(scores, settings.objective.k)
    if maps is not None:
        searched = maps[1].selected
        selected = searched[top_features(scores[searched], len(searched))]
    common = (s, scores, selected, losses, errors)
    if not settings.linear:
        return Network(*common, encoder, decoder, network_weight=getattr(model, "network_weight", None)), history
    E, a, G, b = (value.astype(np.float64) for value in (*encoder.values(), *decoder.values()))
    return Network(*common, E.T.copy(), G.T.copy(), a, b), history


def _warn_if_not_settled(settled: bool, history: History) -> None:
    """Warn if training ended before the schedule had reached k features."""
    if not settled:
        reason = history.stop_reason
        warn_not_converged(
            f"Training stopped after {len(history.losses)} epochs ({reason}) while more than k features were still "
            f"selected. Increase {'max_time' if reason == 'max_time' else 'epochs'}."
        )


def _wants_cuda(device: str, X: Any) -> bool:
    """Tell whether a linear network is to be trained on a CUDA device."""
    if device == "auto":
        return is_foreign(X) and "cuda" in str(getattr(X, "device", ""))
    return device != "cpu"
