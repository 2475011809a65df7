"""Whether a fit that is interrupted may return what it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_WHOLE = ContextVar("whole", default=False)
"""Whether a fit that is interrupted ends all the work it is part of, or may return what it has."""


@contextmanager
def whole_fits() -> Iterator[None]:
    """Let Ctrl-C through: a fit in here is finished or raises ``KeyboardInterrupt``.

    For work in which one fit is a part: repeated, stored, or written to a file. Set it where the fit is called, in the
    worker's own process or thread, since workers do not inherit it.
    """
    token = _WHOLE.set(True)
    try:
        yield
    finally:
        _WHOLE.reset(token)


def may_stop_short() -> bool:
    """Tell whether a fit that is interrupted may keep what it has reached: only one that was asked for by itself."""
    return not _WHOLE.get()
