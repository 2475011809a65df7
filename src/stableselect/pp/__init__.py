"""Selection of genes in AnnData objects, in the manner of scanpy's ``pp``. Needs the extra ``anndata``."""

from ._select_features import select_features

__all__ = ["select_features"]
