"""What is asked of a table, and from both to a selector and the numbers it works on; what every selection starts with.

Names are checked here, against the table. Numbers and ranges are the selector's own to check.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, TypeAlias, get_args

from .._registry import all_selectors, find_selector
from ..base import resolve_k
from ..io import NotNumericError, Table, TableParts, listed, quoted
from ..subset import Conditions
from ._conditions import positions_of, unknown

AnyTable: TypeAlias = Table | TableParts
Scaling = Literal["none", "minmax", "standard"]
_SETTINGS = (
    "ridge",
    "min_explained_variance",
    "criterion",
    "max_error_increase",
    "min_stability",
    "sketch",
    "n_jobs",
    "missing",
    "batch",
)
"""Fields of a request that are parameters of the selectors that have them."""


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
    missing : {"raise", "em", "factors"}, optional
        What to do where values are missing: nothing ("raise", the default), or fit a Gaussian to those that are there,
        from whose moments columns are selected; "factors" fits one of few factors, for very many columns.
    batch : str, optional
        Column of batches (instruments, days): columns are selected by what varies within batches.
    group_column : str, optional
        Column that says which rows belong together, such as replicates: they are held out together.
    time_column : str, optional
        Column of times: what is held out are blocks of rows that follow each other, apart from those fitted on.
    sketch : int or "auto", optional
        Select from a sketch of this many rows instead of exact moments; "auto", the default, where these do not fit in
        memory.
    seed : int, default=0
        Seed of the held-out rows, of the random columns, and of methods that are random.
    explain : bool, default=False
        Whether to explain discarded columns and name replacements.
    n_jobs : int, optional
        Processes for the many searches of a choice for stability, or for the fits of a consensus; this one alone by
        default. The result is the same.
    conditions : Conditions, optional
        Conditions on the choice, by names of columns, for methods that take them. With a budget ``k`` is an upper
        limit, and None stands for as many columns as it allows.

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
    missing: Literal["raise", "em", "factors"] | None = None
    batch: str | None = None
    group_column: str | None = None
    time_column: str | None = None
    sketch: int | Literal["auto"] | None = None
    seed: int = 0
    explain: bool = False
    n_jobs: int | None = None
    conditions: Conditions | None = None

    def __post_init__(self) -> None:
        if self.scale not in get_args(Scaling):
            raise RequestError("scale", f"must be one of {', '.join(get_args(Scaling))}, got '{self.scale}'.")
        if self.min_explained_variance is not None and self.k != "auto":
            raise RequestError("min_explained_variance", "applies only to an automatic number of columns (auto).")
        if self.max_error_increase is not None and not self.asks_for_stability:
            raise RequestError(
                "max_error_increase", "applies only to the criterion stability or a minimum stability; ask for one."
            )
        if self.group_column is not None and self.time_column is not None:
            raise RequestError("time_column", "holds out blocks of time, which would part groups; name one of the two.")
        if self.batch is not None and self.completes:
            raise RequestError("batch", "needs complete rows; fill in missing values first, or leave it out.")
        if self.sketch not in (None, "auto") and (self.k == "auto" or self.asks_for_stability):
            raise RequestError(
                "sketch", "holds no rows out, which an automatic number of columns and stability need; leave it out."
            )

        if self.conditions is not None and (self.k == "auto" or self.asks_for_stability):
            raise RequestError(
                "conditions",
                "go neither with an automatic number of columns nor with stability; leave one of them out.",
            )

    @property
    def aside(self) -> list[str]:
        """Columns that say which rows belong together; they are never selected."""
        return [name for name in (self.batch, self.group_column, self.time_column) if name is not None]

    @property
    def completes(self) -> bool:
        """Whether a model stands in for missing values."""
        return self.missing in ("em", "factors")

    @property
    def asks_for_stability(self) -> bool:
        """Whether error is to be traded for stability."""
        return self.criterion == "stability" or self.min_stability is not None


@dataclass(frozen=True)
class Prepared:
    """A table ready to select from.

    Attributes
    ----------
    table : Table or TableParts
        The table.
    features, ids : list of str
        Names of the columns that can be selected, and of the identifiers.
    include, exclude : list of int
        Positions in ``features`` of columns that must or must not be selected.
    k : int or None
        Number of columns to select; None where that is left open.
    method : str
        Registered name of the selector.
    selector : BaseSelector
        The selector, not fitted.
    left_out : dict
        Columns that do not hold numbers, with what they hold.
    """

    table: AnyTable
    features: list[str]
    ids: list[str]
    include: list[int]
    exclude: list[int]
    k: int | None
    method: str
    selector: Any
    left_out: dict[str, str]

    def has_choice(self, k: int) -> bool:
        """Tell whether there is more than one way to select k columns."""
        return len(self.include) < k < len(self.features) - len(self.exclude)


def prepare(table: AnyTable, request: SelectionRequest) -> Prepared:
    """Check a request against a table."""
    dropped, ids = (_named(request, parameter, table.columns) for parameter in ("drop", "id_columns"))
    if both := sorted(set(dropped) & set(ids)):
        raise RequestError("drop", f"{listed(both)} cannot be both dropped and an id column; give only one of them.")
    ids = [name for name in table.columns if name in {*ids, *table.ids} - {*dropped}]
    for parameter in ("batch", "group_column", "time_column"):
        if (name := getattr(request, parameter)) is not None:
            check_known(parameter, name, table.columns)
    taken = {*dropped, *ids, *request.aside}
    features = [name for name in table.columns if name not in taken]
    if not features:
        raise RequestError("drop", "no column is left to select from; drop fewer columns.")
    reasons = table.not_numbers(features)
    if len(reasons) == len(features):
        told = ", ".join(f"{quoted(name)}: {held}" for name, held in list(reasons.items())[:2])
        raise NotNumericError(f"No column holds numbers ({told}); only columns of numbers can be used.")
    features = [name for name in features if name not in reasons]
    gone = dict.fromkeys(taken, "is dropped or an id column, or says which rows belong together")
    gone |= {name: f"does not hold numbers ({held})" for name, held in reasons.items()}
    for parameter in ("include", "exclude"):
        for name in sorted({*getattr(request, parameter)} & {*gone}):
            raise RequestError(parameter, f"{quoted(name)} {gone[name]}.")
    include, exclude = (_named(request, parameter, features) for parameter in ("include", "exclude"))
    k = _check_numbers(request, len(features), include, exclude)
    position = {name: j for j, name in enumerate(features)}
    roles = {"include": [position[name] for name in include], "exclude": [position[name] for name in exclude]}
    given: dict[str, Any] = {role: positions for role, positions in roles.items() if positions}
    if request.conditions is not None:
        try:
            given["conditions"] = positions_of(request.conditions, features, gone, k, **roles)
        except ValueError as error:
            raise RequestError("conditions", str(error)) from None
    method, selector = _make_selector(request, "auto" if k is None else k, given)
    return Prepared(table, features, ids, **roles, k=k, method=method, selector=selector, left_out=reasons)


def _named(request: SelectionRequest, parameter: str, columns: list[str]) -> list[str]:
    """Return the columns that a field of the request names, in table order, each once."""
    wanted = set(getattr(request, parameter))
    for name in sorted(wanted):
        check_known(parameter, name, columns)
    return [name for name in columns if name in wanted]


def check_known(parameter: str, name: str, columns: list[str]) -> None:
    """Raise if there is no such column."""
    if name not in columns:
        raise RequestError(parameter, unknown(name, columns))


def _check_numbers(request: SelectionRequest, m: int, include: list[str], exclude: list[str]) -> int | None:
    """Return the number of columns to select, None where it is open; raise if it cannot be."""
    if isinstance(request.k, int) and request.k > m:
        raise RequestError("k", f"{request.k} columns are asked for and there are {m} to select from; ask for fewer.")
    k = None if request.k == "auto" else resolve_k(request.k, m)
    if request.conditions is not None and request.conditions.budget is not None:  # k is the largest number
        k = min(m if request.k is None else int(k or m), m - len(exclude))
    if both := sorted(set(include) & set(exclude)):
        raise RequestError("include", f"{listed(both)} is both included and excluded; give only one of them.")
    if k is not None and len(include) > k:
        raise RequestError("include", f"{len(include)} columns are included and {k} are to be selected; include fewer.")
    left, least = m - len(exclude), max(1, len(include)) if k is None else k
    if left < least:
        raise RequestError("exclude", f"{left} columns are left and {least} or more are to be selected; exclude fewer.")
    return k


def _make_selector(request: SelectionRequest, k: int | str, roles: dict[str, Any]) -> tuple[str, Any]:
    """Return the registered name and the selector; raise if it lacks a setting that was given."""
    try:
        method, kind = find_selector(request.method)
    except ValueError as error:
        raise RequestError("method", str(error)) from None
    accepted = _accepted(kind)
    given = {name: getattr(request, name) for name in _SETTINGS if getattr(request, name) is not None} | roles
    # The criterion of SPEC is another one.
    needs = {parameter: "min_stability" if parameter == "criterion" else parameter for parameter in given}
    if k == "auto":
        needs = {"k": "min_explained_variance", **needs}
    for parameter, needed in needs.items():
        if needed not in accepted:
            able = " or ".join(name for name, cls in all_selectors().items() if needed in _accepted(cls))
            missing = "does not have this setting; leave it out"
            if parameter == "k":
                missing = "cannot choose the number of columns; give a number"
            raise RequestError(parameter, f"{method} {missing} or use the method {able}.")
    if "random_state" in accepted:
        given["random_state"] = request.seed
    given.pop("batch", None)  # which fit takes
    return method, kind(n_features_to_select=k, **given)


def _accepted(kind: type) -> set[str]:
    """Return the parameters of a selector and of its fit."""
    return {*signature(kind).parameters, *signature(kind.fit).parameters}  # type: ignore[attr-defined]
