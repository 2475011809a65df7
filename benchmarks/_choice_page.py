"""The page of `make bench-choice`, made from stored runs alone."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from _choice_results import NOT_RUN, Found
from _choice_runs import (
    AT_LEAST,
    DEFAULT,
    DRAWS,
    GUIDES,
    MIN_STABILITY,
    RANDOM,
    RIVALS,
    STABLE,
    SUBSAMPLES,
    VARIANCE,
)
from _choice_tables import MOST_SAMPLES, TABLES
from stableselect.experiments import Interval, Stored, refuse_mixed, stale_words
from stableselect.metrics import Stability
from stableselect.paper._report import NONE, Document, Table

NEAR = 0.1
CLEAR = 0.05
"""A gain in stability that counts."""
ROOM = 0.9
"""A default less stable than this leaves room for a gain that counts."""
ALLOWED = 1.05
"""The error that asking for stability may cost: `max_error_increase` is 5 %."""


def render(stored: Iterable[Stored]) -> str:
    """Return the page.

    Parameters
    ----------
    stored : iterable of Stored
        All runs; those of tables or sizes that are no longer asked for are left out.

    Returns
    -------
    str
        Markdown.
    """
    runs = [item for item in stored if item.run.dataset in TABLES]
    refuse_mixed(runs)
    by_table = defaultdict(list)
    for item in runs:
        by_table[item.run.dataset].append(item)
    tables = [Found(source, by_table[name]) for name, source in TABLES.items()]
    done = [item for item in runs if item.status == "done"]
    sections = [make(tables) for make in (_stated_against_repeated, _asked_against_default, _at_least, *_ERRORS)]
    summary = "\n".join(f"- {sentence}" for section in sections for sentence in section.summary)
    blocks: list[str | Table] = [_INTRODUCTION, summary or "Nothing has been run yet: `make bench-choice`."]
    blocks += [block for section in sections for block in section.blocks]
    blocks += _about(tables)
    if done:
        versions = sorted({", ".join(f"{k} {v}" for k, v in sorted(item.record["versions"].items())) for item in done})
        seconds = sum(item.record["seconds"] for item in done)
        blocks.append(
            f"{len(done)} runs, {len(runs) - len(done)} failed, {seconds:,.0f} seconds of one core. Revision: "
            f"{'; '.join(str(each) for each in sorted({item.revision for item in done}))}. {stale_words(done)}".rstrip()
        )
        blocks += [f"Versions: {text}." for text in versions]
    failures = Counter(
        f"{TABLES[item.run.dataset].title}, {item.run.method}, {item.run.task}: {item.error}"
        for item in runs
        if item.status == "failed"
    )
    if failures:
        rows = [[text, str(number)] for text, number in sorted(failures.items())]
        blocks.append(Table("Failed runs", ["table, method, part", "runs"], rows))
    return Document("choice", "How far the choice can be trusted", blocks).markdown()


_INTRODUCTION = (
    "Does a selection repeat as well as it says? Does asking for stability help? How good is the default? Measured on "
    f'{len(TABLES)} tables; {sum(table.is_new for table in TABLES.values())} of them (in *italics*, "new ones" in '
    "counts) were not used to choose a default. `make bench-choice` makes this page from the runs in "
    "`benchmarks/results/choice`. Tables are written as name, samples x features, number of features selected (k). Of "
    f"larger tables {MOST_SAMPLES:,} samples are used, drawn once, but for the errors on the paper's tables."
)


@dataclass(frozen=True)
class Section:
    """A part of the page, and what it comes to in a few sentences."""

    blocks: list[str | Table]
    summary: list[str]


def _name(found: Found) -> str:
    return f"*{found.title}*" if found.source.is_new else found.title


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _count(wanted: Iterable[bool]) -> str:
    flags = list(wanted)
    return f"{sum(flags)} of {len(flags)}"


def _both(tables: Sequence[Found], flags: Sequence[bool]) -> str:
    """Count true flags over all tables, and over those never used to choose a default."""
    new = [flag for found, flag in zip(tables, flags, strict=True) if found.source.is_new]
    return f"{_count(flags)} tables ({_count(new)} new ones)"


def _listed(items: Iterable[str]) -> str:
    return ", ".join(items) or "none"


def _named(tables: Sequence[Found], values: Sequence[float], wanted: Sequence[bool], form: str) -> str:
    """List the tables that are wanted, each with its value."""
    chosen = zip(tables, values, wanted, strict=True)
    return _listed(f"{found.source.title} ({value:{form}})" for found, value, flag in chosen if flag)


def _repeated(found: Stability) -> str:
    runs = found.n_runs
    return f"{found.nogueira:.2f} ± {found.standard_error:.2f}" + (
        "" if runs == SUBSAMPLES else f" ({runs} subsamples)"
    )


def _stated_against_repeated(tables: Sequence[Found]) -> Section:
    rows, known, gaps, covered = [], [], [], []
    for found in tables:
        one, many = found.stated(STABLE), found.repeated(STABLE)
        if one is None or many is None:
            rows.append([_name(found), NOT_RUN, NOT_RUN, "", "", ""])
            continue
        stated, (low, high) = one.record["stated"], one.record["interval"]
        known.append(found)
        gaps.append(stated - many.nogueira)
        covered.append(low <= many.nogueira <= high)
        rows.append(
            [
                _name(found),
                f"{stated:.2f} [{low:.2f}, {high:.2f}]",
                _repeated(many),
                f"{gaps[-1]:+.2f}",
                _yes(abs(gaps[-1]) <= NEAR),
                _yes(covered[-1]),
            ]
        )
    text = (
        'Stated: `frontier_.procedure_stability` of `ColumnSubset(k, criterion="stability")` after one fit on all '
        "samples, with its 95 % interval. Repeated: Nogueira's stability of the same call on "
        f"{SUBSAMPLES} random subsamples of 80 % of the samples, ± its standard error. Features are scaled once, on "
        "all samples, so that both are about the same table. Samples of one mouse stay together in Mice Protein, in "
        "the folds (`cv=GroupKFold(10)`) and in the subsamples."
    )
    header = ["table", "stated", "repeated", "difference", f"within {NEAR:g}", "in the interval"]
    blocks = ["## Is the stated stability what repetition gives?", text, Table("Stated and repeated", header, rows)]
    if not known:
        return Section(blocks, [])
    worst = int(np.argmax(np.abs(gaps)))
    return Section(
        blocks,
        [
            f"The stability stated is within {NEAR:g} of the repeated one on "
            f"{_both(known, [abs(gap) <= NEAR for gap in gaps])}; its interval holds the repeated one on "
            f"{_both(known, covered)}. The largest difference is {gaps[worst]:+.2f} ({known[worst].source.title}), the "
            f"mean {np.mean(gaps):+.2f}. Too high by more than {NEAR:g}: "
            f"{_named(known, gaps, [gap > NEAR for gap in gaps], '+.2f')}; too low: "
            f"{_named(known, gaps, [gap < -NEAR for gap in gaps], '+.2f')}."
        ],
    )


_TRIED = (
    "Where asking gains nothing, the sets that other samples would select differ as much among themselves as the "
    "default's do, and no vote among them settles it. Tried for larger gains and not kept, since they gained no more "
    "than the noise of such a table or made the stated stability worse: heavier and more vote weights, all 210 "
    "combinations of four folds as voters, votes of five, six and eight folds, votes with another ridge weight, a "
    "search with a larger ridge weight, the strongest setting within one standard error, and a price on single "
    "features by their own worth. A preference for earlier columns among near equals can make a choice more stable; "
    "it is not used, because a stability that comes from the order of the columns says nothing about the data."
)


def _asked_against_default(tables: Sequence[Found]) -> Section:
    rows, known, gains, costs, room = [], [], [], [], []
    for found in tables:
        plain, many, common = found.repeated(DEFAULT), found.repeated(STABLE), found.cost(STABLE, "ridge")
        if plain is None or many is None or common is None:
            rows.append([_name(found), NOT_RUN, NOT_RUN, "", "", "", ""])
            continue
        known.append(found)
        gains.append(many.nogueira - plain.nogueira)
        costs.append(common.mean)
        room.append(plain.nogueira < ROOM)
        rows.append(
            [
                _name(found),
                _repeated(plain),
                _repeated(many),
                f"{gains[-1]:+.2f}",
                _cost(common),
                _cost(found.cost(STABLE, "own")),
                _yes(common.mean <= ALLOWED),
            ]
        )
    text = (
        f'The default `ColumnSubset(k)` and `criterion="stability"` on the same {SUBSAMPLES} subsamples. The error is '
        "that on the 20 % of samples left out, asked for over default, as a geometric mean with its 95 % interval over "
        "the subsamples: of a ridge map refitted on the training samples by one rule for both (weight of least "
        "leave-one-out error), and of the selectors' own maps (`score`). By default 5 % more is allowed."
    )
    header = ["table", "default", "asked for", "gain", "error, same refit", "error, own map", "within 5 %"]
    title = "Stability and error, asked for against default"
    blocks = ["## What does asking for stability give, and cost?", text, Table(title, header, rows), _TRIED]
    if not known:
        return Section(blocks, [])
    more = [gain > 0 for gain in gains]
    clearly = [round(gain, 2) >= CLEAR for gain in gains]
    less = [gain < 0 for gain in gains]
    dear = [cost > ALLOWED for cost in costs]
    return Section(
        blocks,
        [
            f"Asked for stability, the choice is more stable than the default on {_both(known, more)}, by at least "
            f"{CLEAR} on {_both(known, clearly)} ({sum(np.logical_and(clearly, room))} of the {sum(room)} whose "
            f"default is below {ROOM}), by {np.mean(gains):+.2f} in the mean; less stable: "
            f"{_named(known, gains, less, '+.2f')}. The error stays "
            f"within 5 % of the default's on {_both(known, [not flag for flag in dear])}; beyond: "
            f"{_named(known, costs, dear, '.3f')}."
        ],
    )


def _cost(found: Interval | None) -> str:
    if found is None:
        return NONE
    between = "" if math.isnan(found.low) else f" [{found.low:.3f}, {found.high:.3f}]"
    return f"{found.mean:.3f}{between}"


def _at_least(tables: Sequence[Found]) -> Section:
    rows, known, values, reached = [], [], [], []
    for found in tables:
        one, many, cost = found.stated(AT_LEAST), found.repeated(AT_LEAST), found.cost(AT_LEAST, "ridge")
        if one is None or many is None or cost is None:
            rows.append([_name(found), NOT_RUN, "", NOT_RUN, "", ""])
            continue
        known.append(found)
        values.append(many.nogueira)
        reached.append(one.record["reached"])
        low, high = one.record["interval"]
        rows.append(
            [
                _name(found),
                f"{one.record['stated']:.2f} [{low:.2f}, {high:.2f}]",
                "reached" if reached[-1] else "warned",
                _repeated(many),
                f"{one.record['stated'] - many.nogueira:+.2f}",
                _cost(cost),
            ]
        )
    text = (
        f'`ColumnSubset(k, criterion="stability", min_stability={MIN_STABILITY:g})`: what one fit on all samples '
        "states, whether it says that the target is reached or warns that it is not, and what repetition gives; the "
        "error as in the table above."
    )
    header = ["table", "stated", "says", "repeated", "difference", "error, same refit"]
    title = f"Asked for a stability of {MIN_STABILITY:g}"
    blocks = [f"## Asking for a stability of {MIN_STABILITY:g}", text, Table(title, header, rows)]
    if not known:
        return Section(blocks, [])
    kept = [value >= MIN_STABILITY for value, flag in zip(values, reached, strict=True) if flag]
    broken = [flag and value < MIN_STABILITY for value, flag in zip(values, reached, strict=True)]
    hidden = [not flag and value >= MIN_STABILITY for value, flag in zip(values, reached, strict=True)]
    return Section(
        blocks,
        [
            f"Asked for a stability of {MIN_STABILITY:g}, the selector says that it is reached on "
            f"{_both(known, reached)}; repeated, it is reached on {_count(kept)} of these. Said to be reached and not: "
            f"{_named(known, values, broken, '.2f')}; warned of and reached all the same: "
            f"{_named(known, values, hidden, '.2f')}."
        ],
    )


_TITLES = {RANDOM: "random features", VARIANCE: "largest variance"}


def _errors(tables: Sequence[Found], title: str, paper: bool) -> Section:
    """Compare the default with its rivals on the paper's tables, or on the others."""
    rivals = (*RIVALS, *GUIDES)
    part = [found for found in tables if (found.source.origin == "paper") == paper]
    ratios = {found.source.name: {rival: found.ratio(rival) for rival in rivals} for found in part}
    rows = []
    for found in part:
        mine = ratios[found.source.name]
        rows.append([_name(found), *(found.why_no_ratio(rival) if x is None else str(x) for rival, x in mine.items())])
    header = ["table", *(_TITLES.get(rival, rival) for rival in rivals)]
    head = f"{title}: the default's error over that of others; median [interval], worst split"
    blocks = [
        f"## How good is the default? {title}",
        *([_ERROR_TEXT] if paper else []),
        Table(head, header, rows),
    ]
    wins, summary = [], []
    for rival in RIVALS:
        known = {found.source.title: x for found in part if (x := ratios[found.source.name][rival]) is not None}
        if not known:
            continue
        better = _count(x.median < 1 for x in known.values())
        worse = _listed(f"{name} ({x.median:.2f})" for name, x in known.items() if x.median > 1)
        clearly = _listed(name for name, x in known.items() if x.low > 1)
        clear = _count(x.high < 1 for x in known.values())
        wins.append([_TITLES.get(rival, rival), better, clear, worse, clearly])
        summary.append(f"{_TITLES.get(rival, rival)} on {better}")
    if not wins:
        return Section(blocks, [])
    header = ["against", "median below 1", "interval below 1", "median above 1", "interval above 1"]
    blocks.append(Table("On how many tables the default is better, and where it is not", header, wins))
    return Section(blocks, [f"{title}: the default has the lower error, in the median, against {'; '.join(summary)}."])


