"""Figure 3: its cells against other computations, its grids, and what it shows of nothing, some and all cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from stableselect import ScorerSelector
from stableselect.experiments._cell import Cell, Options
from stableselect.experiments._store import Stored
from stableselect.paper._measure import evaluate
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.figure3 import _beta_report as _figure3_beta_show
from stableselect.paper.figure3 import _curves as _figure3_curves
from stableselect.paper.figure3._gap import weight_norms
from stableselect.paper.figure3._shared import rate
from stableselect.paper.methods._data import load_rows
from stableselect.paper.methods._results import Results
from stableselect.paper.report import _document as _tables
from stableselect.paper.report._document import Picture, Table

NAMES = [f"figure3{letter}" for letter in "abcdefgh"]
SEARCH = "ScorerSelector search"
FASHION = Cell("mnist_fashion", "|W|", "paper", 0, 1, 3, "full", 15)
PATHS = ("selector", "scorer", "total")


def output(selector, x, path):
    """One row through a linear network, written out."""
    kept = range(len(x)) if path == "scorer" else selector.selected_
    scored = [selector.score_weights_[j] * x[j] if j in kept else 0.0 for j in range(len(x))]
    intercept = selector.scorer_intercept_ if path == "scorer" else selector.encoder_intercept_
    latent = np.array(scored) @ selector.encoder_ + intercept
    return latent @ selector.decoder_ + selector.decoder_intercept_


def losses(selector, X):
    """The three losses of every row."""
    parts = {path: [np.mean((x - output(selector, x, path)) ** 2) for x in X] for path in ("selector", "scorer")}
    both = zip(parts["selector"], parts["scorer"], strict=True)
    return parts | {"total": [a + selector.scorer_weight * b for a, b in both]}


def bounded(rows, protocol):
    """The test rows, which under "sound" stay in the range of the training rows."""
    return rows.X_test if protocol == "paper" else np.minimum(np.maximum(rows.X_test, 0), 1)


def network(k, seed, **settings):
    return ScorerSelector.published(k, batch_size=256, random_state=seed).set_params(epochs=15, **settings)


@pytest.mark.parametrize(("protocol", "n"), [("paper", 18), ("sound", 18)])
@pytest.mark.parametrize("method", ["|W|", "W^2", SEARCH])
def test_gap_is_that_of_a_fit_on_the_first_rows(tiny, method, protocol, n):
    cell = replace(FASHION, method=method, protocol=protocol, cap=None if method == SEARCH else 15)
    record = evaluate(cell.of_task("gap", share=50, weight=0.5))
    rows = load_rows(cell)
    # 36 of the 40 training rows are the published training part.
    X = rows.X_fit[:n]
    if method == SEARCH:
        selector = ScorerSelector(3, scorer_weight=0.5)
    else:
        selector = network(3, 1, scorer_weight=0.5, score_function="abs" if method == "|W|" else "square")
    selector.fit(X)
    assert record["n"] == n
    assert record["selected"] == selector.selected_.tolist()
    assert (rows.X_test.max() > 1) == (protocol == "sound")
    for part, table in (("train", X), ("test", bounded(rows, protocol))):
        expected = losses(selector, table)
        assert record[part] == pytest.approx({path: np.mean(expected[path]) for path in ("selector", "scorer")})
    assert record["difference"] == pytest.approx(record["test"]["selector"] - record["train"]["selector"])


def test_norms_by_sums_of_squares(tiny):
    X = tiny[0]
    selector = network(3, 0).fit(X)
    E, G = selector.encoder_, selector.decoder_
    kept = sorted(selector.selected_.tolist())

    def squares(columns, factors):
        product = [[factors[j] * sum(E[j, h] * G[h, c] for h in range(3)) for c in range(20)] for j in columns]
        return sum(value**2 for row in product for value in row) ** 0.5

    found = weight_norms(selector)
    for name, columns in (("all", range(20)), ("kept", kept)):
        assert found["product"][name] == pytest.approx(squares(columns, [1.0] * 20))
        assert found["map"][name] == pytest.approx(squares(columns, selector.score_weights_))
        first = sum((E[list(columns)] ** 2).ravel()) + sum(selector.encoder_intercept_**2)
        second = sum((G**2).ravel()) + sum(selector.decoder_intercept_**2)
        assert found["norms"][name] == pytest.approx((first * second) ** 0.5)


def test_only_the_third_norm_ignores_the_scale_of_the_scores(tiny):
    selector = ScorerSelector(3).fit(tiny[0])
    before = weight_norms(selector)
    selector.score_weights_ = selector.score_weights_ * 7
    selector.encoder_ = selector.encoder_ / 7
    after = weight_norms(selector)
    assert after["map"] == pytest.approx(before["map"])
    assert after["product"]["kept"] == pytest.approx(before["product"]["kept"] / 7)


@pytest.mark.parametrize("method", ["|W|", SEARCH])
def test_beta_under_paper_leaves_out_the_last_row(tiny, method):
    cell = replace(FASHION, method=method, cap=None if method == SEARCH else 15)
    record = evaluate(cell.of_task("beta", n=30, weight=0.25, change="row", rows=1))
    rows = load_rows(cell)
    make = ScorerSelector(3) if method == SEARCH else network(3, 1, batch_size=8)
    fits = [ScorerSelector(**make.get_params()).set_params(scorer_weight=0.25).fit(rows.X_train[:n]) for n in (30, 29)]
    with_row, without = (losses(selector, rows.X_test) for selector in fits)
    for path in PATHS:
        change = np.abs(np.subtract(with_row[path], without[path]))
        assert record["beta"][path] == pytest.approx(change.max(), abs=1e-12)
        assert record["mean"][path] == pytest.approx(change.mean(), abs=1e-12)
    shared = set(fits[0].selected_) & set(fits[1].selected_)
    assert record["shared"] == len(shared)
    assert record["unchanged"] == float(len(shared) == 3)
    assert ("held" in record) == (method == SEARCH)


@pytest.mark.slow
def test_beta_under_sound_leaves_out_rows_in_turn(tiny):
    cell = replace(FASHION, method=SEARCH, protocol="sound", seed=0, split=2, cap=None)
    # All 25 rows in turn: then the order in which they are drawn does not matter.
    record = evaluate(cell.of_task("beta", n=25, weight=1 / 128, change="row", rows=25))
    rows = load_rows(cell)
    X = rows.X_train[:25]
    full = ScorerSelector(3).fit(X)
    points = bounded(rows, "sound")
    before, largest, held, same = losses(full, points)["total"], [], [], []
    for row in range(25):
        left = np.delete(X, row, axis=0)
        other = ScorerSelector(3).fit(left)
        same.append(set(other.selected_) == set(full.selected_))
        largest.append(np.abs(np.subtract(losses(other, points)["total"], before)).max())
        fixed = ScorerSelector(3, include=full.selected_.tolist(), ridge=full.ridge_).fit(left)
        held.append(np.abs(np.subtract(losses(fixed, points)["total"], before)).max())
    assert record["beta"]["total"] == pytest.approx(np.mean(largest))
    assert record["largest"] == pytest.approx(max(largest))
    assert record["unchanged"] == pytest.approx(np.mean(same))
    assert record["held"]["beta"]["total"] == pytest.approx(np.mean(held))


def test_another_order_moves_the_network_but_not_the_search(tiny):
    detail = {"n": 30, "weight": 1 / 128, "change": "order", "rows": 1}
    searched = evaluate(replace(FASHION, method=SEARCH, cap=None).of_task("beta", **detail))
    assert searched["largest"] < 1e-12
    assert searched["unchanged"] == 1.0
    assert evaluate(FASHION.of_task("beta", **detail))["largest"] > 1e-6


def test_beta_refuses_more_rows_than_there_are(tiny):
    with pytest.raises(ValueError, match="has 40 training rows, fewer than n = 41"):
        evaluate(FASHION.of_task("beta", n=41, weight=1 / 128, change="row", rows=1))


@pytest.mark.parametrize("protocol", ["paper", "sound"])
@pytest.mark.parametrize("method", ["|W|", SEARCH])
def test_overlap_selects_on_nine_tenths_of_the_pool(tiny, method, protocol):
    cell = replace(FASHION, method=method, protocol=protocol, split=4, cap=None if method == SEARCH else 15)
    record = evaluate(cell.of_task("overlap"))
    rows = load_rows(replace(cell, split=0))
    train, test = train_test_split(np.vstack([rows.X_train, rows.X_test]), test_size=0.1, random_state=4)
    if protocol == "sound":
        low, span = train.min(axis=0), np.ptp(train, axis=0)
        train, test = (train - low) / span, (test - low) / span
    selector = ScorerSelector(3) if method == SEARCH else network(3, 1, patience=20, tol=0.0)
    selector.fit(train)
    assert record["n"] == 45
    assert record["selected"] == selector.selected_.tolist()
    assert record["test"]["selector"] == pytest.approx(np.mean(losses(selector, test)["selector"]))
    assert record["epochs"] == selector.n_epochs_


def points(name, protocol, method="|W|"):
    cells = [cell for cell in EXPERIMENTS[name].cells(protocol, Options()) if cell.method == method]
    return cells, [(cell.details, cell.k) for cell in cells]


def test_grids_of_a_to_d_are_the_published_ones():
    cells, found = points("figure3a", "paper")
    assert {detail["share"] for detail, _ in found} == set(range(10, 101, 10))
    assert {(detail["weight"], k) for detail, k in found} == {(1 / 128, 50)}
    _, found = points("figure3b", "paper")
    assert {detail["weight"] for detail, _ in found} == {0, 5e-4, 1e-2, 0.5, 1, 5, 10, 15, 20}
    assert {(detail["share"], k) for detail, k in found} == {(100, 50)}
    _, found = points("figure3c", "paper")
    assert {k for _, k in found} == {10, 25, 40, 55, 70, 85}
    assert {cell.seed for cell in cells} == set(range(5))
    assert {cell.dataset for cell in cells} == {"mnist_fashion"}
    for protocol in ("paper", "sound"):
        assert EXPERIMENTS["figure3d"].cells(protocol, Options()) == EXPERIMENTS["figure3c"].cells(protocol, Options())
    # The search has no seed.
    assert {cell.seed for cell in points("figure3a", "paper", SEARCH)[0]} == {0}
    assert {cell.split for cell in points("figure3a", "sound", SEARCH)[0]} == set(range(5))


def test_grids_of_e_to_h_are_the_published_ones():
    for name, method in (("figure3e", "|W|"), ("figure3f", "W^2")):
        cells, _ = points(name, "paper", method)
        plain = [cell for cell in cells if cell.details["weight"] == 1 / 128 and cell.details["change"] == "row"]
        assert {(cell.dataset, cell.details["n"]) for cell in plain} == {
            *(("mnist_fashion", n) for n in (3000, 4000, 5000, 6000)),
            *(("coil20", n) for n in (100, 300, 500, 700, 900)),
        }
        assert {(cell.k, cell.seed) for cell in plain} == {(50, seed) for seed in range(5)}
        sound, _ = points(name, "sound", method)
        assert {cell.split for cell in sound if cell.details["weight"] == 1 / 128} == set(range(5))
        weighted = {cell.details["weight"] for cell in cells if cell.details["n"] == 3000} - {1 / 128}
        assert weighted == {0, 5e-4, 1e-2, 0.5, 1, 5, 10, 15, 20}
        assert sum(cell.details["change"] == "order" for cell in cells) == 9
    for name, method in (("figure3g", "|W|"), ("figure3h", "W^2")):
        cells, _ = points(name, "paper", method)
        for dataset, k in (("mnist_fashion", 10), ("coil20", 5)):
            found = {(cell.split, cell.seed) for cell in cells if (cell.dataset, cell.k) == (dataset, k)}
            assert found == {(split, 0) for split in range(10)} | {(split, split) for split in range(10)}


@pytest.mark.parametrize("name", NAMES)
def test_fast_runs_are_small(name):
    for protocol in ("paper", "sound"):
        cells = EXPERIMENTS[name].cells(protocol, Options(fast=True))
        assert len(cells) <= 16
        assert {cell.dataset for cell in cells} == {"coil20"}


def invent(cell):
    """Records of the right form, with values that the tables can be checked against."""
    repeat = cell.split + cell.seed
    if cell.task == "gap":
        n = 54 * cell.details["share"]
        difference = 0.1 / n**0.5 * (1 + 0.1 * repeat)
        norms = {kind: {"all": 2.0 * cell.k, "kept": 1.0 * cell.k} for kind in ("product", "norms", "map")}
        test = 0.02 if cell.method == SEARCH else 0.03
        return {"n": n, "difference": difference, "test": {"selector": test, "scorer": 0.01}, "norms": norms}
    if cell.task == "beta":
        beta = 100.0 * (1 + 0.1 * repeat) / cell.details["n"]
        found = {"beta": dict.fromkeys(PATHS, beta), "mean": dict.fromkeys(PATHS, beta / 10), "largest": 2 * beta}
        return found | {"shared": 40.0, "unchanged": 0.5, "held": found}
    # With the seed fixed the sets agree; with the seed free no two of them share a column.
    first = 0 if cell.seed == 0 else cell.seed * cell.k
    return {"selected": list(range(first, first + cell.k)), "test": {"selector": 0.04, "scorer": 0.03}}


def stored(name, keep=lambda place: True, options=Options()):  # noqa: B008
    cells = [cell for protocol in ("paper", "sound") for cell in EXPERIMENTS[name].cells(protocol, options)]
    return [Stored(cell, "done", invent(cell), "") for place, cell in enumerate(cells) if keep(place)]


@pytest.fixture
def no_pictures(monkeypatch):
    """Leave the pictures out, which take most of the time."""
    monkeypatch.setattr(_tables, "can_draw", lambda: False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, Options()) for name in ("figure3a", "figure3d", "figure3f", "figure3h")),
        ("figure3e", Options(fast=True)),
    ],
)
def test_all_cells_make_a_table_and_a_picture(name, options, tmp_path):
    document = EXPERIMENTS[name].render(Results(stored(name, options=options), data_home=tmp_path))
    assert [block.name for block in document.blocks if isinstance(block, Picture)] == [name]
    assert any(isinstance(block, Table) for block in document.blocks)
    assert ("Not for comparison" in document.markdown()) == options.fast


@pytest.mark.parametrize("options", [Options(), Options(fast=True)], ids=["full", "fast"])
@pytest.mark.parametrize("name", NAMES)
def test_all_cells_leave_no_gap(name, options, tmp_path, no_pictures):
    text = EXPERIMENTS[name].render(Results(stored(name, options=options), data_home=tmp_path)).markdown()
    assert "Pictures are left out" in text
    assert "not run" not in text
    assert "nan" not in text


@pytest.mark.parametrize("name", NAMES)
def test_some_cells_and_failures_leave_words(name, tmp_path, no_pictures):
    items = stored(name, lambda place: place % 3 == 0)
    items[0] = Stored(items[0].cell, "failed", {}, "ValueError: no")
    items[1] = Stored(items[1].cell, "running", {}, "")
    (tmp_path / "mnist_fashion.npz").touch()
    text = EXPERIMENTS[name].render(Results(items, data_home=tmp_path)).markdown()
    assert "failed" in text or " of " in text
    nothing = EXPERIMENTS[name].render(Results([], data_home=tmp_path))
    assert "not run" in nothing.markdown()
    assert not any(isinstance(block, Picture) for block in nothing.blocks)


def test_the_rates_are_fitted(tmp_path, no_pictures):
    text = EXPERIMENTS["figure3a"].render(Results(stored("figure3a"), data_home=tmp_path)).markdown()
    assert "falling as n to the -0.50 (95 % -0.50 to -0.50, over 5 seeds on the same rows)" in text
    assert "falling as n to the -0.50 (95 % -0.50 to -0.50, over 5 draws of rows)" in text
    assert "the networks' test error is 1.50 times the search's" in text
    text = EXPERIMENTS["figure3e"].render(Results(stored("figure3e"), data_home=tmp_path)).markdown()
    assert "-1.00 [-1.00, -1.00]" in text
    # One pair with seed 0 beside seeds 0 to 4: 1 over the mean of 1 to 1.4; the invented mean changes are as beta.
    assert "move the network's losses 0.83 times as far" in text
    assert "one pair of fits for each n" in text
    # By numpy.polyfit, in another form of the same least squares.
    sizes, printed = np.log([3000, 4000, 5000, 6000]), np.log([0.2002, 0.1299, 0.1025, 0.0734])
    assert f"{np.polyfit(sizes, printed, 1)[0]:.2f}" in text


def test_a_difference_that_grows_is_not_said_to_fall(tmp_path, no_pictures):
    items = [
        replace(item, record=item.record | {"difference": 1e-3 * item.cell.details["share"]})
        for item in stored("figure3a")
    ]
    text = EXPERIMENTS["figure3a"].render(Results(items, data_home=tmp_path)).markdown()
    assert "growing as n to the 1.00" in text
    assert "falling as n" not in text


@pytest.mark.parametrize("name", NAMES)
def test_cells_of_another_limit_are_not_mixed_in(name, tmp_path, no_pictures):
    items = stored(name)
    others = [
        replace(item, cell=replace(item.cell, cap=7), record=invent(replace(item.cell, seed=9))) for item in items
    ]
    expected = EXPERIMENTS[name].render(Results(items, data_home=tmp_path)).markdown()
    assert EXPERIMENTS[name].render(Results([*others, *items], data_home=tmp_path)).markdown() == expected


@pytest.fixture
def figures(monkeypatch):
    """Keep the figures instead of writing them."""
    found = []
    for module in (_figure3_curves, _figure3_beta_show):
        monkeypatch.setattr(module, "picture", lambda name, caption, figure: found.append(figure))
    return found


def test_every_panel_over_n_has_numbers_on_its_axes(tmp_path, figures):
    EXPERIMENTS["figure3e"].render(Results(stored("figure3e"), data_home=tmp_path))
    (figure,) = figures
    figure.draw_without_rendering()
    for axis in figure.axes:
        low, high = axis.get_ylim()
        shown = [tick for tick in axis.get_yticks() if low <= tick <= high]
        assert len(shown) > 1
        assert all(label.get_text() and "10^" not in label.get_text() for label in axis.get_yticklabels())


def test_a_picture_names_only_what_it_shows(tmp_path, figures):
    items = [item for item in stored("figure3a") if item.cell.method != SEARCH]
    EXPERIMENTS["figure3a"].render(Results(items, data_home=tmp_path))
    (figure,) = figures
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert set(names) == {"network |W|", "network W^2", "printed |W|", "printed W^2", "read off the printed figure"}
    (read,) = [line for line in figure.axes[0].lines if line.get_label() == "read off the printed figure"]
    assert read.get_linestyle() == "None"


def test_a_rate_takes_the_repeats_that_have_every_size():
    def items(values):
        cell = Cell("coil20", "|W|", "paper", 0, 0, 50)
        return [Stored(replace(cell, seed=seed), "done", {"beta": value}, "") for seed, value in values.items()]

    # Seeds 1 and 2 have both sizes; paired by place instead, the slopes would be other ones.
    found = rate([10, 100], [items({0: 9.0, 1: 10.0, 2: 100.0}), items({1: 1.0, 2: 1.0, 3: 7.0})], "beta")
    np.testing.assert_allclose(found.slopes, [-1.0, -2.0])
    assert rate([10, 100], [items({0: 1.0}), items({1: 1.0})], "beta") is None
    assert rate([10, 100], [items({0: 1.0}), items({0: 0.0})], "beta") is None


def test_the_overlap_says_what_a_fixed_seed_hides(tmp_path, no_pictures):
    document = EXPERIMENTS["figure3g"].render(Results(stored("figure3g"), data_home=tmp_path))
    rows = {(row["dataset"], row["protocol"], row["method"]): row for row in document.data}
    fixed = rows["mnist_fashion", "paper", "network |W|, seed fixed"]
    free = rows["mnist_fashion", "paper", "network |W|, seed free"]
    assert (fixed["nogueira"], fixed["distinct"], fixed["always"]) == (1.0, 10, 10)
    # Disjoint sets: p = 1/10 for 100 of 784 columns, so 1 - (100/784) (10/9) 0.09 / (10/784 (1 - 10/784)).
    assert free["nogueira"] == pytest.approx(1 - 1 / (1 - 10 / 784))
    assert (free["distinct"], free["always"]) == (100, 0)
    text = document.markdown()
    assert "0.910" in text
    assert "10 columns share the 10 places of 10 splits (Nogueira 1.00); with the seed free, 100 do" in text
