"""Folds of samples that follow each other in time: contiguous blocks, apart from those that are fitted on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._resampling import units

GAP = 0.02
"""Fraction of the samples left out on either side of a block."""


@dataclass(frozen=True)
class BlockKFold:
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
