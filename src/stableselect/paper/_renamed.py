"""Names that stored runs had in earlier versions, and what they are called now.

A renamed method or protocol gets a line here; then runs that were stored under its old name are read under the new one,
and written so when their file is next saved. A name must not be used again for something else.
"""

from __future__ import annotations

from typing import Any

PROTOCOLS = {"sound": "corrected"}

METHODS = {
    "all columns": "all features",
    "PCA floor": "PCA, k components",
    "ScorerSelector search": "ScorerSelector",
    "ScorerSelector annealed": "ScorerSelectorNetwork annealed",
}

_WEIGHT = ", weight "
"""Comes between the name of a scorer-selector and its scorer weight."""


def renamed(run: dict[str, Any]) -> dict[str, Any]:
    """Return the name of a stored run, field by field, as this version calls it.

    Examples
    --------
    >>> from stableselect.paper._renamed import renamed
    >>> renamed({"method": "ScorerSelector search, weight 1/8", "protocol": "sound"})
    {'method': 'ScorerSelector, weight 1/8', 'protocol': 'corrected'}
    """
    plain, mark, weight = run["method"].partition(_WEIGHT)
    protocol = run["protocol"]
    return run | {
        "method": METHODS.get(plain, plain) + mark + weight,
        "protocol": PROTOCOLS.get(protocol, protocol),
    }
