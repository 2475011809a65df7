"""What is selected without regard to stability: one search with the ridge weight that suits the samples.

With few samples the ridge weight, and which of two searches to trust, go by the exact leave-one-out error. One forward
search follows the training loss, the other the leave-one-out error itself. With hundreds of features a sample, as in
tables of genes, the training loss leads astray. Elsewhere it is the steadier guide: the least of many leave-one-out
errors is too good to be true, and a set that was found by it is only worth taking if it is better by more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .._core import (
    Gram,
    HeldOut,
    KeptSamples,
    LeaveOneOutState,
    Moments,
    exchange_leave_one_out,
    expect_bound,
    forward_leave_one_out,
    forward_search,
    forward_with_each,
    kept_samples,
    leave_one_out_error,
)
from ._ridge import choose_ridge
from ._search import FEWEST_FOLDS, Found, Setting, find_columns, prove_columns

SearchCriterion = Literal["training", "leave_one_out"]
RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Relative ridge weights of "auto" with few samples."""
_START = 3
"""Number of the weight tried first."""
FIRST_RIDGES = RIDGES[_START - 1 : _START + 3]
"""Of these all but the last are needed, and it too where the weight is among the larger ones."""
SMALLEST_RIDGE = 1e-6
"""Below it a leave-one-out error is rounding where the selected features fit the samples exactly."""
_BETTER = 0.96
"""Search on the leave-one-out error where that lowers it to less than this fraction of what the training loss leads to.

Of tables of 25 to 200 samples, test errors fell by 1 to 11 % where this fraction was below .96 (genes, spectra, ISOLET
with 50 samples), and rose by up to 8 % where it was above (images).
"""

_HOPELESS = 0.98
"""Try no other ridge weight for that search where, with the one that suits the training loss, it leaves more than this.

In 36 choices from tables of 40 to 200 samples other weights lowered it by up to 4 %, and by 1.4 % where it was higher.
"""

_HOPELESS_AT_LAST, _LARGE, _MANY = 0.99, 4_000_000, 32
"""Nor begin it where more than this is left when it chooses the last quarter only, of so many features at least, in
tables of so many values: the others are then those that the training loss leads to.

Of 37 choices of 32 to 180 features, 19 had less than .98 left by the whole search, and these at most .987 in this way.
"""

_MANY_FEATURES = 4
"""With fewer features a sample than this the search on the leave-one-out error is not tried.

On parts of ISOLET it won in five of five cases with twelve features a sample, in one of five with six, in none with
three; there both searches lead to the same test error.
"""


@dataclass(frozen=True)
class FewSamplesSearch:
    """The features found, on which number they were searched, with which ridge weight, and their leave-one-out error.

    The error is per feature, in units of the mean variance.
    """

    found: Found
    criterion: SearchCriterion
    ridge: float
    error: float


@dataclass(frozen=True)
class Candidate:
    """What a search finds with a ridge weight, and the leave-one-out error of it."""

    chosen: list[int]
    ridge: float
    error: float


Known = dict[float, Candidate]
"""What forward searches on the leave-one-out error find, by ridge weight."""


@dataclass(frozen=True)
class Wanted:
    """What is to be selected.

    Attributes
    ----------
    k : int
        Number of features to select.
    include, exclude : list of int
        Features that must or must not be selected.
    plain : Setting
        How to search without regard to stability; its ridge is None where that is to be chosen.
    fewest_folds : int
        With fewer parts held out no ridge is chosen by their error; it is 0.
    """

    k: int
    include: list[int]
    exclude: list[int]
    plain: Setting
    fewest_folds: int = FEWEST_FOLDS


@dataclass(frozen=True)
class Searched:
    """The features found, the setting with the ridge weight taken, and how few samples were searched, if they were."""

    found: Found
    setting: Setting
    few: FewSamplesSearch | None = None

    @property
    def criterion(self) -> str:
        """What the search lowered."""
        return "training" if self.few is None else self.few.criterion


def search_default(
    gram: Gram,
    samples: KeptSamples | None,
    held_out: Sequence[HeldOut],
    wanted: Wanted,
    known: Known | None = None,
    *,
    eigenvalues: bool = False,
    others: bool = False,
) -> Searched:
    """Return what is selected without regard to stability.

    Parameters
    ----------
    gram : Gram
        The moments, of mean variance one.
    samples : KeptSamples or None
        The samples, where the leave-one-out error decides.
    held_out : sequence of HeldOut
        The parts by whose error the ridge is chosen elsewhere.
    wanted : Wanted
        What is to be selected.
    known : Known, optional
        Searches on the leave-one-out error of these samples that were made already.
    eigenvalues, others : bool
        Whether the eigenvalues of the moments, or how well every feature follows from all others, will be asked for
        afterwards; they are computed beside the search.

    Returns
    -------
    Searched
    """
    plain, k, include, exclude = wanted.plain, wanted.k, wanted.include, wanted.exclude
    ridge = plain.ridge
    beside = gram.expect_eigenvalues if eigenvalues else lambda: None
    if samples is None and ridge is None and len(held_out) >= wanted.fewest_folds:
        ridge = choose_ridge(held_out, k, include, exclude, gram, beside)
    else:
        beside()
    if samples is None:
        setting = replace(plain, ridge=ridge or 0.0, search="training")
        if others:
            expect_bound(gram, setting.refit)
        searched = Searched(find_columns(gram, k, setting, include, exclude), setting)
    else:
        few, setting = search_few_samples(samples, k, plain, include, exclude, known)
        searched = Searched(few.found, setting, few)
    if plain.exchange and searched.criterion == "training":
        return replace(searched, found=prove_columns(gram, searched.found, setting, include, exclude))
    return searched


