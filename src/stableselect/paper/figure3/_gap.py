"""Figure 3 a to d, the runs: train and test error of both paths and the norms of the weights, for n, lambda1 and k."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ...experiments import Run, Value
from .._plots import error_bars
from .._report import Document, Line, compact, csv_repeats
from ..methods import Options, Protocol, Results, find_method, first_run, load_rows
from ._shared import (
    COIL,
    FASHION,
    LOOKS,
    NETWORKS,
    PUBLISHED_WEIGHT,
    REPEATS,
    SEARCH,
    WORDS,
    Groups,
    bounded_test_samples,
    fit_record,
    mean_losses,
    over_repeats,
    repeated,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TASK = "gap"
METHODS = (*NETWORKS, SEARCH)
K = 50
SHARES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""Percent of the 5,400 training samples; the first ones under "paper"."""
WEIGHTS = (0.0, 5e-4, 1e-2, 0.5, 1.0, 5.0, 10.0, 15.0, 20.0)
"""The scorer's weight lambda1, as read off the printed figure."""
KS = (10, 25, 40, 55, 70, 85)
Curves = Mapping[str, tuple[str, dict[str, Any]]]
"""Measures with what is added to the names and looks of the methods."""
_TRAINING_PART = 0.9
"""Under "paper" a tenth of the training samples is left for validation; the corrected protocol fits on as many."""


@dataclass(frozen=True, order=True)
class Setting:
    """One point of a panel.

    Attributes
    ----------
    share : int
        Percent of the training samples.
    weight : float
        lambda1.
    k : int
        Number of selected features, and the width of the autoencoder.
    """

    share: int = 100
    weight: float = PUBLISHED_WEIGHT
    k: int = K


@dataclass(frozen=True)
class Sweep:
    """One of the three panels.

    Attributes
    ----------
    name, title : str
        Of the experiment.
    symbol, label : str
        What is varied, for the table and for the axis.
    varied : str
        The attribute of a setting that is varied.
    grid, fast : tuple of float
        The published values, and those of a fast run.
    """

    name: str
    title: str
    symbol: str
    label: str
    varied: str
    grid: tuple[Any, ...]
    fast: tuple[Any, ...]

    def settings(self, *, fast: bool) -> list[Setting]:
        """Return the settings."""
        return [Setting(**{self.varied: value}) for value in (self.fast if fast else self.grid)]

    def tick(self, setting: Setting) -> str:
        """Write a setting of the grid."""
        return f"{getattr(setting, self.varied):g}"


_AGAINST = "error difference and test error against"
SWEEPS = (
    Sweep(
        "figure3a",
        f"Figure 3a: {_AGAINST} the number of samples",
        "n",
        "training samples, % (100 %: 5,400 images of MNIST-Fashion)",
        "share",
        SHARES,
        (SHARES[0], SHARES[-1]),
    ),
    Sweep(
        "figure3b",
        f"Figure 3b: {_AGAINST} lambda1",
        "lambda1",
        "scorer's weight lambda1 (steps of the grid, not to scale)",
        "weight",
        WEIGHTS,
        (WEIGHTS[0], WEIGHTS[4]),
    ),
    Sweep("figure3c", f"Figure 3c: {_AGAINST} k", "k", "selected features k", "k", KS, KS[:2]),
)


def dataset(*, fast: bool) -> str:
    """Return the dataset: MNIST-Fashion, and a smaller one of images in a fast run."""
    return COIL if fast else FASHION


def sweep_runs(sweep: Sweep, protocol: Protocol, options: Options) -> list[Run]:
    """Return the runs of a panel, for both networks and the search."""
    number = 1 if options.fast else max(REPEATS, options.seeds if protocol == "paper" else options.splits)
    runs: list[Run] = []
    for method, setting in product(METHODS, sweep.settings(fast=options.fast)):
        first = first_run(dataset(fast=options.fast), method, protocol, options, setting.k)
        runs += repeated(first.of_task(TASK, share=setting.share, weight=setting.weight), number)
    return runs


