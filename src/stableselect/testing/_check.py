"""Run the laws on a selector."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from inspect import isfunction
from unittest import SkipTest

from sklearn.base import clone

from ..base import BaseSelector
from . import _laws
from ._tables import Make

Check = Callable[[BaseSelector], None]


def selector_checks() -> dict[str, Check]:
    """Return what :func:`check_selector` checks, one by one, so that a test runner can list them.

    Returns
    -------
    dict of str to callable
        By name, each a function of a selector, which raises ``AssertionError`` where it breaks the law and
        ``unittest.SkipTest`` where the law does not apply to it.

    Examples
    --------
    In a test file, with pytest::

        @pytest.mark.parametrize("check", selector_checks().values(), ids=selector_checks())
        def test_laws(check):
            check(MySelector())

    >>> from stableselect import ColumnSubset
    >>> from stableselect.testing import selector_checks
    >>> checks = selector_checks()
    >>> list(checks)[:2]
    ['exactly_k_features', 'bad_k_is_refused']
    >>> checks["exactly_k_features"](ColumnSubset())
    """
    found = [one for one in vars(_laws).values() if isfunction(one) and one.__module__ == _laws.__name__]
    return {law.__name__: partial(_check, law) for law in found if not law.__name__.startswith("_")}


def check_selector(selector: BaseSelector, *, skip: Iterable[str] = ()) -> None:
    """Check that a selector keeps the promises of this package's own.

    Exactly k distinct features, one score and rank for each, the same result for the same seed, whatever the order of
    samples and features, on tables of all kinds: constant, duplicate and nearly equal features, one sample, sparse,
    single precision, data frames. Bad input is refused in a sentence, and nothing that was given is changed.

    Parameters
    ----------
    selector : BaseSelector
        With settings that keep a fit short: it is fitted some hundred times, on small tables. It is copied, set to
        numbers of features and seeds, and not changed.
    skip : iterable of str
        Checks to leave out, by their names in :func:`selector_checks`. For example, a method that draws features by
        their position cannot pass "feature_order_does_not_matter".

    Raises
    ------
    AssertionError
        If it breaks a law; the message names all that it breaks.

    See Also
    --------
    sklearn.utils.estimator_checks.check_estimator : scikit-learn's own checks, which selectors should pass too.
    stableselect.available_selectors : Selectors that other packages have registered.

    Examples
    --------
    >>> from stableselect import VarianceScore
    >>> from stableselect.testing import check_selector
    >>> check_selector(VarianceScore())
    """
    if not isinstance(selector, BaseSelector):
        raise TypeError(
            f"check_selector takes an instance of a subclass of stableselect.BaseSelector but got {selector!r:.60}; "
            "make one, as in MySelector()."
        )
    checks, left_out = selector_checks(), {skip} if isinstance(skip, str) else set(skip)
    if unknown := sorted(left_out - checks.keys()):
        raise ValueError(f"skip names {unknown[0]!r}, which is no check; the checks are {', '.join(checks)}.")
    broken: list[str] = []
    first: Exception | None = None
    for name, check in checks.items():
        if name in left_out:
            continue
        try:
            with warnings.catch_warnings(action="ignore"):  # some of the tables deserve one
                check(selector)
        except SkipTest:
            continue
        except Exception as error:  # a law that ends in an error is broken too
            first = first or error
            told = " ".join(str(error).split())
            broken.append(
                f"{name}: {'' if isinstance(error, AssertionError) else type(error).__name__ + ': '}{told:.300}"
            )
    if broken:
        head = f"{type(selector).__name__} breaks {len(broken)} of {len(checks) - len(left_out)} laws:"
        raise AssertionError("\n- ".join([head, *broken])) from first


def _check(law: Callable[[Make], None], selector: BaseSelector) -> None:
    def make(k: object = None) -> BaseSelector:
        made = clone(selector).set_params(n_features_to_select=k)
        return made.set_params(random_state=0) if "random_state" in made.get_params() else made

    law(make)
