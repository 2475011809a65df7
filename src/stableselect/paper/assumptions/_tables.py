"""The tables of Assumptions 1 and 3, of Proposition 1 and of the constants, with sentences that say what they show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...datasets import info
from ...experiments import Protocol
from ..methods import Results
from ..report import Block
from ._plan import DATASETS, WEIGHTS
from ._summary import Found, holds1, holds3, largest, middle, taken
from ._task import SEARCH
from ._words import COLUMNS, PROTOCOLS, Data, ends, fraction, plain, table_or_reason, text, where_of


@dataclass(frozen=True)
class _Removal:
    """The rows left out of one table at one n, for one kind of maps.

    Attributes
    ----------
    label, column : str
        The kind, in words and in the records.
    where : tuple
        Part, table, protocol and method.
    n : int
        Rows fitted on.
    shown : bool
        Whether n is the smallest or the largest, which alone are in the printed table.
    entries : list of dict
        What was measured, one for every row left out in every repeat.
    """

    label: str
    column: str
    where: tuple[str, str, Protocol, str]
    n: int
    shown: bool
    entries: list[dict[str, Any]]

    @property
    def title(self) -> str:
        """What a line of a table is about."""
        return f"{info(self.where[1]).title}, {self.label}, n = {self.n:,}"

    def line(self, assumption: int) -> dict[str, Any]:
        """Return the columns of the CSV file that say what a line is about."""
        return where_of(assumption, *self.where[1:], self.column, self.n)


def _removals(found: Found, protocol: Protocol) -> Iterator[_Removal]:
    for name in DATASETS:
        for label, (method, column) in COLUMNS.items():
            where = ("removal", name, protocol, method)
            sizes = found.sizes(*where)
            for n in sizes:
                entries = found.left_out(column, *where, n=n)
                if entries:
                    yield _Removal(label, column, where, n, n in ends(sizes), entries)


def assumption1(results: Results, found: Found, data: Data) -> Iterator[Block]:
    """Show kappa_2: by how much the selector's output can move beside the scorer's."""
    yield (
        "Assumption 1 wants a kappa_2 such that for every x the selector's output moves by no more than kappa_2 "
        "times the scorer's when row j is left out: |x (Phi^max_k - Phi'^max_k) W_E W_D| <= kappa_2 |x (Phi - Phi') "
        "W_E W_D|. The paper argues from ranks. That is not enough: for all x in R^m it needs every x that leaves "
        "the scorer still to leave the selector still, that is the columns of the first matrix inside the span of "
        "the second."
    )
    for protocol in PROTOCOLS:
        rows, every = [], 0
        unbounded = paper_ranks = at_zero = held = 0
        worst: dict[str, float] = {}
        for part in _removals(found, protocol):
            column, where, n, entries = part.column, part.where, part.n, part.entries
            top = found.number(largest(column, "ratio_max"), *where, n=n)
            others = [found.number(middle(column, f"ratio_{end}"), *where, n=n) for end in ("99", "median", "rms")]
            no_bound = sum(entry["ratio_exact"] is None for entry in entries)
            every, unbounded = every + len(entries), unbounded + no_bound
            paper_ranks += sum(entry["ranks"][0] <= entry["ranks"][1] for entry in entries)
            held += sum("at_zero" in entry for entry in entries)
            at_zero += sum(entry.get("at_zero", 0) > 0 for entry in entries)
            if top is not None:
                worst[part.label] = max(worst.get(part.label, 0.0), *(entry["ratio_max"] or 0.0 for entry in entries))
            if part.shown:
                ranks = [np.median([entry["ranks"][i] for entry in entries]) for i in (0, 1)]
                changed = sum(not entry["same_set"] for entry in entries)
                row = [part.title, text(top), *map(text, others), str(sum(entry["unmoved"] for entry in entries))]
                row += [f"{no_bound} of {len(entries)}", f"{ranks[0]:.0f} / {ranks[1]:.0f}"]
                rows.append([*row, f"{changed} of {len(entries)}"])
            line = part.line(1)
            data.append(line | {"measure": "kappa2 over test rows"} | plain(top))
            for end, value in zip(("99 %", "median", "rms"), others, strict=True):
                data.append(line | {"measure": f"ratio, {end}"} | plain(value))
            data.append(line | {"measure": "rows without bound", "mean": no_bound, "repeats": len(entries)})
        header = ["table", "kappa_2", "99 %", "median", "mean square", "unmoved", "no bound", "ranks", "set changed"]
        notes = [
            "kappa_2: the largest ratio over test rows and rows left out; 99 % and median over test rows, and the "
            "ratio of root mean squares, each the median over the rows left out. Unmoved: test rows for which the "
            "scorer does not move, left out of the ratios. No bound: rows j for which the ratio over all x has "
            "none, or one beyond the reach of double precision (about 1e9). Ranks: of the two matrices, median. Set "
            "changed: rows j without which other columns are kept. The smallest and the largest n; others are in "
            "the CSV file. ± is the standard deviation over repeats."
        ]
        if every:
            found_at = ", ".join(f"{worst[label]:.3g} ({label})" for label in COLUMNS if label in worst)
            notes.append(
                f"On the test rows a kappa_2 exists, at most {found_at}. Over all x it does not for {unbounded} of the "
                f"{every} rows left out, although the paper's inequality of ranks holds for {paper_ranks} of them. "
                f"With the maps held phi >= 0 was binding for {at_zero} of {held}."
            )
        yield table_or_reason(results, f"Assumption 1, {protocol}", header, rows, notes)


def assumption3(results: Results, found: Found, data: Data) -> Iterator[Block]:
    """Show how often inequality (3) holds."""
    yield (
        "Assumption 3 compares, over t in [0, 1], f(Phi) - f(Phi + t (Phi' - Phi)) + f(Phi') - f(Phi' + t (Phi - "
        "Phi')) for f the scorer's mean loss over the core samples (left) and over the training rows without j "
        "(right, the sum over n divided by (n - 1)/n). The scorer's loss is quadratic along the path, so each side "
        "is 2 t (1 - t) times the mean of |x (Phi - Phi') W_E W_D|^2 over its rows: t drops out, and the inequality "
        "says that the core samples move no more, in mean square, than the training rows. Both sides were computed "
        "from the definition. The core samples are those of Assumption 2 for rows less their mean."
    )
    for protocol in PROTOCOLS:
        rows = []
        counts = {label: [0, 0] for label in COLUMNS}
        for part in _removals(found, protocol):
            count, total, ratios = holds3(part.entries)
            counts[part.label][0] += count
            counts[part.label][1] += total
            middle_ratio, worst = float(np.median(ratios)), max(ratios)
            if part.shown:
                share = f"{100 * count / total:.0f} % of {total}"
                rows.append([part.title, share, f"{middle_ratio:.3g}", f"{worst:.3g}"])
            line = part.line(3)
            data.append(line | {"measure": "share of (j, t) that hold", "mean": count / total, "repeats": total})
            data.append(line | {"measure": "left over right, median", "mean": middle_ratio})
            data.append(line | {"measure": "left over right, largest", "mean": worst})
        reading = [
            f"{label}: holds for {100 * held / of:.0f} % of the {of} pairs (j, t)."
            for label, (held, of) in counts.items()
            if of
        ]
        header = ["table", "holds", "left / right, median", "largest"]
        notes = ["Of all rows left out in all repeats, and t = 0.1 to 0.9; at t = 0 and 1 both sides are 0.", *reading]
        yield table_or_reason(results, f"Assumption 3, {protocol}", header, rows, notes)


def proposition1(results: Results, found: Found, data: Data) -> Iterator[Block]:
    """Show both sides of Proposition 1 over lambda_1."""
    yield (
        "Proposition 1 bounds D(L) + D(L_j), the scorer's falls on the way from Phi to Phi + t (Phi' - Phi), L the "
        "mean over all n rows and L_j the sum over the others divided by n, by t kappa_1^2 (|(2 Phi'^max_k - t "
        "(Phi'^max_k - Phi^max_k)) W_E W_D| + 2) |(Phi'^max_k - Phi^max_k) W_E W_D| / lambda. Norms of matrices are "
        "read as spectral norms, kappa_1 is the largest row norm among training and test rows (with the appended 1 "
        "where refitted). As printed both falls start at Phi; the optimality of Phi' speaks of a second fall from "
        "Phi' towards Phi, which is shown beside it (turned)."
    )
    for protocol in PROTOCOLS:
        rows, every, worst = [], [0, 0, 0, 0], -np.inf
        for name in DATASETS:
            where = ("removal", name, protocol, SEARCH)
            for weight in WEIGHTS:
                sizes = sorted({cell.details["n"] for cell, _ in found.cells(*where, weight=weight)})
                for column in ("held", "refitted"):
                    entries = found.left_out(column, *where, n=sizes[-1], weight=weight) if sizes else []
                    if not entries:
                        continue
                    line = [f"{info(name).title}, {column}, lambda = {fraction(weight)}"]
                    for i, side in enumerate(("printed", "turned")):
                        count, total, ratio = holds1(entries, side)
                        every[2 * i] += count
                        every[2 * i + 1] += total
                        worst = max(worst, ratio)
                        line += [f"{100 * count / total:.0f} % of {total}", f"{ratio:.1e}"]
                        base = where_of("P1", name, protocol, SEARCH, column, sizes[-1]) | {"weight": weight}
                        data.append(
                            base | {"measure": f"share that hold, {side}", "mean": count / total, "repeats": total}
                        )
                        data.append(base | {"measure": f"left over right, largest, {side}", "mean": ratio})
                    rows.append(line)
        header = ["table", "holds, printed", "left / right", "holds, turned", "left / right"]
        notes = ["Pairs (j, t), t = 0.1 to 1, at the largest n of each table; left / right is the largest."]
        if every[1]:
            notes.append(
                f"As printed it holds for {every[0]} of {every[1]} pairs, turned for {every[2]} of {every[3]}. The "
                f"left side is at most {worst:.1e} times the right."
            )
        yield table_or_reason(results, f"Proposition 1, {protocol}", header, rows, notes)


def constants(results: Results, found: Found, data: Data) -> Iterator[Block]:
    """Show the measured constants of the theory together."""
    rows = []
    for protocol in PROTOCOLS:
        for name in DATASETS:
            where = ("removal", name, protocol, SEARCH)
            sizes = found.sizes(*where)
            if not sizes:
                continue
            n = sizes[-1]
            core = ("core", name, protocol, SEARCH)
            eta = found.number(taken("centred", "eta_max"), *core, n=n)
            values = {
                "kappa1": found.number(taken("kappa1"), *where, n=n),
                "kappa2, held": found.number(largest("held", "ratio_max"), *where, n=n),
                "kappa2, refitted": found.number(largest("refitted", "ratio_max"), *where, n=n),
                "kappa3": eta and eta.times(n),
                "kappa4": found.number(taken("centred", "alpha_max"), *core, n=n),
                "kappa5": found.number(lambda record: max(record["kappa5"].values()), *where, n=n),
            }
            rows.append([f"{info(name).title}, {protocol}, n = {n:,}", *map(text, values.values())])
            for measure, value in values.items():
                data.append(where_of("constants", name, protocol, SEARCH, "", n) | {"measure": measure} | plain(value))
    header = ["table", "kappa_1", "kappa_2, held", "kappa_2, refitted", "kappa_3", "kappa_4", "kappa_5"]
    notes = [
        "Over the rows at hand, so each is a lower bound of the true one; rows less their mean. kappa_1: largest "
        "row norm. kappa_2: on the test rows; for all x see Assumption 1. kappa_3: n times the largest |eta|, at "
        "this n; it grows with n where the slope above is not -1. kappa_4: largest |alpha|. kappa_5: largest loss "
        "of the selector."
    ]
    yield table_or_reason(results, "The constants, lambda = 1/128", header, rows, notes)
