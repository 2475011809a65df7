"""
Missing values
==============

A tenth, a fifth, half of the values are missing. Dropping samples with a gap soon leaves none, and filling with the mean
weakens every correlation. ``missing="em"`` fits a Gaussian to the values that are there and selects from its moments.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from stableselect import ColumnSubset
from stableselect.metrics import reconstruction_error

X = StandardScaler().fit_transform(load_breast_cancer().data)
train, test = X[:400], X[400:]
k, fractions = 5, [0.0, 0.03, 0.1, 0.2, 0.35, 0.5]
best = reconstruction_error(train, test, ColumnSubset(k).fit(train).selected_)


def judged(selected):
    """Return the error of a choice on full samples, over that of a choice from full samples."""
    return reconstruction_error(train, test, selected) / best


ratios = {"samples with gaps dropped": [], "gaps filled with the mean": [], 'missing="em"': []}
rng = np.random.default_rng(0)
for fraction in fractions:
    draws = {name: [] for name in ratios}
    for _ in range(2):
        gaps = np.where(rng.random(train.shape) < fraction, np.nan, train)
        whole = gaps[~np.isnan(gaps).any(axis=1)]
        enough = len(whole) > 2 * k
        choices = [
            ColumnSubset(k, ridge=0.01).fit(whole).selected_ if enough else None,
            ColumnSubset(k, ridge=0.01).fit(SimpleImputer().fit_transform(gaps)).selected_,
            ColumnSubset(k, ridge=0.01, missing="em").fit(gaps).selected_,
        ]
        for name, chosen in zip(ratios, choices, strict=True):
            draws[name].append(np.nan if chosen is None else judged(chosen))
    for name, found in draws.items():
        ratios[name].append(np.mean(found))

# %%
# The measure is the error of the chosen features on full samples, so it is about the choice alone.

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for (name, curve), colour, marker in zip(ratios.items(), ("#767676", "#E69F00", "#0072B2"), "v^o", strict=True):
    ax.plot(np.array(fractions) * 100, curve, color=colour, marker=marker, label=name)
ax.axhline(1, color="black", linewidth=0.8)
ax.set(title="What gaps cost the choice", xlabel="values missing, %", ylabel="error over that of the full table")
ax.legend()
plt.show()

# %%
# Samples without a gap run out at once: with 30 features and a tenth of the values missing, four samples in a hundred are
# left, and beyond that the line ends. The fitted selector also fills gaps in new samples: ``transform`` and ``reconstruct``
# take missing values.
