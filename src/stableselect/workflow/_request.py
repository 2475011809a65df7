"""What is asked of a table: one request for selecting columns and for measuring the frontier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Scaling = Literal["none", "minmax", "standard"]


class RequestError(ValueError):
    """A request that a table or a method cannot meet.

    Parameters
    ----------
    parameter : str
        The field of :class:`SelectionRequest` at fault.
    reason : str
        What is wrong with it and what to do.

    Examples
    --------
    >>> str(RequestError("k", "9 columns are asked for and the table has 7."))
    'k: 9 columns are asked for and the table has 7.'
    """

    def __init__(self, parameter: str, reason: str) -> None:
        super().__init__(parameter, reason)
        self.parameter, self.reason = parameter, reason

    def __str__(self) -> str:
        return f"{self.parameter}: {self.reason}"


@dataclass(frozen=True)
class SelectionRequest:
    """How to select columns of a table.

    Parameters
    ----------
    k : int, float or "auto", optional
        Number of columns to select, or the fraction of them (rounded up); half by default. "auto" selects as many as
        ``min_explained_variance`` asks for; held-out errors are then those of the number chosen without these rows.
    method : str, default="ColumnSubset"
        Name of a selector; case, ``-`` and ``_`` do not matter.
    include, exclude : iterable of str
        Columns to select in any case, and columns to reconstruct but never select.
    drop : iterable of str
        Columns to ignore.
    id_columns : iterable of str
        Identifiers: copied to the output, never selected.
    scale : {"none", "minmax", "standard"}, default="standard"
        Scaling before the selection, so that columns in different units count alike. Results are in original units.
    ridge : float or "auto", optional
        Ridge weight, for methods that have one; the method's own default otherwise.
    min_explained_variance : float, optional
        For ``k="auto"``: fraction of the variance of held-out rows to explain, 0.9 by default.
    criterion : {"error", "stability"}, optional
        With "stability", prefer columns that other rows would give too, at a held-out error within
        ``max_error_increase`` of the minimum.
    max_error_increase : float, optional
        Largest relative increase in held-out error accepted for stability, 0.05 by default.
    min_stability : float, optional
        Give up as much error, within ``max_error_increase``, as it takes to reach this stability (Nogueira's measure,
        at most 1).
    seed : int, default=0
        Seed of the held-out rows, of the random columns, and of methods that are random.
    explain : bool, default=False
        Whether to explain discarded columns and name replacements.

    Examples
    --------
    >>> from stableselect.workflow import SelectionRequest
    >>> SelectionRequest(k=5, drop=["comment"]).scale
    'standard'
    """

    k: int | float | Literal["auto"] | None = None
    method: str = "ColumnSubset"
    include: Iterable[str] = ()
    exclude: Iterable[str] = ()
    drop: Iterable[str] = ()
    id_columns: Iterable[str] = ()
    scale: Scaling = "standard"
    ridge: float | Literal["auto"] | None = None
    min_explained_variance: float | None = None
    criterion: Literal["error", "stability"] | None = None
    max_error_increase: float | None = None
    min_stability: float | None = None
    seed: int = 0
    explain: bool = False

    def __post_init__(self) -> None:
        if self.min_explained_variance is not None and self.k != "auto":
            raise RequestError("min_explained_variance", "applies only to an automatic number of columns (auto).")
        if self.max_error_increase is not None and not self.asks_for_stability:
            raise RequestError(
                "max_error_increase", "applies only to the criterion stability or a minimum stability; ask for one."
            )

    @property
    def asks_for_stability(self) -> bool:
        """Whether error is to be traded for stability."""
        return self.criterion == "stability" or self.min_stability is not None
