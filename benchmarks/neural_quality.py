"""Quality of the networks on eight tables: their own error, refits, accuracy, and how far a new seed moves the columns.

The splits, scaling and k of ``core_quality``, two splits and two seeds; the published settings of AEFS, AgnoS-S and CAE
once a table, on the published split, with the number of steps capped. Every cell is one selection; finished cells are
not computed again, and cells run in parallel, one thread each.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

import core_quality
from _data import BATCH, COLUMNS, FOLDER, random_split
from _store import Store
from stableselect import AEFS, CAE, AgnoSS, BaseSelector, ScorerSelector, datasets
from stableselect.metrics import downstream_accuracy, reconstruction_error, stability

SPLITS, SEEDS = 2, 2
REFERENCES = ("mean", "random", "ColumnSubset default", "floor")

METHODS: dict[str, Callable[[str, int, int], BaseSelector]] = {
    "published": lambda name, k, seed: ScorerSelector.published(k, batch_size=BATCH[name], random_state=seed),
    "annealed": lambda name, k, seed: ScorerSelector(k, solver="full_batch", anneal=True, random_state=seed),
    "nonlinear": lambda name, k, seed: ScorerSelector(k, solver="minibatch", decoder=(256,), random_state=seed),
    "nonlinear from search": lambda name, k, seed: ScorerSelector(
        k, solver="minibatch", decoder=(256,), init="search", random_state=seed
    ),
    "AEFS": lambda name, k, seed: AEFS(k, random_state=seed),
    "AgnoSS": lambda name, k, seed: AgnoSS(k, random_state=seed),
    "CAE": lambda name, k, seed: CAE(k, random_state=seed),
}
OWN = ("published", "annealed", "nonlinear", "nonlinear from search")
"""Methods whose network rebuilds the table from the kept columns alone."""

PUBLISHED = {"AEFS": AEFS, "AgnoSS": AgnoSS, "CAE": CAE}
PUBLISHED_EPOCHS = 1000
STEP_CAP = 60_000
"""Steps of a fit with published settings at most; fewer on wide tables, whose steps cost more."""


def capped_epochs(method: str, n: int, m: int, batch_size: int) -> int:
    """Return the published number of epochs, or as many as the cap on steps allows."""
    steps_an_epoch = -(-n // batch_size)
    cap = STEP_CAP if m < 2000 else STEP_CAP // (10 if method == "CAE" else 4)
    return max(1, min(PUBLISHED_EPOCHS, cap // steps_an_epoch))


def published_batch(method: str, name: str, n: int) -> int:
    """Return the published batch size."""
    return {"AEFS": 8, "AgnoSS": BATCH[name], "CAE": max(n // 256, 16)}[method]


def measure(selector: BaseSelector, parts: tuple[np.ndarray, ...], own: bool) -> dict[str, Any]:
    """Return every measure of a fitted selector."""
    X_train, y_train, X_test, y_test = parts
    selected = selector.selected_
    result = {
        "selected": selected.tolist(),
        "least_squares": reconstruction_error(X_train, X_test, selected),
        "ridge": reconstruction_error(X_train, X_test, selected, refit="ridge"),
        "accuracy": downstream_accuracy(X_train, y_train, X_test, y_test, selected),
        "converged": bool(getattr(selector, "converged_", True)),
        "epochs": int(selector.n_epochs_),
    }
    if own:
        result["own"] = float(np.mean((selector.reconstruct(selector.transform(X_test)) - X_test) ** 2))
    return result


def cell(name: str, split: int, seed: int, method: str) -> dict[str, Any]:
    """Fit one method on one split with one seed and measure it."""
    parts = random_split(name, split)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the record says so
        selector = METHODS[method](name, COLUMNS[name], seed).fit(parts[0])
    return {"seconds": time.perf_counter() - start} | measure(selector, parts, method in OWN)


def published_cell(name: str, method: str) -> dict[str, Any]:
    """Fit a baseline with its published settings on the published split, its steps capped."""
    split = datasets.load(name, protocol="paper", data_home=FOLDER).split("published")
    training = np.vstack([split.X_train, split.X_valid])
    labels = np.concatenate([split.y_train, split.y_valid])
    X_fit = split.X_train if method == "AgnoSS" else training
    n, m = X_fit.shape
    batch_size = published_batch(method, name, n)
    epochs = capped_epochs(method, n, m, batch_size)
    selector = PUBLISHED[method].published(COLUMNS[name], epochs=epochs, batch_size=batch_size, random_state=0)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        selector.fit(X_fit)
    seconds = time.perf_counter() - start
    result = measure(selector, (training, labels, split.X_test, split.y_test), False)
    return result | {"seconds": seconds, "epochs_cap": epochs, "steps": epochs * -(-n // batch_size)}


def missing() -> list[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """Return key, function and arguments of every cell that is not there yet, quick tables first."""
    wanted: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = []
    for name in COLUMNS:
        for split in range(SPLITS):
            for method in METHODS:
                for seed in range(SEEDS):
                    wanted.append((f"{name} | {method} | {split} | {seed}", cell, (name, split, seed, method)))
        for method in PUBLISHED:
            wanted.append((f"{name} | {method} published", published_cell, (name, method)))
    done = Store("neural_quality").content["parts"]
    return [item for item in wanted if item[0] not in done]


def run(jobs: int = 2) -> None:
    """Compute every missing cell, ``jobs`` at a time; the store is written here alone, as each cell ends."""
    core = Store("core_quality")
    for name in COLUMNS:
        for split in range(SPLITS):
            for method in REFERENCES:
                core.part(f"{name} | {method} | {split}", lambda n=name, s=split, m=method: core_quality.cell(n, s, m))
    store, work = Store("neural_quality"), missing()

    def compute(key: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[str, Any]:
        return key, function(*arguments)

    results = Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(compute)(*item) for item in work)
    for number, (key, value) in enumerate(results, 1):
        store.part(key, lambda value=value: value)
        print(f"neural quality: {number} of {len(work)}: {key}, {value['seconds']:.1f} s", flush=True)


def values(name: str, method: str, measured: str) -> list[float]:
    """Return a measure of every cell of a method on a table."""
    if method in REFERENCES:
        parts = Store("core_quality").content["parts"]
        key = "least_squares" if method in ("mean", "floor") and measured in ("ridge", "own") else measured
        found = [parts.get(f"{name} | {method} | {split}", {}).get(key) for split in range(SPLITS)]
    else:
        parts = Store("neural_quality").content["parts"]
        cells = [f"{name} | {method} | {split} | {seed}" for split in range(SPLITS) for seed in range(SEEDS)]
        found = [parts.get(cell, {}).get(measured) for cell in cells]
    return [value for value in found if value is not None]


def text(found: list[float], measured: str) -> str:
    """Format the mean of a measure."""
    if not found:
        return "-"
    value = float(np.mean(found))
    if measured == "accuracy":
        return f"{100 * value:.1f}"
    return f"{value:.1f}" if measured == "seconds" else f"{value:.4f}" if value < 1 else f"{value:.3g}"


def table(measured: str) -> str:
    """Return a Markdown table of one measure, mean over splits and seeds."""
    methods = [*REFERENCES[:2], *METHODS, *REFERENCES[2:]]
    if measured == "own":
        methods = ["mean", *OWN, "floor"]
    lines = ["| table, k | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for name, k in COLUMNS.items():
        cells = [text(values(name, method, measured), measured) for method in methods]
        lines.append(f"| {name}, {k} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def machine() -> str:
    """Say what the cells were computed with."""
    found = Store("neural_quality").content.get("versions", {})
    return f"Computed on a machine with {found.get('cores')} cores, one thread a cell, all cores in use."


def seed_stability() -> str:
    """Return Nogueira's stability of the columns over the seeds, the rows held fixed, mean over the splits."""
    parts = Store("neural_quality").content["parts"]
    lines = ["| table, k | " + " | ".join(METHODS) + " |", "|---" * (len(METHODS) + 1) + "|"]
    for name, k in COLUMNS.items():
        m = datasets.info(name).n_columns
        row = []
        for method in METHODS:
            found = []
            for split in range(SPLITS):
                cells = [parts.get(f"{name} | {method} | {split} | {seed}") for seed in range(SEEDS)]
                if None not in cells:
                    masks = np.array([np.isin(np.arange(m), cell["selected"]) for cell in cells])
                    found.append(stability(masks).nogueira)
            row.append(f"{np.mean(found):.2f}" if found else "-")
        lines.append(f"| {name}, {k} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def published_table() -> str:
    """Return the baselines with published settings on the published split, with the cap on their epochs."""
    parts = Store("neural_quality").content["parts"]
    lines = [
        "| table, k | method | epochs (published 1000) | steps | least squares | ridge | accuracy, % | converged | s |",
        "|---" * 9 + "|",
    ]
    for name, k in COLUMNS.items():
        for method in PUBLISHED:
            part = parts.get(f"{name} | {method} published")
            if part is None:
                lines.append(f"| {name}, {k} | {method} |" + " - |" * 7)
                continue
            errors = " | ".join(text([part[key]], key) for key in ("least_squares", "ridge", "accuracy"))
            converged = "yes" if part["converged"] else "no"
            lines.append(
                f"| {name}, {k} | {method} | {part['epochs_cap']} | {part['steps']} | {errors} | {converged} | "
                f"{part['seconds']:.0f} |"
            )
    return "\n".join(lines)


def below_floor() -> str:
    """Say on which tables a network that is not linear lies below the error of k principal components."""
    lines = []
    for method in ("nonlinear", "nonlinear from search"):
        below = []
        for name in COLUMNS:
            own, floor = values(name, method, "own"), values(name, "floor", "own")
            if own and floor and np.mean(own) < np.mean(floor):
                below.append(f"{name} ({np.mean(own):.4f} against {np.mean(floor):.4f})")
        lines.append(f"- {method}: {len(below)} of {len(COLUMNS)} tables{': ' if below else ''}{'; '.join(below)}.")
    return "\n".join(lines)


def losses() -> str:
    """Say for every method on how many tables its columns lose to random ones (ridge refit)."""
    lines = []
    for method in METHODS:
        worse = [
            f"{name} ({text(ours, 'ridge')} against {text(random, 'ridge')})"
            for name in COLUMNS
            if (ours := values(name, method, "ridge"))
            and (random := values(name, "random", "ridge"))
            and np.mean(ours) > np.mean(random)
        ]
        lines.append(f"- {method} loses to random on {len(worse)} tables{': ' if worse else ''}{'; '.join(worse)}.")
    return "\n".join(lines)


def summary() -> str:
    """Return the README's lines on the networks."""
    return "\n".join(
        [
            "The networks, same measure (ridge refit):",
            "",
            table("ridge"),
            "",
            "Their own error on test rows, from the kept columns alone:",
            "",
            table("own"),
            "",
            "Tables on which the network that is not linear does better than k principal components:",
            below_floor(),
        ]
    )
