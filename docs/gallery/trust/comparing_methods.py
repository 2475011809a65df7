"""
Comparing methods on one's own table
====================================

An error says little by itself. Here five methods select 2 to 16 of the 64 pixels of digits, and each choice
is judged on digits held out, beside random pixels and beside principal components, which need all pixels.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from stableselect import MCFS, ColumnSubset, LaplacianScore, PivotedQR, VarianceScore
from stableselect.metrics import mean_predictor_error, pca_reconstruction_error, random_error, reconstruction_error

train, test = train_test_split(load_digits().data, random_state=0)
methods = {"ColumnSubset": ColumnSubset, "PivotedQR": PivotedQR, "MCFS": MCFS, "LaplacianScore": LaplacianScore,
           "VarianceScore": VarianceScore}  # fmt: skip
numbers = [2, 4, 8, 12, 16, 24]
floor = mean_predictor_error(train, test)
errors = {
    name: [reconstruction_error(train, test, method(k).fit(train).selected_) / floor for k in numbers]
    for name, method in methods.items()
}
errors["random"] = [random_error(train, test, k)[0] / floor for k in numbers]
errors["components"] = [pca_reconstruction_error(train, test, k) / floor for k in numbers]

# %%
# Lower is better. A method above the line of random pixels is worth less than no method.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
styles = {"random": ("#767676", "--"), "components": ("#767676", ":")}
colours = iter(["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00"])
for (name, curve), marker in zip(errors.items(), "osD^v  ", strict=True):
    colour, dashes = styles.get(name) or (next(colours), "-")
    ax.plot(numbers, curve, dashes, color=colour, marker=marker.strip() or None, label=name)
ax.set(title="Variance of new digits left unexplained", xlabel="pixels selected", ylabel="fraction left", ylim=0)
ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
ax.grid(alpha=0.3)
ax.legend(ncols=2)
plt.show()
