"""Which features the selectors in a pipeline must or must not keep, as indices of the table's features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import OneToOneFeatureMixin
from sklearn.preprocessing import FunctionTransformer

from ..base import resolve_columns
from ..subset import Conditions, in_indices
from ._repeated_fits import steps_of


def resolve_names(selector: Any, m: int, names: Sequence[str] | None) -> tuple[list[int], list[int]]:
    """Turn the feature names in a selector into indices, for fits on tables without names.

    Parameters
    ----------
    selector : estimator
        Changed in place: every ``include`` and ``exclude`` in it becomes a list of indices; so do names in
        ``conditions``.
    m : int
        Number of features of the table.
    names : sequence of str or None
        Their names.

    Returns
    -------
    include, exclude : list of int
        The features that its choice has to hold, and those that it cannot hold.
    """
    include: list[int] = []
    exclude: list[int] = []
    for path, value in selector.get_params(deep=True).items():
        *owners, kind = path.split("__")
        if kind not in ("include", "exclude", "conditions") or value is None:
            continue
        decides = _decides(selector, owners, kind)
        if isinstance(value, Conditions):
            selector.set_params(**{path: (conditions := in_indices(value, m, names))})
            exclude += [j % m for j in conditions.only_reconstruct if isinstance(j, int)]
            continue
        features = resolve_columns(value, m, names, kind)
        selector.set_params(**{path: features})
        if kind == "exclude":
            exclude += features
        elif decides:
            include += features
    return list(dict.fromkeys(include)), sorted(set(exclude))


def _decides(selector: Any, owners: list[str], kind: str) -> bool:
    """Tell whether the owner of a parameter makes the choice; raise if it sees other features than the table's."""
    decides = True
    for owner in owners:
        steps = dict(getattr(selector, "steps", ()))
        if owner in steps:
            names = list(steps)
            before = [steps[name] for name in names[: names.index(owner)]]
            decides = decides and owner == names[-1]
            inner = steps[owner]
        else:
            inner = selector.get_params(deep=False).get(owner)
            # A part that is no parameter, such as one of a ColumnTransformer, may see some of the features only.
            before = [selector] if inner is None else []
        for step in before:
            for part in steps_of(step):
                if not isinstance(part, OneToOneFeatureMixin | FunctionTransformer):
                    raise ValueError(
                        f"{kind} of {owner} must mean features of the table but {owner} sees those that come from "
                        f"{type(part).__name__}, which may be others; fit on a table transformed beforehand."
                    )
        selector = inner
    return decides
