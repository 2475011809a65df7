"""The features of a table as a pipeline passes them on.

From those that its last step saw back to the table's, and those that the selectors in it must or must not keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin
from sklearn.preprocessing import FunctionTransformer

from .._core import to_numpy
from ..base import resolve_columns


@dataclass(frozen=True, eq=False)
class Origin:
    """Where the features come from that the selector, or the last step of a pipeline, saw.

    Attributes
    ----------
    places : ndarray of int
        Each feature's place in the table, or among the made features.
    size : int
        Number of features of the table, or of made ones.
    names : ndarray of str or None
        Names of the features of the table, where it has them, or of the made ones.
    made : tuple or None
        What a step made new features from, and their names; None where the features are the table's.
    traced : bool
        Whether every step says that its features are the table's; false where one only has as many of them.
    """

    places: np.ndarray
    size: int
    names: np.ndarray | None
    made: tuple[Any, ...] | None
    traced: bool

    def spread(self, values: np.ndarray, dropped: Any) -> np.ndarray:
        """Return one number for each feature of the table, ``dropped`` for those that the selector did not see."""
        spread = np.full(self.size, dropped, dtype=values.dtype)
        spread[self.places] = values
        return spread


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline, those of pipelines in it in their place; of anything else itself."""
    if model is None or isinstance(model, str):  # "passthrough"
        return []
    return [inner for _, step in model.steps for inner in steps_of(step)] if hasattr(model, "steps") else [model]


def support_of(model: Any) -> np.ndarray:
    """Return the mask of the features that a fitted selector keeps."""
    told = model.get_support() if hasattr(model, "get_support") else getattr(model, "support_", None)
    if told is None:
        raise TypeError(
            f"{type(model).__name__} must tell its features by get_support() or support_ but has neither; pass a "
            "feature selector."
        )
    support = to_numpy(told)
    if support.dtype.kind != "b" or support.ndim != 1:
        raise TypeError(
            f"{type(model).__name__} must tell its features by a Boolean mask but gives dtype {support.dtype} and "
            f"shape {support.shape}; pass a feature selector."
        )
    return support.copy()


def trace(steps: list[Any], X: Any, width: int) -> Origin:
    """Trace the features that the last of the fitted steps saw back to the table.

    A selector says which features it keeps. Another step keeps those whose names it gives its output, as scalers and
    imputers do; one that gives other names makes new features. One that gives none is taken to keep the features one
    by one; raise if their number shows that it does not.

    Parameters
    ----------
    steps : list
        Of the fitted pipeline.
    X : table of shape (n, m)
        What it was fitted on; not looked at where there is one step.
    width : int
        Number of features that the last step saw.
    """
    m = width if len(steps) == 1 else int(X.shape[1])
    all_names = (getattr(step, "feature_names_in_", None) for step in steps)
    table = next((names for names in all_names if names is not None and len(names) == m), None)
    names = np.array([f"x{j}" for j in range(m)], dtype=object) if table is None else np.asarray(table, dtype=object)
    places, traced = np.arange(m), True
    made: tuple[Any, ...] | None = None
    for step, following in pairwise(steps):
        width_before = places.size
        kept, new = _output(step, names)
        if kept is not None:
            places, names = places[kept], names[kept]
        else:
            traced = False
        if new is not None:
            made = made, tuple(places.tolist()), tuple(new)
            places, table = np.arange(len(new)), np.array(new, dtype=object)
            names = table
        seen = width if following is steps[-1] else getattr(following, "n_features_in_", None)
        if seen is not None and seen != places.size:
            raise ValueError(
                f"{type(step).__name__} turns {width_before} features into {seen} but does not tell which; use a step "
                "with get_support() or get_feature_names_out() before the selector."
            )
    return Origin(places, m if made is None else len(made[-1]), table, made, traced)


def _output(step: Any, names: np.ndarray) -> tuple[np.ndarray | None, list[str] | None]:
    """Return which features a fitted step keeps, or the names of those that it makes; twice None if it does not say.

    Parameters
    ----------
    step : transformer
        Not the last one of its pipeline.
    names : ndarray of str
        Names of the features before it.
    """
    if hasattr(step, "get_support"):
        return np.flatnonzero(support_of(step)), None
    given = getattr(step, "feature_names_in_", names)
    try:
        output = [str(name) for name in step.get_feature_names_out(given)]
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None, None
    place = {str(name): j for j, name in enumerate(given)}
    # What counts its output, as "pca0", may count the way the table does.
    counts = isinstance(step, ClassNamePrefixFeaturesOutMixin)
    if counts or len(set(output)) < len(output) or not place.keys() >= set(output):
        return None, output
    return np.array([place[name] for name in output], dtype=np.intp), None


def resolve_names(selector: Any, m: int, names: Sequence[str] | None) -> tuple[list[int], list[int]]:
    """Turn the feature names in a selector into indices, for fits on tables without names.

    Parameters
    ----------
    selector : estimator
        Changed in place: every ``include`` and ``exclude`` in it becomes a list of indices.
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
        if kind not in ("include", "exclude") or value is None:
            continue
        decides = _decides(selector, owners, kind)
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
