"""The parts of scikit-learn and joblib that are private, or that only some versions have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.base import _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils._set_output import _get_output_config

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:  # scikit-learn < 1.9
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A mixin without callbacks."""

    def with_callbacks(method: Callable) -> Callable:
        """Return the method as it is."""
        return method


try:
    from joblib.externals.loky.backend import resource_tracker
except ImportError:  # the files of a killed process stay
    resource_tracker = None


Constraints = dict[str, Any]
"""What ``_parameter_constraints`` holds: for every parameter the kinds of value it may have."""

F = TypeVar("F", bound=Callable)


def without(constraints: Constraints, *names: str) -> Constraints:
    """Return the constraints of a family for a member that lacks some of its parameters."""
    return {name: kinds for name, kinds in constraints.items() if name not in names}


def validates_parameters(method: F) -> F:
    """Return a method that fits, made to check the parameters against ``_parameter_constraints`` first."""
    return _fit_context(prefer_skip_nested_validation=True)(method)


def gives_frames(estimator: Any) -> bool:
    """Tell whether ``set_output`` asked for data frames, which scikit-learn makes of arrays."""
    return bool(_get_output_config("transform", estimator)["dense"] != "default")
