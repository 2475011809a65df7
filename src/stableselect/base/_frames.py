"""Records as pandas data frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


def data_frame(columns: Mapping[str, Any]) -> DataFrame:
    """Return a pandas data frame; pandas is imported here only, and an error names it where it is missing.

    Parameters
    ----------
    columns : mapping of str to sequence
        Names and values of its columns.

    Returns
    -------
    pandas.DataFrame
    """
    try:
        from pandas import DataFrame
    except ImportError:
        raise ImportError("to_frame needs pandas; install it with: pip install pandas") from None
    return DataFrame(dict(columns))
