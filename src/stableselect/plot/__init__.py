"""Pictures of a selection. Needs the extra ``plot``."""

from __future__ import annotations

try:
    import matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError('pictures need matplotlib: pip install "stableselect[plot]"') from error

from ._images import rebuilt_images

__all__ = ["rebuilt_images"]
