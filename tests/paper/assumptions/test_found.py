"""From runs to numbers: slopes by the rate fit, and how often inequalities hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stableselect.experiments import Run, Stored, Value
from stableselect.inspection import fit_power_law
from stableselect.paper.assumptions import _measures as measures
from stableselect.paper.assumptions._found import Found, holds1, holds3, text
from stableselect.paper.assumptions._task import NETWORK, SEARCH, TASK
from stableselect.paper.methods import Results

CORE = Run("coil20", SEARCH, "corrected", 0, 0, 50)
WHERE = ("coil20", "corrected", SEARCH)


def core(n, split, record, run=CORE):
    return Stored(replace(run, split=split).of_task(TASK, part="core", n=n, u=50), "done", record, "")


def test_the_slope_is_that_of_the_rate_fit(rng, tmp_path):
    sizes = [100, 200, 400, 800]
    values = 3 / np.array(sizes) * np.exp(0.05 * rng.normal(size=(3, 4)))
    items = [core(n, i, {"plain": {"mse": values[i, j]}}) for i in range(3) for j, n in enumerate(sizes)]
    # A fourth split has one size only, and takes no part.
    items.append(core(100, 3, {"plain": {"mse": 50.0}}))
    found = Found(Results(items, data_home=tmp_path)).slope("plain.mse", *WHERE)
    expected = fit_power_law(sizes, values)
    assert found.slope == pytest.approx(expected.slope)
    assert found.interval == pytest.approx(expected.interval)
    two = Found(Results([item for item in items if item.run.details["n"] < 300], data_home=tmp_path))
    assert two.slope("plain.mse", *WHERE) is None


def test_numbers_in_a_row_share_their_splits(tmp_path):
    searched = [core(100, split, {"plain": {"mse": float(split)}}) for split in range(3)]
    trained = [
        core(100, split, {"plain": {}, "network_mse": 10.0 + split}, replace(CORE, method=NETWORK, seed=split))
        for split in range(2)
    ]
    found = Found(Results([*searched, *trained], data_home=tmp_path))
    where = ("core", "coil20", "corrected")
    row = found.row({"search": ("plain.mse", (*where, SEARCH)), "network": ("network_mse", (*where, NETWORK))}, 100)
    assert (row["search"].mean, row["network"].mean) == (0.5, 10.5)
    assert found.number("plain.mse", *where, SEARCH, n=100).mean == 1.0


def test_numbers_are_written_with_three_digits():
    assert [text(Value(mean, None, 1)) for mean in (0.012345, 123.456, 12345.6, 12345678.9)] == [
        "0.0123",
        "123",
        "12,346",
        "1.23e+07",
    ]
    assert text(Value(2.0, 0.123, 3), 100) == "200 ± 12"
    assert text(None) == "–"  # noqa: RUF001


def test_fractions_are_counted_inside_the_path():
    parabola = np.array([2 * t * (1 - t) for t in measures.STEPS])
    entries = [{"left": (c * parabola).tolist(), "right": parabola.tolist()} for c in (0.5, 1.0, 3.0)]
    entries.append({"left": [0.0] * 11, "right": [0.0] * 11})
    assert holds3(entries) == (27, 36, pytest.approx([0.5, 1.0, 3.0, 1.0]))
    # The core samples move and the training samples do not: that is no case for the inequality.
    still = {"left": parabola.tolist(), "right": [0.0] * 11}
    assert holds3([still]) == (0, 9, [np.inf])
    entries = [{"printed": (c * measures.STEPS).tolist(), "bound": measures.STEPS.tolist()} for c in (-1.0, 0.5, 2.0)]
    assert holds1(entries, "printed") == (20, 30, pytest.approx(2.0))
