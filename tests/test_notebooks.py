"""Results in a notebook: a compact table of each, with every name escaped, and a data frame of it."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from stableselect import ColumnSubset, compare
from stableselect.inspection import error_curve, evaluate, held_out_report, stability_analysis, table_summary
from stableselect.io import Table
from stableselect.metrics import stability
from stableselect.workflow import SelectionRequest, select_table

BAD = "<script>hurt()</script>"


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    names = [BAD, "<b>bold</b>", "a & b", *(f"f{j}" for j in range(17))]
    return pd.DataFrame(rng.normal(size=(60, 6)) @ rng.normal(size=(6, 20)), columns=names)


RESULTS = {
    "explanation": lambda X: ColumnSubset(12).fit(X).explain(),
    "path": lambda X: ColumnSubset("auto").fit(X).path_,
    "frontier": lambda X: ColumnSubset(3, criterion="stability").fit(X).frontier_,
    "analysis": lambda X: stability_analysis(ColumnSubset(3, include=[BAD]), X, cv=3),
    "panel": lambda X: evaluate([BAD, "f3"], X, n_random=5, n_permutations=2),
    "comparison": lambda X: compare(X, 3, methods={BAD: ColumnSubset()}, cv=3),
    "errors": lambda X: held_out_report(ColumnSubset(3), X),
    "stability": lambda X: stability(np.eye(4, dtype=bool)),
    "curve": lambda X: error_curve(X, 3),
    "summary": table_summary,
    "selection": lambda X: select_table(
        Table(pa.Table.from_pandas(X, preserve_index=False), "x.csv"), SelectionRequest(k=3, include=[BAD])
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "frontier")) for name in RESULTS]
)
def test_a_result_has_a_small_table_and_a_data_frame(X, name):
    result = RESULTS[name](X)
    html = result._repr_html_()
    found = Tags(html)
    assert (
        set(found.tags) <= {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"} and len(html) < 10_000
    )
    if name in ("explanation", "analysis", "panel", "comparison", "summary", "selection"):
        assert BAD in found.text
    assert len(result.to_frame())
