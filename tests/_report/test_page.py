"""The page of a result: what it holds, and that nothing in a table can break out of it."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stableselect import ColumnSubset, Conditions, Group, LaplacianScore, TableSelection, compare, report
from stableselect._report import report_html
from stableselect.inspection import evaluate, stability_analysis
from stableselect.workflow import EvaluationRequest, SelectionRequest, evaluate_table, inspect_table

VOID = {"meta", "input", "br", "img", "link"}


class Reader(HTMLParser):
    """Reads a page as a browser would: elements, their attributes, and the text of scripts."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.scripts, self.words = [], [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            attrs, text = self.scripts[-1]
            self.scripts[-1] = attrs, text + data
        else:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    @property
    def grids(self):
        """The rows of every table, in the order of the page."""
        found = [json.loads(text) for attrs, text in self.scripts if attrs.get("type") == "application/json"]
        for grid in found:
            for row in grid["rows"]:
                row[:] = [
                    grid["words"][value] if kind == "choice" else value
                    for kind, value in zip(grid["kinds"], row, strict=True)
                ]
        return found


@pytest.fixture(scope="module")
def wine():
    from sklearn.datasets import load_wine

    X = load_wine(as_frame=True).data
    return (X - X.mean()) / X.std()


@pytest.fixture(scope="module")
def page(wine):
    return Reader(report_html(ColumnSubset(4).fit(wine), wine))


def test_every_part_is_there(page):
    titles = ("why", "Replacements", "Error on", "Stability", "Every column", "Look-alikes", "Data", "Settings and")
    assert all(title in page.text for title in titles)
    assert page.tags.count("h1") == 1 and page.tags.count("h2") == 8 and page.tags.count("svg") == 3
    assert page.tags.count("caption") == page.tags.count("table") == len(page.grids)


def test_the_figures_are_those_of_the_selector(page, wine):
    selector = ColumnSubset(4).fit(wine)
    explanation = selector.explain()
    choice, replacements = page.grids[:2]
    assert [row[1] for row in choice["rows"]] == [wine.columns[j] for j in selector.selected_]
    assert [row[1] for row in replacements["rows"]] == [kept.replacement for kept in explanation.selected]
    assert [row[5] for row in replacements["rows"]] == [kept.joint_replacement.feature for kept in explanation.selected]
    columns = next(grid for grid in page.grids if len(grid["rows"]) == wine.shape[1])
    worst = explanation.discarded[0]
    assert columns["rows"][0][:2] == [worst.feature, "discarded"]
    assert columns["rows"][0][2] == pytest.approx(worst.r2, abs=1e-3)
    assert [row[0] for row in columns["rows"] if row[1] == "selected"] == [row[1] for row in choice["rows"]]


def test_nothing_is_loaded_from_anywhere(page):
    assert not {"link", "img", "iframe", "object", "embed", "base", "form", "audio", "video"} & set(page.tags)
    links = [value for _, name, value in page.attributes if name in ("src", "href", "action", "srcset", "xlink:href")]
    assert links and all(link.startswith("#") for link in links)
    assert not any("url(" in word or "@import" in word for word in page.words)


def test_the_policy_allows_the_pages_own_style_and_script_alone(wine):
    html = report_html(ColumnSubset(4).fit(wine), wine, stability=False)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy
    for kind in ("style", "script"):
        text = re.search(rf"<{kind}>(.*?)</{kind}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not re.search(r"\s(style|on\w+)=", html.split("<script>")[0])


def test_names_cannot_break_out(hostile):
    html = report_html(ColumnSubset(4).fit(hostile), hostile)
    plain = hostile.set_axis(list("abcdefghijklmn"), axis=1)
    hurt, tame = Reader(html), Reader(report_html(ColumnSubset(4).fit(plain), plain))
    assert set(hurt.tags) == set(tame.tags) and hurt.tags.count("script") == tame.tags.count("script")
    assert {name for _, name, _ in hurt.attributes} == {name for _, name, _ in tame.attributes}
    found = {row[0] for grid in hurt.grids for row in grid["rows"]}
    assert set(hostile.columns) <= found  # as they are, in the data of the page


@pytest.mark.parametrize("title", ["</title><script>alert(1)</script>", "ä 温度"])
def test_a_title_is_text(wine, title):
    html = Reader(report_html(ColumnSubset(4).fit(wine), title=title))
    assert title in html.words and html.tags.count("title") - html.tags.count("svg") == 1


def test_a_pipeline_is_looked_at_behind_its_scaler():
    from sklearn.datasets import load_wine

    X = load_wine(as_frame=True).data
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), ColumnSubset(4)).fit(X)
    html = Reader(report_html(pipeline, X, stability=False))
    assert [row[1] for row in html.grids[0]["rows"]] == [X.columns[j] for j in pipeline[-1].selected_]


