"""From stored runs to the numbers of a table: one rule for all experiments.

Numbers that stand side by side are over the same splits and seeds. :class:`Comparison` takes the runs of several
labels (methods, or sizes of a curve), keeps the repeats that all labels have, and raises if revisions are mixed. A
repeat is a pair of split and seed. What a label lacks is said by :meth:`Value.mark`, never averaged over in silence.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from scipy import stats

from ._store import Stored
from ._values import Interval, Value

Repeat = tuple[int, int]
"""Split and seed."""
Measure = str | Callable[[dict[str, Any]], float | None]
"""A key of the record, with dots for its parts ("own.scorer"), or a function from a record to a number."""
Label = TypeVar("Label", bound=Hashable)
Fitted = TypeVar("Fitted")

STALLED = 100.0
"""Times its siblings' median that make the time of a run useless: the machine stood still."""


class MixedRevisionsError(ValueError):
    """Runs of different revisions were to be compared."""


def part_of(record: Mapping[str, Any], measure: Measure) -> float | None:
    """Return a number of a record, None where it has none."""
    if callable(measure):
        found: Any = measure(dict(record))
    else:
        found = record
        for name in measure.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def by_repeat(runs: Iterable[Stored], measure: Measure) -> dict[Repeat, float]:
    """Return a measure of the finished runs of one label by split and seed.

    Raises
    ------
    ValueError
        If two runs have the same split and seed: then they differ in something else and must not be averaged.
    """
    found: dict[Repeat, float] = {}
    for item in runs:
        number = part_of(item.record, measure) if item.status == "done" else None
        if number is None:
            continue
        repeat = item.run.split, item.run.seed
        if repeat in found:
            raise ValueError(
                f"Two runs of one label have split {repeat[0]} and seed {repeat[1]} ({item.run}); give those of one "
                "k, step limit and detail only."
            )
        found[repeat] = number
    return dict(sorted(found.items()))


def refuse_mixed(runs: Iterable[Stored]) -> None:
    """Raise unless one version computes all of the finished runs: this one, or an earlier one.

    Raises
    ------
    MixedRevisionsError
        If some are stale and they have several revisions.
    """
    done = [item for item in runs if item.status == "done"]
    found = sorted({item.revision for item in done})
    if len(found) > 1 and (stale := sorted({item.run.method for item in done if item.stale})):
        raise MixedRevisionsError(
            f"Runs of different revisions cannot be compared ({'; '.join(map(str, found))}); run {', '.join(stale)} "
            "again, with the newest version of this package."
        )


def stale_words(runs: Iterable[Stored]) -> str:
    """Return a sentence on the finished runs whose numbers this version may not repeat; empty where there are none."""
    done = [item for item in runs if item.status == "done"]
    found = Counter((item.revision, item.current) for item in done if item.stale)
    return " ".join(
        f"{number:,} of {len(done):,} runs are of another revision ({revision}); this version computes {current}."
        for (revision, current), number in sorted(found.items())
    )


def stalled(runs: Iterable[Stored]) -> list[Stored]:
    """Return the runs of one label that took a hundred times the median of the others."""
    timed = [(item, number) for item in runs if (number := part_of(item.record, "seconds")) is not None]
    times = np.array([number for _, number in timed])
    if len(timed) < 2:
        return []
    return [item for i, (item, number) in enumerate(timed) if number > STALLED * np.median(np.delete(times, i))]


