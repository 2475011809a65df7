"""Column names as people type and read them: lists in messages, and names resolved against a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .._files import printable

_LISTED = 5
"""How many names a message lists before it counts the rest."""


class TableError(ValueError):
    """A table or file that cannot be used; the message is one sentence for the person who gave it.

    Examples
    --------
    >>> issubclass(TableError, ValueError)
    True
    """


class NotNumericError(TableError):
    """Columns that do not hold numbers."""


class NotFiniteError(TableError):
    """Columns with missing or infinite values."""


def quoted(name: str) -> str:
    """Return ``name`` as messages show it; the empty header of a row index gets words of its own."""
    return f"'{printable(name)}'" if name else "'' (the column without a name)"


def listed(names: Iterable[str]) -> str:
    """Return quoted names for a message, five at most and then a count.

    Examples
    --------
    >>> listed("abcdefg")
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    names = list(names)
    rest = len(names) - _LISTED
    return ", ".join(quoted(name) for name in names[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def looks_like_data(names: Sequence[str]) -> bool:
    """Tell whether a header row is all numbers, which is what a file without a header looks like."""
    try:
        return len([float(name) for name in names]) > 1
    except ValueError:
        return False
