"""Summary: which method to use. Ranks over datasets with a test, wins against random features, and time."""

from __future__ import annotations

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from ...datasets import info
from ...experiments import Comparison, geometric_mean, paired_interval
from .._report import NONE, Document, Line, Table, experiment, number, prose
from ..methods import METHODS, Results
from ._comparison import about_others, all_runs
from ._fae import printed_beside
from ._losses import Standing, not_won, which_when

_LEVEL = 0.05
_MEASURES = {"ridge": "Reconstruction error (ridge refit)", "accuracy": "Accuracy"}
_UNITS = {
    "ridge": "of the relative error, in per cent of the mean predictor's on the same split; below 0 is better",
    "accuracy": "in points of accuracy; above 0 is better",
}
"""Of differences."""
_RIVALS = ("random", "ColumnSubset")


@experiment("summary", "Summary: which methods work", all_runs)
def summary(page: Document, results: Results) -> None:
    """Show the ranks of the methods, their differences to random features, and their times."""
    tables = []
    for measure, title in _MEASURES.items():
        table, rows = _ranks(results, measure, title)
        tables += [table, _differences(results, measure, title, rows)]
        page.data += rows
    standing = Standing(results, page.data)
    page.add(*not_won(standing), *which_when(standing), "## Every method", prose("tables.summary"), *tables)
    page.add(*(printed_beside(results, measure) for measure in ("least_squares", "accuracy")))


def _ranks(results: Results, measure: str, title: str) -> tuple[Table, list[Line]]:
    sign = -1.0 if measure == "accuracy" else 1.0
    selecting = [name for name, method in METHODS.items() if method.selector is not None]
    compared = {name: results.compared(name, "corrected", measure, methods=selecting) for name in results.tables}
    methods = [method for method in selecting if any(method in found.labels for found in compared.values())]
    # Methods are ranked on the same samples: on the datasets and splits that all of the tables' methods have.
    complete = {name: found for name, found in compared.items() if found.splits and len(found.labels) == len(methods)}
    shared = {name: found.splits for name, found in complete.items()}
    methods += results.others
    scores = np.full((len(methods), len(complete)), np.nan)
    for i, method in enumerate(methods):
        for j, name in enumerate(complete):
            found = results.compared(name, "corrected", measure, methods=tuple(dict.fromkeys((*selecting, method))))
            if method in found.labels and found.splits == shared[name]:
                scores[i, j] = _mean(found, method)
    unranked = [method for method, row in zip(methods, scores, strict=True) if np.isnan(row).any()]
    twins = _twins(results, methods, scores, shared)
    single = [i for i, method in enumerate(methods) if method not in twins and method not in unranked]
    average = np.full(len(methods), np.nan)
    if complete:
        average[single] = rankdata(sign * scores[single], axis=0).mean(axis=1)
        for method, first in twins.items():
            average[methods.index(method)] = average[methods.index(first)]
    order = np.argsort(average, kind="stable")
    width = critical_difference(len(single), len(complete)) if complete else ""
    rows, data = [], []
    for i in order:
        method = methods[i]
        beside = _pairs(results, measure, method, "random")
        pairs = [(_mean(both, method), _mean(both, "random")) for both in beside]
        against_splits = sum(len(both.splits) for both in beside)
        wins = sum(sign * value < sign * chance for value, chance in pairs)
        ties = sum(value == chance for value, chance in pairs)
        sides = _sides(beside, method, sign)
        ratios = [value / chance for value, chance in pairs if chance > 0]
        times = [time for name in results.tables if (time := results.seconds(name, method, "corrected")) is not None]
        median = float(np.median(times)) if times else None
        against = f"{wins} of {len(pairs)}" + (f", {ties} equal" if ties else "")
        against, count = (NONE, NONE) if method == "random" or not pairs else (against, str(against_splits))
        ratio = geometric_mean(ratios) if ratios and min(ratios) > 0 else None
        rows.append(
            [
                method,
                NONE if np.isnan(average[i]) else f"{average[i]:.2f}",
                against,
                NONE if against == NONE else " / ".join(map(str, sides.values())),
                count,
                NONE if ratio is None or method == "random" else f"{ratio:.2f}",
                number(median, "seconds"),
                number(max(times, default=None), "seconds"),
            ]
        )
        data.append(
            {
                "measure": measure,
                "method": method,
                "average_rank": "" if np.isnan(average[i]) else average[i],
                "datasets": len(complete),
                "splits": sum(map(len, shared.values())),
                "critical_difference": width,
                "same_as": twins.get(method, ""),
                "wins": wins,
                **sides,
                "compared": len(pairs),
                "compared_splits": against_splits,
                "ratio_to_random": "" if ratio is None else ratio,
                "median_seconds": "" if median is None else median,
            }
        )
    header = ["method", "average rank", "better than random", "won / tied / lost", "splits"]
    header += ["ratio to random", "median s", "largest s"]
    notes = _verdict(scores[single], {info(name).title: len(splits) for name, splits in shared.items()})
    notes += [prose("tables.twins", method=method, first=first) for method, first in twins.items()]
    if unranked:
        notes.append(f"Not ranked, since they lack some of these splits: {', '.join(unranked)}.")
    notes += [*about_others(results), prose("tables.seconds_note")]
    return Table(title, header, rows, notes), data


