"""Column names as people type and read them: lists in messages, and names resolved against a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_LISTED = 5
"""How many names a message lists before it counts the rest."""


class TableError(ValueError):
    """A table, file or selection that cannot be used; the message is one sentence for the person who gave it.

    Examples
    --------
    >>> issubclass(TableError, ValueError)
    True
    """


def shown(name: str) -> str:
    """Return ``name`` with control characters written out, so that a file cannot steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in name)


def quoted(name: str) -> str:
    """Return ``name`` as messages show it; the empty header of a row index gets words of its own."""
    return f"'{shown(name)}'" if name else "'' (the column without a name)"


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


def check_unique(names: Sequence[str], source: str) -> None:
    """Refuse a table in which two columns share a name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        hint = "if the first row is data, say --no-header" if looks_like_data(names) else "rename one of them"
        raise TableError(f"{shown(source)} has more than one column named {listed(repeated)}; {hint}.")


def looks_like_data(names: Sequence[str]) -> bool:
    """Tell whether a header row is all numbers, which is what a file without a header looks like."""
    try:
        return len([float(name) for name in names]) > 1
    except ValueError:
        return False


def resolve(given: Iterable[str], columns: Sequence[str], option: str) -> list[str]:
    """Return the columns that ``given`` names, in table order, each once, or refuse a name that is not there."""
    known = set(columns)
    wanted = set(given)
    for name in sorted(wanted - known):
        close = get_close_matches(name, columns, n=1)
        hint = f"did you mean {quoted(close[0])}?" if close else f"the columns are {listed(columns)}."
        raise TableError(f"{option}: the table has no column {quoted(name)}; {hint}")
    return [name for name in columns if name in wanted]


def split_names(given: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Split values at their commas, except where a column's own name holds the comma.

    Examples
    --------
    >>> split_names(["a,b", "x, y"], ["a", "b", "x, y"])
    ['a', 'b', 'x, y']
    """
    known = set(columns)
    names: list[str] = []
    for value in given:
        names += [value] if value in known else [name.strip() for name in value.split(",")]
    return names
