"""One run of the assumptions: what leaving samples out does to the maps, or how core samples reconstruct others."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ...experiments import Run
from ..methods import find_method, load_rows
from . import _core_samples as cores
from . import _measures as measures
from ._measures import Maps

TASK = "assumptions"
SEARCH, NETWORK = "ScorerSelector", "|W|"
_RANDOM_DRAWS = 5
_VANISHES = 1e-12
"""A change this small beside the largest over the samples counts as none."""


def measure_assumptions(run: Run, data_home: str | None) -> dict[str, Any]:
    """Measure core samples, or what leaving samples out does.

    Parameters
    ----------
    run : Run
        Its details name the ``part``, "core" or "removal", the number of training samples ``n`` and of core samples
        ``u``; for a removal also lambda_1 (``weight``) and how many samples are left out, one at a time, with the maps
        held (``held``) and refitted (``refitted``).
    data_home : str or None
        Folder of the datasets.

    Returns
    -------
    dict
        For "core" ``seconds`` and the measures by form of the samples; for "removal" ``kappa1``, ``kappa5`` and, for
        maps held and refitted (``columns``), the measures of every sample left out.
    """
    details = run.details
    rows = load_rows(run, data_home)
    X, n, u = rows.X_fit, details["n"], details["u"]
    if not u <= n <= len(X):
        raise ValueError(
            f"n must lie between the {u} core samples and the {len(X)} samples of {run.dataset}, but is {n}."
        )
    # Random splits of whole groups come in the order of the table.
    order = np.arange(len(X)) if run.protocol == "paper" else np.random.default_rng(run.split).permutation(len(X))
    X = X[order[:n]]
    start = time.perf_counter()
    if details["part"] == "removal":
        record = _removal(run, X, rows.X_test)
    else:
        record = (_published_core if run.method == NETWORK else _core)(run, X, rows.X_test)
    return record | {"seconds": time.perf_counter() - start}


def _core(run: Run, X: np.ndarray, X_test: np.ndarray) -> dict[str, Any]:
    """Reconstruct the test samples from searched and from random core samples, as they are and less their mean."""
    rng, u = np.random.default_rng([run.split, len(X)]), run.details["u"]
    mean = X.mean(axis=0)
    chosen = cores.core_samples(X, u)
    draws = [cores.representation(X[rng.permutation(len(X))[:u]], X_test) for _ in range(_RANDOM_DRAWS)]
    return {
        "chosen": chosen.tolist(),
        "plain": cores.representation(X[chosen], X_test),
        "centred": cores.representation(X[cores.core_samples(X - mean, u)] - mean, X_test - mean),
        "random": {name: float(np.mean([draw[name] for draw in draws])) for name in draws[0]},
    }


def _published_core(run: Run, X: np.ndarray, X_test: np.ndarray) -> dict[str, Any]:
    """Do what the paper did, and measure the same core samples by least squares beside it."""
    rng, u = np.random.RandomState(1000 * run.split + run.seed), run.details["u"]
    epochs = {} if run.cap is None else {"epochs": run.cap}
    chosen, scores = cores.published_core_samples(X, u, rng, **epochs)
    return {
        "chosen": chosen.tolist(),
        "scores": [float(scores.min()), float(scores.max())],
        "network_mse": cores.published_reconstruction(X[chosen], X_test, rng, **epochs),
        "best_mse": cores.best_reconstruction(X[chosen], X_test),
        "plain": cores.representation(X[chosen], X_test),
    }


def _removal(run: Run, X: np.ndarray, X_test: np.ndarray) -> dict[str, Any]:
    details, n = run.details, len(X)
    weight = float(details["weight"])

    def fit(samples: np.ndarray) -> Any:
        selector = find_method(run.method).build(run).set_params(scorer_weight=weight)
        if run.method == SEARCH:
            selector.set_params(ridge=0.0)  # the paper's objective has none
        return selector.fit(samples)

    centre = X.mean(axis=0)
    train, test = measures.with_one(X, centre), measures.with_one(X_test, centre)
    core = cores.core_samples(X - centre, details["u"])
    selector = fit(X)
    full = measures.fitted_maps(selector, centre)
    kappa1 = float(max(np.linalg.norm(part[:, :-1], axis=1).max() for part in (train, test)))
    # The published design leaves the last sample out.
    rng = np.random.default_rng([run.split, n])
    left_out = [n - 1, *rng.permutation(n - 1)[: max(details["held"], details["refitted"]) - 1].tolist()]
    columns: dict[str, list[dict[str, Any]]] = {}
    measured = (train, test, core, weight)
    if run.method == SEARCH:
        M, C = full.scorer[:-1, :-1], train[:, :-1].T @ train[:, :-1] / n
        columns["held"] = []
        for j in left_out[: details["held"]]:
            x = train[j, :-1]
            factors = measures.held_factors(C - np.outer(x, x) / n, M, selector.decoder_, selector.support_, weight)
            found = _compare((full, measures.rescaled(full, factors)), *measured, j, kappa1)
            scores = selector.score_weights_ * factors
            inside = bool(scores[selector.support_].min() >= scores[~selector.support_].max(initial=0.0))
            columns["held"].append(found | {"same_set": inside, "at_zero": int(np.sum(factors == 0))})
    columns["refitted"] = []
    for j in left_out[: details["refitted"]]:
        other = fit(np.delete(X, j, axis=0))
        # The appended 1 is a coordinate that moves here: refitting moves the mean.
        longest = float(np.hypot(kappa1, 1.0))
        found = _compare((full, measures.fitted_maps(other, centre)), *measured, j, longest)
        shared = int(np.sum(other.support_ & selector.support_))
        columns["refitted"].append(found | {"same_set": shared == len(selector.selected_), "shared": shared})
    losses = {name: _selector_losses(part, full) for name, part in (("train", train), ("test", test))}
    return {
        "selected": selector.selected_.tolist(),
        "kappa1": kappa1,
        "kappa5": {name: float(found.max()) for name, found in losses.items()},
        "left_out": left_out,
        "core": core.tolist(),
        "columns": columns,
    }


def _selector_losses(samples: np.ndarray, maps: Maps) -> np.ndarray:
    return np.sum((samples[:, :-1] - samples @ maps.selector @ maps.right) ** 2, axis=1)


def _compare(
    maps: tuple[Maps, Maps], train: np.ndarray, test: np.ndarray, core: np.ndarray, weight: float, j: int, kappa1: float
) -> dict[str, Any]:
    """Measure two pairs of maps, on all samples and without sample j, against Assumptions 1 and 3 and Proposition 1."""
    full, other = maps
    N, D = (measures.combination(full, other, path, 1.0, -1.0) for path in ("selector", "scorer"))
    above, below = (np.linalg.norm(test @ part, axis=1) for part in (N, D))
    moved = below > _VANISHES * below.max()
    ratios = above[moved] / below[moved]
    exact, outside, rank_selector, rank_scorer = measures.largest_ratio(N, D)
    losses = measures.losses_along_path(train, full, other)
    left, right = measures.assumption3_sides(losses, core, j)
    printed, turned, bound = measures.proposition1_sides(losses, j, full, other, kappa1, weight)
    return {
        "ratio_max": float(ratios.max()) if len(ratios) else None,
        "ratio_99": float(np.quantile(ratios, 0.99)) if len(ratios) else None,
        "ratio_median": float(np.median(ratios)) if len(ratios) else None,
        "ratio_rms": float(np.sqrt(np.mean(above**2) / np.mean(below**2))) if len(ratios) else None,
        "unmoved": int(np.sum(~moved)),
        # JSON has no infinity.
        "ratio_exact": exact if np.isfinite(exact) else None,
        "outside": outside,
        "ranks": [rank_selector, rank_scorer],
        "left": left.tolist(),
        "right": right.tolist(),
        "printed": printed.tolist(),
        "turned": turned.tolist(),
        "bound": bound.tolist(),
    }