def _mean(compared: Comparison[str], method: str) -> float:
    return float(np.mean(list(compared.by_split(method).values())))


def _twins(
    results: Results, methods: list[str], scores: np.ndarray, shared: dict[str, tuple[int, ...]]
) -> dict[str, str]:
    """Return the methods that select the features of an earlier one on every ranked split, with that one."""

    def kept(method: str) -> dict[tuple[str, int, int], list[int] | None]:
        return {
            (name, run.split, run.seed): record.get("selected")
            for name, splits in shared.items()
            for run, record in results.records(name, method, "corrected")
            if run.split in splits
        }

    twins: dict[str, str] = {}
    for i, method in enumerate(methods):
        # Few have the scores of another, and only for these the features are compared.
        for j in range(i if shared else 0):
            if methods[j] not in twins and np.array_equal(scores[i], scores[j]):
                ours = kept(method)
                if ours == kept(methods[j]) and None not in ours.values():
                    twins[method] = methods[j]
                    break
    return twins


def _pairs(results: Results, measure: str, *methods: str) -> list[Comparison[str]]:
    """Return, for each dataset on which all of these methods share splits, their comparison.

    It is that of all methods, as in the tables, or of these alone where they share more splits.
    """
    found = []
    for name in results.tables:
        these = results.compared(name, "corrected", measure, methods=tuple(dict.fromkeys(methods)))
        every = results.compared(name, "corrected", measure)
        both = every if set(these.labels) <= set(every.labels) and every.splits == these.splits else these
        if both.splits and set(methods) <= set(both.labels):
            found.append(both)
    return found


def _sides(pairs: list[Comparison[str]], method: str, sign: float) -> dict[str, int]:
    """Return on how many datasets a method is better than random features, no different, and worse.

    No different: Student's 95 % interval of the difference over the splits holds 0, or there is one split only.
    """
    sides = {"won": 0, "tied": 0, "lost": 0}
    for both in pairs if method != "random" else ():
        if found := both.difference(method, "random"):
            low, high = sorted((sign * found.low, sign * found.high))
            sides["won" if high < 0 else "lost" if low > 0 else "tied"] += 1
    return sides


def _differences(results: Results, measure: str, title: str, data: list[Line]) -> Table:
    """Return each method against the rivals, split by split, and add the figures to the rows of the ranks."""
    rows = []
    for line in data:
        method = line["method"]
        row = [method]
        for rival in _RIVALS:
            pairs = _paired(results, method, rival, measure)
            found = paired_interval(pairs) if pairs and method != rival else None
            row.append(NONE if found is None else "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * x for x in found)))
            for i, name in enumerate(("", "_low", "_high")):
                line[f"difference_to_{rival}{name}"] = "" if found is None else found[i]
            row.append(f"{len(pairs)} / {sum(map(len, pairs))}" if found else NONE)
        rows.append(row)
    notes = [prose("tables.differences_note", unit=_UNITS[measure])]
    header = ["method", *(text for rival in _RIVALS for text in (f"less {rival}", "datasets / splits"))]
    return Table(f"{title}: differences", header, rows, notes)


def _paired(results: Results, method: str, rival: str, measure: str) -> list[list[float]]:
    """Return, for each dataset, the differences on the splits that both have finished."""
    found = []
    units = [] if measure == "accuracy" else ["mean predictor"]
    for compared in _pairs(results, measure, method, rival, *units):
        ours, theirs, *unit = (compared.by_split(label) for label in (method, rival, *units))
        found.append(
            [(ours[s] - theirs[s]) / (unit[0][s] if unit else 1.0) for s in ours if not unit or unit[0][s] > 0]
        )
    return [part for part in found if part]


def _verdict(scores: np.ndarray, splits: dict[str, int]) -> list[str]:
    """Return the test in words; splits are counted by the title of the dataset."""
    methods, datasets = scores.shape
    ratio = prose("tables.summary_note")
    if methods < 3 or datasets < 2 or np.all(scores == scores[0]):
        return ["Too few methods or datasets, or too much alike, for a test.", ratio]
    statistic = friedmanchisquare(*scores)
    words = {
        "splits": sum(splits.values()),
        "titles": ", ".join(f"{title} ({count})" for title, count in splits.items()),
        "statistic": statistic.statistic,
        "p": "below 0.001" if statistic.pvalue < 0.001 else f"{statistic.pvalue:.3f}",
        "width": critical_difference(methods, datasets),
    }
    return [prose("tables.verdict", methods=methods, datasets=datasets, **words), ratio]


def critical_difference(methods: int, datasets: int) -> float:
    """Return Nemenyi's critical difference of average ranks at the level 0.05.

    q sqrt(k (k + 1) / (6 N)) for k methods on N datasets, q the studentised range over sqrt(2).

    References
    ----------
    Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7.
    """
    q = studentized_range.ppf(1 - _LEVEL, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * datasets)))
