"""Which folds of the samples are held out together, and which vote."""

from __future__ import annotations

from itertools import combinations

_MOST_VOTERS = 70
_FEWEST_FOR_PAIRS = 8
"""With fewer folds one is held out at a time, else two."""


def held_out_groups(n_folds: int) -> list[tuple[int, ...]]:
    """Return the folds held out together: pairs, such that every fold is held out equally often; or each alone.

    Examples
    --------
    >>> len(held_out_groups(10)), held_out_groups(10)[:7]
    (15, [(0, 5), (1, 6), (2, 7), (3, 8), (4, 9), (0, 1), (1, 2)])
    >>> held_out_groups(6)
    [(0,), (1,), (2,), (3,), (4,), (5,)]
    """
    if n_folds < _FEWEST_FOR_PAIRS:
        return [(fold,) for fold in range(n_folds)]
    half = n_folds // 2
    across = [(fold, (fold + half) % n_folds) for fold in range(n_folds if n_folds % 2 else half)]
    return [tuple(sorted(pair)) for pair in (*across, *((fold, (fold + 1) % n_folds) for fold in range(n_folds)))]


def voting_groups(n_folds: int) -> list[tuple[int, ...]]:
    """Return combinations of two fifths of the folds, an even selection of about seventy at most.

    Examples
    --------
    >>> voters = voting_groups(10)
    >>> len(voters), voters[:3]
    (70, [(0, 1, 2, 3), (0, 1, 2, 6), (0, 1, 2, 9)])
    """
    every = list(combinations(range(n_folds), max(2, round(0.4 * n_folds))))
    return every[:: -(-len(every) // _MOST_VOTERS)]
