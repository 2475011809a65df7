"""
Your own method, in one file
============================

A selector is a class with one method: scores, one for each feature. Everything else comes with it: names,
``transform``, ``reconstruct``, pipelines, ``explain``, stability, saving.

The method here scores a feature by how clearly its values fall into two groups: the bimodality coefficient,
(skewness² + 1) over kurtosis.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import kurtosis, skew

from stableselect import ColumnSubset
from stableselect.base import ScoreSelector
from stableselect.inspection import stability_analysis


class Bimodality(ScoreSelector):
    """Select the features whose values fall most clearly into two groups."""

    def __init__(self, n_features_to_select=None, *, include=None, exclude=None):
        self.n_features_to_select = n_features_to_select
        self.include = include
        self.exclude = exclude

    def _score_features(self, X, k):
        return (skew(X) ** 2 + 1) / kurtosis(X, fisher=False)  # larger is better


# %%
# Ten features: in three of them the samples are of two kinds, the others are mixtures of a few common causes.

rng = np.random.default_rng(0)
kinds = rng.choice([-1.5, 1.5], size=(400, 3))
X = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 10))
X[:, [2, 5, 8]] = kinds + 0.6 * rng.normal(size=(400, 3))
own, usual = Bimodality(3).fit(X), ColumnSubset(3).fit(X)
print("Bimodality:  ", sorted(own.selected_.tolist()))
print("ColumnSubset:", sorted(usual.selected_.tolist()))
print(f"stability of Bimodality: {stability_analysis(own, X).stability.nogueira:.2f}")

# %%
# The scores, and the values of the features that were selected.

fig, axes = plt.subplots(1, 4, figsize=(8, 2.8), width_ratios=[1.6, 1, 1, 1], layout="constrained")
order = np.argsort(own.scores_)
axes[0].barh(
    [str(j) for j in order], own.scores_[order], color=["#D55E00" if own.get_support()[j] else "#bbbbbb" for j in order]
)
fig.suptitle("Bimodality: the scores, and the three features selected")
axes[0].set(title="score", ylabel="feature")
for ax, j in zip(axes[1:], sorted(own.selected_), strict=True):
    ax.hist(X[:, j], bins=25, color="#D55E00")
    ax.set(title=f"feature {j}", yticks=[])
plt.show()

# %%
# :doc:`A method of your own </user_guide/own_method>` says how to test it, and how the command line finds it.
