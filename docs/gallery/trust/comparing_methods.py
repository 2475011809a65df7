"""
Comparing methods on one's own table
====================================

``compare`` fits several methods on the same parts of the samples, reconstructs the others by one and the same
ridge map, and puts random features, principal components and the mean beside them. Here: sixteen of the 64 pixels
of digits.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import stableselect as ss

X, y = load_digits(return_X_y=True)
methods = ["ColumnSubset", "PivotedQR", "MCFS", "LaplacianScore", "VarianceScore", ss.CAE(epochs=60)]
found = ss.compare(X[:600], 16, methods=methods, y=y[:600], cv=3)
print(found)

# %%
# Blue are the methods, grey what to compare them with. A method to the right of "random" in the first field has
# found nothing. Stability says how far the pixels agree that were selected on different samples, and with different
# seeds (orange bars): one can be high and the other low.

ss.plot.method_comparison(found)
plt.gcf().suptitle("Six methods, sixteen pixels: error, accuracy, stability, time")
plt.show()

# %%
# The labels serve for the accuracy alone; no method has seen them. Principal components have the lowest error, but
# need all 64 pixels. :doc:`Comparing methods </user_guide/compare>` explains every column.
