"""AgnoS-S: an autoencoder that pays for every column it lets in, through a slack on the column."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from .._core import Gram
from ._agnoss_moments import AgnoSSTrainee
from ._elimination import Elimination
from ._layers import ACTIVATIONS
from ._row_sparse import RowSparseTrainee
from ._sparse_input import SparseInputSelector
from ._specs import Spec
from ._training_mixin import is_number


class AgnoSS(SparseInputSelector):
    """Keep the columns with the largest slack at the input of an autoencoder.

    Every column is multiplied by a slack a_j >= 0 before it enters the network g(f(x)), which minimises ::

        1/(2 v) |x - g(f(a * x))|^2 + l1 sum_j a_j + beta/2 sum_l |W_l|_F^2

    on average over the rows, v the mean variance of the columns, W_l the layers. The score of column j is a_j. Columns
    are centred (linear networks) or met by biases, never scaled.

    Linear networks are trained on the second moments alone, by exact alternating steps; nothing is drawn at random.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Columns to keep: a number, a share rounded up, or None for half.
    l1 : float, default=0.1
        Weight of the slacks.
    beta : float or None, default=None
        Weight decay of every layer; above 0 for "alternating" (see Notes). None for 0.1 ("alternating") or 0.01
        ("minibatch").
    eliminate : bool, default=True
        Drop the columns of the smallest slack as training goes on, the number left falling geometrically from m to k
        over the first 90 % of the epochs (70 % for "minibatch"). False trains with every column and ranks once, at the
        end.
    error_scale : {"variance", "cell"}, default="variance"
        "variance": the error is summed over the columns and halved, in units of their mean variance, so that l1 and
        beta do not depend on the table's units. "cell": the mean squared error per cell, as published.
    init : {"ones", "published"}, default="ones"
        Slacks at the start of "minibatch": all one, or drawn from U[0, 1]. "alternating" starts from the principal
        components.
    latent_width : int or None, default=None
        Width of the middle layer; None for the number of kept columns, but with "alternating" at most one for every
        five rows, since more would follow the noise of a table with few rows, and 2 k + 4 for nonlinear networks with
        ``eliminate``.
    encoder, decoder : "linear", tuple of int or callable, default="linear"
        f and g: linear, with hidden layers of these sizes, or a function ``(n_in, n_out) -> torch.nn.Module``.
    activation : {"relu", "gelu", "tanh", "sigmoid", "elu"}, default="relu"
        Between layers of given sizes.
    output_activation : str or None, default=None
        One of the same, after the last layer of the encoder and of the decoder; None for none.
    solver : {"auto", "alternating", "minibatch"}, default="auto"
        "alternating": full-batch steps on the moments, for linear networks, without torch. "minibatch": mini-batches of
        rows, with biases, in torch. "auto": "alternating" where it can be.
    epochs : int or None, default=None
        Full-batch steps (100, or 1000 without ``eliminate``) or passes over the rows (as many as make 10,000 batches).
    learning_rate : float or None, default=None
        Adam's rate for "minibatch", None for 0.003; with ``eliminate`` it falls to a tenth. The full-batch steps need
        none.
    batch_size : int or None, default=None
        Rows a step for "minibatch", None for 64.
    validation_fraction : float, default=0.1
        Share of the rows that "minibatch" holds out to keep the best weights once the columns are chosen.
    tol : float, default=1e-5
        The least relative gain of an epoch that counts, in the validation loss ("minibatch") or the objective.
    patience : int or None, default=10
        Epochs without such a gain before training stops; None for never. Counted once the columns are chosen.
    max_time : float or None, default=None
        Seconds; columns are dropped faster where training would not end in time.
    device : str, default="auto"
        Where "minibatch" runs; "auto" is CUDA where there is one.
    random_state : int, RandomState instance or None, default=None
        For "minibatch": draws the start, the batches and the rows held out.

    Attributes
    ----------
    latent_width_ : int
        The width used.
    slack_ : ndarray of shape (m,)
        a_j at the end, zero for the columns dropped.
    n_active_ : int
        Number of slacks above zero.
    converged_ : bool
        Whether training came to its end: with ``eliminate``, k columns were left; without, the objective had settled
        ("alternating") or the epochs were done ("minibatch"), and at least k slacks were above zero.
    encoder_weights_, decoder_weights_ : dict of str to ndarray
        The network behind the slacks, names and shapes as torch gives them: "0.weight" (outputs x inputs), "0.bias",
        ... Linear ones are for centred columns, in units of the square root of v.

    Notes
    -----
    The first layer E can take any factor over from a slack, so without a weight decay the l1 term has no effect: slacks
    shrink, E grows, the output stays. With decay, a row w = a e of the product costs ``l1 a + beta |w|^2 / (2 a^2)``,
    which is least at ``a = (beta |w|^2 / l1)^(1/3)``, where it is ``(3/2) l1^(2/3) beta^(1/3) |w|^(2/3)``: a penalty
    concave in the row's length, which drops whole columns more decidedly than the row penalty of AEFS. Full-batch steps
    use this slack, and a ridge regression for each layer; the objective never rises between two drops.

    A penalty that is strong for the table may take more columns out than ``eliminate`` asks for; k are kept all the
    same, the last to go first, and ``n_active_`` says how many the network still uses.

    ``scores_`` of a dropped column is its slack when it was dropped, but never above that of a column that stayed
    longer; constant columns score -1. :meth:`reconstruct` uses least squares, or the network where it is
    nonlinear and, by ``eliminate``, uses the kept columns alone.

    References
    ----------
    Doquet & Sebag (2019), Agnostic feature selection, ECML PKDD.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.neural import AgnoSS
    >>> X = load_iris().data
    >>> selector = AgnoSS(2).fit(X)
    >>> selector.transform(X).shape, selector.converged_
    ((150, 2), True)
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        l1: float = 0.1,
        beta: float | None = None,
        eliminate: bool = True,
        error_scale: Literal["variance", "cell"] = "variance",
        init: Literal["ones", "published"] = "ones",
        latent_width: int | None = None,
        encoder: Spec = "linear",
        decoder: Spec = "linear",
        activation: str = "relu",
        output_activation: str | None = None,
        solver: Literal["auto", "alternating", "minibatch"] = "auto",
        epochs: int | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 1e-5,
        patience: int | None = 10,
        max_time: float | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.l1 = l1
        self.beta = beta
        self.eliminate = eliminate
        self.error_scale = error_scale
        self.init = init
        self.latent_width = latent_width
        self.encoder = encoder
        self.decoder = decoder
        self.activation = activation
        self.output_activation = output_activation
        self.solver = solver
        self.epochs = epochs
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
        batch_size: int = 64,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> Self:
        """Return the selector with the settings of the published experiments.

        One tanh layer of k units, one tanh layer back, slacks drawn from U[0, 1] and kept non-negative, l1 of 1 against
        the mean squared error per cell, Adam at 0.01, 1000 epochs. The published batch sizes are 128 (Mice Protein,
        COIL-20), 64 (Activity, ISOLET), 256 (Fashion-MNIST), 64 (USPS) and 16 (the others). Such an l1 outweighs any
        error: most slacks end at zero, on four of the published tables all but four or five. Those experiments then
        went on with fewer than k columns; this one fills up to k by the lowest index, warns, and sets ``converged_``
        to False. The tanh cannot reach values beyond 1.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Columns to keep.
        epochs : int
            Passes over the rows.
        batch_size : int
            Rows a step.
        device : str
            Where to train.
        random_state : int, RandomState instance or None
            Seed.

        Returns
        -------
        AgnoSS
        """
        return cls(
            n_features_to_select,
            l1=1.0,
            beta=0.0,
            eliminate=False,
            error_scale="cell",
            init="published",
            output_activation="tanh",
            solver="minibatch",
            epochs=epochs,
            learning_rate=1e-2,
            batch_size=batch_size,
            validation_fraction=0.0,
            patience=None,
            device=device,
            random_state=random_state,
        )

    def _moments_trainee(self, gram: Gram, k: int, width: int, scale: float) -> AgnoSSTrainee:
        l1, decay = float(self.l1) * scale, self._decay(0.1) * scale
        return AgnoSSTrainee(gram, k, width, l1=l1, decay=decay, eliminate=bool(self.eliminate))

    def _keep_linear(self, trainee: RowSparseTrainee) -> None:
        assert isinstance(trainee, AgnoSSTrainee)
        super()._keep_linear(trainee)
        self.slack_ = np.zeros(self.n_features_in_)
        self.slack_[trainee.elimination.left] = trainee.strength()
        # The trainee holds W = diag(a) E.
        W = self.encoder_weights_["0.weight"]
        self.encoder_weights_["0.weight"] = np.divide(W, self.slack_, out=np.zeros_like(W), where=self.slack_ > 0)

    def _torch_model(self, elimination: Elimination, factor: float, width: int, rng: np.random.RandomState) -> Any:
        from ._torch._agnoss import AgnoSSModel
        from ._torch._networks import build_network

        m = self.n_features_in_
        encoder = build_network(self.encoder, m, width, self.activation, rng, role="encoder")
        decoder = build_network(self.decoder, width, m, self.activation, rng, role="decoder")
        slack = np.ones(m) if self.init == "ones" else rng.uniform(size=m)
        return AgnoSSModel(
            slack,
            encoder,
            decoder,
            elimination,
            factor,
            l1=float(self.l1),
            beta=self._decay(0.1),
            output_activation=self.output_activation,
        )

    def _keep_model(self, model: Any) -> None:
        self.slack_ = model.slacks()

    def _input_factor(self) -> np.ndarray:
        return self.slack_

    def _penalty_name(self) -> str:
        return "l1"

    def _check_settings(self) -> None:
        super()._check_settings()
        self._check_weight("l1")
        if self.init not in ("ones", "published"):
            raise ValueError(f"init must be 'ones' or 'published', got {self.init!r}.")
        if self.output_activation is not None and self.output_activation not in ACTIVATIONS:
            raise ValueError(
                f"output_activation must be None or one of {', '.join(ACTIVATIONS)}; got {self.output_activation!r}."
            )
        if is_number(self.beta) and self.beta == 0 and self._solver() == "alternating":
            raise ValueError(
                "beta must be above 0 for solver='alternating': without a decay the encoder takes the slacks' size "
                "over and l1 has no effect. Give a beta above 0, or use solver='minibatch'."
            )
        if self.beta is not None:
            self._check_weight("beta", zero=True)
