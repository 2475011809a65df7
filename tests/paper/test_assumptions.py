"""The assumptions: measures against definitions, core samples against brute force, planning, and what is shown."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.optimize import minimize
from scipy.stats import linregress
from sklearn.linear_model import LinearRegression

from stableselect import ScorerSelector
from stableselect.experiments._cell import Cell, Options
from stableselect.experiments._store import Stored
from stableselect.paper._measure import evaluate
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.assumptions import _core_samples as cores
from stableselect.paper.assumptions import _figures as figures
from stableselect.paper.assumptions import _measures as measures
from stableselect.paper.assumptions._plan import PUBLISHED_MSE, PUBLISHED_SIZES, U, plan_cells
from stableselect.paper.assumptions._summary import Number, fitted_slope, holds1, holds3
from stableselect.paper.assumptions._task import NETWORK, SEARCH, TASK
from stableselect.paper.methods._data import load_rows
from stableselect.paper.methods._results import Results
from stableselect.paper.report._document import Picture, Table

WEIGHT = 1 / 8
EXPERIMENT = EXPERIMENTS["assumptions"]


@pytest.fixture
def table(rng):
    return rng.normal(size=(30, 3)) @ rng.normal(size=(3, 7)) + 0.3 * rng.normal(size=(30, 7)) + 1.0


@pytest.fixture
def fitted(table):
    return ScorerSelector(3, ridge=0.0, scorer_weight=WEIGHT).fit(table)


@pytest.mark.parametrize("path", ["selector", "scorer"])
def test_maps_give_the_outputs_of_the_network(table, fitted, path):
    centre = table.mean(axis=0) + 0.3
    for selector in (fitted, ScorerSelector.published(3, batch_size=8).set_params(epochs=3).fit(table)):
        maps = measures.fitted_maps(selector, centre)
        found = measures.with_one(table, centre) @ maps.left(path) @ maps.right + centre
        np.testing.assert_allclose(found, selector.forward(table, path), atol=1e-9)


def test_held_scores_are_the_minimiser(table, fitted):
    x = table - table.mean(axis=0)
    M = fitted.score_weights_[:, None] * fitted.encoder_
    arguments = (M, fitted.decoder_, fitted.support_, WEIGHT)
    # The full fit is its own minimiser over the scores.
    np.testing.assert_allclose(measures.held_factors(x.T @ x / 30, *arguments), 1.0, atol=1e-8)
    others = np.delete(x, 4, axis=0)
    factors = measures.held_factors(others.T @ others / 30, *arguments)

    def loss(r):
        B = fitted.encoder_ @ fitted.decoder_
        phi = fitted.score_weights_ * r
        kept = np.where(fitted.support_, phi, 0.0)
        return np.sum((others - others * kept @ B) ** 2) + WEIGHT * np.sum((others - others * phi @ B) ** 2)

    found = minimize(loss, np.ones(7), method="BFGS", options={"gtol": 1e-10})
    assert np.abs(factors - 1).max() > 1e-3
    assert loss(factors) <= found.fun * (1 + 1e-10)
    np.testing.assert_allclose(factors, found.x, atol=1e-4)


def test_scores_below_zero_are_held_at_zero(rng):
    M, decoder = rng.normal(size=(4, 2)), rng.normal(size=(2, 4))
    A = rng.normal(size=(9, 4))
    C, support = A.T @ A, np.array([True, False, True, False])
    factors = measures.held_factors(C, M, decoder, support, WEIGHT)
    assert factors.min() == 0

    def loss(r):
        B = M @ decoder
        kept = np.where(support, r, 0.0)
        return sum(
            weight * np.trace((np.eye(4) - s[:, None] * B).T @ C @ (np.eye(4) - s[:, None] * B))
            for s, weight in ((kept, 1.0), (r, WEIGHT))
        )

    best = min(
        minimize(loss, np.full(4, 0.5), bounds=[(0, None if a in free else 0) for a in range(4)]).fun
        for size in range(5)
        for free in combinations(range(4), size)
    )
    assert loss(factors) == pytest.approx(best, rel=1e-8)


def test_the_largest_ratio_is_infinite_unless_one_span_holds_the_other(rng):
    D = rng.normal(size=(8, 3))
    inside = D @ rng.normal(size=(3, 2))
    ratio, outside, rank_N, rank_D = measures.largest_ratio(inside, D)
    # Brute force: over x in the span of D nothing is lost, and there the ratio is that of a generalised problem.
    draws = rng.normal(size=(200_000, 3)) @ np.linalg.pinv(D)
    seen = np.linalg.norm(draws @ inside, axis=1) / np.linalg.norm(draws @ D, axis=1)
    assert seen.max() <= ratio * (1 + 1e-9)
    assert seen.max() == pytest.approx(ratio, rel=1e-3)
    assert (outside < 1e-10, rank_N, rank_D) == (True, 2, 3)
    N = rng.normal(size=(8, 2))
    ratio, outside, rank_N, rank_D = measures.largest_ratio(N, D)
    assert ratio == np.inf
    assert rank_N < rank_D  # the paper's argument, which does not help
    assert np.rad2deg(subspace_angles(N, D)).max() > 1
    # A row that leaves the scorer still and moves the selector.
    still = np.linalg.svd(D.T)[2][-1]
    assert np.linalg.norm(still @ D) < 1e-12 < np.linalg.norm(still @ N)
    assert measures.largest_ratio(np.zeros((8, 2)), D)[0] == 0


@pytest.mark.parametrize("refitted", [True, False])
def test_sides_follow_their_definitions(table, fitted, refitted):
    n, j, core = len(table), 5, np.array([0, 7, 9])
    centre = table.mean(axis=0)
    full = measures.fitted_maps(fitted, centre)
    if refitted:
        other = measures.fitted_maps(ScorerSelector(3, ridge=0.0).fit(np.delete(table, j, axis=0)), centre)
    else:
        other = measures.rescaled(full, 1 + 0.1 * np.arange(7))
    rows = measures.with_one(table, centre)
    A = {path: (full.left(path) @ full.right, other.left(path) @ other.right) for path in ("selector", "scorer")}

    def loss(t, chosen):
        a, b = A["scorer"]
        return np.sum((rows[chosen, :-1] - rows[chosen] @ (a + t * (b - a))) ** 2)

    others = np.delete(np.arange(n), j)
    losses = measures.path_losses(rows, full, other)
    left, right = measures.assumption3_sides(losses, core, j)
    printed, turned, bound = measures.proposition1_sides(losses, j, full, other, kappa1=2.5, weight=WEIGHT)
    moved = A["scorer"][1] - A["scorer"][0]
    a, b = A["selector"]
    for i, t in enumerate(measures.STEPS):
        f = [lambda s, c=chosen, w=size: loss(s, c) / w for chosen, size in ((core, 3), (others, n))]
        both = [g(0) - g(t) + g(1) - g(1 - t) for g in f]
        assert left[i] == pytest.approx(both[0], abs=1e-10)
        assert right[i] == pytest.approx(both[1] / ((n - 1) / n), abs=1e-10)
        # What the text says: t drops out.
        assert left[i] == pytest.approx(2 * t * (1 - t) * np.mean(np.sum((rows[core] @ moved) ** 2, axis=1)), abs=1e-10)
        whole = loss(0, np.arange(n)) / n - loss(t, np.arange(n)) / n
        assert printed[i] == pytest.approx(whole + f[1](0) - f[1](t), abs=1e-10)
        assert turned[i] == pytest.approx(whole + f[1](1) - f[1](1 - t), abs=1e-10)
        expected = t * 2.5**2 * (np.linalg.norm(2 * b - t * (b - a), 2) + 2) * np.linalg.norm(b - a, 2) / WEIGHT
        assert bound[i] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    for path in ("selector", "scorer"):
        D = measures.combination(full, other, path, 1.0, -1.0)
        expected = np.linalg.norm(rows @ (A[path][0] - A[path][1]), axis=1)
        np.testing.assert_allclose(np.linalg.norm(rows @ D, axis=1), expected, rtol=1e-9)


def test_core_rows_are_the_best_of_all_on_a_small_table(rng):
    for shape in ((9, 4), (7, 12)):
        X = rng.normal(size=shape)

        def left_over(chosen, X=X):
            alpha = np.linalg.lstsq(X[list(chosen)].T, X.T, rcond=None)[0]
            return np.sum((X.T - X[list(chosen)].T @ alpha) ** 2)

        best = min(combinations(range(len(X)), 3), key=left_over)
        assert left_over(cores.core_rows(X, 3)) == pytest.approx(left_over(best))


def test_representation_is_least_squares(rng):
    Z, X = rng.normal(size=(3, 8)), rng.normal(size=(5, 8))
    models = [LinearRegression(fit_intercept=False).fit(Z.T, x) for x in X]
    eta = [np.linalg.norm(x - model.predict(Z.T)) for x, model in zip(X, models, strict=True)]
    found = cores.representation(Z, X)
    assert found["eta_max"] == pytest.approx(max(eta))
    assert found["eta_median"] == pytest.approx(np.median(eta))
    assert found["alpha_max"] == pytest.approx(max(np.linalg.norm(model.coef_) for model in models))
    assert found["mse"] == pytest.approx(np.mean(np.square(eta)) / 8)
    residuals = X.T - LinearRegression().fit(Z.T, X.T).predict(Z.T)
    assert cores.best_rebuilding(Z, X) == pytest.approx(np.mean(residuals**2))


def test_the_second_network_comes_to_its_optimum(rng):
    Z = rng.normal(size=(3, 40))
    X = rng.normal(size=(4, 3)) @ Z + 0.5 + 0.1 * rng.normal(size=(4, 40))
    short, long = (cores.published_rebuilding(Z, X, np.random.RandomState(0), epochs) for epochs in (2, 6000))
    best = cores.best_rebuilding(Z, X)
    assert long == pytest.approx(best, rel=1e-4)
    assert short > 2 * best


def test_the_core_network_follows_its_loss(rng, monkeypatch):
    """Against torch: the same start and batches, the same scores."""
    torch = pytest.importorskip("torch")
    X = rng.random((12, 20))
    monkeypatch.setattr(cores, "_BATCH", 8)
    chosen, scores = cores.published_core_rows(X, 4, np.random.RandomState(3), epochs=5)
    state = np.random.RandomState(3)
    start = cores.random_parameters(12, 4, True, state)
    a, E, b, G, c = (
        torch.tensor(np.array(part, dtype=np.float32), requires_grad=True)
        for part in (start.w, start.encoder, start.encoder_bias, start.decoder[:, :4].T, start.decoder[:, 4])
    )
    table = torch.tensor(X.T.astype(np.float32))
    adam = torch.optim.Adam([a, E, b, G, c], lr=1e-3, eps=1e-7)
    for batch in cores._batches(20, state, 5):
        x = table[torch.as_tensor(batch)]
        mask = (a >= a.detach().topk(4).values[-1]).float()
        scorer, selector = (torch.mean((((x * s) @ E + b) @ G + c - x) ** 2) for s in (a, a * mask))
        adam.zero_grad()
        (scorer + 2 * selector + 0.1 * a.sum()).backward()
        adam.step()
        with torch.no_grad():
            a.clamp_(min=0)
    np.testing.assert_allclose(scores, a.detach().numpy(), rtol=2e-4)
    assert chosen.tolist() == sorted(np.argsort(-scores, kind="stable")[:4].tolist())


def test_a_removal_cell_is_what_the_pieces_say(tiny):
    cell = Cell("glioma", SEARCH, "paper", 0, 0, 3).of_task(
        TASK, part="removal", n=30, u=5, weight=WEIGHT, held=2, refitted=2
    )
    record = evaluate(cell)
    assert record["left_out"][0] == 29
    rows = load_rows(cell)
    X, X_test = rows.X_fit[:30], rows.X_test
    full = ScorerSelector(3, ridge=0.0, scorer_weight=WEIGHT).fit(X)
    centred = [part - X.mean(axis=0) for part in (X, X_test)]
    assert record["kappa1"] == pytest.approx(max(np.linalg.norm(part, axis=1).max() for part in centred))
    worst = np.sum((X_test - full.forward(X_test)) ** 2, axis=1).max()
    assert record["kappa5"]["test"] == pytest.approx(worst)
    for j, entry in zip(record["left_out"], record["columns"]["refitted"], strict=True):
        other = ScorerSelector(3, ridge=0.0, scorer_weight=WEIGHT).fit(np.delete(X, j, axis=0))
        above, below = (
            np.linalg.norm(full.forward(X_test, path) - other.forward(X_test, path), axis=1)
            for path in ("selector", "scorer")
        )
        assert entry["ratio_max"] == pytest.approx((above / below).max(), rel=1e-6)
        assert entry["ratio_rms"] == pytest.approx(np.sqrt(np.sum(above**2) / np.sum(below**2)), rel=1e-6)
        assert entry["shared"] == np.sum(full.support_ & other.support_)
        moves = np.sum((full.forward(X, "scorer") - other.forward(X, "scorer")) ** 2, axis=1)
        ratio = moves[record["core"]].mean() / np.delete(moves, j).mean()
        assert entry["left"][5] / entry["right"][5] == pytest.approx(ratio, rel=1e-5)
    assert all(entry["same_set"] for entry in record["columns"]["held"])


def test_a_network_is_refitted_only_and_core_cells_measure_both_forms(tiny):
    cell = Cell("glioma", NETWORK, "sound", 1, 0, 3, "fast", 5)
    record = evaluate(cell.of_task(TASK, part="removal", n=30, u=5, weight=1 / 128, held=0, refitted=1))
    assert list(record["columns"]) == ["refitted"]
    record = evaluate(cell.of_task(TASK, part="core", n=30, u=5))
    assert record["best_mse"] < record["network_mse"]
    mine = evaluate(replace(cell, method=SEARCH, cap=None).of_task(TASK, part="core", n=30, u=5))
    assert mine["plain"]["mse"] < mine["random"]["mse"]
    with pytest.raises(ValueError, match="between 5 core samples and the 40 rows"):
        evaluate(cell.of_task(TASK, part="core", n=41, u=5))


def test_the_plan_has_the_published_grid():
    assert PUBLISHED_SIZES == (1200, 1800, 2400, 3000)
    assert list(PUBLISHED_MSE.values()) == [0.02377, 0.02304, 0.02283, 0.02268]
    cells = plan_cells("paper", Options())
    network = [cell for cell in cells if (cell.method, cell.dataset) == (NETWORK, "mnist_fashion")]
    core = [cell for cell in network if cell.details["part"] == "core"]
    assert {(cell.details["n"], cell.seed) for cell in core} == {(n, s) for n in PUBLISHED_SIZES for s in range(5)}
    assert {cell.details["u"] for cell in cells} == {U} == {50}
    assert {cell.split for cell in cells} == {0}
    assert {cell.split for cell in plan_cells("sound", Options()) if cell.method == SEARCH} == set(range(3))
    assert len(set(cells)) == len(cells)
    fast = plan_cells("sound", Options(fast=True))
    assert {cell.mode for cell in fast} == {"fast"}
    assert {cell.dataset for cell in fast} == {"coil20", "mice_protein"}


def test_the_slope_is_that_of_the_regression(rng):
    sizes = np.array([100, 200, 400, 800])
    noise = np.exp(0.05 * rng.normal(size=4))
    one = fitted_slope([dict(zip(sizes.tolist(), 3 / sizes * noise, strict=True))])
    expected = linregress(np.log(sizes), np.log(3 / sizes * noise))
    assert one.value == pytest.approx(expected.slope)
    # t with two degrees of freedom: 4.3027.
    assert one.high - one.value == pytest.approx(4.30265 * expected.stderr, rel=1e-5)
    several = fitted_slope([{100: 1.0, 1000: 10.0**-p, 10_000: 100.0**-p} for p in (0.9, 1.0, 1.1)])
    assert (several.value, several.count) == (pytest.approx(-1.0), 3)
    assert several.high - several.value == pytest.approx(4.30265 * 0.1 / 3**0.5, rel=1e-5)
    assert fitted_slope([{1: 1.0, 2: 2.0}]) is None
    assert Number.of([]) is None
    assert Number.of([1.0, None, 3.0]) == Number(2.0, pytest.approx(2**0.5), 2)


def test_shares_are_counted_inside_the_path():
    parabola = np.array([2 * t * (1 - t) for t in measures.STEPS])
    entries = [{"left": (c * parabola).tolist(), "right": parabola.tolist()} for c in (0.5, 1.0, 3.0)]
    entries.append({"left": [0.0] * 11, "right": [0.0] * 11})
    assert holds3(entries) == (27, 36, pytest.approx([0.5, 1.0, 3.0, 1.0]))
    # The core samples move and the training rows do not: that is no case for the inequality.
    still = {"left": parabola.tolist(), "right": [0.0] * 11}
    assert holds3([still]) == (0, 9, [np.inf])
    entries = [{"printed": (c * measures.STEPS).tolist(), "bound": measures.STEPS.tolist()} for c in (-1.0, 0.5, 2.0)]
    assert holds1(entries, "printed") == (20, 30, pytest.approx(2.0))


@pytest.mark.slow
def test_nothing_some_and_all_of_it_is_shown(tiny, tmp_path, monkeypatch):
    panels = []
    draw = figures.picture
    monkeypatch.setattr(figures, "picture", lambda *given: panels.append(len(given[-1].axes)) or draw(*given))
    empty = EXPERIMENT.render(Results([], data_home=tmp_path))
    assert "not available" in empty.markdown()
    assert not [block for block in empty.blocks if isinstance(block, Picture)]
    cells = [
        replace(cell, k=3).of_task(
            TASK, **{**cell.details, "u": 5, "n": {100: 20, 200: 25, 300: 30}[cell.details["n"]]}
        )
        for protocol in ("paper", "sound")
        for cell in EXPERIMENT.cells(protocol, Options(fast=True))
    ]
    stored = [Stored(cell, "done", evaluate(cell), "") for cell in cells]
    some = EXPERIMENT.render(Results(stored[:1], data_home=tmp_path))
    assert [block.name for block in some.blocks if isinstance(block, Picture)] == ["assumptions_core"]
    document = EXPERIMENT.render(Results(stored, data_home=tmp_path))
    pictures = [block.name for block in document.blocks if isinstance(block, Picture)]
    assert pictures == ["assumptions_core", "assumptions_sides"]
    # No panel for a table without cells; two tables by three columns.
    assert panels == [2, 2, 6]
    assert document.blocks[0].startswith("A fast run")
    assert "200 epochs, here 20)" in document.markdown()
    assert "epochs, here" not in empty.markdown()
    tables = {block.title: block for block in document.blocks if isinstance(block, Table)}
    shown = {row[0]: row for row in tables["Assumption 2, paper: 50 core samples"].rows}
    first = next(item.record for item in stored if item.cell.details["part"] == "core")
    assert shown["COIL-20, n = 20"][1] == f"{first['plain']['eta_max']:.3g}"
    assert "the interval" in document.markdown()
    published = tables["Assumption 2, published procedure"].rows
    network = next(item.record for item in stored if "network_mse" in item.record)
    assert [row[0] for row in published] == ["COIL-20, paper, n = 20", "COIL-20, sound, n = 20"]
    assert published[0][1:4] == ["–", f"{network['network_mse']:.5f}", f"{network['best_mse']:.5f}"]  # noqa: RUF001
    assert {row["part"] for row in document.data} == {
        *(f"assumption {i}" for i in (1, 2, 3)),
        "P1",
        "constants",
    }
    removal = next(item for item in stored if item.cell.details["part"] == "removal")
    older = replace(removal, cell=removal.cell.of_task(TASK, **{**removal.cell.details, "refitted": 9}))
    assert EXPERIMENT.render(Results([*stored, older], data_home=tmp_path)).data == document.data
    failed = Stored(cells[0], "failed", {}, "ValueError: no")
    assert "not available" in EXPERIMENT.render(Results([failed], data_home=tmp_path)).markdown()
