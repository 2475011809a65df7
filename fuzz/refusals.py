"""The law of selectors about what must be refused: tables, weights and settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from .checks import check_sentence, check_unchanged, expect, fitted_state, no_escaping_warnings
from .selectors import uses_batches
from .tables import Generator
from .trials import Trial


def _cell(value: float) -> Callable[[np.ndarray, Generator], Any]:
    def change(X: np.ndarray, rng: Generator) -> Any:
        bad = X.astype(np.float64)
        bad[rng.integers(len(X)), rng.integers(X.shape[1])] = value
        return bad

    return change


BAD_TABLES: dict[str, Callable[[np.ndarray, Generator], Any]] = {
    "nan": _cell(np.nan),
    "infinity": _cell(-np.inf),
    "one dimension": lambda X, rng: X[:, 0],
    "three dimensions": lambda X, rng: X[None],
    "no samples": lambda X, rng: X[:0],
    "no features": lambda X, rng: X[:, :0],
    "text": lambda X, rng: X.astype(str).astype(object) + "x",
    "complex": lambda X, rng: X + 1j,
    "none": lambda X, rng: None,
    "a name": lambda X, rng: "table.csv",
    "a dictionary": lambda X, rng: {"a": X},
    "dates": lambda X, rng: np.zeros(X.shape, "M8[s]"),
    "masked": lambda X, rng: np.ma.masked_array(X, np.arange(X.size).reshape(X.shape) == rng.integers(X.size)),
    "ragged": lambda X, rng: [[1.0, 2.0], [3.0]],
    "nan in a frame": lambda X, rng: pd.DataFrame(_cell(np.nan)(X, rng)),
    "nan in sparse": lambda X, rng: sparse.csr_array(_cell(np.nan)(X, rng)),
}
BAD_SETTINGS: dict[str, tuple[Any, ...]] = {
    "n_features_to_select": (0, -1, 10**6, 1.5, np.nan, "many", True, [2]),
    "ridge": (-1.0, np.nan, np.inf, "large", None),
    "include": ([10**6], ["no such name"], [0.5], 3.5),
    "exclude": ([10**6], ["no such name"], [None]),
    "random_state": ("seed", -1),
    "cv": (1, 0, "five"),
    "epochs": (0, -3, 1.5),
    "n_neighbors": (0, 2.5),
}


def bad_input(trial: Trial) -> None:
    """Give something that must be refused; a sentence says so, and the fitted selector stays as it was."""
    rng, selector, table, given = trial.rng, trial.fitted, trial.X, {}
    settings = [name for name in BAD_SETTINGS if name in selector.get_params(deep=False)]
    parameters = selector.get_params(deep=False)
    if rng.random() < 0.6:
        what = str(rng.choice(list(BAD_TABLES)))
        table = BAD_TABLES[what](table, rng)
    elif rng.random() < 0.3 and hasattr(selector, "partial_fit") and not uses_batches(selector):
        n = len(table)
        bad = [np.ones(n + 1), -np.ones(n), np.full(n, np.nan), np.zeros(n), np.ones((n, 2)), ["a"] * n]
        bad += [np.full(n, 1e308)]
        position = int(rng.integers(len(bad) - (n == 1)))
        what, given = f"weights {position}", {"sample_weight": bad[position]}
    else:
        name = str(rng.choice(settings))
        value = BAD_SETTINGS[name][rng.integers(len(BAD_SETTINGS[name]))]
        what = f"{name}={value!r}"
        selector.set_params(**{name: value})
    before = fitted_state(selector)
    try:
        with no_escaping_warnings():
            selector.fit(table, **given)
    except Exception as error:
        check_sentence(error)
        check_unchanged(f"a failed fit ({what})", before, fitted_state(selector))
    else:
        expect(False, f"{what} was accepted")
    finally:
        selector.set_params(**parameters)
