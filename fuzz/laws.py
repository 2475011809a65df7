"""The laws of selectors: what must hold for every table and every setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .checks import Refused, expect, fit, may_refuse
from .invariance import (
    column_order,
    explained,
    form,
    partial_fits,
    refit,
    row_order,
    saved,
    threads,
    unit,
    weights_as_repeats,
)
from .optima import optimum, scorer_losses
from .refusals import bad_input
from .selectors import draw_selector, uses_batches
from .tables import Generator, draw_table
from .trials import Trial, always, to_rounding

BY_POSITION = {"RandomSelector", "ScorerSelectorNetwork", "CAE", "ConsensusSelector", "KernelSubset"}
"""Draw random numbers or choose a ridge by feature position, so that the order of the features decides."""
UNIT_FREE = {"ColumnSubset", "ScorerSelector", "PFA", "UDFS", "NDFS", "AEFS", "AgnoSS", "GatedLaplacian"}
"""Documented not to depend on the unit of the whole table."""


def _places_do_not_matter(trial: Trial) -> bool:
    """Tell whether the order of the features may not change the choice: they do not tie, nor are drawn by position."""
    # Two standardised features have the same loadings. Folds follow the positions of the features.
    ties = trial.table.ties or (trial.setting("standardise", False) and trial.X.shape[1] == 2)
    return not (ties or trial.name in BY_POSITION or trial.held_out) and to_rounding(trial)


def _streams(trial: Trial) -> bool:
    return hasattr(trial.selector, "partial_fit") and not uses_batches(trial.selector)


def _for_error(trial: Trial) -> bool:
    """Tell whether neither stability nor the number of features is measured, which takes folds."""
    measured = trial.setting("criterion") == "stability" or trial.setting("min_stability") is not None
    return not measured and trial.setting("n_features_to_select") != "auto"


LAWS: dict[str, tuple[Callable[[Trial], None], Callable[[Trial], bool], float]] = {
    # Samples are sorted before anything is summed; "Adam on mini-batches of samples" follows their order.
    "row order": (row_order, lambda t: not uses_batches(t.selector), 4),
    "column order": (column_order, _places_do_not_matter, 2),
    "form": (form, lambda t: not uses_batches(t.selector), 3),
    "threads": (threads, lambda t: t.table.kind == "factors" and to_rounding(t), 1),
    "weights as repeats": (weights_as_repeats, lambda t: _streams(t) and to_rounding(t), 2),
    # "A sample's own values decide its fold", so that a unit moves what is held out.
    "unit": (unit, lambda t: t.name in UNIT_FREE and not t.table.extreme and not t.held_out, 1),
    "refit": (refit, lambda t: True, 1),
    "saved": (saved, lambda t: True, 1),
    "explained": (explained, lambda t: True, 1),
    "partial fits": (partial_fits, lambda t: _streams(t) and to_rounding(t) and _for_error(t), 2),
    "optimum": (
        optimum,
        lambda t: t.name == "ColumnSubset" and t.setting("exchange") and _for_error(t) and t.X.shape[1] <= 12,
        3,
    ),
    "scorer losses": (scorer_losses, lambda t: t.name == "ScorerSelector", 2),
    "bad input": (bad_input, lambda t: True, 2),
}
"""By name: the law, for which trials it holds by the documentation, and how often to draw it."""


def selector_case(rng: Generator, note: Any, classes: Mapping[str, type] | None = None) -> None:
    """Draw a table, a selector and a law, and hold the law."""
    trial = Trial(rng, draw_table(rng), None)
    trial.selector = draw_selector(rng, trial.table, classes)
    note.kind, note.subject = trial.table.kind, trial.name
    note.detail = f"{trial.selector!r} on {trial.table}".replace("\n", " ")
    odds = {name: law[2] for name, law in LAWS.items() if law[1](trial)}
    note.law = str(rng.choice(list(odds), p=np.array(list(odds.values())) / sum(odds.values())))
    given, state = trial.X.copy(), np.random.get_state()[1].copy()  # noqa: NPY002
    try:
        trial.fitted = fit(trial.selector, trial.X)
    except Refused as refused:
        expect(may_refuse(refused, trial.table.extreme), f"refused: {refused}")
        raise
    always(trial)
    LAWS[note.law][0](trial)
    expect((given == trial.X).all(), "the table was changed")
    expect((state == np.random.get_state()[1]).all(), "the global random state was changed")  # noqa: NPY002
