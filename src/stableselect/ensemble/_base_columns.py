"""The columns that the base of an ensemble must keep or must not keep, found in its parameters and those within it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sklearn.base import OneToOneFeatureMixin
from sklearn.preprocessing import FunctionTransformer

from ..base import resolve_columns


def resolve_base(base: Any, m: int, names: Sequence[str] | None) -> tuple[list[int], list[int]]:
    """Turn the column names in a base into indices, for fits on tables without names.

    Parameters
    ----------
    estimator : estimator
        Changed in place: every ``include`` and ``exclude`` in it becomes a list of indices.
    m : int
        Number of columns of the table.
    names : sequence of str or None
        Their names.

    Returns
    -------
    include, exclude : list of int
        The columns that its choice has to hold, and those that it cannot hold.
    """
    include: list[int] = []
    exclude: list[int] = []
    for path, value in base.get_params(deep=True).items():
        *owners, kind = path.split("__")
        if kind not in ("include", "exclude") or value is None:
            continue
        decides = _decides(base, owners, kind)
        columns = resolve_columns(value, m, names, kind)
        base.set_params(**{path: columns})
        if kind == "exclude":
            exclude += columns
        elif decides:
            include += columns
    return list(dict.fromkeys(include)), sorted(set(exclude))


def _decides(base: Any, owners: list[str], kind: str) -> bool:
    """Tell whether the owner of a parameter makes the choice of the base; refuse one that sees other columns."""
    decides = True
    for owner in owners:
        steps = dict(getattr(base, "steps", ()))
        if owner in steps:
            names = list(steps)
            before = [steps[name] for name in names[: names.index(owner)]]
            decides = decides and owner == names[-1]
            inner = steps[owner]
        else:
            inner = base.get_params(deep=False).get(owner)
            # A part that is no parameter, such as one of a ColumnTransformer, may see some of the columns only.
            before = [base] if inner is None else []
        for step in _flat(before):
            if not isinstance(step, OneToOneFeatureMixin | FunctionTransformer):
                raise ValueError(
                    f"{kind} of {owner} must mean columns of the table but {owner} sees those that come from "
                    f"{type(step).__name__}, which may be others; fit on a table transformed beforehand."
                )
        base = inner
    return decides


def _flat(steps: list[Any]) -> Iterator[Any]:
    """Return the transformers among the steps of a pipeline, those of pipelines in it included."""
    for step in steps:
        if hasattr(step, "steps"):
            yield from _flat([inner for _, inner in step.steps])
        elif step is not None and not isinstance(step, str):  # "passthrough"
            yield step
