"""The numbers a selector is fitted to: rows held in memory, or moments gathered from a table read piece by piece.

Columns are scaled here, and maps between scaled columns become maps between columns as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from .._core import (
    Batches,
    Moments,
    Room,
    SketchedMoments,
    add_to_folds,
    memory_limit,
    merged,
    read_batches,
    sketch_size,
)
from ..base import StreamingSelector, steps
from ..io import NotFiniteError, TableError, TableParts, listed, numeric_matrix, quoted
from ..subset import FEWEST_STABILITY_FOLDS, STABILITY_FOLDS
from ._prepare import Prepared, RequestError, Scaling, SelectionRequest
from ._sample import RowSample
from ._together import N_FOLDS, Together, rows_together

_SAMPLE_VALUES = 1 << 24
_SAMPLE_ROWS = 20_000
"""Held-out errors of a table that is not held in memory are those of a random sample of at most so many rows."""


class AnyRangeScaler(MinMaxScaler):
    """MinMaxScaler that also scales columns whose range is below 2e-15, which scikit-learn takes for constants."""

    def fit(self, X: np.ndarray, y: None = None) -> Self:
        """Learn minima and ranges."""
        super().fit(X)
        span = np.where(self.data_range_ > 0, self.data_range_, 1.0)
        self.scale_, self.min_ = 1 / span, -self.data_min_ / span
        return self


Scaler: TypeAlias = "StandardScaler | AnyRangeScaler | None"


def fitted_scaler(scaling: Scaling, X: np.ndarray) -> Scaler:
    """Return the scaler fitted to X, which will scale in place; None for "none"."""
    if scaling == "none":
        return None
    scaler = StandardScaler(copy=False) if scaling == "standard" else AnyRangeScaler(copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        scaler.fit(X)
    learnt = (scaler.data_range_,) if isinstance(scaler, MinMaxScaler) else (scaler.mean_, scaler.var_)
    if not all(np.isfinite(part).all() for part in learnt):
        raise TableError("Some columns hold values too large to scale; express them in another unit first.")
    return scaler


def unscale_map(
    scaler: Scaler, coefficients: np.ndarray, intercept: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Express a map from the scaled selected columns to all scaled columns in the original units.

    With u = s x + t and u_j = sum_i W_ij u_i + b_j, the original columns obey
    x_j = sum_i (W_ij s_i / s_j) x_i + (b_j + sum_i W_ij t_i - t_j) / s_j.
    """
    if scaler is None:
        return coefficients, intercept
    s, t = affine(scaler)
    return coefficients * s[kept, None] / s, (intercept + t[kept] @ coefficients - t) / s


def affine(scaler: StandardScaler | AnyRangeScaler) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and shift of every column."""
    if isinstance(scaler, MinMaxScaler):
        return scaler.scale_, scaler.min_
    return 1 / scaler.scale_, -scaler.mean_ / scaler.scale_


@dataclass(frozen=True)
class Numbers:
    """What a selector is fitted to.

    Attributes
    ----------
    rows : int
        Number of rows of the table.
    sample : ndarray of shape (n, m)
        Rows to measure errors on, not scaled: all of them, or a random sample.
    scaler : transformer or None
        Fitted to all rows; it scales in place.
    moments : list of Moments or None
        Scaled moments of the folds, where the table is not held.
    notes : list of str
        What the person should know of it.
    together : Together
        Which rows of the sample belong together.
    batches : Batches or None
        The batches that the moments are within, scaled.
    """

    rows: int
    sample: np.ndarray
    scaler: Scaler
    moments: list[Moments] | None
    notes: list[str]
    together: Together
    batches: Batches | None = None

    def fit(self, selector: Any) -> Any:
        """Fit the selector; return what it needs to explain itself. The rows held are scaled in place."""
        if self.moments is not None:
            selector.fit_moments(self.moments)
            if self.batches is not None:
                selector._keep_batches(self.batches)
            return None
        X = self.scaled_sample()
        known = {"groups": self.together.groups if _keeps_groups(selector) else None, "batch": self.together.batch}
        selector.fit(X, **{name: given for name, given in known.items() if given is not None})
        return X

    def in_units(self, scaled: np.ndarray | None, columns: np.ndarray) -> np.ndarray:
        """Return columns of the sample in the table's units; ``scaled`` is what :meth:`fit` returned."""
        if scaled is None or self.scaler is None:
            return self.sample[:, columns]
        slope, shift = affine(self.scaler)
        return (scaled[:, columns] - shift[columns]) / slope[columns]

    def scaled_sample(self) -> np.ndarray:
        """Return the rows held, scaled in place where the selector is fitted to them: once only."""
        if self.scaler is None:
            return self.sample
        return self.scaler.transform(self.sample if self.moments is None else self.sample.copy())


