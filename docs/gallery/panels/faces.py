"""
Faces from thirty pixels
========================

Faces are the classic example of sparse sensing. The usual photographs have to be downloaded, so here are
drawn ones: eight numbers (width of the head, height and openness of the eyes, slope of the brows, the mouth,
...) make a face of 32 x 32 pixels. The selector knows nothing of them; it sees 1,024 pixels.
"""

import matplotlib.pyplot as plt
import numpy as np

from stableselect import ColumnSubset
from stableselect.metrics import mean_predictor_error, pca_reconstruction_error, random_error, reconstruction_error

SIDE = 32
y, x = np.mgrid[-1:1:32j, -1:1:32j]


def edge(distance, width=0.12):
    """Turn a signed distance into a soft edge."""
    return 0.5 - 0.5 * np.tanh(2 * distance / width)


def face(wide, tall, eyes, gap, opened, slope, smile, mouth):
    """Return one face as a row of pixels."""
    head = edge((x / wide) ** 2 + (y / tall) ** 2 - 1, 0.3)
    dark = np.zeros_like(x)
    for side in (-1, 1):
        across = x - side * gap
        dark += edge(((across / 0.16) ** 2 + ((y - eyes) / opened) ** 2 - 1), 1.2)
        dark += 0.8 * edge(np.abs(y - eyes + 0.25 + side * slope * across) - 0.05) * edge(np.abs(across) - 0.2)
    dark += 0.9 * edge(np.abs(y - 0.5 + smile * (x**2 - 0.05)) - 0.06) * edge(np.abs(x) - mouth)
    return (head * (1 - 0.85 * np.clip(dark, 0, 1))).ravel()


rng = np.random.default_rng(0)
low = np.array([0.65, 0.8, -0.3, 0.28, 0.08, -0.4, -0.6, 0.2])
high = np.array([0.9, 1.0, -0.1, 0.4, 0.18, 0.4, 1.2, 0.45])
X = np.array([face(*numbers) for numbers in low + (high - low) * rng.random((600, 8))])
train, test = X[:500], X[500:]

# %%
# Thirty pixels, selected on 500 faces, and what they give on 100 others.

selector = ColumnSubset(30, ridge=1e-3).fit(train)
floor = mean_predictor_error(train, test)
print(f"variance left, selected pixels:      {reconstruction_error(train, test, selector.selected_) / floor:.1%}")
print(f"variance left, random pixels:        {random_error(train, test, 30)[0] / floor:.1%}")
print(f"variance left, principal components: {pca_reconstruction_error(train, test, 30) / floor:.1%}")

# %%
# From above: new faces, what is measured of them, and the faces rebuilt from that.

shown = test[:8]
rebuilt = selector.reconstruct(selector.transform(shown))
rows, columns = np.divmod(selector.selected_, SIDE)
fig, axes = plt.subplots(3, 8, figsize=(8, 3.3), layout="constrained")
for i in range(8):
    measured = np.full(SIDE * SIDE, np.nan)
    measured[selector.selected_] = shown[i, selector.selected_]
    for ax, image in zip(axes[:, i], (shown[i], measured, rebuilt[i]), strict=True):
        ax.imshow(image.reshape(SIDE, SIDE), cmap="bone", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    axes[1, i].set_facecolor("#dbe4ee")
    axes[1, i].scatter(
        columns, rows, s=7, c=shown[i, selector.selected_], cmap="bone", vmin=0, vmax=1, edgecolors="k", lw=0.3
    )
for ax, label in zip(axes[:, 0], ("face", "measured", "rebuilt"), strict=True):
    ax.set_ylabel(label)
fig.suptitle("New faces, 30 of their 1,024 pixels, and the faces rebuilt from these")
plt.show()

# %%
# The pixels lie where faces differ: the rim of the head, a brow, an eyelid, half of the mouth. The faces are
# symmetric, and one half is enough.
