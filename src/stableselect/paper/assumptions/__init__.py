"""The assumptions of the paper's theorems, measured."""

__all__ = []