_ERRORS = (
    partial(_errors, title="The paper's tables", paper=True),
    partial(_errors, title="Other tables", paper=False),
)
_ERROR_TEXT = (
    "Error of `ColumnSubset(k)` on test samples over that of other choices of as many features, ridge map refitted on "
    "the training samples (weight of least leave-one-out error), scaling learnt from the training samples: [0, 1] for "
    "the paper's tables, unit variance for those of mixed units, none where all features have one unit. Below 1 the "
    "default is better. Each cell is the median over random splits into 80 % and 20 % of the samples (whole mice in "
    "Mice Protein; 6,000 and 4,000 images of MNIST-Fashion), its 95 % interval from the signs, and the worst split. "
    f"Random features are the mean of {DRAWS} draws; pivoted QR is of the principal components; fastcan selects for "
    "the principal component scores; after scaling to unit variance there is no largest variance. The mean predictor "
    "and as many principal components, which need all features, are guides."
)


_SCALING = {"minmax": "[0, 1]", "standard": "unit variance", "none": "none"}


def _about(tables: Sequence[Found]) -> list[str | Table]:
    rows = []
    for found in tables:
        one = found.stated(STABLE) or found.stated(AT_LEAST)
        source = NOT_RUN if one is None else one.record["table"]["source"]
        used = "no" if found.source.is_new else "yes"
        rows.append([found.source.title, found.source.name, source, _SCALING[found.source.scaling], used])
    header = ["table", "name", "from", "scaling", "used to choose defaults"]
    return [
        "## The tables",
        "Equal samples of the tables from packages count once. Missing values become the mean of the feature.",
        Table("Where the tables come from", header, rows),
    ]
