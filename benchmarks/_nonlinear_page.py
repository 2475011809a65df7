"""docs/nonlinear.md from the stored parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from _nonlinear_tables import PLANTED, ROWS, K
from stableselect.metrics import stability

NAMES = {
    "mice_protein": "Mice Protein",
    "coil20": "COIL-20",
    "isolet": "ISOLET",
    "mnist_fashion": "MNIST-Fashion",
    "usps": "USPS",
    "glioma": "GLIOMA",
    "prostate_ge": "Prostate_GE",
    "arcene": "ARCENE",
}
Parts = dict[str, Any]
NOTHING = "Not measured yet."
FEW = (5, 10)


def rows_of(parts: Parts, *begin: str) -> list[Any]:
    """Return the stored parts whose keys begin so."""
    head = "; ".join(begin) + "; "
    return [value for key, value in sorted(parts.items()) if key.startswith(head)]


def by_table(parts: Parts, few: int | None) -> dict[str, dict[int, Any]]:
    """Return the splits of every table, by number, at k = ``few``, or where None at the paper's k."""
    found = {}
    for name in NAMES:
        keys = {split: f"tables; {name}; {split}; {few or K[name]}" for split in range(9)}
        found[name] = {split: parts[key] for split, key in keys.items() if key in parts}
    return {name: rows for name, rows in found.items() if rows}


def mean(values: Iterable[float]) -> float:
    """Return the mean."""
    return float(np.mean(list(values)))


def networks(parts: Parts, name: str, kind: str) -> dict[int, float]:
    """Return a network's test error in every split that has it, a mean over the seeds there."""
    found: dict[int, list[float]] = {}
    for key, run in parts.items():
        if key.startswith(f"network; {name}; {kind}; "):
            found.setdefault(int(key.split("; ")[3]), []).append(run["own"])
    return {split: mean(errors) for split, errors in sorted(found.items())}


def own_table(parts: Parts) -> str:
    """Return own test errors at the paper's k, as Markdown, with the counts below."""
    stored = by_table(parts, None)
    if not stored:
        return NOTHING
    columns = (
        "mean",
        "random",
        "`ColumnSubset`, ridge",
        "principal components",
        "`KernelSubset`",
        "network / `ColumnSubset` (splits)",
        "annealed / `ColumnSubset` (splits)",
    )
    lines = [
        "| table | samples x features, k | " + " | ".join(columns) + " |",
        "|---|---|" + "---:|" * len(columns),
    ]
    below: dict[str, list[int]] = {"`KernelSubset`": [0, 0, 0], "The network": [0, 0, 0]}
    for name, by_split in stored.items():
        splits = list(by_split.values())
        n, m = splits[0]["shape"]
        linear, components = mean(row["ridge"][0] for row in splits), mean(row["components"] for row in splits)
        own = mean(row["own"] for row in splits)
        cells = [
            mean(row["mean"] for row in splits),
            mean(row["random"] for row in splits),
            linear,
            components,
            own,
        ]
        told = [f"{cell:.5f}" for cell in cells]
        for kind in ("network", "annealed"):
            trained = {split: error for split, error in networks(parts, name, kind).items() if split in by_split}
            rows = [by_split[split] for split in trained]
            if not trained:
                told.append("-")
                continue
            error, ridge = mean(trained.values()), mean(row["ridge"][0] for row in rows)
            told.append(f"{error / ridge:.3f} ({len(trained)})")
            if kind == "network":
                counts = below["The network"]
                counts[0] += error < ridge
                counts[1] += error < mean(row["components"] for row in rows)
                counts[2] += 1
        counts = below["`KernelSubset`"]
        counts[0], counts[1], counts[2] = counts[0] + (own < linear), counts[1] + (own < components), counts[2] + 1
        lines.append(f"| {NAMES[name]} | {n} x {m}, {len(splits[0]['kernel'])} | " + " | ".join(told) + " |")
    words = [
        f"{label} is below the linear choice with its ridge map on {a} of {of} tables, and below as many principal "
        f"components on {b}."
        for label, (a, b, of) in below.items()
        if of
    ]
    for few in FEW:
        means = [
            [
                mean(row[what] if what != "ridge" else row[what][0] for row in splits.values())
                for what in ("own", "ridge", "components")
            ]
            for splits in by_table(parts, few).values()
        ]
        if means:
            words.append(
                f"At k = {few} `KernelSubset` is below the first on {sum(own < ridge for own, ridge, _ in means)} of "
                f"{len(means)}, and below the second on {sum(own < components for own, _, components in means)}."
            )
    return "\n".join([*lines, "", " ".join(words)])


