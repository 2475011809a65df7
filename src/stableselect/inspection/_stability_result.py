"""What an analysis of stability found: in print, as a table and as a data frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..base import check_count, data_frame
from ..metrics import RankingStability, SimilarityStability, Stability

Perturb = Literal["data", "seed", "both"]


@dataclass(frozen=True, eq=False, repr=False)
class StabilityAnalysis:
    """Result of :func:`stability_analysis`. Print it for the main figures.

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

    @property
    def varied(self) -> str:
        """What was varied, in words."""
        return {
            "data": f"samples varied ({self.resampling})",
            "seed": "seed varied",
            "both": f"samples ({self.resampling}) and seed varied",
        }[self.perturb]

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

    def to_frame(self) -> Any:
        """Return how often each feature was selected, most frequent first, as a data frame (needs pandas).

        Returns
        -------
        pandas.DataFrame
            With the columns feature, frequency, low and high; one row for every feature of the table.
        """
        columns = zip(*self.table(self.selection_frequency.size), strict=True)
        return data_frame(dict(zip(("feature", "frequency", "low", "high"), columns, strict=True)))

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

    def __repr__(self) -> str:
        return f"<StabilityAnalysis: Nogueira {self.stability.nogueira:.3f}, {self.n_repeats} runs, {self.varied}>"
