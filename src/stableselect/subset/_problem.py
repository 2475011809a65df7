"""What a search on the moments has found, for the selector that makes a selection of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._core import Array, Gram, Moments
from ._choice import Choice
from ._search import Found, Setting


@dataclass(frozen=True)
class Problem:
    """What a search works on.

    Attributes
    ----------
    gram : Gram
        The moments, scaled to mean variance one.
    unit : float
        The mean variance: a loss in the gram's units times ``unit`` is one in those of the samples.
    mean : ndarray of shape (m,)
        Feature means of the samples.
    scale : ndarray of shape (m,)
        What the samples' features were divided by.
    k : int
        Number of features to select.
    ridge : float
        Ridge weight of the map relative to the mean variance, which is its weight in the gram's units.
    include, exclude : list of int
        Features that must or must not be selected.
    setting : Setting
        How was searched.
    found : Found
        The features that the search found.
    moments : Moments
        The moments, in the units of the search.
    samples : (array or None, array or None)
        The table and its weights; no table where only moments are known.
    choice : Choice or None
        The conditions, where there are some.
    """

    gram: Gram
    unit: float
    mean: np.ndarray
    scale: np.ndarray
    k: int
    ridge: float
    include: list[int]
    exclude: list[int]
    setting: Setting
    found: Found
    moments: Moments
    samples: tuple[Array, np.ndarray | None]
    choice: Choice | None = None
