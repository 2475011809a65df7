"""Train the scorer-selector: pick the engine and the start, run the loop, hand the network back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import is_foreign, to_numpy
from ..subset import search_columns
from ._lazy import require_torch
from ._scorer_full_batch import GradientTrainee
from ._scorer_minibatch import SgdTrainee, one_thread
from ._scorer_parameters import Network, Parameters, pca_parameters, random_parameters, search_parameters, top_columns
from ._scorer_settings import Settings, TrainingProblem
from ._scorer_torch import TorchSettings, torch_trainee
from ._training import Stopping, Trainee, check_loss
from ._training_mixin import hold_out, warn_not_converged

if TYPE_CHECKING:
    from ._scorer_selector import ScorerSelector


@dataclass(frozen=True)
class Trained:
    """A trained network that is not linear, as plain arrays.

    Attributes
    ----------
    score_weights, scores : ndarray of shape (m,)
        s = phi(w), and what the columns were ranked by.
    selected : ndarray of shape (k,)
        The chosen columns, best first.
    encoder, decoder : dict of str to ndarray
        Weights by torch's names.
    history : ndarray of shape (epochs, 2)
        Both paths' errors.
    errors : tuple of float
        The same for the network as it is, with exactly k columns.
    """

    score_weights: np.ndarray
    scores: np.ndarray
    selected: np.ndarray
    encoder: dict[str, np.ndarray]
    decoder: dict[str, np.ndarray]
    history: np.ndarray
    errors: tuple[float, float]


def train_network(
    selector: ScorerSelector, problem: TrainingProblem, settings: Settings, rng: np.random.RandomState
) -> Network | Trained:
    """Train as the selector's settings say, with its callbacks; it keeps the history."""
    max_time = None if selector.max_time is None else selector.max_time / settings.starts
    stopping = Stopping(settings.epochs, selector.patience, selector.tol, max_time)
    begin = _Start(selector, problem, settings)
    if selector.solver == "full_batch":

        def on_moments(start: int) -> GradientTrainee:
            return GradientTrainee(
                begin.parameters(rng, bias=False),
                problem.gram,
                problem.k,
                score=selector.score_function,
                scorer_weight=float(selector.scorer_weight),
                learning_rate=settings.learning_rate,
                anneal=settings.anneal,
                keeps_best=selector.patience is not None,
            )

        trainee = selector._train(on_moments, stopping, settings.starts)
        _check_settled(trainee, selector)
        return trainee.network(selector.loss_history_)
    if settings.linear and not _wants_cuda(selector.device, problem.rows):
        return _train_numpy(selector, problem, settings, rng, stopping, begin)
    return _train_torch(selector, problem, settings, rng, stopping, begin)


class _Start:
    """The weights a training starts from; what needs a search or an eigendecomposition is found once."""

    def __init__(self, selector: ScorerSelector, problem: TrainingProblem, settings: Settings) -> None:
        self.init, self._problem, self._width, self._linear = selector.init, problem, settings.width, settings.linear
        self._weight = float(selector.scorer_weight)
        self._chosen: list[int] = []
        if self.init == "search":
            self._chosen = search_columns(problem).chosen

    def parameters(self, rng: np.random.RandomState, *, bias: bool) -> Parameters:
        """Return the weights of a linear network."""
        problem, mean = self._problem, self._problem.mean if bias else None
        if self.init == "published":
            return random_parameters(problem.gram.n_features, self._width, bias, rng)
        if self.init == "pca":
            return pca_parameters(problem.gram, self._width, mean)
        return search_parameters(problem.gram, self._width, self._weight, problem.ridge, self._chosen, mean)

    def scores(self) -> np.ndarray | None:
        """Return the raw scores of a network that is not linear; None where they are drawn."""
        if self.init != "search":
            return None
        w = np.full(self._problem.gram.n_features, 0.5)
        w[self._chosen] = 1.0
        return w


def _train_numpy(
    selector: ScorerSelector,
    problem: TrainingProblem,
    settings: Settings,
    rng: np.random.RandomState,
    stopping: Stopping,
    begin: _Start,
) -> Network:
    X = to_numpy(problem.rows) if is_foreign(problem.rows) else problem.rows
    rows, held_out = hold_out(X.shape[0], settings.validation_fraction, rng)
    deviation = np.sqrt(to_numpy(problem.gram.diagonal()) * problem.unit)

    def make(start: int) -> SgdTrainee:
        return SgdTrainee(
            begin.parameters(rng, bias=True),
            X,
            problem.k,
            deviation,
            score=selector.score_function,
            scorer_weight=float(selector.scorer_weight),
            learning_rate=settings.learning_rate or 1e-3,
            batch_size=settings.batch_size,
            anneal=settings.anneal,
            rng=rng,
            rows=rows,
            held_out=held_out,
        )

    with one_thread():
        trainee = selector._train(make, stopping, settings.starts)
        _check_settled(trainee, selector)
        return trainee.network(selector.loss_history_[:, 1:])


def _train_torch(
    selector: ScorerSelector,
    problem: TrainingProblem,
    settings: Settings,
    rng: np.random.RandomState,
    stopping: Stopping,
    begin: _Start,
) -> Network | Trained:
    require_torch()
    from ._torch._networks import to_arrays
    from ._torch._session import resolve_device, session

    X = problem.rows
    engine = TorchSettings(
        encoder=selector.encoder,
        decoder=selector.decoder,
        activation=selector.activation,
        width=settings.width,
        score=selector.score_function,
        scorer_weight=float(selector.scorer_weight),
        anneal=settings.anneal,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate or 1e-3,
        decay=settings.decay,
        device=resolve_device(selector.device, X),
    )
    rows, held_out = hold_out(X.shape[0], settings.validation_fraction, rng)

    def make(start: int) -> Any:
        own = begin.parameters(rng, bias=True) if settings.linear else None
        w = begin.scores() if own is None else own.w
        return torch_trainee(X, problem.k, engine, w=w, start=own, rows=rows, held_out=held_out, rng=rng)

    with session(engine.device, settings.batch_size, rng):
        trainee = selector._train(make, stopping, settings.starts)
        selector_error, scorer_error = trainee.mean(trainee.model.path_errors)
    _check_settled(trainee, selector)
    errors = selector_error, scorer_error
    check_loss(errors, selector.n_epochs_)
    model = trainee.model
    w, s = (part.detach().cpu().double().numpy() for part in (model.w, model.score_weights()))
    scores = model.ranks().cpu().double().numpy() if settings.anneal or not settings.linear else w
    selected = top_columns(scores, problem.k)
    encoder, decoder, history = to_arrays(model.encoder), to_arrays(model.decoder), selector.loss_history_[:, 1:]
    if not settings.linear:
        return Trained(s, scores, selected, encoder, decoder, history, errors)
    E, a, G, b = (value.astype(np.float64) for value in (*encoder.values(), *decoder.values()))
    return Network(s, w, E.T.copy(), G.T.copy(), a, b, selected, scores, history, errors)


def _check_settled(trainee: Trainee, selector: ScorerSelector) -> None:
    """Warn where the training ended before the schedule had come down to k columns."""
    if not trainee.settled:
        more = "max_time" if selector.stop_reason_ == "max_time" else "epochs"
        warn_not_converged(
            f"Training stopped after {selector.n_epochs_} epochs ({selector.stop_reason_}) while more than k columns "
            f"were kept. Raise {more}."
        )


def _wants_cuda(device: str, X: Any) -> bool:
    """Tell whether a linear network is to train on a CUDA device."""
    if device == "auto":
        return is_foreign(X) and "cuda" in str(getattr(X, "device", ""))
    return device != "cpu"
