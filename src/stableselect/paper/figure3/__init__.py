"""Figure 3: generalisation and stability."""

from ._shared import FAST_NOTE, PUBLISHED_EPOCHS, epochs

__all__ = [
    "FAST_NOTE",
    "PUBLISHED_EPOCHS",
    "epochs",
]
