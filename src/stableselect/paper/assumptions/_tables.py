"""The tables of Assumptions 1 and 3, of Proposition 1 and of the constants, with notes that say what they show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ...datasets import info
from .._report import Block, csv_repeats, prose
from ..methods import PROTOCOLS, Protocol, fraction
from ._found import MAPS, Found, holds1, holds3, over_left_out, text
from ._plan import DATASETS, WEIGHTS
from ._task import SEARCH


@dataclass(frozen=True)
class _Removal:
    """The samples left out of one dataset at one n, for one kind of maps.

    Attributes
    ----------
    label, maps : str
        The kind, in words and in the records.
    where : tuple of str
        Dataset, protocol and method.
    n : int
        Samples fitted on.
    shown : bool
        Whether n is the smallest or the largest, which alone are in the table; the CSV file has all.
    entries : list of dict
        What was measured, one for every sample left out in every repeat.
    """

    label: str
    maps: str
    where: tuple[str, Protocol, str]
    n: int
    shown: bool
    entries: list[dict[str, Any]]

    @property
    def title(self) -> str:
        """What a line of a table is about."""
        return f"{info(self.where[0]).title}, {self.label}, n = {self.n:,}"


def _removals(found: Found, protocol: Protocol) -> Iterator[_Removal]:
    for name, (label, (method, maps)) in product(DATASETS, MAPS.items()):
        where = (name, protocol, method)
        sizes = found.sizes("removal", *where)
        for n in sizes:
            if entries := found.left_out(maps, "removal", *where, n=n):
                yield _Removal(label, maps, where, n, n in (sizes[0], sizes[-1]), entries)


def assumption1(found: Found) -> Iterator[Block]:
    """Show kappa_2: by how much the selector's output can move beside the scorer's."""
    yield prose("assumptions.ratio")
    for protocol in PROTOCOLS:
        rows = []
        every: list[dict[str, Any]] = []
        worst: dict[str, float] = {}
        for part in _removals(found, protocol):
            entries = part.entries
            top, *others = (
                found.number(over_left_out(reduce, part.maps, f"ratio_{end}"), "removal", *part.where, n=part.n)
                for end, reduce in (("max", max), ("99", np.median), ("median", np.median), ("rms", np.median))
            )
            every += entries
            no_bound = sum(entry["ratio_exact"] is None for entry in entries)
            if top is not None:
                worst[part.label] = max(worst.get(part.label, 0.0), *(entry["ratio_max"] or 0.0 for entry in entries))
            if part.shown:
                ranks = [np.median([entry["ranks"][i] for entry in entries]) for i in (0, 1)]
                changed = sum(not entry["same_set"] for entry in entries)
                row = [part.title, text(top), *map(text, others), str(sum(entry["unmoved"] for entry in entries))]
                row += [f"{no_bound} of {len(entries)}", f"{ranks[0]:.0f} / {ranks[1]:.0f}"]
                rows.append([*row, f"{changed} of {len(entries)}"])
            about = (1, part.where, part.maps, part.n)
            found.add(*about, "kappa2 over test samples", top)
            for end, value in zip(("99 %", "median", "rms"), others, strict=True):
                found.add(*about, f"ratio, {end}", value)
            found.add(*about, "samples without bound", {"mean": no_bound, "repeats": len(entries)})
        header = ["dataset", "kappa_2", "99 %", "median", "mean square", "unmoved", "no bound", "ranks", "set changed"]
        notes = [prose("assumptions.ratio_note")]
        if every:
            at_zero = [entry["at_zero"] > 0 for entry in every if "at_zero" in entry]
            values = {
                "largest": ", ".join(f"{worst[label]:.3g} ({label})" for label in MAPS if label in worst),
                "unbounded": sum(entry["ratio_exact"] is None for entry in every),
                "by_rank": sum(entry["ranks"][0] <= entry["ranks"][1] for entry in every),
            }
            binding = {"binding": sum(at_zero), "held": len(at_zero)}
            notes.append(prose("assumptions.ratio_found", every=len(every), **values, **binding))
        yield found.table(f"Assumption 1, {protocol}", header, rows, notes)


def assumption3(found: Found) -> Iterator[Block]:
    """Show how often inequality (3) holds."""
    yield prose("assumptions.inequality")
    for protocol in PROTOCOLS:
        rows = []
        counts: dict[str, Counter[str]] = {label: Counter() for label in MAPS}
        for part in _removals(found, protocol):
            count, total, ratios = holds3(part.entries)
            counts[part.label].update(held=count, of=total)
            middle, worst = float(np.median(ratios)), max(ratios)
            if part.shown:
                rows.append([part.title, f"{100 * count / total:.0f} % of {total}", f"{middle:.3g}", f"{worst:.3g}"])
            about = (3, part.where, part.maps, part.n)
            found.add(*about, "fraction of (j, t) that hold", {"mean": count / total, "repeats": total})
            found.add(*about, "left over right, median", {"mean": middle})
            found.add(*about, "left over right, largest", {"mean": worst})
        reading = [
            f"{label}: holds for {100 * count['held'] / count['of']:.0f} % of the {count['of']} pairs (j, t)."
            for label, count in counts.items()
            if count["of"]
        ]
        header = ["dataset", "holds", "left / right, median", "largest"]
        yield found.table(f"Assumption 3, {protocol}", header, rows, [prose("assumptions.inequality_note"), *reading])


def proposition1(found: Found) -> Iterator[Block]:
    """Show both sides of Proposition 1 over lambda_1."""
    yield prose("assumptions.proposition")
    for protocol in PROTOCOLS:
        rows, worst = [], -np.inf
        every: Counter[str] = Counter()
        for name, weight, maps in product(DATASETS, WEIGHTS, ("held", "refitted")):
            where = (name, protocol, SEARCH)
            n, entries = found.at_largest(maps, *where, weight=weight)
            if not entries:
                continue
            row = [f"{info(name).title}, {maps}, lambda = {fraction(weight)}"]
            for side in ("printed", "turned"):
                count, total, ratio = holds1(entries, side)
                every.update({side: count, f"pairs, {side}": total})
                worst = max(worst, ratio)
                row += [f"{100 * count / total:.0f} % of {total}", f"{ratio:.1e}"]
                about, of = ("P1", where, maps, n), {"weight": weight}
                found.add(*about, f"fraction that holds, {side}", {"mean": count / total, "repeats": total} | of)
                found.add(*about, f"left over right, largest, {side}", {"mean": ratio} | of)
            rows.append(row)
        header = ["dataset", "holds, printed", "left / right", "holds, turned", "left / right"]
        notes = ["Pairs (j, t), t = 0.1 to 1, at the largest n of each dataset; left / right is the largest."]
        if every:
            notes.append(prose("assumptions.proposition_found", every=every, worst=worst))
        yield found.table(f"Proposition 1, {protocol}", header, rows, notes)


def constants(found: Found) -> Iterator[Block]:
    """Show the measured constants of the theory together."""
    rows = []
    for protocol, name in product(PROTOCOLS, DATASETS):
        where = (name, protocol, SEARCH)
        removal, core = ("removal", *where), ("core", *where)
        n = max(found.sizes(*removal), default=0)
        if not n:
            continue
        values = found.row(
            {
                "kappa1": ("kappa1", removal),
                "kappa2, held": (over_left_out(max, "held", "ratio_max"), removal),
                "kappa2, refitted": (over_left_out(max, "refitted", "ratio_max"), removal),
                "kappa3": ("centred.eta_max", core),
                "kappa4": ("centred.alpha_max", core),
                "kappa5": (lambda record: max(record["kappa5"].values()), removal),
            },
            n,
        )
        row = [f"{info(name).title}, {protocol}, n = {n:,}"]
        for measure, value in values.items():
            unit = n if measure == "kappa3" else 1
            row.append(text(value, unit))
            found.add("constants", where, "", n, measure, csv_repeats(value, spread="spread", unit=unit))
        rows.append(row)
    header = ["dataset", "kappa_1", "kappa_2, held", "kappa_2, refitted", "kappa_3", "kappa_4", "kappa_5"]
    notes = [prose("assumptions.constants_note")]
    yield found.table("The constants, lambda = 1/128", header, rows, notes)
