"""The runs of ``stability``: which fits a method needs, one fit, and which features of a dataset are interchangeable.

A run is one fit, on a subsample with a seed; its split is the number of the subsample. The samples vary over the
subsamples with seed 0, the seed varies on subsample 0, and both vary where subsample and seed have the same number; so
the analyses share the runs they have in common, which :func:`stableselect.inspection.stability_analysis` would fit
three times. The stored sets get its measures from :meth:`stableselect.inspection.StabilityAnalysis.from_supports`.
"""

from __future__ import annotations

import base64
import lzma
import time
from dataclasses import replace
from typing import Any

import numpy as np

from ...datasets import Scale, info
from ...experiments import Run
from ...metrics import feature_similarity, reconstruction_error
from ..methods import (
    ALL_FEATURES,
    CAPPED,
    NO_RIDGE,
    STABLE,
    Options,
    Protocol,
    find_method,
    pool,
    registered,
    subsample,
    timed_fit,
)

TASK, INTERCHANGEABLE = "stability", "interchangeable"
THRESHOLD = 0.8
"""Absolute correlation from which two features count as the same: that of neighbouring pixels in the image tables."""
RANDOM = "random"
NETWORKS = ("|W|", "W^2")
DATASETS = ("mice_protein", "coil20", "isolet", "mnist_fashion", "usps", "glioma", "prostate_ge", "arcene")
_FAST_DATASETS = ("mice_protein", "coil20")

SEEDLESS = ("AEFS", "AgnoS-S", "FAE", "ScorerSelector", STABLE["ScorerSelector"])
"""Methods that take a seed and, with these settings, make no use of it; a second seed is computed to show that."""

_RESAMPLES, _SLOW_RESAMPLES, _FAST_RESAMPLES = 10, 5, 3
_SEEDS, _SLOW_SEEDS, _FAST_SEEDS = 5, 3, 2
_RANDOM_DRAWS, _STRIDE = 5, 100
"""Draws of random features on each subsample, and the distance of their seeds, so that no two are the same."""

_SLOW = {
    "NDFS": ("isolet", "mnist_fashion", "usps"),
    "CAE": ("mnist_fashion", "arcene"),
    "FAE": ("mnist_fashion", "glioma", "prostate_ge", "arcene"),
    **{name: ("isolet", "mnist_fashion", "usps", "prostate_ge", "arcene") for name in NETWORKS},
    "ScorerSelector": ("arcene",),
    "ColumnSubset": ("arcene",),
    "ConsensusSelector": ("isolet", "mnist_fashion", "glioma", "prostate_ge", "arcene"),
    STABLE["ScorerSelector"]: ("coil20", "isolet", "mnist_fashion", "usps", "arcene"),
}
"""Where a fit takes more than five seconds on one core; ColumnSubset with criterion="stability" has all runs."""

_STEPS = {
    **{(name, dataset): epochs for name in NETWORKS for dataset, epochs in (("usps", 95), ("arcene", 60))},
    **{("ConsensusSelector", dataset): votes for dataset, votes in (("prostate_ge", 10), ("arcene", 6))},
}
_FAST_STEPS = {**dict.fromkeys(NETWORKS, 20), "CAE": 50, "FAE": 50, "NDFS": 10, "ConsensusSelector": 4}
"""Step limits, which keep a fit to about ten seconds; others run to their own end."""

_UNITS = {"epochs": "epochs", "max_iter": "iterations", "n_resamples": "resamples"}
"""What a limit counts, by the parameter that it sets."""


def methods() -> tuple[str, ...]:
    """Return the methods: every registered selector with default settings, the published networks, and variants."""
    names = (*registered(), NO_RIDGE, *STABLE.values(), *NETWORKS)
    return tuple(name for name in names if find_method(name).available())


def steps(method: str, dataset: str, *, fast: bool) -> int | None:
    """Return the step limit of a method on a dataset, None where there is none."""
    return _FAST_STEPS.get(method) if fast else _STEPS.get((method, dataset))


def limit_words(method: str, dataset: str, *, fast: bool) -> str:
    """Write the limit of a method's runs beside what it would take without; empty where there is none."""
    limit = steps(method, dataset, fast=fast)
    if limit is None:
        return ""
    free = find_method(method).build(Run(dataset, method, "corrected", 0, 0, info(dataset).k))
    return f"{limit} of {getattr(free, CAPPED[method])} {_UNITS[CAPPED[method]]}"


def is_seeded(method: str) -> bool:
    """Tell whether the choice of a method depends on its seed."""
    return find_method(method).seeded and method not in SEEDLESS


def takes_seed(method: str) -> bool:
    """Tell whether a method has a seed, be it of consequence or not."""
    return is_seeded(method) or method in SEEDLESS


