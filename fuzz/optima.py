"""Laws of selectors about figures that can be computed another way: losses, optima, bounds."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from .checks import expect
from .trials import Trial, centred

COUNTED = 1e-12
"""Directions of less than this share of the variance of features in units of their deviations count for nothing."""
ROUNDED = 8 * float(np.finfo(float).eps)
"""Rounding of a second moment, relative to the deviations of its two features."""


def loss(A: np.ndarray, chosen: list[int], ridge: float, limit: float = COUNTED) -> tuple[float, float]:
    """Return ColumnSubset's loss by its definition, a least-squares problem, and its rounding; A is centred.

    "Two features that differ by less than about 1e-6 of their spread count as one": directions with a share below
    ``limit`` of the variance of the chosen features, each in units of its own deviation, predict nothing.

    With B the coefficients of the residuals A B (those of the map, and of the features themselves), the loss is
    tr B'CB. It is the least there is, so that a small change D of C moves it by tr B'DB alone. Rounding changes C_ij
    by ROUNDED sqrt(C_ii C_jj), hence the loss by ROUNDED sum_j (sum_i |B_ij| sqrt(C_ii))^2: about ROUNDED of the total
    variance, but more, as much as what a direction explains times ROUNDED over its share, where chosen features are
    close to combinations of each other.
    """
    n, m = A.shape
    size = np.linalg.norm(A, axis=0)
    left = np.vstack([A[:, chosen], np.sqrt(n * ridge * np.mean(A**2)) * np.eye(len(chosen))])
    right = np.vstack([A, np.zeros((len(chosen), m))])
    unit = np.linalg.norm(left, axis=0)
    unit[unit == 0] = 1.0
    U, values, axes = np.linalg.svd(left / unit, full_matrices=False)
    kept = values**2 > limit * len(chosen)
    explained = U[:, kept].T @ right
    terms = size + (size[chosen] / unit) @ np.abs((axes[kept].T / values[kept]) @ explained)
    # Rounding also turns kept directions towards others, by ROUNDED k over the difference of their variances.
    near, far = values[kept, None], values[None, ~kept]
    turned = len(chosen) / (near**2 - far**2) * (far / near) * np.abs(explained @ (U[:, ~kept].T @ right).T)
    residual = right - U[:, kept] @ explained
    rounding = ROUNDED * float(np.sum(terms**2) + 2 * np.sum(turned))
    return float(np.sum(residual**2)) / (n * m), rounding / (n * m)


def optimum(trial: Trial) -> None:
    """Compare the objective with its definition, all single swaps, and all subsets where they are few."""
    fitted, m = trial.fitted, trial.X.shape[1]
    exponent = int(np.frexp(np.max(np.abs(trial.X)).astype(np.float64))[1])
    A = centred(np.ldexp(trial.X.astype(np.float64), -exponent))
    total, scale = float(np.mean(A**2)), np.ldexp(1.0, -2 * exponent)
    objective, bound = fitted.objective_ * scale, fitted.lower_bound_ * scale
    chosen, ridge = fitted.selected_.tolist(), fitted.ridge_
    # A direction just at the limit may count or not.
    both = [loss(A, chosen, ridge, (1 + side) * COUNTED) for side in (-0.01, 0.01)]
    mine, rounding = min(both, key=lambda one: abs(one[0] - objective))
    slack = 1e-8 * total + rounding
    expect(abs(mine - objective) <= slack, f"objective_ is {objective:.6g}, by definition {mine:.6g} of {total:.6g}")
    expect(bound <= objective + slack, "the lower bound is above the objective")
    include, exclude = trial.setting("include") or [], trial.setting("exclude") or []
    for out in set(chosen) - set(include):
        for into in set(range(m)) - set(chosen) - set(exclude):
            other = sum(loss(A, [into if j == out else j for j in chosen], ridge))
            expect(
                other >= mine - slack, f"{into} for {out} lowers the loss from {mine:.6g} to {other:.6g} of {total:.6g}"
            )
    if comb(m, len(chosen)) <= 300:
        allowed = [
            set(S)
            for S in combinations(range(m), len(chosen))
            if set(include) <= set(S) <= set(range(m)) - set(exclude)
        ]
        best = min(sum(loss(A, list(subset), ridge)) for subset in allowed)
        expect(bound <= best + slack, f"lower_bound_ {bound:.6g} is above the best loss {best:.6g} of {total:.6g}")


def scorer_losses(trial: Trial) -> None:
    """Compare the losses with the fitted network's own outputs."""
    fitted = trial.fitted
    X = trial.X.astype(np.float64)
    total = float(np.mean(centred(X) ** 2)) + 1e-20 * float(np.max(np.abs(X))) ** 2
    expect(fitted.lower_bound_ <= fitted.objective_ + 1e-8 * total, "the lower bound is above the objective")
    for path in ("selector", "scorer"):
        given, mine = getattr(fitted, f"loss_{path}_"), float(np.mean((X - fitted.forward(X, path)) ** 2))
        expect(abs(given - mine) <= 1e-7 * total, f"loss_{path}_ {given:.6g}, the network's {mine:.6g} of {total:.6g}")
