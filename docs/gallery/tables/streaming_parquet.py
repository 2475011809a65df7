"""
A folder of Parquet files
=========================

Sensors write a file every hour. ``fit`` reads an Arrow dataset part by part, and never holds more than one
part; the result is that of the whole table in memory. ``partial_fit`` takes files as they come, so that one
can watch the choice settle.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from stableselect import ColumnSubset

rng = np.random.default_rng(0)
names = [f"sensor {j:02d}" for j in range(30)]
mixing = rng.normal(size=(6, 30)) * np.linspace(1, 0.4, 6)[:, None]
folder = tempfile.TemporaryDirectory()
for hour in range(24):
    values = rng.normal(size=(12, 6)) @ mixing + 0.8 * rng.normal(size=(12, 30))
    pq.write_table(pa.table(list(values.T), names=names), Path(folder.name) / f"hour{hour:02d}.parquet")

# %%
# All files at once: one pass, by the parts of the dataset.

dataset = ds.dataset(folder.name)
selector = ColumnSubset(6, ridge=0.01).fit(dataset)
print(dataset.count_rows(), "samples in", len(dataset.files), "files")
print(*selector.get_feature_names_out(), sep=", ")

# %%
# And one after the other.

growing = ColumnSubset(6, ridge=0.01)
chosen = np.zeros((24, 30), dtype=bool)
for hour in range(24):
    growing.partial_fit(pq.read_table(Path(folder.name) / f"hour{hour:02d}.parquet"))
    chosen[hour] = growing.get_support()
folder.cleanup()
print("the same features:", bool((chosen[-1] == selector.get_support()).all()))

# %%
# A column is the choice after so many hours. Changes become rare as samples come in.

ever = np.flatnonzero(chosen.any(axis=0))
ever = ever[np.argsort(-chosen[:, ever].sum(axis=0), kind="stable")]
fig, ax = plt.subplots(figsize=(7, 0.6 + 0.3 * len(ever)), layout="constrained")
ax.pcolormesh(
    np.arange(0.5, 25), np.arange(len(ever) + 1), chosen[:, ever].T, cmap="Blues", vmax=1.4, edgecolors="white"
)
ax.set(title="Six sensors of thirty, selected again after every hour", xlabel="hours read")
ax.set_yticks(np.arange(len(ever)) + 0.5, [names[j] for j in ever])
ax.invert_yaxis()
plt.show()