class Gaps(Groups):
    """The stored runs of a sweep by method, protocol and setting."""

    def __init__(self, results: Results, sweep: Sweep) -> None:
        def key(run: Run, details: dict[str, Any]) -> Hashable:
            return run.method, run.protocol, Setting(details["share"], details["weight"], run.k)

        super().__init__(results, TASK, key)
        self.dataset, self.sweep = dataset(fast=self.fast), sweep
        self.settings = sweep.settings(fast=self.fast)

    def values(
        self, protocol: Protocol, setting: Setting, measure: str, methods: Sequence[str] = METHODS
    ) -> dict[str, Value | None]:
        """Return a measure of the methods at a setting, over the repeats that all of them have."""
        return over_repeats({method: self.of(method, protocol, setting) for method in methods}, measure)

    def cell(
        self, page: Document, line: Line, method: str, protocol: Protocol, setting: Setting, measure: str, unit: float
    ) -> str:
        """Add a value to the CSV file, beside what ``line`` says of it, and return it for a table."""
        value = self.values(protocol, setting, measure)[method]
        page.data.append({"protocol": protocol, "method": method} | line | csv_repeats(value))
        return compact(value, self.missing(self.dataset, self.of(method, protocol, setting)), unit)

    def curves(
        self, axis: Axes, protocol: Protocol, curves: Curves, places: Mapping[Setting, float], aside: float, unit: float
    ) -> None:
        """Draw measures of every method, the two networks ``aside``: their marks would cover each other."""
        for method, shift in zip(METHODS, (-aside, aside, 0.0), strict=True):
            for measure, (words, other) in curves.items():
                values = [self.values(protocol, setting, measure)[method] for setting in places]
                looks = LOOKS[method] | {"label": WORDS[method] + words} | other
                error_bars(axis, [place + shift for place in places.values()], values, unit, **looks)


def measure_gap(run: Run, data_home: str | None) -> dict[str, Any]:
    """Fit on a part of the training samples; measure both paths on those and on the test samples, and the weights.

    Parameters
    ----------
    run : Run
        With ``share`` and ``weight`` in its details.
    data_home : str or None
        Folder of the datasets.

    Returns
    -------
    dict
        ``n``, ``seconds``, ``selected``, ``train`` and ``test`` (mean squared error, averaged over samples and
        features, of the paths "selector" and "scorer"; the test samples are bounded under the corrected protocol),
        ``difference`` (the selector's test minus its training error) and ``norms``.
    """
    rows, details = load_rows(run, data_home), run.details
    part = len(rows.X_fit) if run.protocol == "paper" else round(_TRAINING_PART * len(rows.X_fit))
    X = rows.X_fit[: max(2, round(part * details["share"] / 100))]
    selector: Any = find_method(run.method).build(run).set_params(scorer_weight=details["weight"])
    record = fit_record(selector, X)
    train, test = (mean_losses(selector, part) for part in (X, bounded_test_samples(rows, run.protocol)))
    return record | {
        "train": train,
        "test": test,
        "difference": test["selector"] - train["selector"],
        "norms": weight_norms(selector),
    }


def weight_norms(selector: Any) -> dict[str, dict[str, float]]:
    """Return Frobenius norms of a fitted linear network's weights, of all features and of the selected ones only.

    ``product`` is the norm of W_E W_D, ``norms`` the norm of W_E with its intercept below times that of W_D with its
    own, and ``map`` the norm of Phi W_E W_D: only this one does not change when a factor moves from the scores to the
    encoder.
    """
    E, G = selector.encoder_, selector.decoder_
    second = np.linalg.norm(np.vstack([G, selector.decoder_intercept_]))
    found: dict[str, dict[str, float]] = {"product": {}, "norms": {}, "map": {}}
    for name, features in (("all", np.ones(len(E), dtype=bool)), ("kept", selector.support_)):
        first = np.vstack([E[features], selector.encoder_intercept_])
        found["product"][name] = float(np.linalg.norm(E[features] @ G))
        found["norms"][name] = float(np.linalg.norm(first) * second)
        found["map"][name] = float(np.linalg.norm((selector.score_weights_[:, None] * E)[features] @ G))
    return found
