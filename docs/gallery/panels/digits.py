"""
Handwritten digits from a few pixels
====================================

How few pixels of a handwritten digit tell all the others? We select 4, 8, 16 and 32 of the 64 pixels on most
of the digits, and draw digits that took no part in it from these pixels alone.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from stableselect import ColumnSubset
from stableselect.metrics import mean_predictor_error, reconstruction_error

X = load_digits().data
new, train = X[:10], X[10:]

# %%
# One fit for each number of pixels. The error is that of the ten new digits, as a fraction of what the mean
# digit gives.

selectors = {k: ColumnSubset(k).fit(train) for k in (4, 8, 16, 32)}
floor = mean_predictor_error(train, new)
for k, selector in selectors.items():
    print(f"{k:2d} pixels: {reconstruction_error(train, new, selector.selected_) / floor:.0%} of the variance is left")

# %%
# Above, the digits. Below them, for each number of pixels: the digits reconstructed, with the selected pixels
# as dots.

fig, axes = plt.subplots(5, 10, figsize=(9, 5), layout="constrained")
for i, ax in enumerate(axes.flat):
    ax.set(xticks=[], yticks=[])
    digit = i % 10
    if i < 10:
        shown = new[digit]
    else:
        selector = list(selectors.values())[i // 10 - 1]
        shown = selector.reconstruct(selector.transform(new))[digit]
        rows, columns = np.divmod(selector.selected_, 8)
        ax.scatter(columns, rows, s=3, linewidths=0, color="#E69F00")
    ax.imshow(shown.reshape(8, 8), cmap="gray", vmin=0, vmax=16)
for ax, label in zip(axes[:, 0], ["all 64", *(f"from {k}" for k in selectors)], strict=True):
    ax.set_ylabel(label, rotation=0, ha="right", va="center")
fig.suptitle("Digits from 4, 8, 16 and 32 of their pixels")
plt.show()

# %%
# From sixteen pixels, a quarter, most digits can be read, from half of them all. No label was used: a pixel
# is selected for what it says of the other pixels, not of the digit's name.
