"""Random settings of every selector, small enough to fit in a moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import stableselect as ss

from .tables import Generator, Table

OFTEN = {"ColumnSubset": 5.0, "ScorerSelector": 3.0}
"""These are drawn that much more often."""


def _ridge(rng: Generator) -> float | str:
    return ("auto", 0.0, 0.0, float(10 ** rng.uniform(-6, 1)))[rng.integers(4)]


def _moments(rng: Generator, n: int, k: int) -> dict[str, Any]:
    settings: dict[str, Any] = {"ridge": _ridge(rng)}
    if n >= 20 and rng.random() < 0.1:
        settings |= {"n_features_to_select": "auto", "max_features": int(rng.integers(1, 6))}
        settings["min_explained_variance"] = (0.5, 0.7, 0.9)[rng.integers(3)]
    if n >= 20 and rng.random() < 0.06:
        settings |= {"criterion": "stability"} if rng.random() < 0.5 else {"min_stability": rng.uniform(0.2, 0.9)}
    if rng.random() < 0.2:
        settings["cv"] = int(rng.integers(2, 6))
    return settings


def _scorer(rng: Generator, n: int, k: int) -> dict[str, Any]:
    return _moments(rng, n, k) | {
        "scorer_weight": float(rng.choice([0, 1 / 128, 1, 100])),
        "latent_width": (None, int(rng.integers(1, k + 3)))[rng.integers(2)],
        "score_function": str(rng.choice(["abs", "square"])),
    }


def _network(rng: Generator, n: int, k: int) -> dict[str, Any]:
    if rng.random() < 0.2:
        return {"solver": "minibatch", "epochs": 2, "batch_size": 8}
    return {
        "epochs": int(rng.integers(1, 25)),
        "anneal": bool(rng.random() < 0.5),
        "init": str(rng.choice(["published", "pca", "search"])),
    }


def _graph(rng: Generator, n: int, k: int) -> dict[str, Any]:
    return {
        "n_neighbors": int(rng.integers(1, 9)),
        "weights": str(rng.choice(["heat", "binary", "cosine"])),
        "n_clusters": (None, int(rng.integers(2, 6)))[rng.integers(2)],
        "criterion": str(rng.choice(["phi1", "phi2", "phi3"])),
        "max_iter": 10,
    }


def _sparse_input(rng: Generator, n: int, k: int) -> dict[str, Any]:
    return {"epochs": int(rng.integers(1, 40)), "eliminate": bool(rng.random() < 0.7)}


BASES = (None, ss.ColumnSubset(ridge=0.0), ss.LaplacianScore(), ss.PFA())
SETTINGS: dict[str, Callable[[Generator, int, int], dict[str, Any]]] = {
    "ColumnSubset": lambda rng, n, k: _moments(rng, n, k) | {"exchange": bool(rng.random() < 0.85)},
    "ScorerSelector": _scorer,
    "ScorerSelectorNetwork": _network,
    "CAE": lambda rng, n, k: {"epochs": int(rng.integers(1, 25)), "ridge": float(10 ** rng.uniform(-4, 0))},
    "FAE": lambda rng, n, k: {
        "epochs": int(rng.integers(1, 40)),
        "anneal": bool(rng.random() < 0.7),
        "l1": float(rng.choice([0.0, 0.3, 3.0])),
    },
    "AEFS": _sparse_input,
    "AgnoSS": _sparse_input,
    "KernelSubset": lambda rng, n, k: {"n_landmarks": int(rng.integers(1, 40)), "max_sweeps": int(rng.integers(0, 2))},
    "GatedLaplacian": lambda rng, n, k: {"n_neighbors": int(rng.integers(1, 9)), "n_steps": int(rng.integers(1, 20))},
    "PFA": lambda rng, n, k: {
        "retained_variance": float(rng.choice([0.5, 0.9, 1.0])),
        "standardise": bool(rng.random() < 0.5),
        "absolute": bool(rng.random() < 0.7),
    },
    "InfFS": lambda rng, n, k: {"alpha": float(rng.choice([0, 0.5, 1]))},
    "ConsensusSelector": lambda rng, n, k: {
        "estimator": BASES[rng.integers(len(BASES))],
        "n_resamples": 4,
        "aggregate": str(rng.choice(["representative", "frequency", "rank"])),
    },
    **dict.fromkeys(("LaplacianScore", "SPEC", "MCFS", "UDFS", "NDFS"), _graph),
}
"""By selector; what it has no parameter for is left out. A selector that is not here is used with its defaults."""


def draw_selector(rng: Generator, table: Table, classes: Mapping[str, type] | None = None) -> Any:
    """Return an unfitted selector with random settings that suit the table."""
    classes = ss.all_selectors() if classes is None else classes
    odds = np.array([OFTEN.get(name, 1.0) for name in classes])
    name = str(rng.choice(list(classes), p=odds / odds.sum()))
    n, m = table.X.shape
    k = int(rng.integers(1, m + 1))
    wanted = {"n_features_to_select": (k, k, k, k / m, None)[rng.integers(5)]}
    wanted |= SETTINGS.get(name, lambda rng, n, k: {})(rng, n, k)
    wanted["random_state"] = int(rng.integers(1000))
    if rng.random() < 0.25 and isinstance(wanted["n_features_to_select"], int):
        order = rng.permutation(m).tolist()
        wanted |= {"include": order[: rng.integers(0, k + 1)], "exclude": order[k : k + rng.integers(0, m - k + 1)]}
    selector = classes[name]()
    return selector.set_params(
        **{key: value for key, value in wanted.items() if key in selector.get_params(deep=False)}
    )


def uses_batches(selector: Any) -> bool:
    """Tell whether a selector trains on mini-batches, which follow the order of the samples."""
    return getattr(selector, "solver", None) == "minibatch"
