"""
Sensors of a plant, on a budget
===============================

A hall of 30 x 20 metres has six machines that warm the air. A simulation gives the temperature at 600 places.
A sensor by the wall is cheap, in the middle of the hall it needs a long cable. Where should the sensors hang, so
that the whole field can be read from them for the price of 14 by the wall?
"""

import matplotlib.pyplot as plt
import numpy as np

from stableselect import ColumnSubset, Conditions
from stableselect.metrics import reconstruction_error

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
# All features are temperatures, so nothing is scaled. The machines themselves are no places for a sensor:
# ``exclude`` keeps them out of the choice, but not out of the field that is reconstructed. Sensors are at least
# three metres apart.

to_wall = np.minimum.reduce([places[:, 0], length - places[:, 0], places[:, 1], width - places[:, 1]])
cost = 1 + to_wall / 2
forbidden = np.flatnonzero(distance.min(axis=1) < 1.5)
conditions = Conditions(cost=cost, budget=14, coordinates=places, min_distance=3)
selector = ColumnSubset(exclude=forbidden, conditions=conditions, ridge=1e-3).fit(train)
k = len(selector.selected_)
free = ColumnSubset(k, exclude=forbidden, ridge=1e-3).fit(train)
for name, one in {"on the budget": selector, "free choice": free}.items():
    error = np.sqrt(reconstruction_error(train, test, one.selected_))
    print(f"{name}: {k} sensors for {cost[one.selected_].sum():.1f}, typical error {error:.2f} degrees")

# %%
# Left, what a sensor costs, and both choices: crosses are the free one, circles the one on the budget. The others
# show one new hour: the true field, and the field read from the sensors on the budget.

hour = test[:1]
fields = {
    "cost of a sensor": cost,
    "true temperature": hour,
    f"read from {k} sensors": selector.reconstruct(selector.transform(hour)),
}
fig, axes = plt.subplots(1, 3, figsize=(9, 2.9), sharey=True, layout="constrained")
for ax, (title, field) in zip(axes, fields.items(), strict=True):
    colours = {"cmap": "Greys"} if field is cost else {"cmap": "inferno", "vmin": hour.min(), "vmax": hour.max()}
    image = ax.imshow(field.reshape(width, length), origin="lower", extent=(0, length, 0, width), **colours)
    edge = "#D55E00" if field is cost else "white"
    ax.scatter(*places[selector.selected_].T, s=40, facecolors="none", edgecolors=edge, linewidths=1.8)
    ax.set(title=title, xlabel="metres")
axes[0].scatter(*places[free.selected_].T, s=40, marker="x", color="#0072B2")
fig.colorbar(image, ax=axes[1:], label="°C", shrink=0.7)
plt.show()

# %%
# What the conditions cost, and the place that replaces a sensor best if it fails:

print(selector.conditions_cost_)
for one in selector.explain().selected[:3]:
    old, new = places[one.feature], places[one.replacement]
    print(f"sensor at {tuple(map(float, old))}: replace it by one at {tuple(map(float, new))}")