def fresh_table(parts: Parts) -> str:
    """Return the errors on splits that were not looked at, as fractions of the linear choice's, with counts below."""
    labels = {"KernelSubset": "`KernelSubset`", "network": "the network"}
    lines = [
        "| table | `ColumnSubset`, ridge | principal components | `KernelSubset` | network |",
        "|---|---:|---:|---:|---:|",
    ]
    below = {label: [0, 0, 0] for label in labels}
    for name, title in NAMES.items():
        runs = {label: rows_of(parts, "fresh", name, label) for label in labels}
        if not all(runs.values()):
            continue
        linear, components = (mean(run[what] for run in runs["network"]) for what in ("ridge", "components"))
        told = [f"{linear:.5f}", f"{components / linear:.3f}"]
        for label, counts in below.items():
            own = mean(run["own"] for run in runs[label])
            told.append(f"{own / linear:.3f}")
            counts[0], counts[1], counts[2] = counts[0] + (own < linear), counts[1] + (own < components), counts[2] + 1
        lines.append(f"| {title} | " + " | ".join(told) + " |")
    if len(lines) == 2:
        return NOTHING
    words = [
        f"On these splits {labels[label]} is below the linear choice on {a} of {of} tables, and below principal "
        f"components on {b}."
        for label, (a, b, of) in below.items()
    ]
    return "\n".join([*lines, "", " ".join(words)])


def refit_table(parts: Parts) -> str:
    """Return how much lower the error of the kernel's features is than that of the linear choice's, under one refit."""
    lines = [
        "| table | k | features in common | kernel refit | network refit | ridge refit |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    wins: dict[int | None, list[int]] = {}
    for few in (*FEW, None):
        stored, wins[few] = by_table(parts, few), [0, 0, 0, 0]
        for name, by_split in stored.items():
            splits = list(by_split.values())
            k = len(splits[0]["kernel"])
            if few is None and k <= 10:
                continue
            changes = []
            for label in ("kernel refit", "network refit", "ridge"):
                changes.append(mean(row[label][1] for row in splits) / mean(row[label][0] for row in splits) - 1)
            common = mean(len({*row["kernel"]} & {*row["linear"]}) for row in splits)
            wins[few][3] += 1
            for i, change in enumerate(changes):
                wins[few][i] += change < -0.005
            cells = [f"{change:+.1%}" if abs(change) > 5e-4 else "0" for change in changes]
            lines.append(f"| {NAMES[name]} | {k} | {common:.1f} | " + " | ".join(cells) + " |")
    words = [
        f"At {f'k = {few}' if few else 'the k of the paper'} they are better by more than half a percent on {a} of "
        f"{of} tables under the kernel refit, and on {b} under the network refit."
        for few, (a, b, _, of) in wins.items()
        if of
    ]
    return "\n".join([*lines, "", " ".join(words)]) if len(lines) > 2 else NOTHING


def planted_table(parts: Parts) -> str:
    """Return in how many planted tables the two features were found."""
    labels = {
        "KernelSubset": "`KernelSubset`",
        "network": "network",
        "annealed": "annealed",
        "ColumnSubset": "`ColumnSubset`",
    }
    lines = ["| table | " + " | ".join(labels.values()) + " |", "|---|" + "---|" * len(labels)]
    for name, (_, answers, _) in PLANTED.items():
        cells = []
        for label in labels:
            runs = rows_of(parts, "planted", name, label)
            hits = sum(set(run["selected"]) in answers for run in runs)
            error, seconds = (np.median([run[what] for run in runs] or [0]) for what in ("error", "seconds"))
            cells.append(f"{hits} of {len(runs)}; {error:.3f}; {seconds:.2g} s" if runs else "-")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) if rows_of(parts, "planted") else NOTHING


def samples_table(parts: Parts) -> str:
    """Return the stability over other samples, and that of networks over seeds."""
    lines = [
        "| table | k = 5 | k = 10 | the paper's k | seeds of the network, the paper's k |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, label in NAMES.items():
        cells = []
        for k in (5, 10, K[name]):
            part = parts.get(f"samples; {name}; {k}")
            cells.append("-" if part is None else " / ".join(f"{of:.2f}" for of in _stabilities(part)))
        runs = rows_of(parts, "network", name, "network", "0")
        m = next((row["shape"][1] for row in rows_of(parts, "tables", name)), None)
        sets = [run["selected"] for run in runs]
        cells.append("-" if len(sets) < 2 or m is None else f"{stability(sets, n_features=m).nogueira:.2f}")
        if set(cells) != {"-"}:
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines) if len(lines) > 2 else NOTHING


def _stabilities(part: Any) -> list[float]:
    """Return Nogueira's stability of what KernelSubset selects from several samples, and of ColumnSubset's choice."""
    return [stability(part[which], n_features=part["n_features"]).nogueira for which in ("kernel", "linear")]


def time_table(parts: Parts) -> str:
    """Return the seconds of one fit at the paper's k."""
    kinds = {"KernelSubset; cpu": "`KernelSubset`", "network; cpu": "network", "network; cuda": "network, H200"}
    lines = ["| table | " + " | ".join(kinds.values()) + " |", "|---|" + "---:|" * len(kinds)]
    for name, label in NAMES.items():
        found = [parts.get(f"time; {name}; {kind}") for kind in kinds]
        if any(found):
            cells = ["-" if part is None else f"{part['seconds']:.1f}" for part in found]
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines) if len(lines) > 2 else NOTHING


