"""
How many features?
==================

The curve of explained variance on held-out samples tells what each further feature is worth. With ``"auto"``
the selector takes the fewest that explain nine tenths of it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from stableselect import ColumnSubset
from stableselect.plot import selection_path

X = load_breast_cancer(as_frame=True).data
selector = ColumnSubset("auto", min_explained_variance=0.9, scale="standard").fit(X)
print(len(selector.selected_), "features; single folds would take", *selector.path_.n_features_range)

# %%
# Above, the variance explained; below, what is left of it, where a bend is easier to see. The shaded stretch
# shows the numbers that single folds of the samples would give: the number itself is uncertain by that much.

selection_path(selector)
plt.show()
