"""Moments of a table in other units or around other means, without another pass over it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Literal, Self

from ._arrays import Array, namespace
from ._moment_sums import MomentSums


class SumsInUnits(MomentSums):
    """The sums of a table whose features are scaled or moved; arrays are replaced, never changed."""

    def _scaling(self, kind: Literal["minmax", "standard"]) -> tuple[Array, Array]:
        """Return what is subtracted from every feature, and what it is multiplied by then."""
        xp = namespace(self._checked()._mean)
        varies = self._high > self._low
        spread = self._high - self._low if kind == "minmax" else xp.sqrt(self.operator().diagonal())
        factor = 1 / xp.where(varies & (spread > 0), spread, xp.ones_like(spread))
        return self._low if kind == "minmax" else self._mean, factor

    def _multiply(self, factor: Array) -> None:
        """Multiply every feature by its factor in what the form keeps, with new arrays."""
        self._rows = [rows * factor[None, :] for rows in self._rows]
        if self._second is not None:
            self._second = self._second * factor[:, None] * factor[None, :]

    def _in_units(self, origin: Array, factor: Array) -> Self:
        """Return the sums of the table less ``origin``, times ``factor``."""
        scaled = copy(self)
        for name in ("_mean", "_low", "_high", "_shift"):
            if getattr(self, name) is not None:
                setattr(scaled, name, (getattr(self, name) - origin) * factor)
        scaled._multiply(factor)
        scaled._weights = list(self._weights)
        return scaled

    def _moved(self, centre: Array, mean: Array, varies: Array) -> Self:
        """Return the moments with ``centre`` moved to ``mean``, where features that do not vary stay at it exactly."""
        zero = mean * 0.0
        xp = namespace(zero)
        moved = self._in_units(xp.where(varies, centre - mean, zero), xp.where(varies, zero + 1, zero))
        return moved if bool(xp.all(varies)) else moved._in_units(xp.where(varies, zero, -mean), zero + 1)


def varying(parts: Sequence[MomentSums]) -> Array:
    """Tell which features vary in some part; the rounding of a mean must not make another one vary."""
    found = parts[0]._high > parts[0]._low
    for part in parts[1:]:
        found = found | (part._high > part._low)
    return found
