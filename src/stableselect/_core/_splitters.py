"""Splitters with scikit-learn's interface: samples drawn at random, and blocks of samples that follow each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np

from ._resampling import RandomState, seed_sequence, units

GAP = 0.02
"""Fraction of the samples left out on either side of a block."""


@dataclass(frozen=True)
class Splitter:
    """The part of a splitter that is the same for all."""

    n_splits: int

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : object
            Ignored, for scikit-learn.

        Returns
        -------
        int
        """
        return self.n_splits


@dataclass(frozen=True)
class Resampler(Splitter, ABC):
    """Base of the splitters that draw samples, or whole groups of them, at random.

    Every split has its own stream of random numbers, so the first splits stay the same when more are asked for.
    """

    n_splits: int = 10
    random_state: RandomState = field(default=0, kw_only=True)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the samples to fit on and those left out.

        Parameters
        ----------
        X : array-like of shape (n, m)
            The table; only its number of samples is used.
        y : object
            Ignored, for scikit-learn.
        groups : array-like of shape (n,), optional
            Labels of samples that belong together: whole groups are drawn or left out.

        Yields
        ------
        train, test : ndarray of int
            Indices; a sample that was drawn twice is twice in ``train``.
        """
        if not isinstance(self.n_splits, Integral) or isinstance(self.n_splits, bool) or self.n_splits < 2:
            raise ValueError(
                f"n_splits must be an integer of at least 2 but is {self.n_splits!r}; one run has nothing to agree "
                "with."
            )
        n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        labels, what = units(groups, n)
        size = int(labels.max(initial=-1)) + 1
        if size < 2:
            raise ValueError(f"Resampling needs at least 2 {what} but there are {size}; give more {what}.")
        for counts in self._draws(size, what):
            times = counts[labels]
            yield np.repeat(np.arange(n), times), np.flatnonzero(times == 0)

    @abstractmethod
    def _draws(self, size: int, what: str) -> Iterator[np.ndarray]:
        """Yield, for every split, how often each of ``size`` units is drawn; ``what`` they are is for errors."""

    def _generators(self, number: int) -> Iterator[np.random.Generator]:
        return map(np.random.default_rng, seed_sequence(self.random_state).spawn(number))


@dataclass(frozen=True)
class Subsample(Resampler):
    """Splitter that draws a fraction of the samples without replacement.

    Like :class:`sklearn.model_selection.ShuffleSplit`, but with ``groups`` it draws whole groups.

    Parameters
    ----------
    n_splits : int, default=10
        Number of subsamples, at least 2.
    train_size : float, default=0.8
        Fraction of the samples, or groups, in a subsample; above 0 and below 1.
    random_state : int, RandomState instance, SeedSequence or None, default=0
        Seed.

    Examples
    --------
    >>> from stableselect.inspection import Subsample
    >>> [len(train) for train, test in Subsample(3, train_size=0.5).split([[0], [1], [2], [3]])]
    [2, 2, 2]
    """

    train_size: float = field(default=0.8, kw_only=True)

    def _draws(self, size: int, what: str) -> Iterator[np.ndarray]:
        fraction = self.train_size
        if not isinstance(fraction, Real) or isinstance(fraction, bool) or not 0 < fraction < 1:
            raise ValueError(
                f"train_size must be a number above 0 and below 1 but is {fraction!r}; 0.8 draws four fifths of the "
                f"{what}."
            )
        number = round(float(fraction) * size)
        if not 1 <= number < size:
            raise ValueError(
                f"A subsample must keep some of the {what} and leave some out but train_size={fraction!r} keeps "
                f"{number} of {size}; change train_size or give more {what}."
            )
        for rng in self._generators(self.n_splits):
            yield np.bincount(rng.choice(size, number, replace=False), minlength=size)


@dataclass(frozen=True)
class Bootstrap(Resampler):
    """Splitter that draws as many samples as there are, with replacement.

    Parameters
    ----------
    n_splits : int, default=10
        Number of bootstrap samples, at least 2.
    random_state : int, RandomState instance, SeedSequence or None, default=0
        Seed.

    Examples
    --------
    >>> from stableselect.inspection import Bootstrap
    >>> [len(train) for train, test in Bootstrap(3).split([[0], [1], [2], [3]])]
    [4, 4, 4]
    """

    def _draws(self, size: int, what: str) -> Iterator[np.ndarray]:
        for rng in self._generators(self.n_splits):
            yield np.bincount(rng.integers(size, size=size), minlength=size)


@dataclass(frozen=True)
class ComplementaryPairs(Resampler):
    """Splitter that draws halves of the samples, two at a time without a common sample.

    The halves of a pair follow each other. Of an odd number of samples, or groups, one is left out of both.

    Parameters
    ----------
    n_splits : int, default=10
        Number of halves, even.
    random_state : int, RandomState instance, SeedSequence or None, default=0
        Seed.

    Examples
    --------
    >>> from stableselect.inspection import ComplementaryPairs
    >>> one, other = (set(train) for train, test in ComplementaryPairs(2).split([[0], [1], [2], [3]]))
    >>> len(one), len(other), one & other
    (2, 2, set())
    """

    def _draws(self, size: int, what: str) -> Iterator[np.ndarray]:
        if self.n_splits % 2:
            raise ValueError(f"The number of halves must be even but is {self.n_splits}; add one.")
        half = size // 2
        for rng in self._generators(self.n_splits // 2):
            place = rng.permutation(size) // half
            yield from (np.where(place == side, 1, 0) for side in (0, 1))


@dataclass(frozen=True)
class BlockKFold(Splitter):
    """Splitter that holds out blocks of samples which follow each other in time.

    Neighbours in time are alike. Where samples to fit on lie among those held out, errors are smaller than those of
    samples to come. Blocks have an edge on either side only, and samples near it are not fitted on.

    Parameters
    ----------
    n_splits : int, default=5
        Number of blocks, at least 2.
    gap : float, default=0.02
        Fraction of the samples that are left out between a block and the samples to fit on, on either side; at least 0
        and below ``1 / n_splits``.

    Examples
    --------
    >>> import numpy as np
    >>> from stableselect.inspection import BlockKFold
    >>> for train, test in BlockKFold(3, gap=0.1).split(np.zeros((12, 1))):
    ...     print(train, test)
    [ 6  7  8  9 10 11] [0 1 2 3]
    [ 0  1 10 11] [4 5 6 7]
    [0 1 2 3 4 5] [ 8  9 10 11]
    """

    n_splits: int = 5
    gap: float = GAP

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the samples to fit on and those held out.

        Parameters
        ----------
        X : array-like of shape (n, m)
            The table; only its number of samples is used.
        y : object
            Ignored, for scikit-learn.
        groups : array-like of shape (n,), optional
            The times of the samples, or anything that sorts as they do; by default samples are in order. Samples of one
            time stay together.

        Yields
        ------
        train, test : ndarray of int
            Indices.
        """
        if not 0 <= self.gap < 1 / self.n_splits:
            raise ValueError(f"gap must be at least 0 and below 1 / {self.n_splits} but is {self.gap!r}; change it.")
        n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        times = units(groups, n)[0]
        blocks = time_blocks(times, self.n_splits)
        counts = np.bincount(times)
        before = np.concatenate([[0], np.cumsum(counts)])  # samples before each time
        width = int(np.ceil(self.gap * n))
        for block in range(self.n_splits):
            test = np.flatnonzero(blocks == block)
            first, last = before[times[test].min()], before[times[test].max() + 1]
            train = (before[times + 1] <= first - width) | (before[times] >= last + width)
            yield np.flatnonzero(train), test


def time_blocks(times: np.ndarray, n_blocks: int) -> np.ndarray:
    """Return the block of every sample: about equally many follow each other in each, those of one time together.

    Parameters
    ----------
    times : ndarray of int, shape (n,)
        The rank of every sample's time, as :func:`units` gives it.
    n_blocks : int
        Number of blocks.
    """
    counts = np.bincount(times)
    middle = np.cumsum(counts) - counts / 2
    of_time = np.minimum(middle * n_blocks / len(times), n_blocks - 0.5).astype(np.intp)
    found = np.unique(of_time)
    if len(found) < n_blocks:
        raise ValueError(
            f"{n_blocks} blocks need as many different times of about equally many samples each, and there are "
            f"{counts.size} times in all; ask for fewer blocks."
        )
    return np.asarray(of_time[times])
