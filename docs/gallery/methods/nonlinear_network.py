"""
Where a network beats a line
============================

Twelve measurements of a joint with two angles, each a sine or cosine of them. Two features fix the angles,
but no linear map gets the others from them. A network of the scorer-selector model with a hidden layer in its
decoder can.

Networks with hidden layers need torch (``pip install "stableselect[torch]"``). Without it this page draws the
linear map alone.
"""

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np

from stableselect import ColumnSubset, ScorerSelectorNetwork

rng = np.random.default_rng(0)
angles = rng.uniform(-1.5, 1.5, size=(900, 2))
waves = [f(a * w) for a in angles.T for w in (1, 2, 3) for f in (np.sin, np.cos)]
X = np.column_stack(waves) + 0.02 * rng.normal(size=(900, 12))
names = [f"{f} {w or ''}{a}" for a in "ab" for w in ("", 2, 3) for f in ("sin", "cos")]
train, test = X[:700], X[700:]

selectors = {"linear map": ColumnSubset(2, include=[0, 6]).fit(train)}
if find_spec("torch"):
    network = ScorerSelectorNetwork(2, decoder=(64, 64), epochs=150, n_starts=1, device="cpu", random_state=0)
    selectors["network"] = network.fit(train)
rebuilt = {name: one.reconstruct(one.transform(test)) for name, one in selectors.items()}
for name, one in selectors.items():
    left = ((rebuilt[name] - test) ** 2).mean() / test.var(axis=0).mean()
    print(f"{name}: {left:.0%} of the variance left, from {', '.join(names[j] for j in sorted(one.selected_))}")

# %%
# Each field shows one of the measurements that were not selected: across, the true value; upwards, the one
# predicted.

fig, axes = plt.subplots(len(selectors), 4, figsize=(8, 2.3 * len(selectors)), squeeze=False, layout="constrained")
for line, (name, one) in zip(axes, selectors.items(), strict=True):
    for ax, j in zip(line, [j for j in (1, 2, 4, 9, 10, 3) if j not in one.selected_], strict=False):
        ax.plot([-1.2, 1.2], [-1.2, 1.2], color="#999999", linewidth=0.8)
        ax.scatter(test[:, j], rebuilt[name][:, j], s=5, color="#0072B2" if name == "linear map" else "#D55E00")
        ax.set(title=names[j], xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), xticks=[], yticks=[])
    line[0].set_ylabel(name)
fig.suptitle("Predicted against true, new samples")
plt.show()
