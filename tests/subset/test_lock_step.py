"""Selectors choose the same features from NumPy arrays and from tensors whose searches go in lock step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stableselect import ColumnSubset, ScorerSelector
from stableselect._core import _folds, _roles, _search_device
from stableselect.subset import _frontier, _ridge

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::stableselect.base.TargetNotReachedWarning")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a device; tensors in the processor's memory are treated as if they were on one."""
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    for module in (_search_device, _folds):
        monkeypatch.setattr(module, "on_device", torch.is_tensor)
    return str(request.param)


def table(seed: int, n: int = 150, m: int = 24) -> np.ndarray:
    """Return a table of factors and noise, with copies or few values in some."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, m)) + 0.5 * rng.normal(size=(n, m))
    if seed % 3 == 0:
        X[:, m // 2 :] = X[:, : m - m // 2]
    return np.round(X) if seed % 3 == 1 else X


def fitted(selector: Any, X: np.ndarray, device: str) -> tuple[Any, Any]:
    return type(selector)(**selector.get_params()).fit(X), selector.fit(torch.as_tensor(X, device=device))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"ridge": 0.0},
        {"include": [1], "exclude": [3, 4]},
        {"exchange": False},
        {"scale": "standard"},
        {"n_features_to_select": "auto"},
    ],
    ids=str,
)
def test_same_default(settings: dict[str, Any], device: str) -> None:
    for seed in range(6):
        host, other = fitted(ColumnSubset(**{"n_features_to_select": 6, **settings}), table(seed), device)
        assert other.selected_.tolist() == host.selected_.tolist()
        assert other.ridge_ == host.ridge_
        assert other.objective_ == pytest.approx(host.objective_, rel=1e-9)
        assert other.lower_bound_ == pytest.approx(host.lower_bound_, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"min_stability": 0.95, "max_error_increase": 0.5},
        {"exchange": False},
        {"ridge": 0.1},
        {"include": [2], "exclude": [0]},
    ],
    ids=str,
)
def test_same_choice_for_stability(settings: dict[str, Any], device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so many features no votes are proven, and 15 pairs of folds are held out."""
    ahead, used = _frontier.search_ahead, []
    monkeypatch.setattr(_frontier, "search_ahead", lambda *given: used.append(ahead(*given)))
    host, other = fitted(ColumnSubset(26, criterion="stability", **settings), table(1, m=40), device)
    assert other.selected_.tolist() == host.selected_.tolist()
    assert other.ridge_ == host.ridge_
    for name in ("error", "stability", "ridge", "vote_weight"):
        np.testing.assert_allclose(getattr(other.frontier_, name), getattr(host.frontier_, name), rtol=1e-8)
    assert other.frontier_.procedure_stability == pytest.approx(host.frontier_.procedure_stability)
    assert used


@pytest.mark.slow
def test_same_scorer_for_stability(device: str) -> None:
    host, other = fitted(ScorerSelector(26, criterion="stability"), table(2, m=40), device)
    assert other.selected_.tolist() == host.selected_.tolist()
    np.testing.assert_allclose(other.frontier_.error, host.frontier_.error, rtol=1e-7)


def test_same_features_and_a_valid_bound_of_many_features(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (_roles, _ridge):
        monkeypatch.setattr(module, "MANY_FEATURES", 10)
    for seed in range(3):
        host, other = fitted(ColumnSubset(12), table(seed, 300, 40), device)
        assert other.selected_.tolist() == host.selected_.tolist()
        assert other.lower_bound_ <= host.lower_bound_ * (1 + 1e-12)
