"""Laws of selectors about what must not matter: order, form, weights as repeats, unit, saving, blocks."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import stableselect as ss
from stableselect.base import ScoreSelector

from .checks import check_same, check_unchanged, expect, fit, fitted_state, must_fit, no_escaping_warnings
from .tables import factors
from .trials import Trial, to_rounding


def row_order(trial: Trial) -> None:
    """Samples in another order."""
    order = trial.rng.permutation(len(trial.X))
    trial.same("other row order", must_fit("other row order", trial.selector, trial.X[order]))


def column_order(trial: Trial) -> None:
    """Features in another order."""
    order = trial.rng.permutation(trial.X.shape[1])
    place = np.argsort(order)
    moved = clone(trial.selector)
    for name in ("include", "exclude"):
        if trial.setting(name):
            moved.set_params(**{name: place[trial.setting(name)].tolist()})
    other = must_fit("columns", moved, trial.X[:, order])
    if isinstance(trial.selector, ScoreSelector) and tied(trial):  # "Exact ties go to the lowest index"
        return
    trial.same("other column order", other, order, scores=trial.clear)


def tied(trial: Trial) -> bool:
    """Tell whether a discarded feature scores as high as one that is not selected for being included."""
    scores, support = trial.fitted.scores_, trial.fitted.support_
    earned = np.setdiff1d(trial.fitted.selected_, trial.setting("include") or [])
    allowed = np.setdiff1d(np.flatnonzero(~support), trial.setting("exclude") or [])
    least, most = scores[earned].min(initial=np.inf), scores[allowed].max(initial=-np.inf)
    return bool(most >= least - 1e-9 * abs(least)) if earned.size else False


def form(trial: Trial) -> None:
    """The same table in another container or layout of memory."""
    X, names = trial.X, [f"f{j}" for j in range(trial.X.shape[1])]
    double, frozen = X.astype(np.float64), X.copy()
    frozen.flags.writeable = False
    forms: dict[str, Callable[[], Any]] = {
        "Fortran order": lambda: np.asfortranarray(X),
        "every second column": lambda: np.repeat(X, 2, axis=1)[:, ::2],
        "reversed strides": lambda: X[::-1].copy()[::-1],
        "read-only": lambda: frozen,
        "other byte order": lambda: X.astype(X.dtype.newbyteorder(">")),
        "double precision": lambda: double,
        "pandas": lambda: pd.DataFrame(X, columns=names),
        "polars": lambda: pl.DataFrame(double, schema=names, orient="row"),  # which it guesses where n = m
        "lists": double.tolist,
        **({"a tensor": lambda: import_module("torch").asarray(double)} if find_spec("torch") else {}),
        **{kind: lambda kind=kind: sparse.coo_array(double).asformat(kind) for kind in ("csr", "csc", "coo")},
    }
    what = str(trial.rng.choice(list(forms)))
    other = must_fit(what, trial.selector, forms[what]())
    trial.same(what, other)
    if what in ("pandas", "polars"):
        kept = [names[j] for j in sorted(other.selected_)]
        expect(list(other.get_feature_names_out()) == kept, f"{what}: other names than {kept}")


def threads(trial: Trial) -> None:
    """Two threads instead of one, on a table large enough for both."""
    X = factors(trial.rng, 300, 40)
    found = []
    for count in (1, 2):
        with threadpool_limits(count):
            found.append(fit(trial.selector, X))
    check_same("two threads", *found)


def weights_as_repeats(trial: Trial) -> None:
    """A weight of 2 is a sample listed twice."""
    counts = trial.rng.integers(0, 4, size=len(trial.X))
    counts[trial.rng.integers(len(counts))] = 1
    if 2 * np.count_nonzero(counts) <= trial.X.shape[1] < 2 * counts.sum():  # "Few samples" (promises.md)
        return
    weights, X = counts.astype(float), trial.X.copy()
    weighted = fit(trial.selector, X, sample_weight=weights)
    expect((weights == counts).all() and (X == trial.X).all(), "the weights or the table were changed")
    table = replace(trial.table, X=np.repeat(X, counts, axis=0))
    repeated = replace(trial, table=table, fitted=must_fit("repeats", trial.selector, table.X))
    if to_rounding(repeated):  # repeats may make components of equal variance
        repeated.same_to_rounding("weights as repeats", repeated.fitted, weighted)


def unit(trial: Trial) -> None:
    """The whole table in another unit; powers of two are exact."""
    power = int(trial.rng.integers(-250, 250))
    other = must_fit(f"times 2^{power}", trial.selector, np.ldexp(trial.X.astype(np.float64), power))
    one, two = set(trial.fitted.selected_.tolist()), set(other.selected_.tolist())
    expect(one == two, f"times 2^{power}: features {sorted(one - two)} became {sorted(two - one)} of {len(one)}")


def refit(trial: Trial) -> None:
    """Fitted to another table in between."""
    selector = clone(trial.fitted)
    other = factors(trial.rng, 30, trial.X.shape[1])
    with no_escaping_warnings():
        selector.fit(other)
        selector.fit(trial.X)
    check_unchanged("fitted again", fitted_state(trial.fitted), fitted_state(selector))


def saved(trial: Trial) -> None:
    """Saved and loaded again."""
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        one, two = Path(folder, "one.sselect"), Path(folder, "two.sselect")
        ss.save(trial.fitted, one)
        loaded = ss.load(one)
        ss.save(loaded, two)
        expect(one.read_bytes() == two.read_bytes(), "saved again, the file differs")
    expect(vars(loaded).keys() == vars(trial.fitted).keys(), "loaded with other attributes")
    kept = loaded.transform(trial.X)
    expect((kept == trial.fitted.transform(trial.X)).all(), "transform differs after loading")
    expect((loaded.reconstruct(kept) == trial.fitted.reconstruct(kept)).all(), "reconstruct differs after loading")


def explained(trial: Trial) -> None:
    """The explanation is about the features selected."""
    explanation = trial.fitted.explain(trial.X)
    expect([kept.feature for kept in explanation.selected] == trial.fitted.selected_.tolist(), "other features")
    for lost in explanation.discarded:
        expect(np.isnan(lost.r2) or lost.r2 <= 1 + 1e-9, f"R2 of {lost.r2}")  # NaN for a constant feature


def partial_fits(trial: Trial) -> None:
    """Streamed in random blocks, against the moments of the whole table."""
    cuts = np.sort(trial.rng.integers(0, len(trial.X) + 1, size=trial.rng.integers(0, 4)))
    blocks = [block for block in np.split(trial.X[trial.rng.permutation(len(trial.X))], cuts) if len(block)]
    streamed = clone(trial.selector)
    with no_escaping_warnings():
        for block in blocks:
            streamed.partial_fit(block)
        whole = clone(trial.selector).fit_moments(ss.Moments.from_array(trial.X))
    trial.same_to_rounding(f"{len(blocks)} blocks", whole, streamed)
