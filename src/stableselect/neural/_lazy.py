"""The door to torch: nothing behind it is imported until a network that needs it is trained."""

from __future__ import annotations

from types import ModuleType


def require_torch() -> ModuleType:
    """Return torch, or say how to get it."""
    try:
        import torch
    except ImportError:
        raise ImportError('This network needs PyTorch: pip install "stableselect[torch]".') from None
    return torch
