"""The revision of a run: integers that say which engine, folds and protocol its numbers come from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Revision:
    """What a run's numbers depend on beside its name.

    Runs of different revisions are never averaged or compared with each other, and a run of an earlier revision is
    computed again.

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

    @property
    def remark(self) -> str:
        """A sentence for pages whose runs this version would not repeat exactly; empty where it would."""
        if self == CURRENT:
            return ""
        return f"The runs are of an earlier revision ({self}); this version computes {CURRENT}."

    def __str__(self) -> str:
        return f"engine {self.engine}, folds {self.folds}, protocol {self.protocol}"


CURRENT = Revision(engine=2, folds=2, protocol=1)
"""The revision of the runs that this version computes."""
