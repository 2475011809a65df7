"""Stability and error of every method."""

__all__ = []
