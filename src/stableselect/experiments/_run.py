"""The run: one selection, named by what decides its outcome. Every table and figure shares the runs it needs."""

from __future__ import annotations

import json
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


def _canonical(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