def numbers_of(asked: Prepared, request: SelectionRequest) -> Numbers:
    """Read what the selector needs, in one pass over the table."""
    table, selector, notes = asked.table, asked.selector, []
    completes = request.completes
    if isinstance(table, TableParts):
        sketched = _sketch_rows(asked, request)
        if isinstance(selector, StreamingSelector) and (sketched or selector._moments_folds() is not None):
            return _gathered(table, asked, request, sketched)
        who = f"{asked.method} with missing values" if completes else asked.method
        table = _held(table, asked, who, completes)
        notes = [f"{who} needs all rows at once, so the whole table was read into memory."]
    X = numeric_matrix(table, asked.features, missing=completes)
    if completes:
        notes += _missing_notes(X, asked.features)
    together = Together()
    if request.aside:
        together = rows_together(asked.table, request, _fewest_groups(request))
        hold_together(selector, together, request)
    return Numbers(X.shape[0], X, fitted_scaler(request.scale, _within(X, together.batch)), None, notes, together)


def _fewest_groups(request: SelectionRequest) -> int:
    if request.time_column is not None:
        return STABILITY_FOLDS if request.asks_for_stability else N_FOLDS
    return FEWEST_STABILITY_FOLDS if request.asks_for_stability else 2


def hold_together(selector: Any, together: Together, request: SelectionRequest, most: int = STABILITY_FOLDS) -> None:
    """Let a selector that chooses by held-out error hold out what belongs together, in ``most`` folds at most."""
    by_cv = hasattr(selector, "_keeps_groups") and hasattr(selector, "cv")  # else it is told the groups
    if together.groups is not None and by_cv and most > 1:
        stable = request.asks_for_stability
        # Stability is measured on parts that hold every row once.
        n_folds = min(most, STABILITY_FOLDS if stable else N_FOLDS)
        selector.set_params(cv=together.splitter(n_folds, gaps=not stable))


def _keeps_groups(selector: Any) -> bool:
    return bool(getattr(selector, "_keeps_groups", bool)())


def _within(X: np.ndarray, batch: np.ndarray | None) -> np.ndarray:
    """Return a table with every batch moved to the mean of all rows."""
    if batch is None:
        return X
    moved = X.copy()
    for label in np.unique(batch):
        moved[batch == label] += X.mean(axis=0) - X[batch == label].mean(axis=0)
    return moved


def _missing_notes(X: np.ndarray, names: list[str]) -> list[str]:
    gaps = np.isnan(X).mean(axis=0)
    if empty := [name for name, share in zip(names, gaps, strict=True) if share == 1]:
        raise NotFiniteError(f"{listed(empty)} has no values at all.")
    worst = int(np.argmax(gaps))
    if not gaps[worst]:
        return ["No value is missing, so nothing was filled in."]
    most = f"most in {quoted(names[worst])} ({gaps[worst]:.1%})"
    return [f"Missing: {gaps.mean():.1%} of the values, {most}; a Gaussian model stands in for them."]


def _held(table: TableParts, asked: Prepared, who: str, completes: bool) -> Any:
    """Return the columns of a table in memory; raise if they would take too much of it."""
    needed, limit = (6 if completes else 3) * 8.0 * table.count_values(), 2 * memory_limit()
    if needed > limit:
        advice = "fill them in first" if completes else "use ColumnSubset, which reads a table piece by piece"
        raise RequestError(
            "missing" if completes else "method",
            f"{who} needs all rows at once, about {needed / 2**30:.1f} GiB of the {limit / 2**30:.1f} there are; "
            f"{advice}, or give fewer rows.",
        )
    return table.take(asked.features)


