"""How far a selector's choice repeats itself on one table when the samples, the seed or both change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from .._core import Resample, Subsample, as_splitter, in_memory, merged, resamples, seed_sequence
from .._refit import Fit, Source, repeated_fits
from ..base import check_count, check_number, verbose_steps
from ..metrics import feature_similarity
from ._stability_result import Perturb, StabilityAnalysis, analysed

MOST_SIMILARITIES = 5000
"""Features up to which their similarities are computed: a matrix of 200 MB."""


def stability_analysis(
    selector: Any,
    X: Any,
    *,
    perturb: Perturb = "data",
    cv: Any = None,
    n_repeats: int | None = None,
    groups: Any = None,
    similarity: bool = True,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = 0,
    verbose: bool = False,
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
        once where it is None). "seed": every run sees all samples with a seed of its own. A selector without
        ``random_state`` is then fitted once, and its stability is exactly 1.
    cv : int, splitter or iterable, default=None
        The samples of each run, the training part of a split. None draws 80 % of them ``n_repeats`` times
        (:class:`Subsample`). An integer is the number of folds (shuffled). A splitter is one of scikit-learn's, such as
        ``KFold``, ``LeaveOneOut``, ``GroupShuffleSplit``, or :class:`Bootstrap`, or :class:`ComplementaryPairs`. An
        iterable holds (train, test) indices.
    n_repeats : int or None, default=None
        Number of runs, at least 2; None for 10. Where ``cv`` is given it decides the number.
    groups : array-like of shape (n,) or None, default=None
        Labels of samples that belong together, such as replicates: whole groups are drawn or left out. Raise if ``cv``
        parts them.
    similarity : bool, default=True
        Whether to measure how far the sets agree up to correlated features as well. This takes a matrix of m x m
        numbers and, where many features are selected, some time.
    confidence : float, default=0.95
        Level of the intervals.
    n_jobs : int or None, default=None
        Processes to share the runs among, each with one thread for linear algebra. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Decides the samples (where ``cv`` is None or an integer) and the seeds.
    verbose : bool, default=False
        Print the fits done and the time left to standard error.

    Returns
    -------
    StabilityAnalysis
        Where a measure is undefined (every feature selected, none left open by ``include`` and ``exclude``, all scores
        equal) it is NaN, and a warning says so.

    See Also
    --------
    StabilityAnalysis.from_supports : The same measures, for sets from anywhere.
    stableselect.metrics.stability : The measures of agreement alone.
    stableselect.plot.selection_frequency : Draws which run selected which feature.
    leave_one_out_certificate : Without which samples a set is no longer a local optimum.

    Notes
    -----
    Two subsamples with a fraction f of the samples have about f of them in common, two bootstrap samples .63 of the
    distinct ones, two of K folds 1 - 1/(K-1). The more they share, the higher the stability: compare methods under the
    same ``cv``, and take ``Subsample(train_size=0.5)`` for a hard test [1]_. With the seed held, a selector that
    follows its seed more than the samples looks stable: look at ``perturb="both"`` too.

    Selectors that need only the moments of the table read the samples once; those that a run leaves out are taken out
    of the sums.

    The frequency's interval is Wilson's [2]_: with p the fraction of M runs and z the normal quantile,

    .. math:: \frac{p + z^2/2M \pm z\sqrt{p(1-p)/M + z^2/4M^2}}{1 + z^2/M}.

    It says how well M runs tell the frequency over all resamples (or seeds) of this table, not over other tables. That
    holds for bootstraps, subsamples and seeds, which are drawn independently: leaving out every sample in turn gives
    the frequency exactly, and folds depend on each other.

    What a pipeline selects is traced back to the features of the table where its earlier steps are selectors or name
    their output by their input, as scalers and imputers do. A step without names for its output, such as a
    ``FunctionTransformer``, is allowed if it leaves the number of features as it is; they are then taken to be the
    same. Where a step makes new features, such as principal components, the runs are compared by these, and must all
    have the same ones, made from the same features.

    For a similarity with a threshold, pass ``supports`` and ``feature_similarity(X)`` to
    :func:`~stableselect.metrics.similarity_stability`.

    References
    ----------
    .. [1] N. Meinshausen and P. Bühlmann, "Stability selection", Journal of the Royal Statistical Society B 72, 2010.
    .. [2] E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American
       Statistical Association 22, 1927.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from stableselect import LaplacianScore
    >>> from stableselect.inspection import Bootstrap, stability_analysis
    >>> X = load_wine(as_frame=True).data
    >>> analysis = stability_analysis(LaplacianScore(4), X / X.std(), cv=Bootstrap(20))
    >>> round(analysis.stability.nogueira, 1)
    0.6
    >>> [(name, round(frequency, 2)) for name, frequency, low, high in analysis.table(2)]
    [('flavanoids', 1.0), ('total_phenols', 0.8)]
    """
    if perturb not in get_args(Perturb):
        known = ", ".join(get_args(Perturb))
        raise ValueError(f"perturb must be one of {known} but is {perturb!r}; choose one of them.")
    confidence = check_number(confidence, "confidence", 0, 1, inside=True)
    if isinstance(selector, type):
        raise TypeError(
            f"selector must be a selector with its settings but is the class {selector.__name__}; make one, as in "
            f"{selector.__name__}(...)."
        )
    if not isinstance(X, np.ndarray):
        in_memory(X, "stability_analysis")
        X = X if hasattr(X, "shape") else np.asarray(X)
    draw_seed, run_seed = seed_sequence(random_state).spawn(2)
    parts, resampling = _parts(X, perturb, cv, n_repeats, groups, draw_seed)
    seeds = [int(seed >> 1) for seed in run_seed.generate_state(len(parts))]  # below 2^31, for any generator
    source = Source(selector, X)
    with verbose_steps("stability_analysis", verbose):
        fits = repeated_fits(selector, source, parts, seeds, hold_seed=perturb == "data", n_jobs=n_jobs)
    free = np.logical_and.reduce([fit.free for fit in fits])
    traced = all(fit.origin.traced for fit in fits)
    return analysed(
        np.stack([fit.support for fit in fits]),
        [fit.selected for fit in fits],
        rankings=_stacked(fits, "ranking"),
        scores=_stacked(fits, "scores"),
        similarity=_similarity(free, source, X) if similarity and traced else None,
        free=free,
        confidence=confidence,
        perturb=perturb,
        resampling=resampling,
        feature_names=fits[0].origin.names,
    )


