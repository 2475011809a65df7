"""What a fitted scorer-selector network consists of, and how samples run through it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._core import EXHAUSTED, column_roles, to_numpy
from ..base import Selection
from ._scorer_parameters import Network
from ._scorer_train import NetworkSettings, TrainingData, linear_map
from ._trained_selector import TrainedSelector
from ._training import History

_LINEAR = ("encoder_", "decoder_", "encoder_intercept_", "scorer_intercept_", "decoder_intercept_")
_NONLINEAR = ("encoder_weights_", "decoder_weights_")
"""Attributes of one kind of network, None for the other."""


class FittedNetwork(TrainedSelector):
    """The fitted attributes of :class:`~stableselect.ScorerSelectorNetwork`, which describes them."""

    def forward(self, X: Any, path: Literal["selector", "scorer"] = "selector") -> np.ndarray:
        """Run data through the network.

        Parameters
        ----------
        X : array, data frame, torch tensor or sparse matrix of shape (n, m)
            Samples with all features.
        path : {"selector", "scorer"}
            Through the selected features or through all.

        Returns
        -------
        ndarray of shape (n, m)
            The output of the network.
        """
        check_is_fitted(self)
        if path not in ("selector", "scorer"):
            raise ValueError(f"path must be 'selector' or 'scorer', got {path!r}.")
        X = self._check_table(X, reset=False)
        X = X.toarray() if sparse.issparse(X) else np.asarray(to_numpy(X), dtype=np.float64)
        scored = X * np.where(self.support_ | (path == "scorer"), self.score_weights_, 0.0)
        if self.decoder_weights_ is not None:
            return self._run_beside(X[:, self.support_], scored)
        intercept = self.scorer_intercept_ if path == "scorer" else self.encoder_intercept_
        return (scored @ self.encoder_ + intercept) @ self.decoder_ + self.decoder_intercept_

    def _decode(self, values: np.ndarray) -> np.ndarray | None:
        if self.decoder_weights_ is None or self.network_weight_ == 0:
            return None
        scored = np.zeros((len(values), self.n_features_in_))
        scored[:, self.support_] = values * self.score_weights_[self.support_]
        return self._run_beside(values, scored)

    def _run_beside(self, values: np.ndarray, scored: np.ndarray) -> np.ndarray:
        """Return the output of the network for scored features, with that of the linear map from the selected ones."""
        if self.network_weight_ is None:
            return self._run_networks(scored)
        linear = values @ self.reconstruction_coef_ + self.reconstruction_intercept_
        return linear + self.network_weight_ * self._run_networks(scored) if self.network_weight_ else linear

    def _store_network(
        self, network: Network, history: History, data: TrainingData, settings: NetworkSettings
    ) -> Selection:
        """Set every attribute of the trained network, and return the selection."""
        order = network.selected.tolist()
        # "full_batch" sees moments of mean variance one, "minibatch" the data themselves.
        unit = data.unit if settings.solver == "full_batch" else 1.0
        self._store_history(history, network.losses * unit)
        self.latent_width_, self.network_weight_ = settings.width, network.network_weight
        self.ridge_ = 0.0 if data.searched is None else data.searched.ridge_
        self.score_weights_ = network.score_weights
        self.loss_selector_, self.loss_scorer_ = (float(error) * unit for error in network.errors)
        weight = settings.objective.scorer_weight
        self.objective_ = self.loss_selector_ + weight * self.loss_scorer_
        self._keep_roles(column_roles(data.gram, order, 0.0))
        self.__dict__.update(dict.fromkeys((*_LINEAR, *_NONLINEAR)))
        if not settings.linear:
            self.encoder_weights_, self.decoder_weights_ = network.encoder, network.decoder
            self._activations = self._fitted_activations()
            self.lower_bound_, self.optimality_gap_ = 0.0, 1.0
            if network.network_weight is None or data.searched is None:
                return Selection(order, network.scores)
            if not network.network_weight:
                self.best_epoch_ = 0
            linear = linear_map(data.searched)
            coefficients = linear.coefficients[np.searchsorted(linear.selected, order)]
            return Selection(order, network.scores, coefficients, data.mean, linear.intercept)
        floor = (1 + weight) * data.gram.floor(settings.width) / data.gram.n_features * data.unit
        self.lower_bound_ = min(max(0.0, floor), self.objective_)
        nothing_left = self.objective_ <= EXHAUSTED * data.unit
        self.optimality_gap_ = 0.0 if nothing_left else 1 - self.lower_bound_ / self.objective_
        M = network.score_weights[:, None] * network.encoder
        self.encoder_, self.decoder_ = network.encoder, network.decoder
        if network.encoder_bias is None or network.decoder_bias is None:
            self.encoder_intercept_, self.scorer_intercept_ = -(data.mean[order] @ M[order]), -(data.mean @ M)
            self.decoder_intercept_ = data.mean
        else:
            self.encoder_intercept_ = self.scorer_intercept_ = network.encoder_bias
            self.decoder_intercept_ = network.decoder_bias
        intercept = self.encoder_intercept_ @ self.decoder_ + self.decoder_intercept_
        return Selection(order, network.scores, M[order] @ self.decoder_, data.mean, intercept)