class Comparison(Generic[Label]):
    """The runs of several labels, reduced to the repeats that all labels have.

    A label without a number (a method that was not run, or a measure that it does not have) takes no part. Seeds are
    shared among the labels that depend on one; a label in ``seedless`` has one run for each split, which stands beside
    any seed. A label in ``every_seed`` keeps all its seeds on the shared splits, since its mean over draws is what is
    asked for; its values are marked.

    Parameters
    ----------
    runs : mapping of label to iterable of Stored
        The runs; they may be unfinished or failed. Each label's must differ in split and seed only.
    measure : str or callable
        What is compared; see :data:`Measure`.
    seedless : collection of labels
        Labels that do not depend on a seed.
    every_seed : collection of labels
        Labels that keep all their seeds.

    Raises
    ------
    MixedRevisionsError
        If no version computes all of the runs; see :func:`refuse_mixed`.

    Attributes
    ----------
    labels : list
        The labels that have numbers, in the given order.
    splits : tuple of int
        Splits that all of them have.
    splits_begun : tuple of int
        Splits that any of them has, finished or failed.
    repeats : tuple of (int, int)
        Repeats that all seeded labels have, on the shared splits.

    Examples
    --------
    >>> from stableselect.experiments import Comparison, Run, Stored
    >>> def run(method, split, error):
    ...     return Stored(Run("wine", method, "corrected", split, 0, 3), "done", {"error": error}, "")
    >>> runs = {"a": [run("a", 0, 1.0), run("a", 1, 9.0)], "b": [run("b", 0, 2.0)]}
    >>> comparison = Comparison(runs, "error")
    >>> comparison.value("a").mean, comparison.value("a").mark
    (1.0, '1 of 2 splits')
    """

    def __init__(
        self,
        runs: Mapping[Label, Iterable[Stored]],
        measure: Measure,
        *,
        seedless: Collection[Label] = (),
        every_seed: Collection[Label] = (),
    ) -> None:
        stored = {label: list(items) for label, items in runs.items()}
        numbers = {label: by_repeat(items, measure) for label, items in stored.items()}
        self.labels = [label for label, found in numbers.items() if found]
        refuse_mixed(item for label in self.labels for item in stored[label])
        self._failed = {label: sum(item.status == "failed" for item in items) for label, items in stored.items()}
        ended = (item for label in self.labels for item in stored[label] if item.status != "running")
        self.splits_begun = tuple(sorted({item.run.split for item in ended}))
        # Seeds are compared among labels that depend on one; all labels have to share the splits.
        seeded = [label for label in self.labels if label not in seedless and label not in every_seed]
        common = _shared(set(numbers[label]) for label in seeded)
        splits = [{split for split, _ in numbers[label]} for label in self.labels]
        if seeded:
            splits.append({split for split, _ in common})
        self.splits = tuple(sorted(_shared(splits)))
        self.repeats = tuple(sorted(repeat for repeat in common if repeat[0] in self.splits))
        self._numbers = {
            label: {
                repeat: number
                for repeat, number in numbers[label].items()
                if repeat[0] in self.splits and (label not in seeded or repeat in common)
            }
            for label in self.labels
        }
        self._seeds_shared = _most_seeds(self.repeats) if seeded else 1
        self._seedless = frozenset(seedless)

    def numbers(self, label: Label) -> list[float]:
        """Return the numbers of a label, by split and seed."""
        return list(self._numbers.get(label, {}).values())

    def by_split(self, label: Label) -> dict[int, float]:
        """Return a label's numbers by shared split, mean over the seeds."""
        found: dict[int, list[float]] = defaultdict(list)
        for (split, _), number in self._numbers.get(label, {}).items():
            found[split].append(number)
        return {split: float(np.mean(values)) for split, values in sorted(found.items())}

    def value(self, label: Label, over: Literal["splits", "repeats"] = "splits") -> Value | None:
        """Return a label's number.

        Parameters
        ----------
        label : label
            Which.
        over : {"splits", "repeats"}
            "splits": mean over splits of the mean over seeds, with the standard error over splits. "repeats": mean over
            all repeats, with their standard deviation.

        Returns
        -------
        Value or None
            None where the label has no number on the shared splits.
        """
        found = self.numbers(label)
        if not found:
            return None
        means = list(self.by_split(label).values())
        values, divisor = (means, math.sqrt(len(means))) if over == "splits" else (found, 1.0)
        mean, spread = float(np.mean(values)), _deviation(values) / divisor if len(values) > 1 else None
        seeds = (1, 1) if label in self._seedless else (_most_seeds(self._numbers[label]), self._seeds_shared)
        return Value(mean, spread, len(found), self._failed[label], len(means), len(self.splits_begun), *seeds)

    def median(self, label: Label) -> float | None:
        """Return the median of a label's numbers, as times need it: one run on a busy machine does not decide it."""
        found = self.numbers(label)
        return float(np.median(found)) if found else None

    def difference(self, label: Label, rival: Label) -> Interval | None:
        """Return label less rival, split by split; None where one has no number."""
        ours, theirs = self.by_split(label), self.by_split(rival)
        return _interval([ours[split] - theirs[split] for split in ours if split in theirs])

    def ratio(self, label: Label, rival: Label) -> Interval | None:
        """Return label over rival, split by split, as a geometric mean; None where a number is missing or not positive.

        The logarithm of a ratio has a symmetric spread, so one split that goes wrong does not hide the others.
        """
        ours, theirs = self.by_split(label), self.by_split(rival)
        pairs = [(ours[split], theirs[split]) for split in ours if split in theirs]
        if any(min(pair) <= 0 for pair in pairs):
            return None
        logs = _interval([math.log(one / other) for one, other in pairs])
        if logs is None:
            return None
        mean = math.exp(logs.mean)
        error = None if logs.error is None else mean * logs.error
        return Interval(mean, math.exp(logs.low), math.exp(logs.high), error, logs.splits)

    def fit(self, sizes: Sequence[Label], fit: Callable[[Sequence[Label], list[list[float]]], Fitted]) -> Fitted | None:
        """Fit a curve through labels that are sizes, each shared repeat a row.

        Parameters
        ----------
        sizes : sequence of labels
            The sizes, in order.
        fit : callable
            From sizes and a table (repeats x sizes) to the fit: :func:`stableselect.inspection.fit_power_law`.

        Returns
        -------
        fit or None
            None where a size has no number, no repeat has all sizes, or a number is not positive.
        """
        repeats = _shared(set(self._numbers.get(size, {})) for size in sizes)
        table = [[self._numbers[size][repeat] for size in sizes] for repeat in sorted(repeats)]
        return fit(sizes, table) if table and min(map(min, table)) > 0 else None


def _interval(values: list[float]) -> Interval | None:
    if not values:
        return None
    mean = float(np.mean(values))
    if len(values) == 1:
        return Interval(mean, math.nan, math.nan, None, 1)
    error = _deviation(values) / math.sqrt(len(values))
    half = float(stats.t.ppf((1 + 0.95) / 2, len(values) - 1)) * error
    return Interval(mean, mean - half, mean + half, error, len(values))


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1))


def _shared(sets: Iterable[set[Any]]) -> set[Any]:
    found = list(sets)
    return set.intersection(*found) if found else set()


def _most_seeds(repeats: Iterable[Repeat]) -> int:
    return max(Counter(split for split, _ in repeats).values(), default=0)