def test_without_samples_the_page_has_what_the_selector_keeps(wine):
    html = Reader(report_html(ColumnSubset(4).fit(wine)))
    assert "Replacements" in html.text and "Error on held-out rows" not in html.text
    bare = Reader(report_html(LaplacianScore(4).fit(wine)))
    assert "What was chosen" in bare.text and "Replacements" not in bare.text


def test_arrays_missing_values_and_few_samples_have_a_page(rng):
    X = rng.normal(size=(60, 6))
    html = Reader(report_html(ColumnSubset(2).fit(X), X, stability=False))
    assert {row[0] for grid in html.grids for row in grid["rows"]} >= {f"x{j}" for j in range(6)}
    X[3, 2] = np.nan
    html = Reader(report_html(ColumnSubset(2, missing="em").fit(X), X))
    assert "Missing values 1" in html.text and "take the mean of a column" in html.text
    few = rng.normal(size=(4, 6))
    assert "Error on held-out" not in Reader(report_html(ColumnSubset(2).fit(few), few)).text


@pytest.mark.slow
def test_a_choice_for_stability_shows_its_frontier(wine):
    selector = ColumnSubset(4, criterion="stability").fit(wine)
    html = Reader(report_html(selector, wine))
    assert "Stability against error" in html.text and "Which runs" not in html.text
    frontier = Reader(report_html(selector.frontier_))
    settings = next(grid for grid in frontier.grids if grid["rows"])
    assert sum(row[4] == "chosen" for row in settings["rows"]) == 1
    assert len(settings["rows"]) == len(selector.frontier_.error)


def test_an_analysis_made_elsewhere_is_shown(wine):
    analysis = stability_analysis(ColumnSubset(4, ridge=0.0), wine, cv=5)
    html = Reader(report_html(ColumnSubset(4).fit(wine), wine, stability=analysis))
    assert "repeated 5 times" in html.text


def test_a_judged_panel(wine):
    judged = evaluate(["alcohol", "hue"], wine, n_random=20, n_permutations=2)
    html = Reader(report_html(judged))
    assert f"{judged.n_beaten} of 20" in html.text and judged.verdict.split(";")[0] in html.text
    members = next(grid for grid in html.grids if {row[0] for row in grid["rows"]} == {"alcohol", "hue"})
    assert {row[0]: row[1] for row in members["rows"]} == {
        one.feature: pytest.approx(one.worth, rel=1e-3) for one in judged.members
    }


def test_the_file_is_whole_and_not_overwritten(wine, tmp_path):
    path = tmp_path / "page.html"
    assert report(ColumnSubset(4).fit(wine), path) == path
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        report(ColumnSubset(3).fit(wine), path)
    assert path.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == ["page.html"]
    report(ColumnSubset(3).fit(wine), path, overwrite=True)
    assert path.read_bytes() != before


def test_what_has_no_page_is_refused(wine):
    with pytest.raises(TypeError, match="There is no report for dict; give a fitted selector"):
        report_html({})
    with pytest.raises(ValueError, match="X has 3 features and the selector was fitted on 13"):
        report_html(ColumnSubset(4).fit(wine), wine.iloc[:, :3])


def test_two_pages_of_one_result_are_the_same(wine):
    assert report_html(ColumnSubset(4).fit(wine), wine) == report_html(ColumnSubset(4).fit(wine), wine)