def _parts(
    X: Any, perturb: Perturb, cv: Any, n_repeats: int | None, groups: Any, seed: np.random.SeedSequence
) -> tuple[Sequence[Resample | None], str | None]:
    """Return the samples of every run, None for all, and what drew them."""
    if cv is not None and n_repeats is not None:
        raise ValueError("cv decides the number of runs, so n_repeats must not be given too; leave one of them out.")
    number = check_count(10 if n_repeats is None else n_repeats, "n_repeats", 2)
    if perturb != "seed":
        cv = Subsample(number, random_state=seed) if cv is None else as_splitter(cv, groups, seed)
        return resamples(cv, X, groups), type(cv).__name__ if hasattr(cv, "split") else "given splits"
    if cv is not None:
        raise ValueError('cv splits the samples but perturb="seed" fits all of them; give n_repeats instead.')
    return [None] * number, None


def _stacked(fits: Sequence[Fit], name: str) -> np.ndarray | None:
    values = [getattr(fit, name) for fit in fits]
    return None if values[0] is None else np.stack(values)


def _similarity(free: np.ndarray, source: Source, X: Any) -> np.ndarray | None:
    """Return the similarities of the features; None where there are too many, or none are open to choice."""
    m = free.size
    if m > MOST_SIMILARITIES or m != X.shape[1] or X.shape[0] < 2 or not free.any():
        return None
    try:
        return feature_similarity(X if source.moments is None else merged(source.moments.of(None)))
    except (TypeError, ValueError):  # entries that are not finite numbers, which some selectors can do with
        return None
