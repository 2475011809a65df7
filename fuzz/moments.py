"""The laws of ``Moments``: whatever was added, merged and removed, the sums are those of the samples left."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import stableselect as ss

from .checks import expect, no_escaping_warnings
from .tables import EXTREME, KINDS, Generator, draw_table

PRECISION = 1e-8


def two_pass(X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and second moments by their definition, in extended precision."""
    rows, w = X.astype(np.longdouble), weights.astype(np.longdouble)
    mean = w @ rows / w.sum()
    centred = rows - mean
    return mean, (centred * w[:, None]).T @ centred / w.sum()


def moments_case(rng: Generator, note: Any) -> None:
    """Feed a table to moments by random blocks, parts and removals, and compare with the definition."""
    table = draw_table(rng, tuple(kind for kind in KINDS if kind not in EXTREME))
    X = table.X
    note.law, note.kind, note.subject, note.detail = "moments", table.kind, "Moments", str(table)
    weights = rng.integers(1, 4, size=len(X)).astype(float) if rng.random() < 0.5 else np.ones(len(X))
    weighted = bool((weights != 1).any())
    held, left = ss.Moments(), np.ones(len(X), dtype=bool)
    buffer_, weight_buffer = np.empty_like(X), np.empty(len(X))
    steps: list[str] = []
    with no_escaping_warnings():
        for part in np.array_split(rng.permutation(len(X)), rng.integers(1, 5)):
            if not len(part):
                continue
            how = str(rng.choice(["update", "merge", "sparse", "buffer"]))
            steps.append(f"{how} {len(part)}")
            block: Any = X[part]
            w = weights[part] if weighted else None
            if how == "sparse":
                block = sparse.csr_array(block.astype(np.float64))
            elif how == "buffer":  # the caller's arrays are used again for the next block
                buffer_[: len(part)], block = block, buffer_[: len(part)]
                if w is not None:
                    weight_buffer[: len(part)], w = w, weight_buffer[: len(part)]
            held = held.merge(ss.Moments().update(block, w)) if how == "merge" else held.update(block, w)
            buffer_.fill(0)
            weight_buffer.fill(0.5)
        gone = rng.permutation(len(X))[: rng.integers(0, len(X))] if rng.random() < 0.4 else np.empty(0, int)
        if len(gone):
            steps.append(f"remove {len(gone)}")
            held.remove(X[gone], weights[gone] if weighted else None)
            left[gone] = False
        gram, variance = np.asarray(held.gram), np.asarray(held.variance)
    note.detail = f"{table}, {'weighted, ' if weighted else ''}{', '.join(steps)}"
    mean, second = two_pass(X[left], weights[left])
    # Rounding is that of the samples seen, feature by feature: their spread, and a little of their distance from 0.
    _, seen = two_pass(X, weights)
    spread = np.sqrt(np.diag(seen)).astype(np.float64) + 1e-6 * np.max(np.abs(X.astype(np.float64)), axis=0)
    spread[spread == 0] = 1.0
    expect(held.n_samples == left.sum(), "n_samples is wrong")
    expect(abs(held.weight_sum - weights[left].sum()) < 1e-9, "weight_sum is wrong")
    # A few samples that remain of many carry the rounding of all.
    allowed = PRECISION * weights.sum() / weights[left].sum()
    worst = float(np.max(np.abs(gram - second) / np.outer(spread, spread)))
    expect(worst <= allowed, f"a second moment is wrong by {worst:.1e} of its scale")
    expect(float(np.max(np.abs(np.asarray(held.mean) - mean) / spread)) <= allowed, "a mean is wrong")
    expect(np.allclose(variance, np.diag(gram), rtol=1e-12, atol=0), "variance is not the diagonal of gram")
    if not len(gone):
        expect((np.asarray(held.minimum) == X.min(axis=0)).all(), "minimum is wrong")
        expect((np.asarray(held.maximum) == X.max(axis=0)).all(), "maximum is wrong")
        scaled = held.scale("standard")
        varies = (X.max(axis=0) > X.min(axis=0)) & (np.asarray(held.variance) > PRECISION * spread**2)
        unit = np.asarray(scaled.variance)[varies]
        expect(np.allclose(unit, 1, atol=1e-6), "a standardised feature has another variance than 1")
