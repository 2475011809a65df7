"""Which proteins to report, so that mice that were not measured yet are described as well as may be.

    python examples/report_variables.py

Mice Protein (UCI): 77 proteins, 15 rows for each of 72 mice, some values missing. Rows of one mouse are alike, so mice
are held out, never rows: for the ridge, for the number of proteins, for stability and for the intervals. The table is
read from the folder named in STABLESELECT_DATA.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GroupKFold, GroupShuffleSplit
from sklearn.preprocessing import StandardScaler

from stableselect import ColumnSubset, datasets
from stableselect.base import NovelSamplesWarning
from stableselect.inspection import evaluate, stability_analysis


def main() -> None:
    """Select proteins, judge them, and describe mice that took no part."""
    dataset = datasets.load("mice_protein")
    X, mouse = pd.DataFrame(dataset.raw, columns=dataset.feature_names), dataset.groups
    print(f"{len(X)} rows of {len(np.unique(mouse))} mice, {X.isna().to_numpy().sum()} values missing.")
    known, new = next(GroupShuffleSplit(1, test_size=0.25, random_state=0).split(X, groups=mouse))

    by_mouse = GroupKFold(5)
    selector = ColumnSubset("auto", min_explained_variance=0.6, scale="standard", missing="em", cv=by_mouse)
    selector.fit(X.iloc[known], groups=mouse[known])
    names = selector.get_feature_names_out().tolist()
    print(f"{len(names)} proteins explain 60 % of the variance of mice held out: {', '.join(names)}.")
    for kept in selector.explain().selected[:3]:
        stands = ", ".join(name for name, _ in kept.represents[:3]) or "itself"
        print(f"  {kept.feature} represents {stands}; best replacement: {kept.replacement}")

    # How good is this panel, and would other mice have given it?
    filled = pd.DataFrame(SimpleImputer().fit_transform(X.iloc[known]), columns=X.columns)
    judged = evaluate(names, filled, scaler=StandardScaler(), groups=mouse[known], n_random=30)
    print(f"It beats {judged.n_beaten} of {judged.random.size} random panels on mice held out.")
    fixed = ColumnSubset(len(names), scale="standard")
    repeated = stability_analysis(fixed, filled, groups=mouse[known], n_repeats=10)
    print(f"Stability over mice: {repeated.stability.nogueira:.2f} (1: the same proteins, 0: chance).")

    # What the report leaves out, for mice that took no part in any of this.
    selector.calibrate(X.iloc[known], groups=mouse[known])
    truth = X.iloc[new].to_numpy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NovelSamplesWarning)
        low, high = selector.reconstruct_interval(X.iloc[new][names], 0.9)
    out = ~selector.support_ & ~np.isnan(truth).all(axis=0)
    there = ~np.isnan(truth[:, out])
    inside = ((low <= truth) & (truth <= high))[:, out][there].mean()
    marginal = np.subtract(*np.nanquantile(X.iloc[known].to_numpy()[:, out], [0.95, 0.05], axis=0))
    width = ((high - low)[:, out].mean(axis=0) / marginal).mean()
    print(
        f"90 % intervals of the proteins left out hold {inside:.1%} of the values, at {width:.0%} of the usual width."
    )
    print(caught[0].message if caught else "No row is unlike those of the mice selected on.")


if __name__ == "__main__":
    main()
