"""The run: one selection, named by what decides its outcome, and the revision that its numbers come from."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Mode = Literal["full", "fast"]


@dataclass(frozen=True, order=True)
class Run:
    """One selection: a method on one split of a dataset, with one seed.

    Attributes
    ----------
    dataset, method : str
        What is selected from, and by what.
    protocol : str
        Decides scaling, split and settings.
    split : int
        Number of the split.
    seed : int
        0 for a deterministic method.
    k : int
        Features to select.
    mode : {"full", "fast"}
        "fast" has fewer samples and steps.
    cap : int or None
        Steps allowed where the method is capped. Part of the name, so that runs of another cap are never mixed in.
    task : str
        What is computed, where it is not a selection and its measures.
    detail : str
        What else decides the outcome of a task, as canonical JSON; see :meth:`details`.
    """

    dataset: str
    method: str
    protocol: str
    split: int
    seed: int
    k: int
    mode: Mode = "full"
    cap: int | None = None
    task: str = ""
    detail: str = ""

    @property
    def key(self) -> str:
        """The run as canonical JSON; a selection's has no task in it."""
        named = {name: value for name, value in asdict(self).items() if value or name not in ("task", "detail")}
        return _canonical(named)

    @property
    def details(self) -> dict[str, Any]:
        """The detail as a dictionary."""
        return dict(json.loads(self.detail or "{}"))

    def of_task(self, task: str, **details: Any) -> Run:
        """Return the run of a task on the same split, with the same method and seed."""
        return replace(self, task=task, detail=_canonical(details) if details else "")

    def __str__(self) -> str:
        fast = ", fast" if self.mode == "fast" else ""
        task = f", {self.task}" + "".join(f", {name} {value}" for name, value in self.details.items())
        return (
            f"{self.dataset}, {self.method}, {self.protocol}, k {self.k}, split {self.split}, seed {self.seed}"
            f"{task if self.task else ''}{fast}"
        )


@dataclass(frozen=True, order=True)
class Revision:
    """What a run's numbers depend on beside its name.

    A run of an earlier revision than this version computes is computed again, and never compared with those of this
    version.

    Attributes
    ----------
    engine : int
        Raise it when a selector, a refit or a measure returns other numbers for the same samples.
    folds : int
        Raise it when samples fall into other folds, or splits and resamples are drawn in another way.
    protocol : int
        Raise it when scaling, imputation, settings or seeds of a protocol change.
    """

    engine: int = 1
    folds: int = 1
    protocol: int = 1

    def __str__(self) -> str:
        return f"engine {self.engine}, folds {self.folds}, protocol {self.protocol}"


CURRENT = Revision(engine=3, folds=2, protocol=1)
"""The revision of the runs that this version computes."""

Current = Callable[[Run], Revision]
"""From a run to the revision that this version computes it with, where not all runs depend on all that changed."""


def _canonical(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