def faster(parts: Parts) -> str:
    """Return on how many tables the network takes less time on the GPU; nothing where it was not timed."""
    pairs = [[parts.get(f"time; {name}; network; {device}") for device in ("cuda", "cpu")] for name in NAMES]
    both = [(gpu["seconds"], cpu["seconds"]) for gpu, cpu in pairs if gpu and cpu]
    return (
        f" The network is faster there on {sum(gpu < cpu for gpu, cpu in both)} of {len(both)} tables." if both else ""
    )


def swaps(parts: Parts) -> str:
    """Return how often KernelSubset selects other features than the linear choice at the k of the paper."""
    rows = [row for splits in by_table(parts, None).values() for row in splits.values()]
    if not rows:
        return NOTHING
    changed = sum({*row["kernel"]} != {*row["linear"]} for row in rows)
    return (
        f"At the k of the paper other features than the linear choice were selected in {changed} of {len(rows)} runs."
    )


def page(parts: Parts) -> str:
    """Return docs/nonlinear.md."""
    return f"""# Maps that need not be linear

`KernelSubset` selects the features from which all others are best reconstructed by kernel ridge regression, and
`ScorerSelectorNetwork(k, decoder=(256,))` trains a network from these. `make bench-nonlinear` measures both and makes
this page from `benchmarks/results/nonlinear.json`.

When to use them: where features are functions of others that a straight line does not describe (an angle, a position
on a curve, a sensor that saturates), few features are to be selected, and there are some hundred samples or more. When
not: with many features to select, few samples or nearly linear relations `ColumnSubset` selects as well, in a fraction
of the time, with a lower bound, from streams, sparse and lazy tables; where the *map* matters, `KernelSubset(k,
max_sweeps=0)` keeps the linear choice and fits the kernel map to it. Trying one set of features costs of the order of
(samples that decide, at most 2,000) x (landmarks, 300)², some hundred sets are tried, and the map costs up to 24 times
(samples of the map, at most 8,000)³ / 3. The map is exact kernel ridge regression; leave-one-out errors of training
samples choose its kernel (Gaussian or Laplacian, of the features or of their square roots), its ridges, and whether
distances between samples are measured anew for each group of features, by the selected features that it depends on.

## Own error

The error on test samples of the corrected protocol, each method with its own map: the mean of the training samples;
random features and those of `ColumnSubset` with a ridge regression; as many principal components; `KernelSubset`. Means
over splits. The network with its defaults, and annealed from the published random start, as a fraction of
`ColumnSubset`'s error on the same splits, whose number is in brackets; several seeds of one split count once.
`KernelSubset` and the network are told which samples of Mice Protein are of one mouse. The network adds to a ridge
regression, and is left out where it gains no more than one standard error on held-out samples.

{own_table(parts)}

### On fresh splits

The kernels of the map were designed with the test samples of the first split of MNIST-Fashion in view, and the
network's learning rate and start with those of several tables above. So here are the two splits that nobody had looked
at: the error of the linear choice, and the others as fractions of it.

{fresh_table(parts)}

## The features under one refit

What the features of `KernelSubset` gain on those of `ColumnSubset` when both are refitted by the same rule: the change
of the test error under scikit-learn's `KernelRidge` (Gaussian kernel, width and ridge out of nine by three folds), its
`MLPRegressor` (one hidden layer of 256 units, stopped early with more than 100 samples) and a ridge regression. At most
{ROWS:,} training samples in the first two. Means over splits; below zero the features of `KernelSubset` are better.

{refit_table(parts)}

## Planted tables

Eight features that are functions of two; a swiss roll with its angle, its height and functions of these; sensors of a
turning shaft. Two features are to be selected from 400 samples, and all others follow from the right two. In how many
tables they were found, the median error on another such table (variance 1), and median seconds of one core:

{planted_table(parts)}

## Other samples

`KernelSubset` draws nothing and has no seed: the same samples, in whatever order, give the same features. How far other
samples move them: Nogueira's stability of what it and `ColumnSubset` (second) select from four fifths of the training
samples, drawn five times; 1 if the selections are equal. Beside it the stability of the network over seeds on the same
samples: it starts from the same features whatever its seed.

{samples_table(parts)}

## Time

Seconds of one fit at the k of the paper, without groups: on two cores, and the network on an H200 with 16 cores beside
it. The search from which the network starts computes on the host there too, and the first table also waits for
CUDA.{faster(parts)} -: not measured.

{time_table(parts)}

## What falls short

Leave-one-out errors are too good where samples have near copies, and the kernel then comes out too narrow: tell `fit`
which samples belong together (`groups`), as is done here for the 15 replicates of each mouse of Mice Protein.
{swaps(parts)}
"""
