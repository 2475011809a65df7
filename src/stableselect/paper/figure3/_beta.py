"""Figure 3 e and f, the runs: how far the losses on the test samples move when one training sample is left out."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

from ...experiments import Run, Stored, Value
from ...inspection import LossChange, path_losses, uniform_stability
from .._report import Line, compact, csv_repeats
from ..methods import Options, Protocol, Results, find_method, first_run, load_rows
from ._gap import WEIGHTS
from ._shared import (
    COIL,
    FASHION,
    PUBLISHED_WEIGHT,
    REPEATS,
    SEARCH,
    Groups,
    bounded_test_samples,
    over_repeats,
    repeated,
)

TASK = "beta"
K, BATCH = 50, 8
Sizes = dict[str, tuple[int, ...]]
SIZES: Sizes = {FASHION: (3000, 4000, 5000, 6000), COIL: (100, 300, 500, 700, 900)}
FAST_SIZES: Sizes = {COIL: (100, 300)}
WEIGHT_SIZE = 3000
"""Samples for the panel over lambda1."""
WEIGHT_REPEATS = {"|W|": 3, "W^2": 1}
"""Of the networks there: the panel is not in the paper, and a pair of fits takes a minute."""
ROW, ORDER = "row", "order"
"""What changes between the two fits: a sample is left out, or the same samples come in another order."""
SEARCH_ROWS, FAST_SEARCH_ROWS = 10, 2
"""Samples left out in turn in every repeat of the search under the corrected protocol."""


def beta_runs(network: str, protocol: Protocol, options: Options) -> list[Run]:
    """Return the runs of one network and of the search."""
    return [
        run
        for name, sizes in (FAST_SIZES if options.fast else SIZES).items()
        for method in (network, SEARCH)
        for run in _of_method(name, sizes, method, protocol, options)
    ]


def _of_method(name: str, sizes: tuple[int, ...], method: str, protocol: Protocol, options: Options) -> list[Run]:
    first = first_run(name, method, protocol, options, K)
    rows = _left_out(first)
    number = 1 if options.fast else max(REPEATS, options.seeds if protocol == "paper" else options.splits)
    runs = [
        run
        for n in sizes
        for run in repeated(first.of_task(TASK, n=n, weight=PUBLISHED_WEIGHT, change=ROW, rows=rows), number)
    ]
    if protocol == "paper":
        runs += [first.of_task(TASK, n=n, weight=PUBLISHED_WEIGHT, change=ORDER, rows=1) for n in sizes]
    if (protocol == "paper" or method == SEARCH) and (name == FASHION or options.fast):
        n = min(WEIGHT_SIZE, sizes[0])
        number = min(number, WEIGHT_REPEATS.get(method, number))
        for weight in WEIGHTS[:1] if options.fast else WEIGHTS:
            runs += repeated(first.of_task(TASK, n=n, weight=weight, change=ROW, rows=rows), number)
    return runs


def _left_out(run: Run) -> int:
    """Return how many samples a run leaves out in turn."""
    if run.method != SEARCH or run.protocol == "paper":
        return 1
    return FAST_SEARCH_ROWS if run.mode == "fast" else SEARCH_ROWS


class Betas(Groups):
    """The stored runs of a network and of the search; a setting is dataset, method, protocol and n."""

    def __init__(self, results: Results, network: str) -> None:
        def key(run: Run, details: dict[str, Any]) -> Hashable:
            if details["rows"] != _left_out(run):
                return None  # of an earlier plan
            return run.dataset, run.method, run.protocol, details["n"], details["weight"], details["change"]

        super().__init__(results, TASK, key)
        self.network, self.sizes = network, FAST_SIZES if self.fast else SIZES

    def of(self, *setting: Any, weight: float = PUBLISHED_WEIGHT, change: str = ROW) -> list[Stored]:
        """Return the repeats of a setting."""
        return super().of(*setting, weight, change)

    def value(self, measure: str, *setting: Any, change: str = ROW, **other: Any) -> Value | None:
        """Return a measure over the repeats that the network and the search have; another order stands alone."""
        dataset, method, *rest = setting
        names = (method,) if change == ORDER else (self.network, SEARCH)
        runs = {name: self.of(dataset, name, *rest, change=change, **other) for name in names}
        return over_repeats(runs, measure)[method]

    def texts(self, measures: Iterable[str], *setting: Any, **other: Any) -> list[str]:
        """Return measures for a table, or why there are none."""
        why = self.missing(setting[0], self.of(*setting, **other))
        return [compact(self.value(measure, *setting, **other), why) for measure in measures]

    def line(self, *setting: Any, label: str | None = None, part: str = "", **other: Any) -> Line:
        """Return beta and the mean change for the CSV file."""
        value, mean = (self.value(f"{part}{measure}.total", *setting, **other) for measure in ("beta", "mean"))
        dataset, method, protocol, n = setting
        where = {"dataset": dataset, "protocol": protocol, "method": label or method, "n": n}
        where["lambda1"] = f"{other['weight']:g}" if "weight" in other else "1/128"
        found = csv_repeats(value, "beta", "beta_sd")
        return where | {"beta": "", "beta_sd": "", "mean_change": "" if mean is None else mean.mean} | found


def measure_beta(run: Run, data_home: str | None) -> dict[str, Any]:
    """Fit, fit again with something changed, and compare the losses on every test sample.

    Under "paper" the first n samples are fitted and the last of them is left out. Under the corrected protocol the
    samples are in random order already, those left out are drawn, and the test samples are bounded. Another order of
    the same samples, with the same seed, gives the network the same start but other batches. The search under the
    corrected protocol leaves several samples out in turn. All this but another order, which leaves nothing out, is
    :func:`stableselect.inspection.uniform_stability`.

    Parameters
    ----------
    run : Run
        With ``n``, ``weight``, ``change`` ("row" or "order") and ``rows`` (how many are left out in turn) in its
        details.
    data_home : str or None
        Folder of the datasets.

    Returns
    -------
    dict
        ``n``; ``seconds`` of all fits; ``selected``; ``test``, the mean loss of each path; ``beta`` and ``mean``, the
        largest and the mean change of each path's loss over the test samples, and ``unchanged``, the fraction of
        selected sets that stayed, each a mean over the second fits; ``largest``, the largest change of the total loss
        over all of them; ``shared``, the number of features in common, for a pair of fits; for the search ``held``,
        the changes where the second fits keep the features of the first.
    """
    rows, details = load_rows(run, data_home), run.details
    n, points = details["n"], bounded_test_samples(rows, run.protocol)
    X = rows.X_train[:n]
    if len(X) < n:
        raise ValueError(f"{run.dataset} has {len(X)} training samples, fewer than n = {n}; take a smaller n.")
    selector: Any = find_method(run.method).build(run).set_params(scorer_weight=details["weight"])
    if run.method != SEARCH:
        selector.set_params(batch_size=BATCH)
    start = time.perf_counter()
    full, record = _compared(selector, run, X, points)
    if run.method == SEARCH:
        same = clone(selector).set_params(include=full.selected_.tolist(), ridge=full.ridge_)
        record["held"] = _compared(same, run, X, points)[1]
    record |= {"n": n, "seconds": time.perf_counter() - start, "selected": full.selected_.tolist()}
    return record | {"test": {path: float(found.mean()) for path, found in path_losses(full, points).items()}}


def _compared(selector: Any, run: Run, X: np.ndarray, points: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """Return the fit on all samples, and how far the second ones are from it."""
    rng = np.random.default_rng([run.split, run.seed, len(X)])
    if run.details["change"] == ORDER:
        full, other = (clone(selector).fit(samples) for samples in (X, X[rng.permutation(len(X))]))
        supports, changed = other.support_[None], [bool(np.any(other.support_ != full.support_))]
        pairs = zip(path_losses(full, points).items(), path_losses(other, points).values(), strict=True)
        changes = {path: LossChange.from_losses(losses, [after], changed) for (path, losses), after in pairs}
    else:
        last = len(X) - 1 if run.protocol == "paper" else int(rng.choice(len(X), 1, replace=False)[0])
        which: dict[str, Any] = {"samples": [last]} if run.details["rows"] == 1 else {"n_left_out": run.details["rows"]}
        found = uniform_stability(selector, X, points, random_state=run.split, **which)
        full, supports, changes = found.full, found.supports, found.changes
    shared = np.sum(supports & full.support_, axis=1)
    record = {
        "beta": {path: float(change.by_sample.mean()) for path, change in changes.items()},
        "mean": {path: change.mean for path, change in changes.items()},
        "largest": changes["total"].sup,
        "unchanged": float(np.mean(shared == run.k)),
    }
    return full, record | ({"shared": float(shared[0])} if len(shared) == 1 else {})
