"""
What does a more stable choice cost?
====================================

Among correlated features many sets are nearly as good, and chance decides between them.
``criterion="stability"`` prefers features that other samples would select too, as long as the error on
held-out samples rises by no more than 5 %.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from stableselect import ColumnSubset
from stableselect.plot import stability_frontier

X = load_wine(as_frame=True).data
selector = ColumnSubset(5, criterion="stability", scale="standard").fit(X)
print(selector.frontier_)
print("default:", *ColumnSubset(5, scale="standard").fit(X).get_feature_names_out(), sep="\n  ")
print("chosen for stability:", *selector.get_feature_names_out(), sep="\n  ")

# %%
# To the right the error above the least one, upwards the stability: 1 means the same features each time. The
# setting that was chosen is ringed.

stability_frontier(selector)
plt.show()

# %%
# The stability that is stated is that of the whole procedure, choice of the setting included; a :doc:`page of
# results </choice>` compares it with what repetition gives, on 25 tables.
