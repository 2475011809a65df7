"""Compute a run: select, time it, and measure the choice on samples it has not seen."""

from __future__ import annotations

import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

from .. import __version__
from ..base import BaseSelector
from ..datasets import info
from ..experiments import Run
from ..metrics import downstream_accuracy, mean_predictor_error, pca_reconstruction_error, reconstruction_error
from ._faults import crossed_measures, inf_fs_twice_scaled, spec_wrong_end
from ._registry import TASKS
from .methods import (
    ALL_FEATURES,
    EPOCH,
    FAULTY,
    Rows,
    TooManyFeaturesError,
    epoch_times,
    find_method,
    load_rows,
    timed_fit,
)

_PACKAGES = ("numpy", "scipy", "scikit-learn")
_WARNINGS_KEPT = 5
_PUBLISHED_RANKINGS = {"SPEC": spec_wrong_end, "Inf-FS": inf_fs_twice_scaled}


def evaluate(run: Run, data_home: str | None = None) -> dict[str, Any]:
    """Compute a run.

    Parameters
    ----------
    run : Run
        Which.
    data_home : str or None
        Folder of the datasets.

    Returns
    -------
    dict
        ``selected`` (None where nothing is), ``seconds`` to select, ``least_squares``, ``ridge`` and ``accuracy`` on
        the test samples (None where it has no meaning), ``own`` (a network's own test errors by path), ``validation``
        (errors on training samples that the selection did not see, where there are any), ``training`` (a search's own
        error and its lower bound), ``halves``, ``note`` (why nothing could be selected), ``cap``,
        ``converged``, ``settings``, ``warnings``, ``versions``, ``machine``. A task's record holds what the task says,
        and the last three.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        record = TASKS[run.task](run, data_home) if run.task else _measure(run, load_rows(run, data_home))
    texts = dict.fromkeys(f"{item.category.__name__}: {item.message}" for item in caught)
    return record | {
        "cap": run.cap,
        "warnings": list(texts)[:_WARNINGS_KEPT],
        "versions": _versions(),
        "machine": {"cores": os.cpu_count(), "platform": platform.platform(), "threads": 1},
    }


def _measure(run: Run, rows: Rows) -> dict[str, Any]:
    if run.method.endswith(FAULTY):
        return _with_fault(run, rows)
    method = find_method(run.method)
    if method is EPOCH:
        return epoch_times(rows.X_fit, run.k, info(run.dataset).batch_size)
    if method.outside is not None:
        return _outside(method.outside, run, rows)
    if method.selector is None:
        return _reference(run, rows)
    selector, record = timed_fit(method, run, rows.X_fit)
    record |= measures(rows, selector.selected_)
    record["own"] = _own_errors(selector, rows.X_test)
    if hasattr(selector, "lower_bound_"):
        record["training"] = {"error": float(selector.objective_), "lower_bound": float(selector.lower_bound_)}
    if rows.X_valid is not None:
        own = _own_errors(selector, rows.X_valid)
        refitted = reconstruction_error(rows.X_fit, rows.X_valid, selector.selected_)
        record["validation"] = {"own": None if own is None else own["selector"], "least_squares": refitted}
    if method.halves and run.k > 1:
        middle = (run.k + 1) // 2
        upper, lower = selector.selected_[:middle], selector.selected_[middle:]
        record["halves"] = {"upper": measures(rows, upper), "lower": measures(rows, lower)}
    return record


def measures(rows: Rows, selected: np.ndarray) -> dict[str, float]:
    """Return the errors and the accuracy of a set of features."""
    return {
        "least_squares": reconstruction_error(rows.X_train, rows.X_test, selected),
        "ridge": reconstruction_error(rows.X_train, rows.X_test, selected, refit="ridge"),
        "accuracy": downstream_accuracy(rows.X_train, rows.y_train, rows.X_test, rows.y_test, selected),
    }


def _outside(select: Callable[[np.ndarray, int], np.ndarray], run: Run, rows: Rows) -> dict[str, Any]:
    """Measure the choice of another package; where it cannot select as many features, the record says why."""
    start = time.perf_counter()
    try:
        selected = select(rows.X_fit, run.k)
    except TooManyFeaturesError as error:
        return {"selected": None, "note": str(error)}
    seconds = time.perf_counter() - start
    return {"selected": selected.tolist(), "seconds": seconds} | measures(rows, selected)


def _reference(run: Run, rows: Rows) -> dict[str, Any]:
    """Measure a reference that selects nothing; neither error has a refit, so both are the same."""
    error: float | None = None
    accuracy: float | None = None
    start = time.perf_counter()
    if run.method == ALL_FEATURES.name:
        every = np.arange(rows.X_train.shape[1])
        accuracy = downstream_accuracy(rows.X_train, rows.y_train, rows.X_test, rows.y_test, every)
    elif run.method == "PCA, k components":
        error = pca_reconstruction_error(rows.X_train, rows.X_test, run.k)
    else:
        error = mean_predictor_error(rows.X_train, rows.X_test)
        labels, counts = np.unique(rows.y_train, return_counts=True)
        accuracy = float(np.mean(rows.y_test == labels[np.argmax(counts)]))
    seconds = time.perf_counter() - start
    return {"selected": None, "seconds": seconds, "least_squares": error, "ridge": error, "accuracy": accuracy}


def _with_fault(run: Run, rows: Rows) -> dict[str, Any]:
    method = find_method(run.method)
    ranking = _PUBLISHED_RANKINGS.get(method.name, lambda X: method.build(run).fit(X).selected_)
    start = time.perf_counter()
    selected, found = crossed_measures(rows.X_train, rows.y_train, rows.X_test, rows.y_test, run.k, ranking)
    seconds = time.perf_counter() - start
    return {"selected": selected.tolist(), "seconds": seconds, "ridge": None} | found


def _own_errors(selector: BaseSelector, X_test: np.ndarray) -> dict[str, float] | None:
    """Return the test error of a network's own output, by path where it has two."""
    forward = getattr(selector, "forward", None)
    if forward is None:
        return None
    paths = ("selector", "scorer") if type(selector).__name__.startswith("ScorerSelector") else ("selector",)
    outputs = {path: forward(X_test, path) if len(paths) > 1 else forward(X_test) for path in paths}
    return {path: float(np.mean((X_test - output) ** 2)) for path, output in outputs.items()}


def _versions() -> dict[str, str]:
    # What was not loaded had no part in the result.
    loaded = (name for name in ("torch", "fastcan", "linselect") if name in sys.modules)
    found = {name: version(name) for name in (*_PACKAGES, *loaded)}
    return {"stableselect": __version__, "python": platform.python_version(), **found}
