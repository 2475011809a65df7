"""
Consensus of a method that follows its seed
===========================================

A concrete autoencoder selects other features whenever its seed changes. ``ConsensusSelector`` fits it many
times, on halves of the samples and with seeds of their own, and keeps what most of the votes agree on.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from stableselect import CAE, ConsensusSelector
from stableselect.metrics import stability

data = load_wine(as_frame=True).data
X = StandardScaler().set_output(transform="pandas").fit_transform(data)
network = CAE(5, epochs=60)
single = np.array([CAE(5, epochs=60, random_state=seed).fit(X).get_support() for seed in range(6)])
agreed = np.array(
    [ConsensusSelector(network, n_resamples=20, random_state=seed).fit(X).get_support() for seed in range(6)]
)
print(f"stability over six seeds, one fit:   {stability(single).nogueira:.2f}")
print(f"stability over six seeds, consensus: {stability(agreed).nogueira:.2f}")

# %%
# Six runs of each, one column a run. Left, every seed has its own opinion; right, they agree on most
# features.

fig, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
order = np.argsort(-(single.sum(axis=0) + agreed.sum(axis=0)), kind="stable")
for ax, (title, runs) in zip(axes, {"one fit": single, "20 fits agreed": agreed}.items(), strict=True):
    ax.pcolormesh(runs[:, order].T, cmap="Blues", vmax=1.4, edgecolors="white", linewidth=1)
    ax.set(title=f"{title}: stability {stability(runs).nogueira:.2f}", xlabel="seed", xticks=[])
axes[0].set_yticks(np.arange(13) + 0.5, data.columns[order])
axes[0].invert_yaxis()
plt.show()
