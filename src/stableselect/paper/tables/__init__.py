"""The paper's tables."""

__all__ = []
