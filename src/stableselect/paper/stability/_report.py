"""Stability and error of every registered method, samples, seed and both varied: tables and what they show."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ...datasets import info
from ...experiments import Interval, Value, geometric_mean
from ...metrics import Stability
from .._report import NONE, Document, Line, Table, experiment, interval, number, prose
from ..methods import NO_RIDGE, NOT_RUN, STABLE, Options, Results
from ._found import Found, far_off, find, paired, twin_words
from ._plan import RANDOM, SEEDLESS, THRESHOLD, is_seeded, limit_words, methods, runs, takes_seed
from ._plots import draw_against_error, draw_rows_and_seed

_BASELINES = {NO_RIDGE: "ridge 0", "ColumnSubset": "the default"}
"""What criterion="stability" is compared with; the default chooses its ridge by held-out error."""
_FLATTERED = 0.1
"""Fall of stability, once the seed varies too, that is worth a word."""


@experiment("stability", "Stability and error of every method", runs)
def stability(page: Document, results: Results) -> None:
    """Show how stable every method is with samples, seed and both varied, and its error."""
    found, fast = find(results), results.mode == "fast"
    page.add(prose("stability.introduction", threshold=THRESHOLD))
    wanted = dict.fromkeys(run.dataset for run in runs("corrected", Options(fast=fast)))
    if absent := [f"{info(name).title} ({results.reason(name)})" for name in wanted if name not in found]:
        page.add(f"Datasets without a run: {', '.join(absent)}.")
    if not found:
        return
    page.add(_summary(found, fast=fast), *_reading(found))
    draw_against_error(page, found)
    draw_rows_and_seed(page, found)
    page.add(*(table for baseline in _BASELINES if (table := _asked_for(found, baseline)).rows))
    page.add(*(_table(dataset, items, fast=fast) for dataset, items in found.items()))
    page.data = _data(found)


def _table(dataset: str, items: list[Found], *, fast: bool) -> Table:
    header = ["method", "runs", "samples", "interchangeable", "seed", "both", "error", "to random", "seconds"]
    rows = [
        [
            item.method,
            NONE if item.rows is None else str(item.rows.n_runs),
            (_interval(item.rows) if item.rows else _why(item)) + (" *" if item.method == RANDOM else ""),
            NONE if item.alike is None else f"{item.alike:.2f}",
            _interval(item.seed) if takes_seed(item.method) else "no seed",
            _interval(item.both) if is_seeded(item.method) else "as samples",
            _error(item.ridge, _why(item)),
            _ratio(item.relative),
            number(item.seconds, "seconds"),
        ]
        for item in items
    ]
    words = ", ".join(map(str, items[0].subsamples)) or "none, so that no error is shown"
    hard, strays = far_off(items)
    notes = [
        "* drawn anew for each subsample: with one seed the features would be the same whatever the samples.",
        f"error: over the subsamples that all methods with runs have ({words}); the other columns over all runs.",
    ]
    notes += [prose("stability.hard", subsample=i, times=times) for i, times in hard]
    notes += [prose("stability.stray", stray=stray) for stray in strays]
    limited = [f"{item.method} {limit}" for item in items if (limit := limit_words(item.method, dataset, fast=fast))]
    if limited:
        notes.append(f"Limited: {', '.join(limited)}.")
    if broken := [f"{item.method} {item.failed}" for item in items if item.failed]:
        notes.append(f"Runs that failed: {', '.join(broken)}.")
    about = info(dataset)
    return Table(f"{about.title}, {about.k} of {about.n_columns} features", header, rows, notes)


def _summary(found: dict[str, list[Found]], *, fast: bool) -> Table:
    header = ["method", "datasets", "samples", "interchangeable", "seed", "both", "to random", "better", "worse"]
    rows, limited = [], []
    for method, items in _by_method(found).items():
        rows_alone, alike, seed, both = (_plain(_mean(items, part)) for part in ("rows", "alike", "seed", "both"))
        ratios = [item.relative for item in items if item.relative]
        sides = [_side(ratio) for ratio in ratios]
        compared = [str(sides.count(-1)), str(sides.count(1))] if ratios and method != RANDOM else [NONE, NONE]
        row = [method, str(sum(item.rows is not None for item in items)), rows_alone, alike]
        row += [seed if takes_seed(method) else "no seed", both if is_seeded(method) else "as samples"]
        rows.append([*row, _plain(geometric_mean(ratio.mean for ratio in ratios) if ratios else None), *compared])
        limits = {item.dataset: limit_words(method, item.dataset, fast=fast) for item in items if item.by_rows}
        if words := ", ".join(f"{info(dataset).title} {limit}" for dataset, limit in limits.items() if limit):
            limited.append(f"{method} on {words}")
    notes = [prose("stability.summary_note")]
    few = ", ".join(f"{method} {count}" for method, count, *_ in rows if int(count) < len(found))
    same = twin_words(found)
    notes += [prose("stability.few", datasets=len(found), names=few)] if few else []
    notes += [prose("stability.limited", names="; ".join(limited))] if limited else []
    notes += [prose("stability.twins", names=same)] if same else []
    return Table("Mean over datasets", header, rows, notes)


def _reading(found: dict[str, list[Found]]) -> list[str]:
    """Say which methods follow the seed, which are stable, and which lose to random features."""
    by_method = _by_method(found)
    text = []
    seeds, rows, both = (
        {name: value for name, items in by_method.items() if (value := _mean(items, part)) is not None}
        for part in ("seed", "rows", "both")
    )
    moved = {name: value for name, value in sorted(seeds.items(), key=lambda pair: pair[1]) if value < 1}
    if moved:
        words = "; ".join(f"{name} {value:.2f}{_beside_rows(name, by_method[name])}" for name, value in moved.items())
        text.append(f"These follow the seed, the samples being the same (mean seed stability): {words}.")
    if still := [name for name in seeds if name not in moved]:
        shown = [name for name in still if name in SEEDLESS]
        proof = " (computed with two seeds)" if shown == still else ""
        text.append(f"Seed stability exactly 1, on every dataset that has runs{proof}: {', '.join(still)}.")
    flattered = [
        f"{name} {rows[name]:.2f} to {value:.2f}"
        for name, value in both.items()
        if name != RANDOM and is_seeded(name) and name in rows and rows[name] - value > _FLATTERED
    ]
    if flattered:
        text.append(prose("stability.flattered", names=", ".join(flattered)))
    order = [f"{name} {both[name]:.2f}" for name in sorted(both, key=lambda name: -both[name]) if name != RANDOM]
    if order:
        text.append(prose("stability.order", most=", ".join(order[:3]), least=", ".join(order[-3:])))
    text += _against_random(found)
    return text


def _against_random(found: dict[str, list[Found]]) -> list[str]:
    """Say who loses to random features, who is both stable and better, and whether random itself is at 0."""
    text = []
    losers = []
    for method, items in _by_method(found).items():
        lost = [info(item.dataset).title for item in items if item.relative and _side(item.relative) > 0]
        if lost and method != RANDOM:
            losers.append(f"{method} on {', '.join(lost)}")
    if losers:
        text.append(f"These lose to random features: {'; '.join(losers)}.")
    useful = []
    for dataset, items in found.items():
        good = [
            (item.both.nogueira, item.relative.mean, item.method)
            for item in items
            if item.both and item.relative and _side(item.relative) < 0
        ]
        if good:
            point, ratio, method = max(good, key=lambda entry: entry[0])
            useful.append(f"{info(dataset).title} {method} ({point:.2f}, error {ratio:.2f})")
    if useful:
        text.append(prose("stability.useful", names="; ".join(useful)))
    chance = [item.rows.confidence_interval for item in _by_method(found)[RANDOM] if item.rows]
    if chance:
        held = sum(low <= 0 <= high for low, high in chance)
        text.append(f"Random features: the interval holds 0 on {held} of {len(chance)} datasets.")
    return text


def _beside_rows(name: str, items: list[Found]) -> str:
    """Say on how many datasets the seed changes more than the samples do."""
    pairs = [(item.seed.nogueira, item.rows.nogueira) for item in items if item.seed and item.rows]
    if name == RANDOM or not pairs:
        return ""
    # The same sets from both differ by rounding alone.
    more = sum(rows - seed > 1e-9 for seed, rows in pairs)
    return f" (moved more by the seed than by the samples on {more} of {len(pairs)})"


def _asked_for(found: dict[str, list[Found]], baseline: str) -> Table:
    """Return what criterion="stability" gains and costs, against another choice."""
    rows = []
    for dataset, items in found.items():
        by_name = {item.method: item for item in items}
        plain = by_name.get(baseline)
        for name in STABLE.values():
            asked = by_name.get(name)
            both = paired(plain, asked) if plain and asked else None
            if both is None:
                continue
            gain = both.after.nogueira - both.before.nogueira
            spread = "" if both.ratio.error is None else f" ± {100 * both.ratio.error:.1f}"
            row = [f"{info(dataset).title}, {name}", str(both.after.n_runs), *map(_interval, (both.before, both.after))]
            rows.append([*row, f"{gain:+.2f}", f"{100 * (both.ratio.mean - 1):+.1f}{spread} %"])
    header = ["dataset, method", "subsamples", f"samples, {baseline}", "samples, criterion stability", "gain", "error"]
    notes = [prose("stability.asked_for_note")]
    return Table(f"criterion=stability, against {_BASELINES[baseline]}", header, rows, notes)


def _data(found: dict[str, list[Found]]) -> list[Line]:
    data = []
    for items in found.values():
        for item in items:
            for measure in ("rows", "alike", "seed", "both", "ridge", "least_squares", "relative", "seconds"):
                value = getattr(item, measure)
                line: Line = {"dataset": item.dataset, "method": item.method, "measure": measure}
                if isinstance(value, Stability):
                    low, high = value.confidence_interval
                    line |= {"value": value.nogueira, "low": low, "high": high, "runs": value.n_runs}
                elif isinstance(value, Value | Interval):
                    error = value.spread if isinstance(value, Value) else value.error
                    line |= {"value": value.mean, "standard_error": error, "runs": value.splits}
                else:
                    line |= {"value": value}
                data.append({key: "" if entry is None or entry != entry else entry for key, entry in line.items()})
    return data


def _by_method(found: dict[str, list[Found]]) -> dict[str, list[Found]]:
    return {name: [item for items in found.values() for item in items if item.method == name] for name in methods()}


def _mean(items: Iterable[Found], part: str) -> float | None:
    """Return the mean over datasets of a measure of stability, where there is one."""
    found = (getattr(item, part) for item in items)
    points = [value.nogueira if isinstance(value, Stability) else value for value in found if value is not None]
    known = [point for point in points if not math.isnan(point)]
    return float(np.mean(known)) if known else None


def _side(ratio: Interval) -> int:
    """Return -1 or 1 where a relative error is clearly below or above 1, 0 elsewhere and for a single subsample."""
    return int(ratio.low > 1) - int(ratio.high < 1)


def _interval(value: Stability | None) -> str:
    return NONE if value is None else interval(value.nogueira, value.confidence_interval)


def _plain(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def _ratio(value: Interval | None) -> str:
    if value is None:
        return NONE
    return f"{value.mean:.3f}" + ("" if value.error is None else f" ± {value.error:.3f}")


def _error(value: Value | None, otherwise: str) -> str:
    if value is None:
        return otherwise
    spread = "" if value.spread is None else f" ± {number(value.spread, 'error')}"
    return number(value.mean, "error") + spread


def _why(item: Found) -> str:
    return NONE if item.errors else "failed" if item.failed else NOT_RUN
