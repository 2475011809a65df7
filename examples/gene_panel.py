"""A panel of 50 genes for a targeted assay: must-haves, genes to avoid, what replaces a probe that fails, and a report.

    python examples/gene_panel.py [PAGE]

Prostate (Singh et al., 2002): 102 tissues, logarithms of expression of 5,966 genes, of which the 400 that vary most
are kept. The table is read from the folder named in STABLESELECT_DATA. The report is written to PAGE, gene_panel.html
by default.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from stableselect import ColumnSubset, Conditions, Group, datasets, report
from stableselect.inspection import joint_replacements

MUST_HAVE = ["gene 205", "gene 4525"]
"""Genes that the assay needs whatever they explain, such as controls."""
VARIABLE = 400
"""Genes to choose from: those that vary most."""


def main(page: str = "gene_panel.html") -> None:
    """Select the panel, prepare for probes that fail, and write the report."""
    values = datasets.load("prostate_ge").X
    X = pd.DataFrame(values, columns=[f"gene {j}" for j in range(values.shape[1])])
    print(f"{X.shape[0]} tissues, {X.shape[1]} genes.")
    X = X.loc[:, X.columns.isin([*X.var().nlargest(VARIABLE).index, *MUST_HAVE])]

    # Genes near the lower end are measured badly: they have to be worth it. Of the ten strongest, which would use up
    # the assay's capacity, at most one.
    level = X.mean()
    weak, strong = level.index[level < level.quantile(0.3)], level.nlargest(10).index
    conditions = Conditions(
        penalty=dict.fromkeys(weak, 0.002), groups=[Group(list(strong), at_most=1, name="strongest")]
    )
    selector = ColumnSubset(50, include=MUST_HAVE, conditions=conditions).fit(X)
    panel = selector.get_feature_names_out().tolist()
    print(f"{len(panel)} genes, {np.isin(panel, weak).sum()} of them weak, {np.isin(panel, strong).sum()} very strong.")
    print(selector.conditions_cost_)

    explanation = selector.explain()
    for kept in explanation.selected[:5]:
        others = ", ".join(
            f"{one.feature} ({one.error_increase:+.2%}, {one.correlation:.2f})" for one in kept.replacements
        )
        print(f"  {kept.feature}: {f'if its probe fails, {others}' if others else 'has to be there'}")
    own = [kept.joint_replacement.feature for kept in explanation.selected if kept.joint_replacement is not None]
    print(f"If several fail, each has a stand-in of its own: {len(set(own))} different genes for {len(own)}.")
    failed = [kept.feature for kept in explanation.selected if kept.feature not in MUST_HAVE][:3]
    together = joint_replacements(selector, X, failed)
    print(
        f"If {', '.join(failed)} fail together, take {', '.join(map(str, together.features))}: "
        f"{together.error_increase:+.2%} unexplained."
    )

    written = report(selector, page, X, title="A panel of 50 genes, Prostate", overwrite=True)
    print(f"Wrote {written} ({written.stat().st_size / 1024:.0f} KB).")


if __name__ == "__main__":
    main(*sys.argv[1:])
