"""What scikit-learn has in some versions only."""

from __future__ import annotations

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:  # scikit-learn < 1.9
    from collections.abc import Callable

    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in without callbacks."""

    def with_callbacks(method: Callable) -> Callable:
        """Return the method as it is."""
        return method


__all__ = ["HAS_CALLBACKS", "CallbackSupportMixin", "with_callbacks"]
