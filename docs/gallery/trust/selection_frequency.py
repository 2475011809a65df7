"""
Which features are selected every time?
=======================================

Before a list of features is published: how much of it would be the same with other samples? Twenty runs on
four fifths of the samples each answer that feature by feature.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from stableselect import ColumnSubset
from stableselect.inspection import stability_analysis
from stableselect.plot import selection_frequency

X = StandardScaler().set_output(transform="pandas").fit_transform(load_breast_cancer(as_frame=True).data)
analysis = stability_analysis(ColumnSubset(5), X, n_repeats=20)
print(analysis)

# %%
# Each line is a feature, each field a run; to the right how often it was selected, with an interval.

selection_frequency(analysis)
plt.show()

# %%
# "With similar features" counts a feature as repeated where a strongly correlated one takes its place. Where
# it is much higher than the plain figure, runs differ in which of two twins they take, and agree in what is
# measured.
