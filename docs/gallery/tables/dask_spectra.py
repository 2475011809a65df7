"""
Spectra on Dask
===============

A Dask array of 60,000 spectra at 120 wavelengths. Moments are computed where the chunks are, on a cluster or
in the threads of this process, and only they come here. The choice does not depend on how the samples are cut
into chunks.
"""

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from stableselect import ColumnSubset

wavelength = np.linspace(400, 1000, 120)
centres, widths = np.array([470, 560, 640, 730, 880]), np.array([30, 55, 25, 40, 80])
lines = np.exp(-(((wavelength - centres[:, None]) / widths[:, None]) ** 2) / 2)


def spectra(block_info=None):
    """Return one chunk of spectra: five absorbers in random amounts, a sloping ground, and noise."""
    rows = block_info[None]["chunk-shape"][0]
    rng = np.random.default_rng(block_info[None]["chunk-location"])
    amounts = rng.gamma(2.0, 0.5, size=(rows, 5))
    slope = rng.normal(size=(rows, 1)) * (wavelength - 700) / 600
    return amounts @ lines + 0.5 + slope + 0.02 * rng.normal(size=(rows, 120))


dask.config.set(scheduler="threads", num_workers=1)
X = da.map_blocks(spectra, chunks=((5000,) * 12, (120,)), dtype=float)
selector = ColumnSubset(6, ridge=1e-4).fit(X)
again = ColumnSubset(6, ridge=1e-4).fit(X.rechunk((9000, 120)))
print("wavelengths:", np.sort(wavelength[selector.selected_]).round().astype(int).tolist())
print("the same with other chunks:", selector.selected_.tolist() == again.selected_.tolist())

# %%
# ``transform`` and ``reconstruct`` stay lazy: only the three spectra that are drawn are computed.

shown = X[:3]
rebuilt = selector.reconstruct(selector.transform(shown)).compute()
shown = shown.compute()
fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
for i, colour in enumerate(("#0072B2", "#D55E00", "#009E73")):
    ax.plot(wavelength, shown[i], color=colour, alpha=0.35, linewidth=3, label="spectrum" if i == 0 else None)
    ax.plot(wavelength, rebuilt[i], color=colour, linewidth=1.2, label="rebuilt" if i == 0 else None)
    ax.plot(wavelength[selector.selected_], shown[i, selector.selected_], "o", color=colour, ms=6, mec="white")
for place in wavelength[selector.selected_]:
    ax.axvline(place, color="#999999", linewidth=0.7, linestyle="--", zorder=0)
ax.set(title="Spectra rebuilt from six wavelengths (dashed)", xlabel="wavelength, nm", ylabel="absorbance")
ax.legend()
plt.show()
