"""The laws of ``SketchedMoments``: means and variances are exact, blocks and the order of merging do not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import stableselect as ss

from .checks import check_sentence, expect, no_escaping_warnings
from .moments import PRECISION, two_pass
from .tables import EXTREME, KINDS, Generator, draw_table


def sketches(rng: Generator, note: Any) -> None:
    """Gather sketches of parts by random blocks, merge them in two orders, and compare."""
    table = draw_table(rng, tuple(kind for kind in KINDS if kind not in EXTREME))
    X, size, seed = table.X, int(rng.integers(1, 80)), int(rng.integers(5))
    note.law, note.kind, note.subject = "sketches", table.kind, "SketchedMoments"
    weights = rng.integers(0, 4, size=len(X)).astype(float) if rng.random() < 0.5 else None
    if weights is not None:
        weights[rng.integers(len(X))] = 1.0
    order = rng.permutation(len(X))
    cuts = np.sort(rng.integers(0, len(X) + 1, size=rng.integers(0, 4)))
    parts = {f"part {number}": rows for number, rows in enumerate(np.split(order, cuts)) if len(rows)}
    note.detail = f"{table}, {size} rows, {'weighted, ' if weights is not None else ''}{len(parts)} parts"

    def gathered(name: str, blocks: int) -> ss.SketchedMoments:
        found = ss.SketchedMoments(size, seed=seed, part=name)
        for rows in np.array_split(parts[name], blocks):
            given: Any = sparse.csr_array(X[rows].astype(np.float64)) if rng.random() < 0.2 else X[rows]
            if len(rows):
                found.update(given, None if weights is None else weights[rows])
        return found

    with no_escaping_warnings():
        whole, other = (ss.SketchedMoments(size, seed=seed) for _ in range(2))
        for name in parts:
            whole.merge(gathered(name, 1))
        for name in rng.permutation(list(parts)):
            other.merge(gathered(str(name), int(rng.integers(1, 5))))
        gram, variance = np.asarray(whole.gram), np.asarray(whole.variance)
    w = np.ones(len(X)) if weights is None else weights
    mean, second = two_pass(X[w > 0], w[w > 0])
    spread = np.sqrt(np.diag(second)).astype(np.float64) + 1e-6 * np.max(np.abs(X.astype(np.float64)), axis=0)
    spread[spread == 0] = 1.0
    expect(whole.n_samples == np.count_nonzero(w), f"n_samples is {whole.n_samples} for {np.count_nonzero(w)}")
    expect(abs(whole.weight_sum - w.sum()) < 1e-9, "weight_sum is wrong")
    expect(np.max(np.abs(np.asarray(whole.mean) - mean) / spread) <= PRECISION, "a mean is wrong")
    expect(np.max(np.abs(variance - np.diag(second)) / spread**2) <= PRECISION, "a variance is wrong")
    expect(np.allclose(np.diagonal(gram), variance, rtol=1e-9, atol=0) or not _seen(gram, variance), "diagonal of gram")
    apart = float(np.max(np.abs(gram - np.asarray(other.gram)) / np.outer(spread, spread)))
    expect(apart <= 100 * PRECISION, f"other blocks and order of parts: a covariance differs by {apart:.1e}")
    before = gram.copy()
    name = str(rng.choice(list(parts)))
    for what, do in (
        ("remove", lambda: whole.remove(X[:1])),
        ("a part merged twice", lambda: whole.merge(gathered(name, 1))),
        ("another size", lambda: whole.merge(ss.SketchedMoments(size + 1, part="new").update(X))),
        ("exact moments", lambda: whole.merge(ss.Moments().update(X))),
    ):
        try:
            do()
        except Exception as error:
            check_sentence(error)
        else:
            held = w[parts[name]].any() or what != "a part merged twice"
            expect(not held, f"{what} was accepted")
        expect((np.asarray(whole.gram) == before).all(), f"{what} was refused but changed the sketch")


def _seen(gram: np.ndarray, variance: np.ndarray) -> bool:
    """Tell whether every feature that varies is seen in the sketch: the signs of few samples can cancel."""
    return bool((np.diagonal(gram)[variance > 0] > 0).all())
