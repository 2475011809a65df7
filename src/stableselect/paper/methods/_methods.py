"""The methods of the tables: which selector a name means, with what settings, seeds and step limits."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from itertools import product
from typing import Any, Literal

from ..._registry import all_selectors, load_selector, registered_names
from ...base import BaseSelector
from ...datasets import info, names
from ...experiments import Run
from ._options import CAPPED, FAULTY, Options, Protocol, cap
from ._outside import Select, fastcan, interpolative, linselect

FAST_DATASETS = ("mice_protein", "coil20", "usps", "glioma")
FAST_ROWS = 2000
_RANDOM_DRAWS, _FAST_RANDOM_DRAWS = 10, 3
_PAPER_SEEDS = 3
"""Seeds of the published network under "paper", where its spread over seeds is the point."""


@cache
def selector_classes() -> dict[str, type[BaseSelector]]:
    """Return the registry, read once: tables ask for it thousands of times."""
    return all_selectors()


@cache
def _settings(selector: str) -> frozenset[str]:
    """Return the names of a selector's settings."""
    return frozenset(inspect.signature(selector_classes()[selector]).parameters)


@dataclass(frozen=True)
class Method:
    """A row of the tables.

    Attributes
    ----------
    name : str
        As the tables show it.
    kind : {"baseline", "network", "ours", "reference", "outside", "own"}
        Published baseline, published network, this package's own, a line to compare with, another package's, or the
        user's own.
    selector : str or None
        Class name, or for the user's own where to find it; None where nothing is selected, or another package does it.
    own : dict
        Settings that make it this method.
    published : {"paper", "always"} or None
        Under which protocol the settings are the published ones.
    tuned : tuple of str
        Published settings that differ from dataset to dataset: "n_clusters" (the number of classes, which needs the
        labels) or "batch_size".
    seeded : bool
        Whether it depends on a seed; others run once a split.
    part : {"all", "train"}
        Under "paper": fitted on training and validation samples, or on the training samples alone.
    restarts : int
        Seeds under "paper" at most; 0 for as many as asked for.
    halves : bool
        Whether the upper and the lower half of its features are measured too.
    needs : str or None
        A package that must be installed.
    outside : callable or None
        The function of another package, from samples and a number to features.
    """

    name: str
    kind: Literal["baseline", "network", "ours", "reference", "outside", "own"]
    selector: str | None = None
    own: dict[str, Any] = field(default_factory=dict)
    published: Literal["paper", "always"] | None = None
    tuned: tuple[str, ...] = ()
    seeded: bool = False
    part: Literal["all", "train"] = "all"
    restarts: int = 0
    halves: bool = False
    needs: str | None = None
    outside: Select | None = None

    def available(self) -> bool:
        """Tell whether this version has the selector and its settings, and the machine what it needs."""
        known = (
            self.selector is None
            or self.kind == "own"
            or (self.selector in selector_classes() and _settings(self.selector) >= self.own.keys())
        )
        return known and not self.missing()

    def missing(self) -> str:
        """Say which package has to be installed, or why a user's own cannot be used; empty where all is well."""
        if self.kind == "own":
            try:
                load_selector(self.name)
            except ValueError as error:
                return f"{self.name} cannot be used ({error}); check its name, or install its package."
        if self.needs is None or find_spec(self.needs) is not None:
            return ""
        extra = "bench" if self.outside else self.needs
        return f"{self.name} needs {self.needs}, which is not installed: pip install 'stableselect[{extra}]'."

    def seeds(self, protocol: Protocol, options: Options) -> int:
        """Return how many seeds a split gets."""
        if not self.seeded:
            return 1
        if self.selector == "RandomSelector":
            return _FAST_RANDOM_DRAWS if options.fast else max(_RANDOM_DRAWS, options.seeds)
        if options.fast:
            return 1
        if protocol == "paper" and self.kind == "network":
            return max(_PAPER_SEEDS, options.seeds)
        return min(self.restarts, options.seeds) if protocol == "paper" and self.restarts else options.seeds

    def build(self, run: Run) -> BaseSelector:
        """Return the selector of a run, not yet fitted."""
        if self.selector is None or not self.available():
            raise ValueError(f"{self.name} has no selector in this version; choose another method.")
        found = info(run.dataset)
        # The same seed on two splits must not mean the same draw; a graphics card would not repeat itself.
        offered = {"random_state": 1000 * run.split + run.seed, "device": "cpu"}
        kind = load_selector(self.name) if self.kind == "own" else selector_classes()[self.selector]
        if self.published in ("always", run.protocol):
            make = kind.published
            published = {"n_clusters": found.n_classes, "batch_size": found.batch_size}
            offered |= {name: published[name] for name in self.tuned}
        else:
            make = kind
        known = inspect.signature(make).parameters
        selector = make(n_features_to_select=run.k, **{key: value for key, value in offered.items() if key in known})
        selector.set_params(**self.own)
        if run.cap is not None:
            selector.set_params(**{CAPPED[self.name]: run.cap})
        return selector


