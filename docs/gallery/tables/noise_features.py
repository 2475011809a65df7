"""
Two features among noise
========================

Nothing reconstructs a feature of independent noise but itself. A method that reconstructs therefore keeps it,
where the features of interest explain little of each other linearly. ``GatedLaplacian`` looks for features in
which samples have neighbours instead.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.preprocessing import StandardScaler

from stableselect import ColumnSubset, GatedLaplacian

moons, side = make_moons(300, noise=0.05, random_state=0)
X = StandardScaler().fit_transform(np.hstack([moons, np.random.default_rng(0).random((300, 10))]))
choices = {"ColumnSubset": ColumnSubset(2).fit(X), "GatedLaplacian": GatedLaplacian(2).fit(X)}

# %%
# The table has twelve features; the first two draw two moons. Each picture shows the samples in the two
# features selected.

fig, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for ax, (name, selector) in zip(axes, choices.items(), strict=True):
    first, second = sorted(selector.selected_.tolist())
    for value, colour, marker in ((0, "#0072B2", "o"), (1, "#D55E00", "^")):
        ax.scatter(X[side == value, first], X[side == value, second], s=14, color=colour, marker=marker)
    ax.set(title=name, xlabel=f"feature {first}", ylabel=f"feature {second}", xticks=[], yticks=[])
plt.show()

# %%
# :doc:`Nuisance features </nuisance>` has the figures for more tables and methods, and says when to use
# which.
