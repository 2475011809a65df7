"""AgnoS-S: an autoencoder with a penalised slack variable for every feature."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np

from .._compat import Constraints, StrOptions
from ._row_sparse import AgnoSSTrainable
from ._sparse_input import SparseInputSelector
from ._specs import ACTIVATIONS, Spec
from ._trained_selector import NOT_NEGATIVE, POSITIVE


class AgnoSS(SparseInputSelector):
    """Select the features with the largest slack variables at the input of an autoencoder.

    Every feature is multiplied by a slack variable a_j >= 0 before it enters the network g(f(x)), which minimises ::

        1/(2 v) |x - g(f(a * x))|^2 + l1 sum_j a_j + beta/2 sum_l |W_l|_F^2

    on average over the samples. v is the mean variance of the features, W_l are the layers. The score of feature j is
    a_j. Features are centred (linear networks) or the network has biases; they are never scaled.

    Linear networks are trained on the second moments by exact alternating steps, without random numbers.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select, a fraction of them (rounded up), or None for half.
    l1 : float, default=0.1
        Weight of the penalty on the slacks.
    beta : float or None, default=None
        Weight decay of every layer; above 0 for "alternating" (see Notes). None for 0.1 ("alternating") or 0.01
        ("minibatch").
    eliminate : bool, default=True
        Drop the features with the smallest slacks during training; the number left falls geometrically from m to k over
        the first 90 % of the epochs (70 % for "minibatch"). False: train with all features and rank them at the end.
    error_scale : {"variance", "mean"}, default="variance"
        "variance": the squared error is summed over the features and divided by twice their mean variance, so that l1
        and beta do not depend on the units of the data. "mean": the mean squared error, as published.
    init : {"ones", "published"}, default="ones"
        Initial slacks of "minibatch": all one, or drawn from U[0, 1]. "alternating" starts from the principal
        components.
    latent_width : int or None, default=None
        Width of the middle layer. None: the number of selected features, but with "alternating" at most one per five
        samples, since more would follow the noise, and 2 k + 4 for nonlinear networks with ``eliminate``.
    encoder, decoder : "linear", tuple of int or callable, default="linear"
        f and g: linear, with hidden layers of these sizes, or a function ``(n_in, n_out) -> torch.nn.Module``.
    activation : {"relu", "gelu", "tanh", "sigmoid", "elu"}, default="relu"
        Activation between layers of given sizes.
    output_activation : str or None, default=None
        Activation after the last layer of the encoder and of the decoder; None for none.
    solver : {"auto", "alternating", "minibatch"}, default="auto"
        "alternating": exact alternating steps on the second moments, for linear networks, without torch. "minibatch":
        Adam on mini-batches of samples, with biases, in torch. "auto": "alternating" for linear networks, "minibatch"
        for others.
    epochs : int or None, default=None
        Number of alternating steps (None: 100, or 1000 without ``eliminate``) or of passes over the samples (None: as
        many as give 10,000 batches).
    learning_rate : float or None, default=None
        Learning rate of Adam for "minibatch", None for 0.003; with ``eliminate`` it decays to a tenth.
    batch_size : int or None, default=None
        Samples per batch of "minibatch", None for 64.
    validation_fraction : float, default=0.1
        Fraction of the samples that "minibatch" holds out to keep the best weights once k features are left.
    tol : float, default=1e-5
        Smallest relative improvement that counts, in the validation loss ("minibatch") or the objective.
    patience : int or None, default=10
        Stop after this many epochs without such an improvement, counted once k features are left. None: never.
    max_time : float or None, default=None
        Time limit in seconds. Features are dropped faster to end in time.
    device : str, default="auto"
        Where "minibatch" trains; "auto" is CUDA if available.
    random_state : int, RandomState instance or None, default=None
        For "minibatch": draws the start, the batches and the held-out samples.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    Attributes
    ----------
    latent_width_ : int
        The latent width used.
    slack_ : ndarray of shape (m,)
        a_j at the end, zero for the features dropped.
    n_active_ : int
        Number of slacks above zero.
    converged_ : bool
        Whether training was completed: with ``eliminate``, k features were left; without, the objective had settled
        ("alternating") or all epochs were done ("minibatch"), and at least k slacks were above zero.
    encoder_weights_, decoder_weights_ : dict of str to ndarray
        The network after the slacks, with torch's names and shapes: "0.weight" (outputs x inputs), "0.bias", ... Linear
        networks apply to centred features, in units of the square root of v.

    Notes
    -----
    A factor can move from a slack to the first layer E, so that without weight decay the l1 term has no effect: slacks
    shrink, E grows, the output stays the same. With decay, a row w = a e of the product costs ``l1 a + beta |w|^2 / (2
    a^2)``. The minimum is at ``a = (beta |w|^2 / l1)^(1/3)``, where the cost is ``(3/2) l1^(2/3) beta^(1/3)
    |w|^(2/3)``: a penalty concave in the length of the row, which removes whole features more strongly than the penalty
    of AEFS. The alternating steps use this slack and a ridge regression for each layer; the objective never increases
    between two drops.

    A strong penalty may drop more features than ``eliminate`` asks for. Exactly k are selected all the same, those
    dropped last first; ``n_active_`` is the number that the network still uses.

    ``scores_`` of a dropped feature is its slack when it was dropped, but never above that of a feature that stayed
    longer; constant features score -1. :meth:`reconstruct` uses least squares, or the network if it is nonlinear and,
    thanks to ``eliminate``, uses the selected features only.

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

    _penalty = "l1"
    _moments_trainable = AgnoSSTrainable
    _linear_beta = 0.1
    _parameter_constraints: ClassVar[Constraints] = {
        **SparseInputSelector._parameter_constraints,
        "l1": [POSITIVE],
        "beta": [NOT_NEGATIVE, None],
        "init": [StrOptions({"ones", "published"})],
        "output_activation": [StrOptions(set(ACTIVATIONS)), None],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        l1: float = 0.1,
        beta: float | None = None,
        eliminate: bool = True,
        error_scale: Literal["variance", "mean"] = "variance",
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
        verbose: bool = False,
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
        self.verbose = verbose

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

        One tanh layer of k units, one tanh layer back, non-negative slacks drawn from U[0, 1], l1 of 1 beside the mean
        squared error, Adam with learning rate 0.01, 1000 epochs. The published batch sizes are 128 (Mice Protein,
        COIL-20), 64 (Activity, ISOLET), 256 (Fashion-MNIST), 64 (USPS) and 16 (the others). Such an l1 outweighs any
        error: most slacks end at zero, on four of the published datasets all but four or five. Those experiments then
        continued with fewer than k features; this selector fills up to k by the lowest index, warns, and sets
        ``converged_`` to False. The tanh cannot reach values beyond 1.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Number of features to select.
        epochs : int
            Number of passes over the samples.
        batch_size : int
            Samples per batch.
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
            error_scale="mean",
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

    def _torch_model(self, parts: tuple[Any, Any, Any], rng: np.random.RandomState) -> Any:
        from ._torch._sparse_input import AgnoSSModel

        slack = np.ones(self.n_features_in_) if self.init == "ones" else rng.uniform(size=self.n_features_in_)
        return AgnoSSModel(*parts, slack, self.output_activation)

    def _input_factors(self, strength: np.ndarray) -> np.ndarray:
        self.slack_ = strength
        return strength

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.beta == 0 and self._solver() == "alternating":
            raise ValueError(
                "beta must be above 0 for solver='alternating': without weight decay the encoder absorbs the slacks "
                "and l1 has no effect. Set beta above 0, or use solver='minibatch'."
            )