_ALL = (
    Method("LS", "baseline", "LaplacianScore", published="paper"),
    Method("SPEC", "baseline", "SPEC", published="paper"),
    Method("NDFS", "baseline", "NDFS", published="paper", tuned=("n_clusters",), seeded=True),
    Method("AEFS", "baseline", "AEFS", published="paper", seeded=True, restarts=1),
    Method("UDFS", "baseline", "UDFS", published="paper"),
    Method("MCFS", "baseline", "MCFS", published="paper", tuned=("n_clusters",)),
    Method("PFA", "baseline", "PFA", published="paper", seeded=True),
    Method("Inf-FS", "baseline", "InfFS", published="paper"),
    Method(
        "AgnoS-S", "baseline", "AgnoSS", published="paper", tuned=("batch_size",), seeded=True, part="train", restarts=1
    ),
    Method("CAE", "baseline", "CAE", published="paper", seeded=True, restarts=1),
    Method("FAE", "baseline", "FAE", published="paper", seeded=True, part="train", restarts=1),
    *(
        Method(
            name,
            "network",
            "ScorerSelectorNetwork",
            {"score_function": score_function},
            published="always",
            tuned=("batch_size",),
            seeded=True,
            part="train",
            halves=True,
        )
        for name, score_function in (("|W|", "abs"), ("W^2", "square"))
    ),
    Method("ScorerSelector", "ours", "ScorerSelector", part="train", halves=True),
    Method(
        "ScorerSelectorNetwork annealed",
        "ours",
        "ScorerSelectorNetwork",
        {"solver": "full_batch", "anneal": True},
        seeded=True,
        part="train",
    ),
    Method("ColumnSubset", "ours", "ColumnSubset", halves=True),
    Method("random", "reference", "RandomSelector", seeded=True, halves=True),
    Method("mean predictor", "reference"),
    Method("PCA, k components", "reference"),
)

METHODS: dict[str, Method] = {method.name: method for method in _ALL}
"""Every method of the tables by name, in their order."""

ALL_FEATURES = Method("all features", "reference")
"""Nothing discarded: what the classifier gets from the whole table."""

EPOCH = Method("epoch", "reference", needs="torch")
"""No selection: the time of an epoch of the published network beside that of a plain autoencoder."""

WEIGHTS = tuple(2.0**power for power in range(1, -11, -1))
"""The published grid of the scorer's weight."""
_PUBLISHED_WEIGHT = 1 / 128


def weighted(method: str, weight: float) -> str:
    """Return the name of a scorer-selector with another scorer weight; with the published one it is the plain name."""
    if weight == _PUBLISHED_WEIGHT:
        return method
    return f"{method}, weight {fraction(weight)}"


def fraction(weight: float) -> str:
    """Write a weight: "2" or "1/8"."""
    return f"{weight:.0f}" if weight >= 1 else f"1/{1 / weight:.0f}"


_OUTSIDE = (
    Method("fastcan", "outside", needs="fastcan", outside=fastcan),
    Method("linselect", "outside", needs="linselect", outside=linselect),
    Method("scipy ID", "outside", outside=interpolative),
)
OTHERS = ("PivotedQR", "VarianceScore", "GatedLaplacian", "KernelSubset", *(method.name for method in _OUTSIDE))
"""Methods that the tables show where they have been run, under "corrected"; they are run where they are named."""

STABLE = {"ColumnSubset": "ColumnSubset stable", "ScorerSelector": "ScorerSelector stable"}
"""Methods that can be asked for stability, and their names when they are."""
NO_RIDGE = "ColumnSubset ridge 0"

