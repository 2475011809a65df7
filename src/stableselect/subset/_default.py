"""What is selected without regard to stability: the ridge weight, the search, and a proof where subsets are few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .._core import Gram, HeldOut, KeptSamples
from ._few_samples import FewSamplesSearch, Known, search_few_samples
from ._proof import prove_columns
from ._ridge import FEWEST_FOLDS, choose_ridge
from ._search import Found, Setting, find_columns


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

    Returns
    -------
    Searched
    """
    plain, k, include, exclude = wanted.plain, wanted.k, wanted.include, wanted.exclude
    if samples is None:
        ridge = plain.ridge
        if ridge is None:
            enough = len(held_out) >= wanted.fewest_folds
            ridge = choose_ridge(held_out, k, include, exclude) if enough else 0.0
        setting = replace(plain, ridge=ridge, search="training")
        searched = Searched(find_columns(gram, k, setting, include, exclude), setting)
    else:
        few, setting = search_few_samples(samples, k, plain, include, exclude, known)
        searched = Searched(few.found, setting, few)
    if plain.exchange and searched.criterion == "training":
        return replace(searched, found=prove_columns(gram, searched.found, setting, include, exclude))
    return searched
