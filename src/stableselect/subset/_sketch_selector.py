"""Selectors that can work from a sketch of the samples, where exact moments do not fit in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import Array, HeldOut, Moments, SketchedMoments, Stream, in_own_order, merged
from ..base import Selection, resolve_k
from ._moments_selector import MomentsSelector
from ._problem import Problem
from ._sketching import check_rows, obstacle_to_sketch, rows_asked_for, rows_of_sketch, sketched_size, wants_sketch


class SketchSelector(MomentsSelector):
    """A selector on moments with the parameter ``sketch``."""

    _takes_sketches = True

    def _gather(
        self, X: Array, weights: np.ndarray | None, groups: Any
    ) -> tuple[list[Moments], Sequence[HeldOut] | None]:
        size = None
        if self._sketch_asked_for() or (self.sketch == "auto" and self._obstacle_to_sketch() is None):
            k = resolve_k(self.n_features_to_select, self.n_features_in_)
            size = rows_of_sketch(self.sketch, k, X.shape, self._folds_needed())
        if size is None or groups is not None:  # groups without cv are refused there
            return super()._gather(X, weights, groups)
        return [SketchedMoments(size)._add(*in_own_order(X, weights))], None

    def _gather_stream(self, X: Stream) -> list[Moments]:
        size = None
        if self._sketch_asked_for() or (self.sketch == "auto" and self._obstacle_to_sketch() is None):
            k = resolve_k(self.n_features_to_select, self.n_features_in_)
            # Where nobody knows how many samples there are, as many as features: then exact moments take all they can.
            n_samples = self.n_features_in_ if X.n_samples is None else X.n_samples
            size = rows_of_sketch(self.sketch, k, (n_samples, self.n_features_in_), self._folds_needed())
        if size is None:
            return super()._gather_stream(X)
        return [SketchedMoments(size)._add_stream(X)]

    def _sketch_asked_for(self) -> bool:
        """Tell whether the parameter wants a sketch; raise if others rule it out."""
        if not wants_sketch(self.sketch):
            return False
        self._check_sketch()
        return True

    def _obstacle_to_sketch(self) -> str | None:
        stable = self._prefers_stability()
        return obstacle_to_sketch(self.n_features_to_select, stable, self.search_criterion, self.cv, self.conditions)

    def _check_sketch(self) -> None:
        obstacle = self._obstacle_to_sketch()
        if obstacle:
            raise ValueError(f"Nothing can be held out of a sketch: {obstacle}, or use exact moments (sketch=False).")

    def _new_moments(self) -> Moments:
        if not self._sketch_asked_for():
            return Moments()
        k = resolve_k(self.n_features_to_select, self.n_features_in_)
        return SketchedMoments(rows_asked_for(self.sketch, k) or 1)

    def _moments_folds(self) -> int | None:
        # A sketch is made of the samples themselves, and the map needs them again.
        return None if wants_sketch(self.sketch) else super()._moments_folds()

    def _is_sketched(self, problem: Problem) -> bool:
        """Note how many rows were searched; no bound follows from a sketch, and one of an earlier fit is forgotten."""
        self.sketch_size_ = sketched_size(problem.moments)
        if self.sketch_size_ is None:
            return False
        for name in ("lower_bound_", "optimality_gap_", "proven_optimal_"):
            self.__dict__.pop(name, None)
        return True

    def _select_from_folds(
        self,
        folds: Sequence[Moments],
        X: Array = None,
        sample_weight: np.ndarray | None = None,
        held_out: Sequence[HeldOut] | None = None,
        numbers: Sequence[int] = (),
    ) -> Selection:
        if any(fold.form == "sketched" for fold in folds):
            self._check_sketch()
            folds, held_out, numbers = [merged(folds)], None, [0]
            check_rows(sketched_size(folds[0]) or 0, resolve_k(self.n_features_to_select, self.n_features_in_))
        return super()._select_from_folds(folds, X, sample_weight, held_out, numbers)
