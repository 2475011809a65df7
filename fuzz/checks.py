"""What the laws are written with: fits that may be refused in a sentence, and comparisons."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from stableselect.base import TooFewSamplesError

ROUNDING = 1e-6
"""Scores agree when they differ by less than this, relative to the largest of them."""


class Broken(AssertionError):
    """A promise that did not hold; the message says how."""


class Refused(Exception):
    """The input was refused in a sentence, as it may be."""


def expect(held: Any, told: str) -> None:
    """Raise unless a law held."""
    if not held:
        raise Broken(told)


def check_sentence(error: BaseException, kinds: tuple[type[BaseException], ...] = (ValueError, TypeError)) -> str:
    """Return an error's message; raise unless it is of one of the kinds and is one sentence that is safe to print."""
    name, told = type(error).__name__, str(error)
    inside = isinstance(error, kinds) and not isinstance(error, np.linalg.LinAlgError | UnicodeError)
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
    expect(inside, f"{name} instead of a sentence ({where}): {told[:200]!r}")
    if "sklearn" in place.filename:  # scikit-learn's own checks show the array on a second line
        return told
    expect(
        told.isprintable() and " " in told and len(told) < 600, f"{name} is not one sentence ({where}): {told!r:.300}"
    )
    return told


@contextmanager
def no_escaping_warnings() -> Iterator[None]:
    """Raise if numpy or scipy warn about overflows, divisions by zero or the like."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if issubclass(warning.category, RuntimeWarning):
            where = f"{warning.filename.rpartition('/')[2]}:{warning.lineno}"
            raise Broken(f"RuntimeWarning ({where}): {warning.message}")


def fit(selector: Any, X: Any, **given: Any) -> Any:
    """Fit a copy of a selector; raise :class:`Refused` where it refuses in a sentence."""
    copy = clone(selector)
    try:
        with no_escaping_warnings():
            return copy.fit(X, **given)
    except (Broken, KeyboardInterrupt):
        raise
    except Exception as error:
        raise Refused(check_sentence(error)) from error


def must_fit(what: str, selector: Any, X: Any, **given: Any) -> Any:
    """Fit a copy of a selector to what is the same table in another form."""
    try:
        return fit(selector, X, **given)
    except Refused as refused:
        raise Broken(f"{what}: refused ({refused}), but the table itself is not") from refused


def may_refuse(refused: Refused, extreme: bool) -> bool:
    """Tell whether a refusal is one of those that the documentation describes."""
    return extreme or isinstance(refused.__cause__, TooFewSamplesError)


def check_same(what: str, before: Any, after: Any, order: Any = None, *, scores: bool = True) -> None:
    """Raise unless two fits agree: the same set, the rest to rounding; feature j of ``after`` was ``order[j]``.

    ``scores=False`` leaves the scores out.
    """
    m = len(before.scores_)
    order = np.arange(m) if order is None else np.asarray(order)
    one, other = set(before.selected_.tolist()), set(order[after.selected_].tolist())
    expect(one == other, f"{what}: features {sorted(one - other)} became {sorted(other - one)} of {len(one)}")
    for name in ("ridge_", "scores_") if scores else ("ridge_",):
        a, b = np.asarray(getattr(before, name, 0.0)), np.asarray(getattr(after, name, 0.0))
        a = a[order] if a.ndim else a
        scale = float(np.max(np.abs(a)))
        gap = float(np.max(np.abs(a / scale - b / scale))) if scale > 0 else float(np.max(np.abs(b)))
        expect(gap <= ROUNDING, f"{what}: {name} differs by {gap:.1e} of its largest")


def fitted_state(selector: Any) -> dict[str, str]:
    """Return a digest of every fitted attribute."""
    parameters = selector.get_params(deep=False)
    return {name: joblib.hash(value) for name, value in vars(selector).items() if name not in parameters}


def check_unchanged(what: str, before: dict[str, str], after: dict[str, str]) -> None:
    """Raise if fitted attributes differ."""
    differ = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    expect(not differ, f"{what}: {', '.join(differ)} changed")
