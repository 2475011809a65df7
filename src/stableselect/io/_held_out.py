"""What a selection is worth on rows it has not seen, beside random columns, the mean row and principal components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from ..metrics import mean_predictor_error, pca_reconstruction_error, reconstruction_error
from ._scaling import Scale, Scaling

MIN_ROWS = 10
"""Fewer rows than this leave too few to hold out."""

HELD_OUT_STAGES = ("Choosing on 80 % of the rows", "Comparing with random columns")
"""What ``progress`` is told, in order."""

_TEST_SHARE = 0.2
_DRAWS = 10
_REFIT_ROWS = 10_000
"""More rows than this, and than 20 per kept column, make the refits slower and no better."""


@dataclass(frozen=True)
class HeldOutErrors:
    """Mean squared error per cell, in scaled units, on rows kept out of both selection and refit.

    The plain figures use a ridge refit; ``_least_squares`` marks those that do not.
    """

    train_rows: int
    refit_rows: int
    test_rows: int
    selection: float
    random: float
    random_std: float
    random_draws: int
    mean_predictor: float
    floor: float
    selection_least_squares: float
    random_least_squares: float


def held_out_errors(
    X: np.ndarray,
    choose: Callable[[np.ndarray], np.ndarray],
    *,
    scaling: Scaling,
    include: np.ndarray,
    exclude: np.ndarray,
    seed: int,
    progress: Callable[[str], object] = lambda stage: None,
) -> HeldOutErrors | None:
    """Choose columns on a random 80 % of the rows of X and measure them on the rest; None where all are chosen.

    ``choose`` maps scaled training rows to column indices. Random columns obey the same ``include`` and ``exclude``.
    """
    progress(HELD_OUT_STAGES[0])
    rng = check_random_state(seed)
    order = rng.permutation(X.shape[0])
    test_rows = max(1, round(_TEST_SHARE * X.shape[0]))
    train, test = X[order[test_rows:]], X[order[:test_rows]]
    scale = Scale.learn(train, scaling)
    train, test = scale.apply(train), scale.apply(test)
    chosen = choose(train)
    if chosen.size == X.shape[1]:
        return None

    progress(HELD_OUT_STAGES[1])
    # Rows are in random order, so the first ones are a fair sample; every rival is refitted on the same ones.
    refit = train[: max(_REFIT_ROWS, 20 * chosen.size)]
    free = np.setdiff1d(np.arange(X.shape[1]), np.concatenate([include, exclude]))
    rest = chosen.size - include.size
    draws = [np.concatenate([include, rng.choice(free, rest, replace=False)]) for _ in range(_DRAWS)]
    random = [reconstruction_error(refit, test, draw, refit="ridge") for draw in draws]
    plain = [reconstruction_error(refit, test, draw, refit="least_squares") for draw in draws]
    return HeldOutErrors(
        train_rows=train.shape[0],
        refit_rows=refit.shape[0],
        test_rows=test.shape[0],
        selection=reconstruction_error(refit, test, chosen, refit="ridge"),
        random=float(np.mean(random)),
        random_std=float(np.std(random, ddof=1)),
        random_draws=_DRAWS,
        mean_predictor=mean_predictor_error(refit, test),
        floor=pca_reconstruction_error(refit, test, chosen.size),
        selection_least_squares=reconstruction_error(refit, test, chosen, refit="least_squares"),
        random_least_squares=float(np.mean(plain)),
    )
