"""
Sensors of a plant
==================

A hall of 30 x 20 metres has six machines that warm the air. A simulation gives the temperature at 600 places;
sensors can be had for nine. Where should they hang, so that the whole field can be read from them?
"""

import matplotlib.pyplot as plt
import numpy as np

from stableselect import ColumnSubset
from stableselect.metrics import random_error, reconstruction_error

rng = np.random.default_rng(0)
length, width = 30, 20
places = np.array([(i + 0.5, j + 0.5) for j in range(width) for i in range(length)])
machines = np.array([[5, 4], [5, 15], [13, 10], [19, 4], [20, 16], [27, 10]])
distance = np.linalg.norm(places[:, None] - machines, axis=2)
spread = np.array([2.5, 4.0, 3.0, 2.5, 5.0, 3.5])
influence = np.exp(-((distance / spread) ** 2) / 2)


def hours(n):
    """Return n hours of temperatures: machines that run more or less, the weather, and noise of the sensors."""
    load = rng.gamma(2.0, 4.0, size=(n, len(machines)))
    weather = rng.normal(20, 4, size=(n, 1))
    sunny = rng.normal(0, 2, size=(n, 1)) * (1 - places[:, 1] / width)
    return weather + sunny + load @ influence.T + rng.normal(0, 0.2, size=(n, len(places)))


train, test = hours(1000), hours(200)

# %%
# All features are temperatures, so nothing is scaled. Walls and machines themselves are no places for a
# sensor: ``exclude`` keeps them out of the choice, but not out of the field that is reconstructed.

forbidden = np.flatnonzero(distance.min(axis=1) < 1.5)
selector = ColumnSubset(9, exclude=forbidden).fit(train)
error = np.sqrt(reconstruction_error(train, test, selector.selected_))
print(f"typical error at a place without a sensor: {error:.2f} degrees")
print(f"with sensors at random places:             {np.sqrt(random_error(train, test, 9)[0]):.2f} degrees")

# %%
# One new hour: the true field, and the field read from the nine sensors (circles); machines are crosses.

hour = test[:1]
fields = {"true temperature": hour, "read from nine sensors": selector.reconstruct(selector.transform(hour))}
fig, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
for ax, (title, field) in zip(axes, fields.items(), strict=True):
    image = ax.imshow(field.reshape(width, length), origin="lower", extent=(0, length, 0, width), cmap="inferno",
                      vmin=hour.min(), vmax=hour.max())  # fmt: skip
    ax.scatter(*places[selector.selected_].T, s=45, facecolors="none", edgecolors="white", linewidths=1.8)
    ax.scatter(*machines.T, marker="x", color="#56B4E9")
    ax.set(title=title, xlabel="metres")
fig.colorbar(image, ax=axes, label="°C", shrink=0.8)
plt.show()

# %%
# If a sensor fails, ``explain`` names the place that replaces it best.

for one in selector.explain().selected[:3]:
    old, new = places[one.feature], places[one.replacement]
    print(f"sensor at {tuple(map(float, old))}: replace it by one at {tuple(map(float, new))}")
