"""Forward search: the features one at a time, each by the largest fall of the loss; several searches side by side.

The notation is that of :mod:`stableselect._core._swap_state`. With w = R_j / sqrt(R_jj + alpha) a step turns R into
R - w w', so R's column norms g lose w * u, u = 2 R w - |w|^2 w, and its diagonal h loses w * w; R itself is not formed.

Searches with several ridge weights and on several tables go in lock step, as rows of the same arrays. Each chooses by
its own row alone, so that it finds what it would find by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from ._arrays import Array, index, like, to_numpy
from ._deflation import deflations
from ._gram import Gram
from ._threads import side_by_side, wide_parts

TRUST = 1e-12
"""A feature with less than this fraction of its variance left is a combination of the kept ones."""
ROUNDING = 1e-12
"""What rounding may have put into a residual, as a fraction of the terms it is the difference of."""
TIE = 1e-10
"""Gains within this relative distance are ties, as are those that rounding can move past each other."""
EXHAUSTED = 1e-10
"""Once the loss falls below this fraction of the total, the kept features span the table."""
BEYOND_RANK_RIDGE = 1e-3
"""Ridge, relative to the mean variance, by whose gain features are chosen beyond the rank."""
DETERMINED = 1e-2
"""Ties go to the lowest index of those that have at least this fraction of the most that is left of any of them."""
DEFLATE = 1e-2
"""Recompute the residual afresh when the loss has fallen this much since the last time."""

_MANY = 2**16
"""Features of all lanes that are worth several threads."""

Lane = tuple[Gram, float]
"""The moments and the ridge weight of one search."""


def absolute_ridge(gram: Gram, ridge: float) -> float:
    """Return the ridge weight alpha for one stated relative to the mean variance of the features."""
    return ridge * gram.trace() / gram.n_features


def gain_rounding(g: Array, pivot: Array, size: Array, total: float | Array, xp: ModuleType) -> Array:
    """Return by how much rounding may have moved the gain g / pivot of adding a feature.

    An error e sqrt(s_i s_j) in every R_ij, e = ROUNDING, moves the pivot by e s_j and |R_j| by e sqrt(s_j total). The
    ``size`` s_j of feature j is C_jj, and more where kept features are close to combinations of each other: it is the
    sum of the terms that cancel in R_jj; ``total`` is the sum of all sizes.
    """
    return ROUNDING / pivot * (2 * xp.sqrt(xp.where(g > 0, g, 0.0) * (size * total)) + xp.abs(g) * size / pivot)


def first_of_best(gain: Array, slack: Array, left: Array, xp: ModuleType) -> int:
    """Return the lowest index whose gain, with ``slack`` either way, ties with the largest.

    ``left`` is what is left of every feature, relative to its variance. A feature of which little is left is badly
    determined, so it does not win a tie with others of which much is.
    """
    tied = gain + slack >= xp.max(gain - slack)
    most = xp.max(xp.where(tied, left, 0.0))
    return int(xp.argmax(xp.astype(tied & (left >= DETERMINED * most), xp.int32)))


def open_columns(gram: Gram, closed: Sequence[int]) -> Array:
    """Return a boolean array, true for the features that may still be chosen."""
    mask = np.ones(gram.diagonal().shape[0], dtype=bool)
    mask[list(closed)] = False
    return gram.xp.asarray(mask, device=gram.device)


def forward_searches(
    lanes: Sequence[Lane],
    k: int | Sequence[int],
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    prices: Array = None,
) -> list[list[int]]:
    """Choose k features one at a time in every lane, each by the largest fall of the loss less its price.

    Parameters
    ----------
    lanes : sequence of (Gram, float)
        The moments and the ridge weight of each search, all of one form and of as many features. Those in a row with
        the same moments share their products.
    k : int or sequence of int
        Number of features, of all lanes or of each.
    include, exclude : sequence of int
        Features that come first, in this order, and features that are never chosen.
    prices : array of length m, optional
        What keeping a feature costs beside the loss, in its units; none below zero.

    Returns
    -------
    list of list of int
        The features in order of selection.
    """
    ends = [k] * len(lanes) if isinstance(k, int) else list(k)
    search = _ForwardSearch(lanes, max(ends), include, exclude, prices)
    found: dict[int, list[int]] = {}
    running = list(range(len(lanes)))
    for step in range(max(ends)):
        features = [include[step]] * len(running) if step < len(include) else search.best()
        search.take(features, last=step == max(ends) - 1)
        if any(ends[lane] == step + 1 for lane in running):
            found.update(zip(running, search.chosen, strict=True))
            going = [at for at, lane in enumerate(running) if ends[lane] > step + 1]
            running = [running[at] for at in going]
            if running:
                search.keep(going)
    return [found.get(lane, []) for lane in range(len(lanes))]


class Seen(NamedTuple):
    """What is best in every lane.

    Attributes
    ----------
    best : ndarray of int
        The feature of largest gain.
    top, second : ndarray
        Its gain, and the next largest.
    fall : ndarray
        The largest fall of the loss, whatever the price.
    ratio : ndarray
        The largest ratio of the terms that cancel in a pivot to the pivot.
    """

    best: np.ndarray
    top: np.ndarray
    second: np.ndarray
    fall: np.ndarray
    ratio: np.ndarray


def _best_of(seen: Sequence[Seen]) -> Seen:
    """Return what is best in all parts of the features, from what is best in each; ties go to the first part."""
    if len(seen) == 1:
        return seen[0]
    best, top, second, fall, ratio = (np.stack(values) for values in zip(*seen, strict=True))
    at = np.argmax(top, axis=0), np.arange(top.shape[1])
    largest = top[at]
    top[at] = -np.inf
    second = np.maximum(second.max(axis=0), top.max(axis=0))
    return Seen(best[at], largest, second, fall.max(axis=0), ratio.max(axis=0))


class _ForwardSearch:
    """What every lane has chosen, and what is left of its features: a row of every array for each lane.

    What is left of a feature that may not be chosen, or is a combination of those that are, counts as infinite: its
    gain is zero, and a step needs no mask.
    """

    def __init__(
        self, lanes: Sequence[Lane], k: int, include: Sequence[int], exclude: Sequence[int], prices: Array
    ) -> None:
        self.grams = [gram for gram, _ in lanes]
        self.alphas = np.array([alpha for _, alpha in lanes], dtype=np.float64)
        self.k, self.prices, self.xp = k, prices, self.grams[0].xp
        self.chosen: list[list[int]] = [[] for _ in lanes]
        self.exhausted = np.zeros(len(lanes), dtype=bool)
        self.sharing = deflations(self.grams, k)  # and the lanes of each
        each = {id(gram): gram for gram in self.grams}
        known = {own: (gram.squared_norms(), gram.diagonal(), gram.trace()) for own, gram in each.items()}
        norms, variances, traces = zip(*(known[id(gram)] for gram in self.grams), strict=True)
        xp = self.xp
        self.g, self.variance = xp.stack(norms), xp.stack(variances)
        self.lanes = index(range(len(lanes)), self.g, xp)
        self.open = xp.stack([open_columns(self.grams[0], [*include, *exclude])] * len(lanes))
        self.h = xp.where(self.open & (self.variance > 0), self.variance, float("inf"))
        self.size = xp.asarray(self.variance, copy=True)  # the terms that cancel in h
        self.loss, self.total, self.total_size = np.tile(traces, (3, 1))
        self.watched = DEFLATE * self.loss  # the residual is computed afresh once the loss is below this
        self.ridges = like(self.alphas[:, None], self.g, xp)
        self.seen: Seen | None = None

    def keep(self, lanes: Sequence[int]) -> None:
        """Go on with some of the lanes only."""
        xp, at, self.seen = self.xp, index(lanes, self.g, self.xp), None
        self.g, self.h, self.size, self.variance, self.ridges, self.open = (
            xp.take(array, at, axis=0) for array in (self.g, self.h, self.size, self.variance, self.ridges, self.open)
        )
        self.loss, self.total, self.total_size, self.watched, self.alphas, self.exhausted = (
            array[list(lanes)]
            for array in (self.loss, self.total, self.total_size, self.watched, self.alphas, self.exhausted)
        )
        self.grams, self.chosen = [self.grams[lane] for lane in lanes], [self.chosen[lane] for lane in lanes]
        self.lanes = self.lanes[: len(lanes)]
        place = {lane: at for at, lane in enumerate(lanes)}
        before, self.sharing = self.sharing, []
        for directions, rows in before:
            own = [at for at, lane in enumerate(rows) if lane in place]
            if own:
                directions.keep(own)
                self.sharing.append((directions, [place[rows[at]] for at in own]))

    def best(self) -> list[int]:
        """Return the best next feature of every lane."""
        if (self.loss < self.watched).any():
            for lane in np.flatnonzero(self.loss < self.watched).tolist():
                self._restart(lane)
                if self.loss[lane] <= EXHAUSTED * self.total[lane]:
                    self._exhaust(lane)
        seen = self.seen or self._look(slice(None))
        at = self.lanes, index(seen.best, self.g, self.xp)
        varies = to_numpy(self.h[at] > TRUST * self.variance[at]) | self.exhausted
        with np.errstate(invalid="ignore"):
            # No gain is off by more than rounding makes of the largest fall and the largest ratio of size to pivot.
            error = seen.fall * seen.ratio
            slack = ROUNDING * (2 * np.sqrt(error * self.total_size) + error) + TIE * (seen.fall + abs(seen.top))
            clear = varies & (seen.fall > 0) & to_numpy(self.g[at] > 0) & (seen.second < seen.top - 3 * slack)
        found = seen.best.tolist()
        return found if clear.all() else [j if clear[i] else self._first_of_best(i) for i, j in enumerate(found)]

    def _look(self, part: slice) -> Seen:
        """Return what is best in some of the features."""
        xp, h = self.xp, self.h[:, part]
        with np.errstate(divide="ignore", invalid="ignore"):  # nothing is left of combinations
            pivot = h + self.ridges
            gain = fall = self.g[:, part] / pivot
            if self.prices is not None:
                gain = xp.where(h < float("inf"), fall - self.prices[part], -float("inf"))
            best = xp.argmax(gain, axis=1)
            top = to_numpy(gain[self.lanes, best])
            most = top if self.prices is None else to_numpy(xp.max(fall, axis=1))
            gain[self.lanes, best] = -float("inf")
            second = to_numpy(xp.max(gain, axis=1))
            xp.divide(self.size[:, part], pivot, out=pivot)
            return Seen(to_numpy(best) + (part.start or 0), top, second, most, to_numpy(xp.max(pivot, axis=1)))

    def _usable(self, lane: int) -> Array:
        """Return which features of a lane may be chosen and are not combinations of the chosen ones.

        Combinations are not looked at again, unless all features that are left are chosen by their gain under a ridge.
        """
        varies = self.h[lane, :] > TRUST * self.variance[lane, :]
        if not self.exhausted[lane]:
            self.h[lane, :] = self.xp.where(varies, self.h[lane, :], float("inf"))
        return (varies | bool(self.exhausted[lane])) & (self.h[lane, :] < float("inf")) & (self.g[lane, :] > 0)

    def _first_of_best(self, lane: int) -> int:
        """Return the best feature of a lane, where gains tie or none is left."""
        xp, usable = self.xp, self._usable(lane)
        if not bool(xp.any(usable)) and not self.exhausted[lane]:
            self._exhaust(lane)
            usable = self._usable(lane)
        if not bool(xp.any(usable)):
            usable = self.open[lane, :]  # constant features come last
        alpha = float(self.alphas[lane])
        g, h, size, variance = (array[lane, :] for array in (self.g, self.h, self.size, self.variance))
        pivot = xp.where(usable & (h + alpha > 0), h + alpha, 1.0)
        gain = g / pivot if self.prices is None else g / pivot - self.prices
        slack = gain_rounding(g, pivot, size, float(xp.sum(size)), xp) + TIE * xp.abs(gain)
        share = (h + alpha) / xp.where(variance > 0, variance, 1.0)
        return first_of_best(xp.where(usable, gain, -float("inf")), slack, share, xp)

    def take(self, features: Sequence[int], *, last: bool = False) -> None:
        """Choose a feature in every lane; what comes after that is not looked at for the last one."""
        xp, n_lanes = self.xp, len(features)
        at = self.lanes, index(features, self.g, xp)
        own = self.variance[at]
        if len(self.sharing) == 1:
            w, u, lengths, inverse = self.sharing[0][0].step(features, self.alphas, TRUST * own)
        else:
            steps: list[tuple[Array, ...]] = [()] * n_lanes
            for directions, rows in self.sharing:
                found = directions.step(
                    [features[lane] for lane in rows], self.alphas[rows], TRUST * own[index(rows, own, xp)]
                )
                for lane, *step in zip(rows, *found, strict=True):
                    steps[lane] = tuple(step)
            w, u, lengths, inverse = (xp.stack(part) for part in zip(*steps, strict=True))
        growth = own * inverse
        self.loss -= to_numpy(lengths)
        self.total_size += to_numpy(growth * lengths)
        self.h[at], self.open[at] = float("inf"), False
        for chosen, j in zip(self.chosen, features, strict=True):
            chosen.append(j)

        def update(part: slice) -> Seen | None:
            squares = w[:, part] * w[:, part]
            self.h[:, part] -= squares
            squares *= growth[:, None]
            self.size[:, part] += squares
            self.g[:, part] -= w[:, part] * u[:, part]
            return None if last else self._look(part)

        parts = wide_parts(w, _MANY)
        seen = [update(parts[0])] if len(parts) == 1 else side_by_side(update, parts)
        self.seen = None if last else _best_of(seen)  # type: ignore[arg-type]

    def _exhaust(self, lane: int) -> None:
        """Go on by the gain under a small ridge, since the features chosen in a lane span the table."""
        self.exhausted[lane] = True
        self.alphas[lane] = max(self.alphas[lane], absolute_ridge(self.grams[lane], BEYOND_RANK_RIDGE))
        self.ridges[lane, 0] = self.alphas[lane]
        self._restart(lane)

    def _restart(self, lane: int) -> None:
        """Compute the residual of a lane afresh, or at least its norms."""
        chosen, gram, self.seen = self.chosen[lane], self.grams[lane], None
        at = next(i for i, (_, rows) in enumerate(self.sharing) if lane in rows)
        directions, rows = self.sharing[at]
        place, R, norms = rows.index(lane), None, None
        if (
            directions.grams[place] is gram
            and self.loss[lane] > DEFLATE**2 * self.total[lane]
            and not self.exhausted[lane]
        ):
            norms = directions.norms(place)
        if norms is None:
            R = gram.split(chosen, float(self.alphas[lane]))[2] if chosen else gram
            norms = R.squared_norms(), R.diagonal()
            if not directions.restart(place, R):
                rows.remove(lane)
                self.sharing = [part for part in self.sharing if part[1]]
                own, _ = deflations([R], self.k - len(chosen))[0]
                self.sharing.append((own, [lane]))
        self.g[lane, :], left = norms
        self.h[lane, :] = self.xp.where(self.open[lane, :], left, float("inf"))
        self.loss[lane] = float(self.xp.sum(left)) if R is None else R.trace()
        self.watched[lane] = max(DEFLATE * self.loss[lane], (1 + TIE) * EXHAUSTED * self.total[lane])
        if self.exhausted[lane]:
            self.watched[lane] = -np.inf
