"""What several choices of features say of a selector's stability: measures, in print, as a table and a data frame."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._core import to_numpy, wilson_interval
from ..base import check_count, check_number, check_supports, data_frame, html_table
from ..metrics import (
    NoChoiceWarning,
    RankingStability,
    SimilarityStability,
    Stability,
    ranking_stability,
    score_stability,
    similarity_stability,
    stability,
)

Perturb = Literal["data", "seed", "both"]
_NO_CHOICE = (
    "include and exclude leave no choice to repeat, so stability corrected for chance is NaN; name fewer features in "
    "them."
)


@dataclass(frozen=True, eq=False, repr=False)
class StabilityAnalysis:
    """Result of :func:`stability_analysis`, or of runs that were made elsewhere. Print it for the main figures.

    Attributes
    ----------
    supports : ndarray of bool of shape (n_repeats, m)
        The features each run selected.
    selected : tuple of ndarray of int
        The features each run selected, in order of selection where the selector has one.
    rankings, scores : ndarray of shape (n_repeats, m) or None
        ``ranking_`` and ``scores_`` of each run; None where the selector has none. Features that an earlier step of a
        pipeline dropped share the rank behind all others, and the run's lowest score.
    stability : Stability
        Agreement of the sets, with the interval of Nogueira's measure. Features that the selector was told to keep or
        to leave out (``include``, ``exclude``) do not count: they would make any choice look stable.
    ranking : RankingStability or None
        Agreement of the rankings; None where there are none.
    score : float or None
        Agreement of the scores, as by :func:`score_stability`; None where there are none.
    similarity : SimilarityStability or None
        The same where correlated features count as partly the same; None where it was not asked for, the table has more
        than 5,000 features or entries without a number, or a step before the selector may change the features other
        than by dropping some.
    selection_frequency : ndarray of shape (m,)
        Fraction of the runs that selected each feature.
    frequency_interval : ndarray of shape (m, 2)
        Wilson's interval for it.
    confidence : float
        Level of both intervals.
    perturb : {"data", "seed", "both"}
        What differed between the runs.
    resampling : str or None
        The splitter that drew the samples; None where every run saw all of them.
    n_repeats : int
        Number of runs.
    feature_names : ndarray of str or None
        Feature names, where the table has them, or those of the features that a pipeline makes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset
    >>> from stableselect.inspection import stability_analysis
    >>> X = load_iris(as_frame=True).data
    >>> print(stability_analysis(ColumnSubset(2, ridge=0), X, cv=5))
    5 runs on 4 features, samples varied (KFold)
    set stability (Nogueira)  0.60  [0.18, 1.00]
    with similar features     0.13
    ranking (Spearman)        0.92
    scores (Pearson)          0.99
    features selected         1 always, 2 sometimes, 1 never
    """

    supports: np.ndarray
    selected: tuple[np.ndarray, ...]
    rankings: np.ndarray | None
    scores: np.ndarray | None
    stability: Stability
    ranking: RankingStability | None
    score: float | None
    similarity: SimilarityStability | None
    selection_frequency: np.ndarray
    frequency_interval: np.ndarray
    confidence: float
    perturb: Perturb
    resampling: str | None
    n_repeats: int
    feature_names: np.ndarray | None

    @classmethod
    def from_supports(
        cls,
        supports: Iterable[ArrayLike],
        *,
        n_features: int | None = None,
        similarity: ArrayLike | None = None,
        confidence: float = 0.95,
        perturb: Perturb = "data",
        resampling: str | None = None,
    ) -> StabilityAnalysis:
        """Analyse runs that were made elsewhere: the measures of :func:`stability_analysis`, from the sets alone.

        Parameters
        ----------
        supports : array-like of shape (n_repeats, m), or iterable of feature sets
            One set per run: Boolean masks of length m, or lists of distinct feature indices.
        n_features : int or None, default=None
            Number of features m to choose from. Needed where the sets are given as indices.
        similarity : array-like of shape (m, m) or None, default=None
            Similarities of the features, as by :func:`~stableselect.metrics.feature_similarity`; None to leave
            ``similarity`` out.
        confidence : float, default=0.95
            Level of the intervals.
        perturb : {"data", "seed", "both"}, default="data"
            What differed between the runs.
        resampling : str or None, default=None
            What drew the samples of the runs.

        Returns
        -------
        StabilityAnalysis
            Without rankings and scores.

        Examples
        --------
        >>> from stableselect.inspection import StabilityAnalysis
        >>> analysis = StabilityAnalysis.from_supports([[0, 1], [0, 2], [0, 1]], n_features=10)
        >>> round(analysis.stability.nogueira, 2), analysis.selection_frequency[:3].round(2).tolist()
        (0.58, [1.0, 0.67, 0.33])
        """
        runs = [to_numpy(run) for run in supports]
        masks = check_supports(runs, n_features)
        order = [np.flatnonzero(run) if run.dtype.kind == "b" else run for run in runs]
        return analysed(
            masks, order, similarity=similarity, confidence=confidence, perturb=perturb, resampling=resampling
        )

    @property
    def varied(self) -> str:
        """What was varied, in words."""
        samples = "samples" if self.resampling is None else f"samples ({self.resampling})"
        data = "samples varied" if self.resampling is None else f"samples varied ({self.resampling})"
        return {"data": data, "seed": "seed varied", "both": f"{samples} and seed varied"}[self.perturb]

    def table(self, n: int | None = None) -> list[tuple[str, float, float, float]]:
        """Return how often each feature was selected.

        Parameters
        ----------
        n : int or None, default=None
            At most so many features, the most frequent; None for all that some run selected.

        Returns
        -------
        list of (str, float, float, float)
            Name, or number where there are no names, frequency, and the ends of its interval; most frequent first, ties
            in the table's order.
        """
        if n is None:
            n = max(1, int(np.count_nonzero(self.selection_frequency)))
        order = np.argsort(-self.selection_frequency, kind="stable")[: check_count(n, "n", 1)]
        names = np.arange(self.selection_frequency.size) if self.feature_names is None else self.feature_names
        low, high = self.frequency_interval.T
        return [(str(names[j]), float(self.selection_frequency[j]), float(low[j]), float(high[j])) for j in order]

    def _columns(self, n: int | None = None) -> dict[str, tuple]:
        return dict(zip(("feature", "frequency", "low", "high"), zip(*self.table(n), strict=True), strict=True))

    def to_frame(self) -> Any:
        """Return how often each feature was selected, most frequent first, as a data frame (needs pandas).

        Returns
        -------
        pandas.DataFrame
            With the columns feature, frequency, low and high; one row for every feature of the table.
        """
        return data_frame(self._columns(self.selection_frequency.size))

    def __str__(self) -> str:
        low, high = self.stability.confidence_interval
        m, free = self.selection_frequency.size, self.stability.n_features
        features = f"{m} features" if free == m else f"{m} features ({free} of them open to choice)"
        always, ever = ((self.selection_frequency >= level).sum() for level in (1, 1 / self.n_repeats))
        lines = [
            f"{self.n_repeats} runs on {features}, {self.varied}",
            f"set stability (Nogueira)  {self.stability.nogueira:.2f}  [{low:.2f}, {min(high, 1.0):.2f}]",
        ]
        if self.similarity is not None:
            lines.append(f"with similar features     {self.similarity.effective:.2f}")
        if self.ranking is not None:
            lines.append(f"ranking (Spearman)        {self.ranking.spearman:.2f}")
        if self.score is not None:
            lines.append(f"scores (Pearson)          {self.score:.2f}")
        lines.append(f"features selected         {always} always, {ever - always} sometimes, {m - ever} never")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        title = " \N{MIDDLE DOT} ".join(" ".join(line.split()) for line in str(self).splitlines())
        return html_table(title, self._columns())

    def __repr__(self) -> str:
        return f"<StabilityAnalysis: Nogueira {self.stability.nogueira:.3f}, {self.n_repeats} runs, {self.varied}>"


def analysed(
    supports: np.ndarray,
    selected: Sequence[np.ndarray],
    *,
    rankings: np.ndarray | None = None,
    scores: np.ndarray | None = None,
    similarity: Any = None,
    free: np.ndarray | None = None,
    confidence: float,
    perturb: Perturb,
    resampling: str | None,
    feature_names: np.ndarray | None = None,
) -> StabilityAnalysis:
    """Measure how far runs agree; a warning is given once, in the name of the caller's caller.

    Parameters as in :class:`StabilityAnalysis`, and ``free``, the features that were open to choice: all by default.
    """
    confidence = check_number(confidence, "confidence", 0, 1, inside=True)
    free = np.ones(supports.shape[1], dtype=bool) if free is None else free
    with warnings.catch_warnings(record=True, action="always") as caught:
        # Where nothing is open, the empty set among one feature has as little choice.
        open_ = supports[:, free] if free.any() else np.zeros((len(supports), 1), dtype=bool)
        agreement = stability(open_, confidence=confidence)
        ranking = None if rankings is None else ranking_stability(rankings)
        score = None if scores is None else _score_stability(scores)
        similar = None
        if similarity is not None and free.any():
            similar = similarity_stability(open_, np.asarray(similarity)[np.ix_(free, free)])
    told = {}  # several measures can be undefined for one reason, which is told once
    for one in caught:
        decided = not free.all() and issubclass(one.category, NoChoiceWarning)
        told[_NO_CHOICE if decided else str(one.message)] = one.category
    for text, category in told.items():
        warnings.warn(text, category, stacklevel=3)
    return StabilityAnalysis(
        supports=supports,
        selected=tuple(selected),
        rankings=rankings,
        scores=scores,
        stability=agreement,
        ranking=ranking,
        score=score,
        similarity=similar,
        selection_frequency=supports.mean(axis=0),
        frequency_interval=wilson_interval(supports.sum(axis=0), len(supports), confidence),
        confidence=confidence,
        perturb=perturb,
        resampling=resampling,
        n_repeats=len(supports),
        feature_names=feature_names,
    )


def _score_stability(scores: np.ndarray) -> float:
    if np.isfinite(scores).all():
        return score_stability(scores)
    warnings.warn(
        "Some scores are NaN or infinite, so their agreement is undefined and the stability of the scores is NaN; look "
        "for features without variance.",
        stacklevel=2,
    )
    return np.nan
