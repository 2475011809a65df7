"""How far a selector's choice repeats itself on one table when the rows, the seed or both change."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from scipy.stats import norm

from .._core import Resample, Scheme, merged, resamples, seed_sequence
from .._refit import Source, check_selector, repeated_fits, source_of, with_held_seed
from ..base import check_count
from ..metrics import (
    RankingStability,
    SimilarityStability,
    Stability,
    feature_similarity,
    has_choice,
    no_choice,
    ranking_stability,
    score_stability,
    similarity_stability,
    stability,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Vary = Literal["data", "seed", "both"]

MOST_SIMILARITIES = 5000
"""Columns up to which their similarities are computed: a matrix of 200 MB."""


@dataclass(frozen=True, eq=False, repr=False)
class StabilityAnalysis:
    """Result of :func:`stability_analysis`. Print it for the main figures.

    Attributes
    ----------
    supports : ndarray of bool of shape (n_repeats, m)
        The columns each run kept.
    selected : tuple of ndarray of int
        The columns each run kept, in order of selection where the selector has one.
    rankings, scores : ndarray of shape (n_repeats, m) or None
        ``ranking_`` and ``scores_`` of each run; None where the selector has none. Columns that an earlier step of a
        pipeline dropped share the rank behind all others, and the run's lowest score.
    stability : Stability
        Agreement of the sets, with the interval of Nogueira's measure. Columns that the selector was told to keep or to
        leave out (``include``, ``exclude``) do not count: they would make any choice look stable.
    ranking : RankingStability or None
        Agreement of the rankings; None where there are none.
    score : float or None
        Agreement of the scores, as by :func:`score_stability`; None where there are none.
    similarity : SimilarityStability or None
        The same where correlated columns count as partly the same; None where it was not asked for, the
        table has more than 5,000 columns or cells without a number, or a step before the selector may change the
        columns other than by dropping some.
    selection_frequency : ndarray of shape (m,)
        Share of the runs that kept each column.
    frequency_interval : ndarray of shape (m, 2)
        Wilson's interval for it.
    confidence : float
        Level of both intervals.
    perturb : {"data", "seed", "both"}
        What differed between the runs.
    scheme : str or None
        How the rows were drawn; None where they were not.
    n_repeats : int
        Number of runs.
    feature_names : ndarray of str or None
        Column names, where the table has them, or those of the columns that a pipeline makes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset
    >>> from stableselect.inspection import stability_analysis
    >>> X = load_iris(as_frame=True).data
    >>> print(stability_analysis(ColumnSubset(2, ridge=0), X, scheme="splits", n_repeats=5))
    5 runs on 4 columns, rows varied (splits)
    set stability (Nogueira)  0.60  [0.18, 1.02]
    with similar columns      0.13
    ranking (Spearman)        0.92
    scores (Pearson)          0.99
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
    perturb: Vary
    scheme: Scheme | None
    n_repeats: int
    feature_names: np.ndarray | None

    @property
    def varied(self) -> str:
        """What was varied, in words."""
        return {
            "data": f"rows varied ({self.scheme})",
            "seed": "seed varied",
            "both": f"rows ({self.scheme}) and seed varied",
        }[self.perturb]

    def table(self, n: int = 20) -> list[tuple[str, float, float, float]]:
        """Return the columns kept most often.

        Parameters
        ----------
        n : int, default=20
            At most so many columns.

        Returns
        -------
        list of (str, float, float, float)
            Name, or number where there are no names, frequency, and the ends of its interval; most frequent first, ties
            in the table's order.
        """
        order = np.argsort(-self.selection_frequency, kind="stable")[: check_count(n, "n", 1)]
        names = np.arange(self.selection_frequency.size) if self.feature_names is None else self.feature_names
        low, high = self.frequency_interval.T
        return [(str(names[j]), float(self.selection_frequency[j]), float(low[j]), float(high[j])) for j in order]

    def plot(self, n_columns: int = 40) -> Figure:
        """Draw which runs kept which columns; see :func:`stableselect.plot.selection_frequency`.

        Parameters
        ----------
        n_columns : int, default=40
            At most so many columns, the most frequent ones.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from ..plot import selection_frequency  # needs the extra "plot"

        return selection_frequency(self, n_columns=n_columns)

    def __str__(self) -> str:
        low, high = self.stability.confidence_interval
        lines = [
            f"{self.n_repeats} runs on {self._columns()}, {self.varied}",
            f"set stability (Nogueira)  {self.stability.nogueira:.2f}  [{low:.2f}, {high:.2f}]",
        ]
        if self.similarity is not None:
            lines.append(f"with similar columns      {self.similarity.effective:.2f}")
        if self.ranking is not None:
            lines.append(f"ranking (Spearman)        {self.ranking.spearman:.2f}")
        if self.score is not None:
            lines.append(f"scores (Pearson)          {self.score:.2f}")
        return "\n".join(lines)

    def _columns(self) -> str:
        m, free = self.selection_frequency.size, self.stability.n_features
        return f"{m} columns" if free == m else f"{m} columns ({free} of them open to choice)"

    def __repr__(self) -> str:
        return f"<StabilityAnalysis: Nogueira {self.stability.nogueira:.3f}, {self.n_repeats} runs, {self.varied}>"


def stability_analysis(
    selector: Any,
    X: Any,
    *,
    perturb: Vary = "data",
    scheme: Scheme = "subsample",
    n_repeats: int | None = 10,
    fraction: float = 0.8,
    groups: Any = None,
    similarity: bool = True,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> StabilityAnalysis:
    r"""Run a selector several times on one table and measure how far its choices agree.

    Parameters
    ----------
    selector : feature selector
        Any object with ``fit(X)`` and then ``get_support()`` or ``support_``, such as those of this package or of
        scikit-learn, or a pipeline that ends in one. It is copied, not changed.
    X : array, data frame, torch tensor or sparse matrix of shape (n, m)
        The table.
    perturb : {"data", "seed", "both"}, default="data"
        What differs between the runs. "data": every run sees a resample, and the seed stays that of the selector (drawn
        once where it is None). "seed": every run sees all rows with a seed of its own. A selector without
        ``random_state`` is then fitted once, and its stability is exactly 1.
    scheme : {"subsample", "bootstrap", "leave-one-out", "splits"}, default="subsample"
        How rows are drawn. "subsample": a share of the rows without replacement. "bootstrap": n rows with replacement.
        "leave-one-out": all rows but one, another one in every run. "splits": the rows are dealt into ``n_repeats``
        parts, and every run leaves out one. Not used with ``perturb="seed"``.
    n_repeats : int or None, default=10
        Number of runs, at least 2. "leave-one-out" makes n runs at most, and n where it is None.
    fraction : float, default=0.8
        Share of the rows in a subsample.
    groups : array-like of shape (n,) or None, default=None
        Labels of rows that belong together, such as replicates: whole groups are drawn or left out.
    similarity : bool, default=True
        Whether to measure how far the sets agree up to correlated columns as well. This takes a matrix of m x m
        numbers and, where many columns are kept, some time.
    confidence : float, default=0.95
        Level of the intervals.
    n_jobs : int or None, default=None
        Processes to share the runs among, each with one thread for linear algebra. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Decides the rows and the seeds.

    Returns
    -------
    StabilityAnalysis
        Where a measure is undefined (every column kept, no column left open by ``include`` and ``exclude``, all scores
        equal) it is NaN, and a warning says so.

    See Also
    --------
    stability : The measures of agreement, for sets from anywhere.
    leave_one_out_certificate : Which rows leave a column subset a local optimum when they go.

    Notes
    -----
    Two subsamples with a share f of the rows have about f of their rows in common, two bootstrap samples .63 of the
    distinct ones, two of K splits 1 - 1/(K-1). The more they share, the higher the stability: compare methods under
    one scheme, and take ``fraction=0.5`` for a hard test [1]_. With the seed held, a selector that follows its seed
    more than the rows looks stable: look at ``perturb="both"`` too.

    Selectors that need only the moments of the table read the rows once; the rows that a subsample, split or
    leave-one-out run leaves out are then taken out of the sums.

    The frequency's interval is Wilson's [2]_: with p the share of M runs and z the normal quantile,

    .. math:: \frac{p + z^2/2M \pm z\sqrt{p(1-p)/M + z^2/4M^2}}{1 + z^2/M}.

    It says how well M runs tell the frequency over all resamples (or seeds) of this table, not over other tables. That
    holds for bootstraps, subsamples and seeds, which are drawn independently: leaving out every row in turn gives the
    frequency exactly, and the parts of "splits" depend on each other.

    What a pipeline keeps is traced back to the columns of the table where its earlier steps are selectors or name their
    output by their input, as scalers and imputers do. A step without names for its output, such as a
    ``FunctionTransformer``, may stand there if it leaves the number of columns as it is; then they are taken to be the
    same. Where a step makes new columns, such as principal components, the runs are compared by these, and must all
    have the same ones, made from the same columns.

    For a similarity with a threshold, pass ``supports`` and ``feature_similarity(X)`` to :func:`similarity_stability`.

    References
    ----------
    .. [1] N. Meinshausen and P. Bühlmann, "Stability selection", Journal of the Royal Statistical Society B 72, 2010.
    .. [2] E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American
       Statistical Association 22, 1927.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from stableselect import LaplacianScore
    >>> from stableselect.inspection import stability_analysis
    >>> X = load_wine(as_frame=True).data
    >>> analysis = stability_analysis(LaplacianScore(4), X / X.std(), scheme="bootstrap", n_repeats=20)
    >>> round(analysis.stability.nogueira, 1)
    0.6
    >>> [(name, round(share, 2)) for name, share, low, high in analysis.table(2)]
    [('flavanoids', 1.0), ('od280/od315_of_diluted_wines', 0.85)]
    """
    if perturb not in get_args(Vary):
        raise ValueError(f"perturb must be one of {', '.join(get_args(Vary))} but is {perturb!r}; choose one of them.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1 but is {confidence!r}; use 0.95 for a 95 % interval.")
    check_selector(selector)
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    row_seeds, run_seeds = seed_sequence(random_state).spawn(2)
    rows: list[Resample | None]
    if perturb == "seed":
        rows = [None] * check_count(n_repeats, "n_repeats", 2)
    else:
        n = int(X.shape[0])
        rows = [*resamples(n, scheme, n_repeats, fraction=fraction, groups=groups, random_state=row_seeds)]
    drawn = [int(seed >> 1) for seed in run_seeds.generate_state(len(rows))]  # below 2^31, for any generator
    if perturb == "data":
        selector = with_held_seed(selector, drawn[0])
    seeds = [None] * len(rows) if perturb == "data" else drawn
    source = source_of(selector, X)
    fits = repeated_fits(selector, source, rows, seeds, n_jobs=n_jobs, stacklevel=3)
    supports = np.stack([fit.support for fit in fits])
    free = np.logical_and.reduce([fit.free for fit in fits])
    rankings, scores = ([getattr(fit, name) for fit in fits] for name in ("ranking", "scores"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Where nothing is open, the empty set among one column is as good a name for no choice as any.
        open_ = supports[:, free] if free.any() else np.zeros((len(supports), 1), dtype=bool)
        agreement = stability(open_, confidence=confidence)
        ranking = None if rankings[0] is None else ranking_stability(rankings)
        score = None if scores[0] is None else _score_stability(np.stack(scores))
        traced = all(fit.origin.traced for fit in fits)
        similar = _similarity_stability(supports, free, source, X) if similarity and traced else None
    texts = [str(warning.message) for warning in caught]
    if not free.all() and not has_choice(open_):
        forced = (
            "include and exclude leave no choice to repeat, so stability corrected for chance is NaN; name fewer "
            "columns in them."
        )
        texts = [forced if text == no_choice(open_) else text for text in texts]
    # Several measures can be undefined for one reason, which is told once.
    for text in dict.fromkeys(texts):
        warnings.warn(text, stacklevel=2)
    return StabilityAnalysis(
        supports=supports,
        selected=tuple(fit.selected for fit in fits),
        rankings=None if rankings[0] is None else np.stack(rankings),
        scores=None if scores[0] is None else np.stack(scores),
        stability=agreement,
        ranking=ranking,
        score=score,
        similarity=similar,
        selection_frequency=supports.mean(axis=0),
        frequency_interval=wilson_interval(supports.sum(axis=0), len(supports), confidence),
        confidence=confidence,
        perturb=perturb,
        scheme=None if perturb == "seed" else scheme,
        n_repeats=len(supports),
        feature_names=fits[0].origin.names,
    )


def wilson_interval(counts: np.ndarray, n_runs: int, confidence: float) -> np.ndarray:
    """Return Wilson's interval for the share of each count in ``n_runs`` (columns x 2)."""
    z = float(norm.ppf((1 + confidence) / 2))
    p = np.asarray(counts, dtype=np.float64) / n_runs
    centre = p + z**2 / (2 * n_runs)
    half = z * np.sqrt(p * (1 - p) / n_runs + z**2 / (4 * n_runs**2))
    ends = np.stack([centre - half, centre + half], axis=1) / (1 + z**2 / n_runs)
    # No and every run end at 0 and 1 but for rounding.
    ends[p == 0, 0], ends[p == 1, 1] = 0.0, 1.0
    return ends


def _score_stability(scores: np.ndarray) -> float:
    if np.isfinite(scores).all():
        return score_stability(scores)
    warnings.warn(
        "Some scores are NaN or infinite, so their agreement is undefined and the stability of the scores is NaN; look "
        "for columns without variance.",
        stacklevel=2,
    )
    return np.nan


def _similarity_stability(supports: np.ndarray, free: np.ndarray, source: Source, X: Any) -> SimilarityStability | None:
    m = supports.shape[1]
    if m > MOST_SIMILARITIES or m != X.shape[1] or X.shape[0] < 2 or not free.any():
        return None
    try:
        similarity = feature_similarity(X if source.moments is None else merged(source.moments.of(None)))
    except (TypeError, ValueError):  # cells that are no finite numbers, which some selectors can do with
        return None
    return similarity_stability(supports[:, free], similarity[np.ix_(free, free)])
