"""
Batches: what varies within, not between
========================================

Three instruments measured the same kind of samples, and each has offsets of its own in some features. These
offsets hold most of the variance, so that a plain selection spends its features on telling the instruments
apart. With ``fit(X, batch=...)`` it looks at what varies within instruments.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from stableselect import ColumnSubset

rng = np.random.default_rng(0)
n, m = 100, 24
sources = rng.normal(size=(3 * n, 3))
signal = sources @ rng.normal(size=(3, m)) + 0.3 * rng.normal(size=(3 * n, m))
offsets = np.zeros((3, m))
offsets[:, 16:] = rng.normal(scale=6, size=(3, 8))  # the last eight features are not calibrated
instrument = np.repeat([0, 1, 2], n)
X = signal + offsets[instrument]

plain = ColumnSubset(3).fit(X)
within = ColumnSubset(3).fit(X, batch=instrument)
print("plain:         ", sorted(plain.selected_.tolist()))
print("within batches:", sorted(within.selected_.tolist()))

# %%
# How much of what varies within each instrument do three features explain?

inside = X - np.array([X[instrument == b].mean(axis=0) for b in range(3)])[instrument]


def explained(selected):
    """Return the fraction of the variance within instruments that features explain."""
    chosen = inside[:, selected]
    fitted = chosen @ np.linalg.lstsq(chosen, inside, rcond=None)[0]
    return 1 - ((inside - fitted) ** 2).mean() / inside.var(axis=0).mean()


# %%
# Left, the first two components of the table: three clouds, one for each instrument. Right, what each choice
# explains within them.

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), width_ratios=[1.5, 1], layout="constrained")
place = PCA(2).fit_transform(X)
for b, (colour, marker) in enumerate(zip(("#0072B2", "#E69F00", "#009E73"), "os^", strict=True)):
    left.scatter(*place[instrument == b].T, s=14, color=colour, marker=marker, label=f"instrument {b + 1}")
left.set(title="The table: instruments come first", xlabel="first component", ylabel="second component")
left.legend(fontsize=8)
bars = right.bar(["plain", "within\nbatches"], [explained(plain.selected_), explained(within.selected_)],
                 color=["#bbbbbb", "#0072B2"])  # fmt: skip
right.bar_label(bars, fmt="{:.0%}")
right.set(title="Explained within instruments", ylim=(0, 1.1), yticks=[])
right.spines[["top", "right", "left"]].set_visible(False)
plt.show()

# %%
# ``within.batch_explained_variance_`` tells the same for every batch by itself:

print(dict(zip(within.batches_.tolist(), within.batch_explained_variance_.round(2).tolist(), strict=True)))