def runs(protocol: Protocol, options: Options) -> list[Run]:
    """Return the fits of every method, and for each dataset which features are interchangeable; none under "paper"."""
    if protocol == "paper":
        return []
    found = []
    for dataset in _FAST_DATASETS if options.fast else DATASETS:
        one = Run(dataset, ALL_FEATURES.name, protocol, 0, 0, info(dataset).k, options.mode)
        found.append(one.of_task(INTERCHANGEABLE))
        for method in methods():
            asks = method in STABLE.values() and dataset != "mice_protein"
            if options.fast and (asks or dataset in _SLOW.get(method, ())):
                continue
            limit = steps(method, dataset, fast=options.fast)
            start = replace(one, method=method, cap=limit).of_task(TASK)
            found += [replace(start, split=split, seed=seed) for split, seed in _runs(method, dataset, options)]
    return found


def _runs(method: str, dataset: str, options: Options) -> list[tuple[int, int]]:
    """Return the subsamples and seeds that a method is fitted with on a dataset, each pair once."""
    slow = dataset in _SLOW.get(method, ())
    resamples, seeds = (_SLOW_RESAMPLES, _SLOW_SEEDS) if slow else (_RESAMPLES, _SEEDS)
    resamples, seeds = max(resamples, options.splits), max(seeds, options.seeds)
    if options.fast:
        resamples, seeds = _FAST_RESAMPLES, _FAST_SEEDS
    samples = [(split, 0) for split in range(resamples)]
    if method in SEEDLESS:
        return [*samples, (0, 1)]
    if not is_seeded(method):
        return samples
    varied = [(0, seed) for seed in range(seeds)]
    both = [(number, number) for number in range(resamples)]
    if method == RANDOM:
        # With one seed it draws the same features from any samples; and it is what the errors are compared with.
        draws = [(split, split + _STRIDE * draw) for split in range(resamples) for draw in range(_RANDOM_DRAWS)]
        return list(dict.fromkeys([*varied, *draws]))
    return list(dict.fromkeys([*samples, *varied, *both]))


def fitted(run: Run, data_home: str | None = None) -> dict[str, Any]:
    """Fit a method on a subsample, and measure its features on the samples left out.

    The record holds ``n_columns`` to choose from, ``n_rows`` fitted on, ``least_squares`` and ``ridge`` (errors on the
    samples left out), and what ``timed_fit`` returns.
    """
    split = subsample(run, data_home)
    # The seed of a selection depends on its split as well; here the one must stay while the other varies.
    selector, record = timed_fit(find_method(run.method), replace(run, split=0), split.X_train)
    return record | {
        "n_columns": split.X_train.shape[1],
        "n_rows": len(split.X_train),
        "least_squares": reconstruction_error(split.X_train, split.X_test, selector.selected_),
        "ridge": reconstruction_error(split.X_train, split.X_test, selector.selected_, refit="ridge"),
    }


def interchangeable(run: Run, data_home: str | None = None) -> dict[str, Any]:
    """Find the pairs of features whose absolute correlation over the whole table reaches the threshold.

    They are stored, packed, so that pages can be made from the store without the datasets.

    Parameters
    ----------
    run : Run
        Of which only the dataset and the mode matter.
    data_home : str or None
        Folder of the datasets.

    Returns
    -------
    dict
        ``n_columns``, ``n_pairs``, ``pairs`` (see :func:`unpacked`), ``threshold`` and ``seconds``.
    """
    X = pool(run, data_home).raw
    start = time.perf_counter()
    alike = feature_similarity(Scale.minmax(X).apply(X)) >= THRESHOLD
    seconds = time.perf_counter() - start
    return {
        "n_columns": len(alike),
        "n_pairs": int(alike.sum() - len(alike)) // 2,
        "pairs": packed(alike),
        "threshold": THRESHOLD,
        "seconds": seconds,
    }


def packed(alike: np.ndarray) -> str:
    """Return a symmetric Boolean matrix as text: the bits above its diagonal, row by row, compressed."""
    bits = alike[np.triu(np.ones_like(alike), 1)]
    return base64.b64encode(lzma.compress(np.packbits(bits).tobytes())).decode("ascii")


def unpacked(text: str, n_features: int) -> np.ndarray:
    """Return the matrix of :func:`packed`, with ones on the diagonal, as Booleans."""
    n_pairs = n_features * (n_features - 1) // 2
    size = (n_pairs + 7) // 8
    raw = lzma.LZMADecompressor().decompress(base64.b64decode(text), max_length=size + 1) if size else b""
    if len(raw) != size:
        raise ValueError(f"The pairs of {n_features} features should be {size} bytes, but are not; run it again.")
    bits = np.unpackbits(np.frombuffer(raw, np.uint8), count=n_pairs).astype(bool)
    alike = np.eye(n_features, dtype=bool)
    alike[np.triu(np.ones_like(alike), 1)] = bits
    return alike | alike.T
