"""Laws of what selectors do before a search: scale, batches, missing values, parts, sketches; and of ``evaluate``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.base import clone
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import stableselect as ss
from stableselect.inspection import evaluate

from .checks import Refused, check_sentence, check_unchanged, expect, fit, fitted_state, must_fit, no_escaping_warnings
from .optima import COUNTED, loss
from .selectors import draw_selector
from .sketches import sketches
from .tables import EXTREME, KINDS, Generator, Table, draw_table
from .trials import Trial, centred, to_rounding

SEARCHING = {"ColumnSubset": ss.ColumnSubset, "ScorerSelector": ss.ScorerSelector}
STREAMING = SEARCHING | {"PivotedQR": ss.PivotedQR, "PFA": ss.PFA, "VarianceScore": ss.VarianceScore}
ORDINARY = tuple(kind for kind in KINDS if kind not in EXTREME)


def drawn(rng: Generator, note: Any, classes: dict[str, type]) -> Trial:
    """Draw a table and a selector, with a ridge that is given: folds follow the values, which these laws change."""
    table = draw_table(rng, ORDINARY)
    trial = Trial(rng, table, draw_selector(rng, table, classes))
    wanted = {"ridge": 0.0, "cv": None, "criterion": "error", "min_stability": None}
    known = trial.selector.get_params(deep=False)
    if trial.setting("ridge") != "auto":
        wanted.pop("ridge")
    if trial.setting("n_features_to_select") == "auto":
        wanted["n_features_to_select"] = 1
    trial.selector.set_params(**{name: value for name, value in wanted.items() if name in known})
    note.kind, note.subject = table.kind, trial.name
    return trial


def told(note: Any, trial: Trial, more: str = "") -> None:
    note.detail = f"{trial.selector!r} on {trial.table}{more}".replace("\n", " ")


def scale(rng: Generator, note: Any) -> None:
    """``scale=`` is a scaler before the selector: same features and loss, and original units afterwards."""
    trial, kind = drawn(rng, note, SEARCHING), str(rng.choice(["standard", "minmax"]))
    told(note, trial, f", scale={kind!r}")
    scaler = StandardScaler() if kind == "standard" else MinMaxScaler()
    X = trial.X.astype(np.float64)
    varies = np.ptp(X, axis=0) > 0
    scaled = np.where(varies, scaler.fit_transform(X), 0.0)
    behind = Trial(rng, Table(trial.table.kind, scaled, trial.table.ties), trial.selector)
    behind.fitted = plain = must_fit("scaled before", trial.selector, scaled)
    own = must_fit(f"scale={kind!r}", clone(trial.selector).set_params(scale=kind), trial.X)
    kept = own.transform(trial.X)
    rebuilt = own.reconstruct(kept)
    expect((rebuilt[:, own.support_] == kept).all(), "reconstruct changed a selected feature")
    expect(np.isfinite(rebuilt).all(), "reconstruct is not finite")
    spread = np.where(varies, X.std(axis=0) if kind == "standard" else np.ptp(X, axis=0), 1.0)
    expect(np.allclose(own.scale_, spread, rtol=1e-6), "scale_ is not what the features are divided by")
    error = float(np.mean(((X - rebuilt) / spread) ** 2))
    total = float(np.mean(centred(scaled) ** 2))
    expect(abs(-own.score(trial.X) - error) <= 1e-7 * total, f"score {-own.score(trial.X):.6g}, error {error:.6g}")
    # Two standardised features have the same loadings.
    if trial.table.ties or X.shape[1] == 2 or behind.determined or not to_rounding(behind) or not behind.clear:
        return
    one, two = set(plain.selected_.tolist()), set(own.selected_.tolist())
    expect(one == two, f"behind a scaler {sorted(one - two)}, with scale= {sorted(two - one)} of {len(one)}")
    gap = abs(plain.objective_ - own.objective_)
    expect(gap <= 1e-7 * total, f"objective_ {own.objective_:.6g}, behind a scaler {plain.objective_:.6g}")


def batches(rng: Generator, note: Any) -> None:
    """``batch=`` moves every batch to the common mean."""
    trial = drawn(rng, note, SEARCHING)
    n = len(trial.X)
    codes = rng.permutation(np.arange(n) % max(1, min(int(rng.integers(1, 5)), n // 2)))
    labels: Any = codes if rng.random() < 0.5 else np.array([f"day {code}" for code in codes])
    told(note, trial, f", {codes.max() + 1} batches")
    X = trial.X.astype(np.float64)
    if n < 2:
        return
    within = X.copy()
    for code in range(codes.max() + 1):
        within[codes == code] += X.mean(axis=0) - X[codes == code].mean(axis=0)
    # A feature that is constant within batches must be so to the last bit.
    size = np.max(np.abs(X), axis=0) + 1e-300
    within = np.where(np.ptp(within, axis=0) > 1e-12 * size, within, within[0])
    own = fit(trial.selector, trial.X, batch=labels)
    expect(own.batches_.tolist() == sorted(set(labels.tolist())), "batches_ are other labels")
    kept = own.transform(trial.X)
    rebuilt = own.reconstruct(kept, batch=labels)
    expect((rebuilt[:, own.support_] == kept).all(), "reconstruct changed a selected feature")
    spread = centred(within)
    left = spread - spread[:, own.support_] @ own.reconstruction_coef_  # by the map, which a ridge shrinks
    rest = ~own.support_
    far = np.abs((X - rebuilt)[:, rest] - left[:, rest]) > 1e-7 * np.max(size)
    expect(not far.any(), "reconstruct does not predict around the mean of the batch")
    for place, label in enumerate(own.batches_.tolist()):
        rows = labels == label
        expect(np.allclose(own.batch_means_[place], X[rows].mean(axis=0), rtol=1e-9, atol=1e-9 * size), "a batch mean")
        total = float(np.sum(spread[rows] ** 2))
        if total > 1e-6 * float(np.sum(size**2)):
            share = 1 - float(np.sum(left[rows] ** 2)) / total
            mine = own.batch_explained_variance_[place]
            expect(abs(share - mine) < 1e-6, f"batch_explained_variance_ {mine:.6g}, by definition {share:.6g}")
    behind = Trial(rng, Table(trial.table.kind, within, trial.table.ties), trial.selector)
    behind.fitted = plain = must_fit("moved before", trial.selector, within)
    few = n <= X.shape[1] + codes.max() + 2  # features are exchangeable where samples do not tell them apart
    if trial.table.ties or few or behind.determined or not to_rounding(behind) or not behind.clear:
        return
    one, two = set(plain.selected_.tolist()), set(own.selected_.tolist())
    expect(one == two, f"moved before {sorted(one - two)}, with batch= {sorted(two - one)} of {len(one)}")
    gap = abs(plain.objective_ - own.objective_)
    expect(gap <= 1e-7 * float(np.mean(spread**2)), f"objective_ {own.objective_:.6g}, moved {plain.objective_:.6g}")


def missing(rng: Generator, note: Any) -> None:
    """``missing="em"`` changes nothing where nothing is missing, and gives no NaN where something is."""
    trial = drawn(rng, note, SEARCHING)
    completing = clone(trial.selector).set_params(missing="em")
    whole = rng.random() < 0.4
    X = trial.X.astype(np.float64)
    gaps = rng.random(X.shape) < (0.0 if whole else rng.choice([0.02, 0.2, 0.6]))
    told(note, trial, f", {gaps.sum()} values missing")
    if whole:
        before = fitted_state(must_fit("complete", trial.selector, X))
        after = fitted_state(must_fit('missing="em"', completing, X))
        for name in ("location_", "covariance_", "em_iterations_"):
            after.pop(name)
        check_unchanged('missing="em" without missing values', before, after)
        return
    X[gaps] = np.nan
    given = X.copy()
    try:
        own = fit(completing, X)
    except Refused as refused:
        empty = np.isnan(X).all(axis=0).any()
        expect(empty or "sample" in str(refused), f"refused: {refused}")
        return
    expect(not np.isnan(X).all(axis=0).any(), "a feature without values was accepted")
    k, wanted = len(own.selected_), trial.setting("n_features_to_select")
    expect(not isinstance(wanted, int) or k == wanted, f"{k} features for {wanted}")
    kept = own.transform(X)
    rebuilt = own.reconstruct(kept)
    seen = ~np.isnan(X[:, own.support_])
    expect(np.isfinite(kept).all() and np.isfinite(rebuilt).all(), "a value is missing afterwards")
    expect((kept[seen] == X[:, own.support_][seen]).all(), "a value that is there was changed")
    expect((rebuilt[:, own.support_] == kept).all(), "reconstruct changed a selected feature")
    expect(np.isfinite(own.score(X)) and np.isfinite(own.scores_).all() and np.isfinite(own.objective_), "not finite")
    expect(np.isfinite(own.reconstruct(X[:, own.support_])).all(), "reconstruct left a value missing")
    expect(np.array_equal(given, X, equal_nan=True), "the table was changed")


def parts(rng: Generator, note: Any) -> None:
    """Read from a list, a generator, an Arrow stream or a Parquet-like dataset, in pieces: as the whole array."""
    trial = drawn(rng, note, STREAMING)
    X = trial.X.astype(np.float64)
    cuts = np.sort(rng.integers(0, len(X) + 1, size=rng.integers(0, 4)))
    blocks = np.split(X, cuts)
    names = [f"f{j}" for j in range(X.shape[1])]
    arrow = [pa.RecordBatch.from_arrays([pa.array(column) for column in block.T], names=names) for block in blocks]
    ways: dict[str, Callable[[], Any]] = {
        "a list": lambda: blocks,
        "a generator": lambda: (block for block in blocks),
        "a list of frames": lambda: [pd.DataFrame(block, columns=names) for block in blocks],
        "an Arrow stream": lambda: pa.RecordBatchReader.from_batches(arrow[0].schema, arrow),
    }
    way = str(rng.choice(list(ways)))
    weights = rng.integers(1, 4, size=len(X)).astype(float) if trial.name in SEARCHING and rng.random() < 0.4 else None
    pieces = rng.random() < 0.6
    told(note, trial, f", {way} of {len(blocks)}{', in pieces' if pieces else ''}")
    weighted = {} if weights is None else {"sample_weight": weights}
    trial.fitted = fit(trial.selector, X, **weighted)
    few, most = ("stableselect._core._streams." + name for name in ("FEWEST", "BLOCK_ELEMENTS"))
    with patch(few, 4 if pieces else 1024), patch(most, 1 if pieces else 2**22):
        given = ways[way]()
        if pieces and trial.name == "VarianceScore" and way in ("a generator", "an Arrow stream"):
            return  # "a stream which can be read only once must fit in one piece"
        other = must_fit(way, trial.selector, given, **weighted)
    if to_rounding(trial):
        trial.same_to_rounding(way, trial.fitted, other)


def sketched(rng: Generator, note: Any) -> None:
    """Selected from a sketch: any k features, but with the exact loss and map of these."""
    trial = drawn(rng, note, {"ColumnSubset": ss.ColumnSubset})
    rows = int(rng.integers(1, 60))
    told(note, trial, f", {rows} rows")
    X = trial.X.astype(np.float64)
    try:
        own = fit(clone(trial.selector).set_params(sketch=rows), X)
    except Refused as refused:
        expect("sketch" in str(refused), f"refused: {refused}")
        return
    expect(own.sketch_size_ == rows, f"sketch_size_ is {own.sketch_size_}")
    expect(not hasattr(own, "lower_bound_"), "a lower bound from a sketch")
    k, wanted = len(set(own.selected_.tolist())), trial.setting("n_features_to_select")
    expect(not isinstance(wanted, int) or k == wanted, f"{k} features for {wanted}")
    include, exclude = trial.setting("include") or [], trial.setting("exclude") or []
    expect(own.support_[include].all() and not own.support_[exclude].any(), "include or exclude does not hold")
    exponent = int(np.frexp(np.max(np.abs(X)))[1])
    A, total = centred(np.ldexp(X, -exponent)), float(np.mean(centred(np.ldexp(X, -exponent)) ** 2))
    objective = own.objective_ * np.ldexp(1.0, -2 * exponent)
    both = [loss(A, own.selected_.tolist(), own.ridge_, (1 + side) * COUNTED) for side in (-0.01, 0.01)]
    mine, rounding = min(both, key=lambda one: abs(one[0] - objective))
    expect(abs(mine - objective) <= 1e-8 * total + rounding, f"objective_ {objective:.6g}, by definition {mine:.6g}")


def judged(rng: Generator, note: Any) -> None:
    """``evaluate`` says the same of a panel by index, mask and name, and in another unit."""
    table = draw_table(rng, ORDINARY)
    X, m = table.X.astype(np.float64), table.X.shape[1]
    note.kind, note.subject = table.kind, "evaluate"
    chosen = np.sort(rng.permutation(m)[: rng.integers(1, max(2, m))])
    given = {"n_random": 4, "n_permutations": int(rng.choice([0, 2])), "n_neighbors": int(rng.integers(1, 12))}
    given["cv"] = int(rng.integers(2, 6))
    labels = rng.integers(0, 2, size=len(X)) if rng.random() < 0.1 else None
    note.detail = f"{chosen.tolist()} of {table}, {given}"
    before = X.copy()
    try:
        with no_escaping_warnings():
            found = evaluate(chosen, X, y=labels, **given)
    except Exception as error:
        raise Refused(check_sentence(error)) from error
    expect((before == X).all(), "the table was changed")
    rows = {row.name: row.explained_variance for row in found.comparison}
    expect(np.isfinite(list(rows.values())).all() and max(rows.values()) <= 1 + 1e-9, f"explained variances {rows}")
    expect(0 <= found.n_beaten <= found.random.size and np.isfinite(found.random).all(), "random panels")
    expect(found.panel == chosen.tolist(), "another panel")
    expect(str(found).replace("\n", "").isprintable() and "nan%" not in str(found), f"the summary says {found}")
    way = int(rng.integers(3))
    mask, names = np.isin(np.arange(m), chosen), [f"f{j}" for j in range(m)]
    power = int(rng.integers(-60, 60))
    with no_escaping_warnings():
        if way == 0:
            other = evaluate(mask, X, y=labels, **given)
        elif way == 1:
            other = evaluate([names[j] for j in chosen], pd.DataFrame(X, columns=names), y=labels, **given)
        else:
            other = evaluate(chosen, np.ldexp(X, power), y=labels, **given)
    what = ("a mask", "names", f"times 2^{power}")[way]
    for row in other.comparison:
        if way == 2 and row.name == "selected":  # with a ridge from folds, which follow the samples' values
            continue
        gap = abs(row.explained_variance - rows[row.name])
        expect(gap <= 1e-9, f"{what}: {row.name} explains {row.explained_variance:.9g}, not {rows[row.name]:.9g}")


PREPARING: dict[str, tuple[Callable[[Generator, Any], None], float]] = {
    "scale": (scale, 2),
    "batches": (batches, 2),
    "missing": (missing, 2),
    "parts": (parts, 2),
    "sketches": (sketches, 1),
    "sketched": (sketched, 1),
    "evaluate": (judged, 0.5),
}
"""By name: the law, and how often to draw it."""


def preparing_case(rng: Generator, note: Any) -> None:
    """Draw one of the laws, and hold it."""
    odds = np.array([often for _, often in PREPARING.values()])
    note.law = str(rng.choice(list(PREPARING), p=odds / odds.sum()))
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    PREPARING[note.law][0](rng, note)
    expect((state == np.random.get_state()[1]).all(), "the global random state was changed")  # noqa: NPY002