def obstacle_to_leave_one_out(ridge: float | str, cv: object, stable: bool) -> str | None:
    """Return why the leave-one-out error cannot decide with these parameters, and what to do; None where it can."""
    if stable and not isinstance(ridge, str):
        return "goes with stability only where ridge is 'auto', which is raised for it; take that."
    if cv is not None:
        return "leaves out single samples, and cv holds out folds of them; leave one of them out."
    if not isinstance(ridge, str) and ridge < SMALLEST_RIDGE:
        return f"needs a ridge of at least {SMALLEST_RIDGE:g}, got {ridge:g}; raise it or take ridge='auto'."
    return None


def samples_to_leave_out(moments: Moments, gram: Gram, required: bool) -> KeptSamples | None:
    """Return the samples that moments keep; where there are none but they are required, raise an error."""
    samples = kept_samples(moments, gram)
    if samples is None and required:
        raise ValueError(
            "search_criterion='leave_one_out' needs the samples themselves, at least three that differ. They are kept "
            "while there are at most half as many samples as features, but these are "
            f"{moments.n_samples} samples of {moments.n_features} features in {moments.form} form; take 'auto'."
        )
    return samples


def search_few_samples(
    samples: KeptSamples,
    k: int,
    setting: Setting,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    known: Known | None = None,
) -> tuple[FewSamplesSearch, Setting]:
    """Search k features of few samples.

    Parameters
    ----------
    samples : KeptSamples
        The samples.
    k : int
        Number of features to select.
    setting : Setting
        Its ridge is None for the weight of least leave-one-out error. Its search is "leave_one_out", or "few_samples"
        to choose between that and a search on the training loss. Where the searches are compared, features found by
        their leave-one-out error are not exchanged: swaps take longer than all the rest, and hardly move the error on
        other samples.
    include, exclude : sequence of int
        Features that must or must not be selected.
    known : Known, optional
        Forward searches on the leave-one-out error that were made already, by ridge weight; new ones are added.

    Returns
    -------
    FewSamplesSearch
    setting : Setting
        With the ridge weight taken, and without exchange after a search on the leave-one-out error: what follows it
        swaps by training losses, which would undo it.
    """
    few = _searched(samples, k, setting, include, exclude, {} if known is None else known)
    exchange = setting.exchange and few.criterion == "training"
    return few, replace(setting, ridge=few.ridge, exchange=exchange)


def _searched(
    samples: KeptSamples, k: int, setting: Setting, include: Sequence[int], exclude: Sequence[int], known: Known
) -> FewSamplesSearch:
    n, m = samples.gram.A.shape

    def by_error(weight: float) -> Candidate:
        if weight not in known:
            state = forward_leave_one_out(samples, k, weight, include, exclude)
            known[weight] = Candidate(state.chosen, weight, state.error)
        return known[weight]

    def by_loss(weight: float) -> Candidate:
        chosen = forward_search(samples.gram, k, weight, include, exclude)
        return Candidate(chosen, weight, leave_one_out_error(samples, chosen, weight))

    def promising(other: Candidate) -> bool:
        weight, first = other.ridge, k - k // 4
        if k >= _MANY and n * m >= _LARGE and first >= len(include) and weight not in known:
            state = LeaveOneOutState(samples, weight, other.chosen[:first])
            forward_leave_one_out(samples, k, weight, include, exclude, start=state)
            if state.error > _HOPELESS_AT_LAST * other.error:
                return False
        return by_error(weight).error < _HOPELESS * other.error

    other = None
    if setting.search == "few_samples":
        if setting.ridge is None:
            forward_with_each(samples.gram, k, FIRST_RIDGES[:-1], include, exclude)
        other = _best_ridge(by_loss, setting.ridge)
    worth_trying = other is None or (m >= _MANY_FEATURES * n and promising(other))
    best = _best_ridge(by_error, setting.ridge) if worth_trying else None
    if other is not None and (best is None or best.error >= _BETTER * other.error):
        found = find_columns(samples.gram, k, Setting(other.ridge, setting.exchange), include, exclude)
        error = leave_one_out_error(samples, found.chosen, other.ridge)
        return FewSamplesSearch(found, "training", other.ridge, error / m)
    assert best is not None
    n_swaps = 0
    if setting.exchange and other is None:
        state = LeaveOneOutState(samples, best.ridge, best.chosen)
        n_swaps = exchange_leave_one_out(state, include, exclude)
        best = Candidate(state.chosen, best.ridge, state.error)
    return FewSamplesSearch(Found(best.chosen, n_swaps), "leave_one_out", best.ridge, best.error / m)


def _best_ridge(search: Callable[[float], Candidate], ridge: float | None) -> Candidate:
    """Return what a search finds with the ridge weight of least error: the grid is walked for as long as that falls."""
    if ridge is not None:
        return search(ridge)
    best = search(RIDGES[_START])
    for weights, limit in ((RIDGES[_START + 1 :], 1 - 1e-9), (RIDGES[_START - 1 :: -1], 1 + 1e-9)):
        for weight in weights:  # ties go to the smaller one
            candidate = search(weight)
            if candidate.error >= limit * best.error:
                break
            best = candidate
        if best.ridge > RIDGES[_START]:
            break
    return best