def _sketch_rows(asked: Prepared, request: SelectionRequest) -> int:
    """Return the number of rows of the sketch to gather instead of exact moments; 0 for exact ones."""
    asked_for = getattr(asked.selector, "sketch", False)
    completes = request.completes
    exact = completes or request.batch is not None
    if exact and asked_for not in (False, "auto"):
        why = "needs complete rows; fill them in first, or" if completes else "cannot be divided into batches;"
        raise RequestError("sketch", f"{why} leave it out.")
    if asked_for == "auto":
        m, folds = len(asked.features), asked.selector._folds_needed()
        fits = 8.0 * m * m * (4 * folds + 3) <= 1.5 * memory_limit()
        exact = exact or asked.k is None or request.asks_for_stability or request.conditions is not None
        return 0 if fits or exact else sketch_size(asked.k or 0)
    return int(asked_for)


def _gathered(table: TableParts, asked: Prepared, request: SelectionRequest, sketched: int) -> Numbers:
    """Return the moments of a table, by folds where the selector needs them, and a random sample of its rows."""
    selector, m = asked.selector, len(asked.features)
    n_folds = 1 if sketched else max(1, selector._moments_folds())
    folds: list[Moments] = [SketchedMoments(sketched)] if sketched else [Moments() for _ in range(n_folds)]
    sample = RowSample(max(1, min(_SAMPLE_ROWS, _SAMPLE_VALUES // m)), request.seed)
    together = rows_together(table, request, _fewest_groups(request))
    own, batches = together.folds(n_folds) if n_folds > 1 else None, None
    with steps("blocks") as advance:

        def drawn_from() -> Iterator[tuple[Any, None]]:
            for block in table.blocks(asked.features):
                yield block, None
                sample.add(block)
                advance()

        if together.batch is not None:
            batches = read_batches(drawn_from(), together.batch, n_folds, own)
            folds = batches.folds
        elif sketched:
            for block, _ in drawn_from():
                folds[0].update(block)
        else:
            start, room = 0, Room()
            for block, _ in drawn_from():
                add_to_folds(folds, block, None, room, None if own is None else own[start : start + block.shape[0]])
                start += block.shape[0]
    filled = [fold for fold in folds if fold.n_samples]
    total = filled[0] if len(filled) == 1 else merged(filled)
    kind = None if request.scale == "none" else request.scale
    drawn, scaler = sample.rows, _scaler_of(total, request)
    notes = [f"Read piece by piece: {total.n_samples} rows were gathered as moments and never held together."]
    if sketched:
        notes.append("The map that reconstructs columns is estimated from the sketch too.")
    if total.n_samples > len(drawn):
        notes.append(f"Errors on held-out rows are those of a random sample of {len(drawn)} rows.")
    if batches is not None and kind:
        slope, shift = affine(scaler)
        of_batches = [part.scale(kind, like=total) for part in batches.moments]
        means, mean = (slope * given + shift for given in (batches.means, batches.mean))
        batches = replace(batches, moments=of_batches, means=means, mean=mean)
    return Numbers(
        rows=total.n_samples,
        sample=drawn,
        scaler=scaler,
        moments=[fold.scale(kind, like=total) for fold in folds] if kind else folds,
        notes=notes,
        together=together.take(sample.numbers),
        batches=batches,
    )


def _scaler_of(total: Moments, request: SelectionRequest) -> Scaler:
    """Return the scaler that a pass over all rows would have fitted."""
    if request.scale == "none":
        return None
    low, high = total.minimum, total.maximum
    with np.errstate(over="ignore", invalid="ignore"):
        spread = high - low if request.scale == "minmax" else np.sqrt(total.variance)
    if not np.isfinite(spread).all():
        raise TableError("Some columns hold values too large to scale; express them in another unit first.")
    spread = np.where((high > low) & (spread > 0), spread, 1.0)
    if request.scale == "minmax":
        scaler: MinMaxScaler = AnyRangeScaler(copy=False)
        scaler.scale_, scaler.min_ = 1 / spread, -low / spread
        return scaler
    standard = StandardScaler(copy=False)
    standard.mean_, standard.scale_ = total.mean, spread
    return standard