WITH_FAULT = ("LS", "SPEC", "NDFS", "MCFS", "Inf-FS")
"""Baselines whose published figures rank the test samples apart."""


def _varied(plain: str, name: str, **own: Any) -> Method:
    """Return a method of the tables under another name, with further settings."""
    return replace(METHODS[plain], name=name, own=METHODS[plain].own | own, halves=False)


_BESIDE = {
    method.name: method
    for method in (
        ALL_FEATURES,
        EPOCH,
        *_OUTSIDE,
        _varied("ColumnSubset", NO_RIDGE, ridge=0.0),
        *(_varied(plain, name, criterion="stability") for plain, name in STABLE.items()),
        *(
            _varied(plain, weighted(plain, weight), scorer_weight=weight)
            for plain in ("|W|", "ScorerSelector")
            for weight in WEIGHTS
            if weight != _PUBLISHED_WEIGHT
        ),
    )
} | {name + FAULTY: METHODS[name] for name in WITH_FAULT}
"""Methods that are not rows of the tables."""


@cache
def _unlisted() -> dict[str, Method]:
    """Return a method with default settings for each selector that the tables have none for."""
    listed = {method.selector for method in _ALL}
    return {
        name: Method(name, "ours", name, seeded="random_state" in _settings(name))
        for name in selector_classes()
        if name not in listed
    }


def registered() -> tuple[str, ...]:
    """Return the methods that under "corrected" are the registered selectors with default settings, one for each.

    :class:`~stableselect.ScorerSelectorNetwork` is not among them: it is in the tables as published, and annealed.
    """
    plain = [method.name for method in _ALL if method.selector and not method.own and method.published != "always"]
    return (*plain, *_unlisted())


def find_method(name: str) -> Method:
    """Return a method by name, faulty or not; nothing is loaded.

    A name that an installed package has registered, or ``package.module:Class``, is a user's own method. Whether it
    depends on a seed is known only when it is loaded, so it is taken to.
    """
    found = METHODS.get(name) or _BESIDE.get(name) or _unlisted().get(name)
    if found is None and (":" in name or name in registered_names()):
        found = Method(name, "own", name, seeded=True)
    if found is None:
        raise ValueError(
            f"There is no method {name!r}; the methods are {', '.join((*METHODS, *OTHERS))}; your own is "
            "package.module:Class, or the name under which its package registers it."
        )
    return found


def is_other(name: str) -> bool:
    """Tell whether a method stands beside those of the tables where it has been run: another package's, or an own."""
    return name in OTHERS or find_method(name).kind == "own"


def first_run(dataset: str, method: str, protocol: Protocol, options: Options, k: int | None = None) -> Run:
    """Return the run of split 0 and seed 0, with the step limit of its mode; k is the published one by default."""
    limit = cap(method, protocol, dataset, fast=options.fast)
    return Run(dataset, method, protocol, 0, 0, info(dataset).k if k is None else k, options.mode, limit)


def plan(
    protocol: Protocol,
    options: Options,
    datasets: tuple[str, ...],
    *,
    methods: tuple[str, ...] | None = None,
    k: int | None = None,
    splits: int | None = None,
) -> list[Run]:
    """Return the runs of methods on datasets.

    Parameters
    ----------
    protocol : {"paper", "corrected"}
        Protocol.
    options : Options
        How many splits and seeds; "fast" leaves only the fast datasets.
    datasets : tuple of str
        Dataset names.
    methods : tuple of str, optional
        Names; all of the tables by default, with the faulty ones where they are asked for.
    k : int, optional
        Features to select; those of the published experiments by default.
    splits : int, optional
        Splits at most.

    Returns
    -------
    list of Run
    """
    if methods is None:
        faulty = tuple(name + FAULTY for name in WITH_FAULT)
        methods = (*METHODS, *(faulty if options.with_faults and protocol == "paper" else ()))
    number = 1 if protocol == "paper" or options.fast else options.splits
    number = number if splits is None else min(number, splits)
    runs: list[Run] = []
    for name in datasets:
        if options.fast and name in names() and name not in FAST_DATASETS:
            continue
        for method in methods:
            # The published rankings were made once.
            seeds = 1 if method.endswith(FAULTY) else find_method(method).seeds(protocol, options)
            first = first_run(name, method, protocol, options, k)
            runs += [replace(first, split=split, seed=seed) for split, seed in product(range(number), range(seeds))]
    return runs