@pytest.mark.slow
def test_twenty_thousand_columns_stay_below_two_megabytes(rng):
    X = pd.DataFrame(rng.normal(size=(40, 20_000)), columns=[f"ENSG{j:011d}" for j in range(20_000)])
    html = report_html(ColumnSubset(20, ridge=1.0).fit(X), X, stability=False)
    assert len(html.encode()) < 2.5e6
    assert max(len(grid["rows"]) for grid in Reader(html).grids) == 20_000


def test_the_report_of_a_table_and_of_a_selection_read_again(wine):
    import pyarrow as pa

    from stableselect.io import Table

    found = inspect_table(
        Table(pa.Table.from_pandas(wine, preserve_index=False), "<b>wine</b>.csv"), SelectionRequest(k=4)
    )
    html = Reader(report_html(found))
    assert "4 of 13 columns of <b>wine</b>.csv" in html.text and "b" not in html.tags
    assert found.overview.summary.fingerprint in html.text
    assert isinstance(found.selection, TableSelection)
    assert "What was chosen" in Reader(report_html(found.selection)).text


def test_conditions_and_what_they_cost(wine):
    conditions = Conditions(
        cost=dict.fromkeys(wine.columns, 2.0),
        budget=8,
        groups=[Group(["alcohol", "proline"], at_least=1, name="<i>must</i>")],
        penalty={"hue": 0.01},
    )
    selector = ColumnSubset(4, conditions=conditions).fit(wine)
    html = Reader(report_html(selector, wine, stability=False))
    cost = selector.conditions_cost_
    assert "Conditions and their cost" in html.text and "i" not in html.tags and "Group <i>must</i>" in html.text
    assert f"explains {100 * cost.explained_variance:.1f}% of the variance" in html.text
    beside = next(grid for grid in html.grids if grid["kinds"] == ["name", "choice", "choice"])
    assert {row[0] for row in beside["rows"] if row[2] == "yes"} == set(cost.free_selected)
    assert {row[0] for row in beside["rows"] if row[1] == "yes"} == set(selector.get_feature_names_out())


def test_a_selector_that_scales_is_measured_in_its_units(wine):
    X = wine * np.logspace(0, 6, 13)
    scaled = Reader(report_html(ColumnSubset(4, scale="standard").fit(X), X, stability=False))
    plain = Reader(report_html(ColumnSubset(4).fit(wine), wine, stability=False))
    bars = [
        next(grid for grid in html.grids if len(grid["rows"]) == 4 and grid["kinds"] == ["text", "percent", "number"])
        for html in (scaled, plain)
    ]
    assert [row[1] for row in bars[0]["rows"]] == pytest.approx([row[1] for row in bars[1]["rows"]], rel=0.05)


def test_a_comparison(wine):
    found = compare(wine, 4, methods=["ColumnSubset", "VarianceScore"], cv=3)
    html = Reader(report_html(found, source="<u>wine</u>"))
    assert "Methods compared on <u>wine</u>" in html.text and "u" not in html.tags
    rows = {row[0]: row for row in html.grids[0]["rows"]}
    assert set(rows) == {row.name for row in found.rows}
    assert rows["ColumnSubset"][2] == pytest.approx(found.row("ColumnSubset").error, rel=1e-3)
    often = html.grids[1]["rows"]
    counts = {
        name: sum(j in run for run in found.selections["ColumnSubset"]) / 3 for j, name in enumerate(wine.columns)
    }
    assert {row[0]: row[2] for row in often} == pytest.approx(counts, abs=1e-3)


def test_pages_of_one_table_have_one_fingerprint(wine):
    import pyarrow as pa

    from stableselect.io import Table

    table = Table(pa.Table.from_pandas(wine, preserve_index=False), "wine.csv")
    selected = inspect_table(table, SelectionRequest(k=4))
    judged = evaluate_table(table, EvaluationRequest(["alcohol"], n_random=5, folds=3))
    known = selected.overview.summary.fingerprint
    assert judged.fingerprint == known and known in Reader(report_html(judged)).text
