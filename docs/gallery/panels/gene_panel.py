"""
A gene panel from single cells
==============================

A probe set for a spatial assay holds a few dozen genes. Which ones say most of all the others? Simulated
counts of 1,500 cells of five types and 400 genes: each type has its own genes, and two programmes (cell
cycle, stress) run through all of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from stableselect import ColumnSubset
from stableselect.inspection import stability_analysis
from stableselect.metrics import mean_predictor_error, random_error, reconstruction_error

rng = np.random.default_rng(1)
types = rng.choice(5, size=1500, p=[0.4, 0.25, 0.2, 0.1, 0.05])
programmes = np.column_stack([np.eye(5)[types], rng.beta(0.5, 2, size=(1500, 2))])
loadings = rng.gamma(0.25, 2.5, size=(7, 400)) * (rng.random((7, 400)) < 0.25)
rates = np.exp(rng.normal(-1, 1, size=400) + programmes @ loadings)
rates = np.minimum(rates, 60) * rng.lognormal(0, 0.3, size=(1500, 1))
counts = rng.poisson(rates)
names = np.array([f"gene {j}" for j in range(400)])

# %%
# The usual preparation: the same total for every cell, then logarithms. Features are then on one scale, and
# none is scaled further: a gene that varies more counts more.

X = np.log1p(counts / counts.sum(axis=1, keepdims=True) * np.median(counts.sum(axis=1)))
train, test = X[:1000], X[1000:]
selector = ColumnSubset(12).fit(train)
print("panel:", ", ".join(names[selector.selected_]))

# %%
# Can it be trusted? On cells that took no part, beside random genes; and over subsamples of the cells.

floor = mean_predictor_error(train, test)
print(f"variance explained by the panel: {1 - reconstruction_error(train, test, selector.selected_) / floor:.0%}")
print(f"by random genes, on average:     {1 - random_error(train, test, 12)[0] / floor:.0%}")
print(stability_analysis(selector, train).stability)

# %%
# Left, all 400 genes in their first two principal components; right, the same cells with the 388 other genes
# predicted from the panel. The five types stay apart.

components = PCA(2).fit(train)
views = {"400 genes measured": test, "12 genes measured, 388 predicted": selector.reconstruct(selector.transform(test))}
fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharex=True, sharey=True, layout="constrained")
colours = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#555555"]
for ax, (title, cells) in zip(axes, views.items(), strict=True):
    place = components.transform(cells)
    for kind, marker in enumerate("os^Dv"):
        chosen = types[1000:] == kind
        ax.scatter(*place[chosen].T, s=12, marker=marker, color=colours[kind], label=f"type {kind + 1}", alpha=0.8)
    ax.set(title=title, xlabel="first component")
axes[0].set_ylabel("second component")
axes[1].legend(loc="best", fontsize=8)
plt.show()
