"""Which sensors of a plant to keep, and the others reconstructed live, with intervals, in another process.

    python examples/sensors.py [FOLDER] [station]

The logs are simulated: 24 sensors that follow load, weather and a slow fouling, every ten minutes for three weeks, each
with its own unit and noise, and with gaps. With "station" they are real: a summer of hourly readings of the weather
station at Greensboro, from the file of the National Renewable Energy Laboratory that comes with pvlib (`pip install
--no-deps pvlib`). Sensors are chosen on the first two thirds. Rows that are close in time are alike, so every choice by
held-out error, and the intervals, are made on blocks of time after those fitted on.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import TimeSeriesSplit

from stableselect import ColumnSubset, Conditions, save

STEPS, SENSORS, LIVE, BUDGET = 3 * 7 * 144, 24, 150, 12.0
NOT_SENSORS = ("uncert", "ETR", "Date", "Time", "Lprecip", "PresWth", "AOD", "Alb", "Wdir")
"""Columns of the station's file that are comments, computed, or angles."""
UNITS = ("bar", "°C", "m3/h", "mm/s")
COST = {"bar": 2.0, "°C": 1.0, "m3/h": 6.0, "mm/s": 4.0, "C": 1.0, "%": 1.0, "mbar": 1.0, "m/s": 2.0}
OTHER_COST = 3.0
"""What it costs to keep a sensor, by the unit in brackets at the end of its name: flow meters are dear."""


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


def station_logs() -> pd.DataFrame:
    """Return June to August of a weather station, hour by hour, complete."""
    package = find_spec("pvlib")
    if package is None or package.origin is None:
        sys.exit("The station's file comes with pvlib; install it, or leave out 'station'.")
    path = Path(package.origin).parent / "data" / "723170TYA.CSV"
    table = pd.read_csv(path, skiprows=1)
    summer = table[table.columns[0]].str[:2].isin(["06", "07", "08"])
    sensors = [name for name in table if name.endswith(")") and not any(word in name for word in NOT_SENSORS)]
    logs = table.loc[summer, sensors].astype(float).reset_index(drop=True)
    return logs.rename(columns=lambda name: name.replace("(", "[").replace(")", "]")).loc[:, (logs.std() > 0).tolist()]


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


def main(folder: Path, logs: pd.DataFrame) -> None:
    """Choose sensors, save the choice, and use it on the last third."""
    begin = 2 * len(logs) // 3
    past, live = with_gaps(logs[:begin]), logs[begin:].reset_index(drop=True)
    print(f"{past.isna().to_numpy().mean():.1%} of {past.shape[0]} x {past.shape[1]} values selected on are missing.")
    blocks = TimeSeriesSplit(5)
    costs = {name: COST.get(name[name.index("[") + 1 : -1], OTHER_COST) for name in past}
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
    where = [word for word in sys.argv[1:] if word != "station"]
    main(Path(where[0] if where else tempfile.mkdtemp()), station_logs() if "station" in sys.argv else plant_logs())
