"""
How sure is a rebuilt value?
============================

Five of thirty sensors stay in the plant, the others are rebuilt from them. ``calibrate`` looks at what is left of
samples held out, so that every rebuilt value comes with an interval; and ``novelty`` tells when the plant does
something that it did not do before.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from stableselect import ColumnSubset
from stableselect.base import NovelSamplesWarning

rng = np.random.default_rng(0)
hours = np.arange(1200)
causes = np.column_stack([np.sin(hours / 12), np.cos(hours / 31), np.sin(hours / 7 + 1), np.sin(hours / 50) ** 3])
mixing = rng.normal(size=(4, 30))
log = causes @ mixing + 0.25 * rng.normal(size=(1200, 30))
log[1100:] += 3 * rng.normal(size=30) * (hours[1100:, None] - 1100) / 50  # something new begins
past, new = log[:1000], log[1000:]

# %%
# Selected and calibrated on the first 1,000 hours, by blocks of time; then only five sensors are read.

selector = ColumnSubset(5, cv=TimeSeriesSplit(5)).fit(past).calibrate(past)
measured = selector.transform(new)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", NovelSamplesWarning)  # what it says is drawn below
    rebuilt = selector.reconstruct(measured)
    low, high = selector.reconstruct_interval(measured, 0.9)
before = slice(0, 100)
inside = ((low <= new) & (new <= high))[before][:, ~selector.support_]
print(f"of intervals of 90 %, {inside.mean():.0%} hold the true value in the first hundred new hours")
novelty = selector.novelty(measured)

# %%
# Above, a sensor that is no longer there: its true values as dots, and the interval. Below, how unlike the past the
# five measured sensors are together; above 1 is unlike. After hour 1,100 something happens that the past does not
# know: the intervals no longer hold. The novelty rises at once and passes 1 later, since five sensors see only a part
# of it.

j = int(np.flatnonzero(~selector.support_)[np.argmax(np.abs(new - rebuilt)[-1, ~selector.support_])])
fig, (upper, lower) = plt.subplots(2, 1, figsize=(8, 4.6), sharex=True, height_ratios=[2.2, 1], layout="constrained")
upper.fill_between(hours[1000:], low[:, j], high[:, j], color="#0072B2", alpha=0.25, label="interval of 90 %")
upper.plot(hours[1000:], rebuilt[:, j], color="#0072B2", label="rebuilt")
upper.plot(hours[1000:], new[:, j], ".", color="black", ms=3, label="true, not measured")
upper.set(title="A sensor that is rebuilt from five others", ylabel="value")
upper.legend(ncols=3, fontsize=8)
lower.plot(hours[1000:], novelty, color="#D55E00")
lower.axhline(1, color="#999999", linestyle="--")
lower.set(ylabel="novelty", xlabel="hour", ylim=0)
plt.show()
