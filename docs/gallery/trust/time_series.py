"""
Rows that follow each other in time
===================================

In a log every row is almost a copy of the one before it. A random split then puts neighbours of every test
row into the training rows, and errors look far too good. Holding out whole days tells what the sensors are
worth tomorrow.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupKFold, KFold

from stableselect import ColumnSubset
from stableselect.metrics import reconstruction_error

rng = np.random.default_rng(0)
n_days, steps, m = 12, 48, 40
mixing = rng.normal(size=(3, m))
days = []
for _ in range(n_days):
    drift = np.cumsum(rng.normal(size=(steps, 3)), axis=0) / 3  # common causes
    own = np.cumsum(rng.normal(size=(steps, m)), axis=0) / 5 + rng.normal(size=m)  # every sensor wanders by itself
    days.append(drift @ mixing + own)
X = np.vstack(days)
day = np.repeat(np.arange(n_days), steps)

# %%
# The same selector and the same measure; only what is held out differs.


def error(splits, k):
    """Return the mean error over splits, as a fraction of the variance."""
    found = []
    for train, test in splits:
        chosen = ColumnSubset(k, cv=GroupKFold(4)).fit(X[train], groups=day[train]).selected_
        found.append(reconstruction_error(X[train], X[test], chosen) / X[test].var(axis=0).mean())
    return np.mean(found)


numbers = [1, 2, 4, 6, 8, 12, 16]
curves = {
    "random rows held out": [error(KFold(4, shuffle=True, random_state=0).split(X), k) for k in numbers],
    "whole days held out": [error(GroupKFold(4).split(X, groups=day), k) for k in numbers],
}

# %%
# The gap between the two lines is what a random split promises and the next day does not keep.

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for (label, curve), colour, marker in zip(curves.items(), ("#E69F00", "#0072B2"), "os", strict=True):
    ax.plot(numbers, curve, color=colour, marker=marker, label=label)
ax.fill_between(numbers, *curves.values(), color="#E69F00", alpha=0.15)
ax.set(title="What is held out decides what the error says", xlabel="sensors selected", ylabel="variance left", ylim=0)
ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
ax.legend()
plt.show()
