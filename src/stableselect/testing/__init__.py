"""Tests that every selector of this package passes, for selectors of others."""

from ._check import check_selector, selector_checks

__all__ = ["check_selector", "selector_checks"]
