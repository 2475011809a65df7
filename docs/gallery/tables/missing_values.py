"""
Missing values
==============

A tenth, a fifth, half of the values are missing. Dropping samples with a gap soon leaves none, and filling
with the mean weakens every correlation. ``missing="em"`` fits a Gaussian to the values that are there and
selects from its moments.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from stableselect import ColumnSubset

X = StandardScaler().fit_transform(load_breast_cancer().data)
train, test = X[:400], X[400:]
k, fractions = 5, [0.0, 0.03, 0.1, 0.2, 0.35, 0.5]


def left(selector, table):
    """Return the variance of full samples that a selector fitted to a table with gaps leaves unexplained."""
    selector.fit(table)
    return ((selector.reconstruct(selector.transform(test)) - test) ** 2).mean() / test.var(axis=0).mean()


unexplained = {"samples with gaps dropped": [], "gaps filled with the mean": [], 'missing="em"': []}
rng = np.random.default_rng(0)
for fraction in fractions:
    draws = []
    for _ in range(2):
        gaps = np.where(rng.random(train.shape) < fraction, np.nan, train)
        whole = gaps[~np.isnan(gaps).any(axis=1)]
        dropped = left(ColumnSubset(k, ridge=0.01), whole) if len(whole) > 2 * k else np.nan
        filled = left(ColumnSubset(k, ridge=0.01), SimpleImputer().fit_transform(gaps))
        draws.append([dropped, filled, left(ColumnSubset(k, ridge=0.01, missing="em"), gaps)])
    for curve, value in zip(unexplained.values(), np.mean(draws, axis=0), strict=True):
        curve.append(value)

# %%
# Five features are selected and a map is fitted, both on the table with gaps; the measure is what they leave
# unexplained of new samples without gaps.

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for (name, curve), colour, marker in zip(unexplained.items(), ("#767676", "#E69F00", "#0072B2"), "v^o", strict=True):
    ax.plot(np.array(fractions) * 100, curve, color=colour, marker=marker, label=name)
ax.set(title="What gaps cost", xlabel="values missing, %", ylabel="variance left unexplained", ylim=0)
ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
ax.legend()
plt.show()

# %%
# Samples without a gap run out at once: with 30 features and a tenth of the values missing, four samples in a
# hundred are left, and beyond that the line ends. The fitted selector also fills gaps in new samples:
# ``transform`` and ``reconstruct`` take missing values.
