"""CAE: a concrete autoencoder, whose nodes each settle on one column as a temperature falls."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state

from .._core import Array, Gram, Moments, normalised_moments, to_numpy
from ..base import SamplesSelector, Selection
from ._cae_moments import ConcreteMoments, assign, log_odds, sampling_quality, take
from ._layers import ACTIVATIONS
from ._lazy import require_torch
from ._specs import Spec, check_network, fitted_activation, run_network
from ._training import History, Stopping
from ._training_mixin import TrainingMixin, hold_out, is_number, warn_not_converged

_STEPS, _FEWEST_STEPS, _WORK = 1000, 150, 1.5e8
"""Full-batch steps: at most, at least, and steps x nodes x columns in between."""
_SGD_STEPS, _FEWEST_SGD_STEPS, _SGD_WORK = 6000, 1000, 6e8
"""The same for mini-batches."""
_LOGIT_RATE, _SGD_LOGIT_RATE, _DECODER_RATE = 0.6, 0.1, 3e-3
"""Adam's first rates; chosen by test error on Mice Protein, USPS, ISOLET and arcene ("minibatch": the first two)."""
_SETTLED = 0.8
"""Worth of the nodes' draws, as a share of that of their columns, from which they count as settled."""


class CAE(TrainingMixin, SamplesSelector):
    """Keep the columns that the nodes of a concrete autoencoder settle on.

    Each of k nodes mixes all columns with weights softmax((logits + Gumbel noise) / T); a decoder rebuilds the table
    from the k mixtures. The temperature T falls while the logits are trained, so that mixtures become choices. At the
    end every node gets a column of its own, by the assignment of the largest joint probability.

    With a linear decoder the default trains on the second moments alone: the best decoder for the mixtures of the
    moment is put in closed form and only the logits take gradient steps, which needs far fewer of them. Other decoders
    are trained together with the logits, on mini-batches, in torch.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Columns to keep: a number, a share rounded up, or None for half.
    temperature : tuple of two floats, default=(10.0, 0.2)
        T at the start and at the end; the fall is geometric.
    ridge : float, default=1e-3
        Ridge weight of the closed-form decoder, relative to the mean variance; used by "full_batch".
    duplicate_penalty : float, default=0.1
        Weight of a penalty on columns that several nodes mix in, sum_j max(0, sum_h P_hj - 1)^2 / k, beside the
        unexplained share of the variance.
    decoder : "linear", tuple of int or callable, default="linear"
        From the k nodes to all columns: linear, with hidden layers of these sizes, or a function
        ``(n_in, n_out) -> torch.nn.Module``.
    activation : {"relu", "gelu", "tanh", "sigmoid", "elu"}, default="relu"
        Between layers of given sizes.
    solver : {"auto", "full_batch", "minibatch"}, default="auto"
        "full_batch": full-batch Adam on the moments, for the linear decoder. "minibatch": mini-batches of rows, in
        torch. "auto": "full_batch" where it can be.
    epochs : int or None, default=None
        Full-batch steps ("full_batch") or passes over the rows ("minibatch"). None: steps fall with the size of the
        logits, 1.5e8 / (m k) within [150, 1000]; and passes that make 6e8 / (m k) steps within [1000, 6000].
    logit_learning_rate : float or None, default=None
        Adam's rate for the logits; None for 0.6 sqrt(1000 / epochs), at most 1.55,
        falling to a tenth of it ("full_batch"), or 0.1 ("minibatch").
    learning_rate : float or None, default=None
        Adam's rate for the decoder of "minibatch"; None for 0.003.
    batch_size : int or None, default=None
        Rows a step for "minibatch"; None for n // 256, at least 16.
    validation_fraction : float, default=0.1
        Share of the rows held out by "minibatch" with a nonlinear decoder, to keep its best weights once the columns
        are chosen.
    tol : float, default=1e-4
        The least relative gain in the validation loss that counts.
    patience : int or None, default=None
        Epochs without such a gain before the nonlinear decoder stops; None for never.
    max_time : float or None, default=None
        Seconds; the temperature falls faster where training would not end in time.
    device : str, default="auto"
        Where "minibatch" runs; "auto" is CUDA where there is one.
    random_state : int, RandomState instance or None, default=None
        Draws the noise; for "minibatch" also the start, the batches and the rows held out.

    Attributes
    ----------
    node_features_ : ndarray of int, shape (min(k, varying columns),)
        The column each node was given.
    mean_max_probability_ : float
        Mean over the nodes of the largest probability (T = 1, no noise). The published criterion asks for 0.998.
    sampling_quality_ : float
        What columns drawn from the nodes' probabilities, each in place of the node's own, would keep of what the kept
        columns explain: 1 where every node is certain, or wavers only between columns that serve alike.
    converged_ : bool
        Whether ``sampling_quality_`` is at least 0.8.
    n_duplicates_ : int
        Nodes whose likeliest column was also that of a node before them; they were given another one.
    decoder_weights_ : dict of str to ndarray, or None
        Weights of a nonlinear decoder, which :meth:`reconstruct` uses; None for the linear one, in whose place
        :meth:`reconstruct` uses least squares.

    Notes
    -----
    ``scores_`` holds the largest probability that any node gives a column; ``selected_`` starts with the node that is
    surest of its column. Constant columns are kept only after all others. The columns of ``loss_history_`` are the
    objective and, without the penalty, the error per cell.

    A nonlinear decoder trains on the mixtures over the first 80 % of the epochs, while T falls, and on the chosen
    columns themselves over the rest.

    The time of "full_batch" is bounded: a step costs 2 m^2 k products (4 n m k and less where n < m) plus m k draws.

    References
    ----------
    Abid, Balin & Zou (2019), Concrete autoencoders: differentiable feature selection and reconstruction, ICML.

    Golub & Pereyra (1973), The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
    separate, SIAM Journal on Numerical Analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.neural import CAE
    >>> X = load_iris().data
    >>> selector = CAE(2, random_state=0).fit(X)
    >>> selector.transform(X).shape, selector.converged_, selector.n_duplicates_
    ((150, 2), True, 0)
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        temperature: tuple[float, float] = (10.0, 0.2),
        ridge: float = 1e-3,
        duplicate_penalty: float = 0.1,
        decoder: Spec = "linear",
        activation: str = "relu",
        solver: Literal["auto", "full_batch", "minibatch"] = "auto",
        epochs: int | None = None,
        logit_learning_rate: float | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 1e-4,
        patience: int | None = None,
        max_time: float | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.temperature = temperature
        self.ridge = ridge
        self.duplicate_penalty = duplicate_penalty
        self.decoder = decoder
        self.activation = activation
        self.solver = solver
        self.epochs = epochs
        self.logit_learning_rate = logit_learning_rate
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.patience = patience
        self.max_time = max_time
        self.device = device
        self.random_state = random_state

    @classmethod
    def published(
        cls,
        n_features_to_select: int | float | None = None,
        *,
        epochs: int = 1000,
        batch_size: int | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> Self:
        """Return the selector with the settings of the published experiments.

        Mini-batches of max(n // 256, 16) rows, 1000 epochs, T from 10 to 0.1, Adam at 0.001 for logits and decoder,
        Glorot-normal logits, a linear decoder with bias, one try. The published package starts again with twice the
        epochs, up to five tries, while ``mean_max_probability_`` is below 0.998; this one warns. Left out: columns kept
        twice, rows taken for columns in ``transform``, and test rows as validation rows.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Columns to keep.
        epochs : int
            Passes over the rows.
        batch_size : int or None
            Rows a step; None for the published rule.
        device : str
            Where to train.
        random_state : int, RandomState instance or None
            Seed.

        Returns
        -------
        CAE
        """
        return cls(
            n_features_to_select,
            temperature=(10.0, 0.1),
            duplicate_penalty=0.0,
            decoder="linear",
            solver="minibatch",
            epochs=epochs,
            logit_learning_rate=1e-3,
            learning_rate=1e-3,
            batch_size=batch_size,
            validation_fraction=0.0,
            device=device,
            random_state=random_state,
        )

    def _select(self, X: Array, k: int) -> Selection:
        self._check_settings()
        moments = Moments.from_array(X)
        gram, unit = normalised_moments(moments)
        spread = to_numpy(moments.maximum) > to_numpy(moments.minimum)
        varying = np.flatnonzero(spread & (to_numpy(gram.diagonal()) > 0))
        gram = take(gram, varying)
        n_nodes, m = min(k, len(varying)), X.shape[1]
        self.decoder_weights_: dict[str, np.ndarray] | None = None
        self._activation: str | None = None
        if n_nodes == 0 or (self.decoder == "linear" and n_nodes == len(varying)):
            return self._keep_all(varying, m, k)
        if self._solver() == "full_batch":
            logits = self._train_on_moments(gram, unit, n_nodes)
        else:
            logits = self._train_on_rows(X, varying, unit, n_nodes)
        chosen = self._diagnose(gram, logits)
        self.node_features_ = varying[chosen]
        scores = np.zeros(m)
        scores[varying] = np.max(softmax(logits, axis=1), axis=0)
        order = self.node_features_[np.argsort(-log_odds(logits, chosen), kind="stable")]
        return Selection(fill(order, m, k), scores)

    def _keep_all(self, varying: np.ndarray, m: int, k: int) -> Selection:
        """Keep every varying column: there is nothing to choose and, with least squares to rebuild, to train."""
        self._keep_history(History())
        self.node_features_ = varying
        self.n_duplicates_, self.mean_max_probability_, self.sampling_quality_, self.converged_ = 0, 1.0, 1.0, True
        return Selection(fill(varying, m, k), np.isin(np.arange(m), varying).astype(np.float64))

    def _solver(self) -> str:
        if self.solver == "auto":
            return "full_batch" if self.decoder == "linear" else "minibatch"
        return self.solver

    def _train_on_moments(self, gram: Gram, unit: float, n_nodes: int) -> np.ndarray:
        """Train the logits on the moments; return them."""
        steps = self.epochs or default_steps(n_nodes * gram.n_features, _STEPS, _FEWEST_STEPS, _WORK)
        rate = self.logit_learning_rate or _LOGIT_RATE * (_STEPS / max(_FEWEST_STEPS, steps)) ** 0.5
        rng = check_random_state(self.random_state)

        def make(start: int) -> ConcreteMoments:
            return ConcreteMoments(
                gram,
                n_nodes,
                ridge=float(self.ridge),
                penalty=float(self.duplicate_penalty),
                temperature=self.temperature,
                learning_rate=rate,
                unit=unit,
                rng=rng,
            )

        return self._train(make, Stopping(steps, max_time=self.max_time)).logits

    def _train_on_rows(self, X: Array, varying: np.ndarray, unit: float, n_nodes: int) -> np.ndarray:
        """Train logits and decoder on mini-batches; return the logits of the varying columns."""
        require_torch()
        from ._torch import _cae as concrete

        n, m = X.shape
        rng = check_random_state(self.random_state)
        linear = self.decoder == "linear"
        rows, held_out = hold_out(n, 0.0 if linear else self.validation_fraction, rng)
        batch_size = self.batch_size or max(len(rows) // 256, 16)
        steps = default_steps(n_nodes * m, _SGD_STEPS, _FEWEST_SGD_STEPS, _SGD_WORK)
        epochs = self.epochs or -(-steps // -(-len(rows) // batch_size))
        task = concrete.Task(
            X,
            rows,
            held_out,
            varying,
            n_nodes=n_nodes,
            decoder=self.decoder,
            activation=self.activation,
            temperature=self.temperature,
            penalty=self.duplicate_penalty * unit,
            logit_rate=self.logit_learning_rate or _SGD_LOGIT_RATE,
            decoder_rate=self.learning_rate or _DECODER_RATE,
            batch_size=batch_size,
            device=self.device,
        )
        stopping = Stopping(epochs, None if linear else self.patience, self.tol, self.max_time)
        with task.session(rng):
            trained = self._train(lambda start: task.trainee(rng), stopping)
            logits, weights = task.result(trained)
        if not linear:
            self.decoder_weights_ = weights
            self._activation = fitted_activation(self.decoder, self.activation)
        return logits

    def _diagnose(self, gram: Gram, logits: np.ndarray) -> np.ndarray:
        """Give every node its column, and say how far the nodes had settled."""
        chosen = assign(logits)
        self.n_duplicates_ = len(logits) - len(np.unique(np.argmax(logits, axis=1)))
        self.mean_max_probability_ = float(np.mean(np.max(softmax(logits, axis=1), axis=1)))
        self.sampling_quality_ = sampling_quality(gram, logits, chosen)
        self.converged_ = self.sampling_quality_ >= _SETTLED
        if not self.converged_:
            more = "max_time" if self.stop_reason_ == "max_time" else "epochs"
            warn_not_converged(
                f"The nodes have not settled on columns: mean largest probability {self.mean_max_probability_:.3g}, "
                f"draws worth {self.sampling_quality_:.2f} of the choice ({_SETTLED} needed) after {self.n_epochs_} "
                f"epochs. Raise {more} or logit_learning_rate, or lower the last temperature (now "
                f"{self.temperature[1]:g})."
            )
        return chosen

    def _decode(self, values: np.ndarray) -> np.ndarray | None:
        """Rebuild all columns from the kept ones with the nonlinear decoder, where there is one."""
        if self.decoder_weights_ is None:
            return None
        inputs = values[:, np.searchsorted(np.sort(self.selected_), self.node_features_)]
        return run_network(self.decoder, self.decoder_weights_, self._activation, inputs, self.n_features_in_)

    def _check_settings(self) -> None:
        self._check_training()
        if self.solver not in ("auto", "full_batch", "minibatch"):
            raise ValueError(f"solver must be one of auto, full_batch, minibatch; got {self.solver!r}.")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {self.activation!r}.")
        check_network("decoder", self.decoder)
        if self.solver == "full_batch" and self.decoder != "linear":
            raise ValueError("solver='full_batch' trains a linear decoder; use solver='minibatch' or decoder='linear'.")
        pair = self.temperature
        if not (
            isinstance(pair, (tuple, list))
            and len(pair) == 2
            and all(is_number(T) and 0 < T < float("inf") for T in pair)
        ):
            raise ValueError(f"temperature must be two numbers above 0, first and last; got {pair!r}.")
        rate = self.logit_learning_rate
        if rate is not None and not (is_number(rate) and 0 < rate < float("inf")):
            raise ValueError(f"logit_learning_rate must be above 0 or None, got {rate!r}.")
        if not (is_number(self.ridge) and 0 < self.ridge < float("inf")):
            raise ValueError(f"ridge must be a number above 0, got {self.ridge!r}.")
        if not (is_number(self.duplicate_penalty) and 0 <= self.duplicate_penalty < float("inf")):
            raise ValueError(f"duplicate_penalty must be a number of at least 0, got {self.duplicate_penalty!r}.")


def default_steps(n_logits: int, most: int, fewest: int, work: float) -> int:
    """Return the steps that keep steps x logits near ``work``, within bounds."""
    return int(min(most, max(fewest, work // n_logits)))


def fill(order: np.ndarray, m: int, k: int) -> list[int]:
    """Return the columns in order, and after them those of lowest index up to k."""
    return [*order.tolist(), *np.setdiff1d(np.arange(m), order)[: k - len(order)].tolist()]
