"""What the selectors warn of, for someone who uses the command line."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

_OPTIONS = {
    " or raise max_features": "",
    "min_explained_variance": "--min-explained-variance",
    "min_stability": "--min-stability",
    "n_features_to_select": "-k",
}
"""What the options are called there; there is none for the first."""


def notes_of(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    """Return every warning once, on one line, with options for the names of settings."""
    texts = (" ".join(str(warning.message).split()) for warning in caught)
    return list(dict.fromkeys(_with_options(text) for text in texts))


def _with_options(text: str) -> str:
    for setting, option in _OPTIONS.items():
        text = text.replace(setting, option)
    return text
