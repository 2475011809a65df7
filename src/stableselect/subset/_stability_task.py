"""What is to be selected for stability: the settings in their order, the folds held out, the finish of a round."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

from sklearn.exceptions import UndefinedMetricWarning

from ._default import Wanted
from ._round import Round
from ._search import Found, Setting

_LARGEST_VOTE_WEIGHT = 0.5
MORE_VOTES = (2.0, 4.0)
"""Times that the votes' weight is raised where a stability is asked for."""
FEW_SAMPLES_RIDGES = (1.0, 3.0)
"""Relative ridge weights of searches on the leave-one-out error."""
MORE_FEW_SAMPLES_RIDGES = (10.0, 30.0)
"""Those tried only where a stability is asked for."""
PROVEN_VOTES = 10**5
"""With at most this many subsets every vote is the best one: what swaps end in varies more from sample to sample."""
_MOST_VOTERS = 70
_FEWEST_FOR_PAIRS = 8
"""With fewer folds one is held out at a time, else two."""
SMALL_SET = 25
"""Up to this many features, every pair of folds is held out: the fewer they are, the more one of them counts."""
LONG_PROOFS = 10**6
"""Not so where there are more subsets than this and the best is proven all the same, in half a second a round."""


Held = tuple[int, ...]
"""Folds that are held out, or that vote."""
Search = tuple[Held, Setting]
"""What is searched: the samples without some folds, with a setting."""
Finished = tuple[list[int], float]
"""What a setting selects in a round, and its error."""


Finish = Callable[[Round, Found, Setting], Finished]
"""From the features found in a round to those selected, and their error per sample on the folds held out."""


def refit_finish(part: Round, found: Found, setting: Setting) -> Finished:
    """Take the features found in a round as they are, and tell the error of their map."""
    return found.chosen, part.error(found.chosen, setting.refit)


@dataclass(frozen=True)
class Task:
    """What is to be selected, and how.

    Attributes
    ----------
    wanted : Wanted
        What is to be selected, and the default's setting.
    max_error_increase : float
        Largest relative increase in held-out error accepted for stability.
    min_stability : float or None
        The stability asked for, if any.
    ridge_parts : tuple of int or None
        By fold, the part of the samples with which the default holds it out to choose its ridge; None for one fold at a
        time.
    finish : callable
        See :data:`Finish`.
    own_map : bool
        Whether the map keeps the default's ridge where the search takes a larger one.
    n_jobs : int or None
        Processes, as in joblib; None for this one alone.
    """

    wanted: Wanted
    max_error_increase: float
    min_stability: float | None
    ridge_parts: tuple[int, ...] | None = None
    finish: Finish = refit_finish
    own_map: bool = True
    n_jobs: int | None = None

    def steps(self) -> list[list[Setting]]:
        """Return the settings, from the one that gives up nothing to the one that gives up most.

        They come in steps; one is only taken where no setting before is stable enough. A ridge of None is the
        default's.
        """
        plain = self.wanted.plain
        if plain.search == "training":
            first = [plain, *(replace(plain, vote_weight=weight) for weight in vote_weights(self.wanted.k))]
            more = [replace(plain, vote_weight=times * first[-1].vote_weight) for times in MORE_VOTES]
        else:
            stable = replace(plain, exchange=False, search="leave_one_out")
            first = [plain, *(replace(stable, ridge=ridge) for ridge in FEW_SAMPLES_RIDGES)]
            more = [replace(stable, ridge=ridge) for ridge in MORE_FEW_SAMPLES_RIDGES]
        return [first] if self.min_stability is None else [first, *([setting] for setting in more)]


def vote_weights(k: int) -> tuple[float, float]:
    """Return what a feature without a vote may cost, as fractions of the loss.

    The more features are selected, the less of the loss each of them is about.

    Examples
    --------
    >>> vote_weights(50), vote_weights(5), vote_weights(1)
    ((0.02, 0.04), (0.2, 0.4), (0.25, 0.5))
    """
    most = min(_LARGEST_VOTE_WEIGHT, 2 / k)
    return most / 2, most


def held_out_groups(n_folds: int, every: bool) -> list[Held]:
    """Return the folds held out together: every pair, or some, each fold equally often; of few folds, each alone.

    Examples
    --------
    >>> len(held_out_groups(10, every=True)), len(held_out_groups(10, every=False))
    (45, 15)
    >>> held_out_groups(10, every=False)[:7]
    [(0, 5), (1, 6), (2, 7), (3, 8), (4, 9), (0, 1), (1, 2)]
    >>> held_out_groups(6, every=True)
    [(0,), (1,), (2,), (3,), (4,), (5,)]
    """
    if n_folds < _FEWEST_FOR_PAIRS:
        return [(fold,) for fold in range(n_folds)]
    if every:
        return list(combinations(range(n_folds), 2))
    half = n_folds // 2
    across = [(fold, (fold + half) % n_folds) for fold in range(n_folds if n_folds % 2 else half)]
    return [tuple(sorted(pair)) for pair in (*across, *((fold, (fold + 1) % n_folds) for fold in range(n_folds)))]


def voting_groups(n_folds: int) -> list[Held]:
    """Return combinations of two fifths of the folds, an even selection of about seventy at most.

    Examples
    --------
    >>> voters = voting_groups(10)
    >>> len(voters), voters[:3]
    (70, [(0, 1, 2, 3), (0, 1, 2, 6), (0, 1, 2, 9)])
    """
    every = list(combinations(range(n_folds), max(2, round(0.4 * n_folds))))
    return every[:: -(-len(every) // _MOST_VOTERS)]


def warn_without_choice(wanted: Wanted, m: int) -> None:
    """Warn where the same features are selected in any case."""
    if wanted.k - len(wanted.include) in (0, m - len(wanted.include) - len(wanted.exclude)):
        selected, advice = ("All", "select fewer") if wanted.k == m else ("The same", "include or exclude fewer")
        warnings.warn(
            f"{selected} {wanted.k} features are selected in any case, so there is no choice to repeat and its "
            f"stability is NaN; {advice}.",
            UndefinedMetricWarning,
            stacklevel=2,
        )
