"""
Figure 1 of the paper, in small
===============================

Wu and Cheng (2021) show images rebuilt from fifty pixels that their network selects. Here is the same on the
small digits of scikit-learn: the network trained as published, the same with its number of features lowered
step by step (annealed), and the search in closed form that needs no training. The full figure, on
Fashion-MNIST and COIL-20, is among the :doc:`results </results/figure1>`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from stableselect import ScorerSelector, ScorerSelectorNetwork
from stableselect.metrics import random_error, reconstruction_error

data = load_digits()
train, test, _, labels = train_test_split(data.data / 16, data.target, random_state=0, stratify=data.target)
k = 12
selectors = {
    "as published": ScorerSelectorNetwork.published(k, random_state=0),
    "annealed": ScorerSelectorNetwork(k, anneal=True, epochs=600, random_state=0),
    "searched": ScorerSelector(k),
}
errors = {name: reconstruction_error(train, test, one.fit(train).selected_) for name, one in selectors.items()}
print(*(f"{name}: {error:.4f}" for name, error in errors.items()), sep="\n")
print(f"random pixels: {random_error(train, test, k)[0]:.4f}")

# %%
# As in the paper: images, the selected pixels (the others in blue), and the images rebuilt, by a linear map
# fitted to these pixels. The errors are over all test images.

shown = test[np.unique(labels, return_index=True)[1]]
lines = {"image": np.repeat(shown[:, :, None], 3, axis=2)}
for name, one in selectors.items():
    kept = np.full((*shown.shape, 3), np.array([0x5B, 0x8F, 0xC7]) / 255)
    kept[:, one.selected_] = shown[:, one.selected_, None]
    design = np.column_stack([np.ones(len(train)), train[:, one.selected_]])
    weights = np.linalg.lstsq(design, train, rcond=None)[0]
    image = np.column_stack([np.ones(len(shown)), shown[:, one.selected_]]) @ weights
    lines[f"{name}:\nselected"] = kept
    lines[f"rebuilt,\nerror {errors[name]:.3f}"] = np.repeat(image.clip(0, 1)[:, :, None], 3, axis=2)
fig, axes = plt.subplots(len(lines), 10, figsize=(8, 5.6), layout="constrained")
for row, (label, images) in zip(axes, lines.items(), strict=True):
    for ax, image in zip(row, images, strict=True):
        ax.imshow(image.reshape(8, 8, 3))
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize=8)
fig.suptitle(f"Digits rebuilt from {k} of 64 pixels")
plt.show()
