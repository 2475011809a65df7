"""The paper's figures, but for Figure 3."""

__all__ = []
