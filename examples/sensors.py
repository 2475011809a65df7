"""Which sensors of a plant to keep, and the others reconstructed live, with intervals, in another process.

    python examples/sensors.py [FOLDER]

The logs are simulated: 24 sensors that follow load, weather and a slow fouling, every ten minutes for three weeks, each
with its own unit and noise, and with gaps. Sensors are chosen on the first two weeks. Rows that are close in time are
alike, so every choice by held-out error, and the intervals, are made on blocks of time after those fitted on.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import TimeSeriesSplit

from stableselect import ColumnSubset, Conditions, save

STEPS, SENSORS, LIVE, BUDGET = 3 * 7 * 144, 24, 150, 12.0
UNITS = ("bar", "°C", "m3/h", "mm/s")
COST = {"bar": 2.0, "°C": 1.0, "m3/h": 6.0, "mm/s": 4.0}
"""What it costs to keep a sensor, by what it measures: flow meters are dear."""


def plant_logs(seed: int = 0) -> pd.DataFrame:
    """Return the logs, complete: three weeks of 24 sensors."""
    rng = np.random.default_rng(seed)
    day = np.arange(STEPS) / 144
    drift = np.zeros((STEPS, 3))
    for step in range(1, STEPS):
        drift[step] = 0.98 * drift[step - 1] + 0.2 * rng.normal(size=3)
    drivers = np.column_stack([np.sin(2 * np.pi * day), np.cos(2 * np.pi * day / 7), np.zeros(STEPS)]) + drift
    mixing = rng.normal(size=(3, SENSORS)) * rng.choice([0.3, 1.0], size=(3, SENSORS))
    values = drivers @ mixing + 0.15 * rng.normal(size=(STEPS, SENSORS))
    names = [f"s{j:02d} [{UNITS[j % 4]}]" for j in range(SENSORS)]
    scale = np.array([2.0, 15.0, 120.0, 0.7])[np.arange(SENSORS) % 4]
    return pd.DataFrame(values * scale + 5 * scale, columns=names)


def with_gaps(logs: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    """Return the logs with gaps: single values, and sensors that are silent for hours."""
    rng = np.random.default_rng(seed)
    holes = rng.random(logs.shape) < 0.01
    for _ in range(20):
        start, sensor = rng.integers(len(logs)), rng.integers(logs.shape[1])
        holes[start : start + 36, sensor] = True
    return logs.mask(holes)


def reconstruct_live(panel: Path, rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Send rows to a process that knows nothing but the file, and return what it answers, and what it tells."""
    command = [sys.executable, "-m", "stableselect", "reconstruct", str(panel), "-"]
    options = ["--live", "--interval", "0.9", "--score", "novelty"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([*command, *options], text=True, encoding="utf-8", **pipes) as process:
        answers = []
        for line in rows.to_csv(index=False).splitlines(keepends=True):
            process.stdin.write(line)
            process.stdin.flush()
            answers.append(process.stdout.readline())  # there before the next row is sent
        _, told = process.communicate()
    cells = [answer.rstrip("\n").split(",") for answer in answers]
    return pd.DataFrame(cells[1:], columns=cells[0]).apply(pd.to_numeric), told


def main(folder: Path) -> None:
    """Choose sensors, save the choice, and use it on the last week."""
    logs = plant_logs()
    past, live = with_gaps(logs[: 2 * STEPS // 3]), logs[2 * STEPS // 3 :].reset_index(drop=True)
    print(f"{past.isna().to_numpy().mean():.1%} of the values of the first two weeks are missing.")
    blocks = TimeSeriesSplit(5)
    costs = {name: COST[name[5:-1]] for name in past}
    selector = ColumnSubset(
        scale="standard",
        missing="em",
        cv=list(blocks.split(past)),
        conditions=Conditions(cost=costs, budget=BUDGET),
    )
    selector.fit(past).calibrate(past, cv=blocks)
    kept = selector.get_feature_names_out().tolist()
    spent = sum(costs[name] for name in kept)
    print(f"Kept, for {spent:g} of a budget of {BUDGET:g}: {', '.join(kept)}.")
    print(selector.conditions_cost_)

    panel = folder / "panel.sselect"
    save(selector, panel, overwrite=True)
    answered, told = reconstruct_live(panel, live[kept][:LIVE])
    gone = [name for name in live if name not in kept]
    low, high = (answered[[f"{name}_{end}" for name in gone]].to_numpy() for end in ("low", "high"))
    truth = live[gone][:LIVE].to_numpy()
    marginal = past[gone].quantile(0.95).to_numpy() - past[gone].quantile(0.05).to_numpy()
    print(f"Live: {np.mean((low <= truth) & (truth <= high)):.1%} of the values lie in their 90 % intervals,")
    print(f"which are {np.mean((high - low) / marginal):.0%} as wide as without the sensors kept.")
    print(f"Highest novelty: {answered['novelty'].max():.2f}; told: {told.strip() or 'nothing'}")

    # One sensor now answers in another unit, and one row lacks a value.
    wrong = live[kept][:3].copy()
    wrong.loc[1, kept[0]] *= 1000
    wrong.loc[2, kept[1]] = np.nan
    answered, told = reconstruct_live(panel, wrong)
    print(f"Novelty {answered['novelty'].round(2).tolist()}; told:\n{told.strip()}")
    print(f"Reconstructed without {kept[1]}: {answered[gone].iloc[2].notna().all()}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()))
