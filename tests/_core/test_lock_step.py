"""Searches in lock step on tensors find what the searches on NumPy arrays find, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stableselect._core._forward_search import forward_searches
from stableselect._core._gram import Gram
from stableselect._core._subset_search import exchange_search

torch = pytest.importorskip("torch")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
RIDGES = (0.0, 1e-3, 0.1, 1.0)


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    return str(request.param)


def tables(seed: int) -> dict[str, np.ndarray]:
    """Return moments of tables with noise, copies, constant features, dependent ones and few values."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(30, 80)), int(rng.integers(8, 40))
    noise = rng.normal(size=(n, m)) * rng.uniform(0.1, 3, m)
    low = rng.normal(size=(n, 4)) @ rng.normal(size=(4, m))
    copies = low + 0.1 * noise
    copies[:, m // 2 :] = copies[:, : m - m // 2]
    constant = noise.copy()
    constant[:, :3] = 2.0
    found = {
        "noise": noise,
        "low rank and noise": low + 0.3 * noise,
        "nearly low rank": low + 1e-4 * noise,
        "low rank": low,
        "copies": copies,
        "constant": constant,
        "counts": rng.integers(0, 3, size=(n, m)).astype(float),
        "few samples": noise[: m // 2],
    }
    return {name: np.cov(X.T, bias=True) for name, X in found.items()}


def grams(C: np.ndarray, device: str) -> tuple[Gram, Gram]:
    C = C / (np.trace(C) / len(C))
    return Gram(C), Gram(torch.as_tensor(C, device=device))


def limits(rng: np.random.Generator, m: int) -> tuple[int, list[int], list[int]]:
    """Return a number of features, some included and some excluded."""
    k = int(rng.integers(1, min(m, 12)))
    order = rng.permutation(m).tolist()
    include = order[: int(rng.integers(0, min(3, k + 1)))]
    exclude = order[len(include) : len(include) + int(rng.integers(0, min(4, m - k + 1)))]
    return k, include, exclude


@pytest.mark.parametrize("seed", range(12))
def test_same_forward_searches(seed: int, device: str) -> None:
    from stableselect._core._batched_forward import forward_in_lock_step

    rng = np.random.default_rng(100 + seed)
    own = [grams(C, device) for C in tables(seed).values()]
    k, include, exclude = limits(rng, own[0][0].n_features)
    for prices in (None, rng.uniform(0, 0.3, own[0][0].n_features)):
        pairs = [(gram, tensor, ridge) for gram, tensor in own for ridge in RIDGES]
        expected = forward_searches([(gram, ridge) for gram, _, ridge in pairs], k, include, exclude, prices)
        given = None if prices is None else torch.as_tensor(prices, device=device)
        found = forward_in_lock_step([(tensor, ridge) for _, tensor, ridge in pairs], k, include, [exclude], given)
        assert found == expected


@pytest.mark.parametrize("seed", range(12))
def test_same_exchanges(seed: int, device: str) -> None:
    from stableselect._core._batched_exchange import exchange_in_lock_step

    rng = np.random.default_rng(200 + seed)
    own = [grams(C, device) for C in tables(seed).values()]
    m = own[0][0].n_features
    k, include, exclude = limits(rng, m)
    free = np.setdiff1d(np.arange(m), [*include, *exclude])
    starts: list[tuple[Gram, Any, Any]] = []
    for (gram, tensor), name in zip(own, tables(seed), strict=True):
        for ridge in RIDGES:
            prices = None if rng.integers(2) else rng.uniform(0, 0.2, m)
            chosen = forward_searches([(gram, ridge)], k, include, exclude)[0]
            if rng.integers(2) and name in ("noise", "low rank and noise", "counts"):
                chosen = [*include, *rng.choice(free, k - len(include), replace=False).tolist()]
            given = None if prices is None else torch.as_tensor(prices, device=device)
            starts.append((gram, (tensor, chosen, ridge, given), prices))
    expected = [
        exchange_search(gram, chosen, ridge, include, exclude, prices) for gram, (_, chosen, ridge, _), prices in starts
    ]
    found = exchange_in_lock_step([start for _, start, _ in starts], include, exclude)
    assert [(sorted(chosen), n) for chosen, n in found] == [(sorted(chosen), n) for chosen, n in expected]


def test_same_searches_by_rows_and_from_parts(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large moments are read one at a time, with rows of C^2 kept, and as many searches at a time as fit in memory."""
    from stableselect._core import _batched_exchange, _batched_forward

    C = [grams(C, device) for C in tables(3).values()]
    lanes = [(gram, tensor, ridge) for gram, tensor in C for ridge in RIDGES]
    expected = forward_searches([(gram, ridge) for gram, _, ridge in lanes], 6)
    swapped = [exchange_search(gram, own, ridge) for (gram, _, ridge), own in zip(lanes, expected, strict=True)]
    for limit in (2e5, 1e9):
        monkeypatch.setattr(_batched_forward, "room", lambda _, limit=limit: limit)
        monkeypatch.setattr(_batched_exchange, "room", lambda _, limit=limit: limit)
        for largest in (1, 4096):
            monkeypatch.setattr(_batched_forward, "MANY_FEATURES", largest)
            monkeypatch.setattr(_batched_exchange, "MANY_FEATURES", largest)
            found = _batched_forward.forward_in_lock_step([(tensor, ridge) for _, tensor, ridge in lanes], 6)
            assert found == expected
            starts = [(tensor, own, ridge, None) for (_, tensor, ridge), own in zip(lanes, expected, strict=True)]
            ended = _batched_exchange.exchange_in_lock_step(starts)
            assert [sorted(own) for own, _ in ended] == [sorted(own) for own, _ in swapped]


def test_errors_on_other_samples_are_those_of_maps_fitted_one_by_one(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stableselect._core import _batched_split

    rng = np.random.default_rng(0)
    found = [C for name, C in tables(5).items() if name in ("noise", "low rank and noise", "counts")]
    m, rounds, expected, chosen, ridges = len(found[0]), [], [], [], []
    for C, T in zip(found, found[1:] + found[:1], strict=True):
        shift = rng.normal(size=m)
        given = *(Gram(torch.as_tensor(M, device=device)) for M in (C, T)), torch.as_tensor(shift, device=device)
        for ridge in (0.01, 1.0):
            S = rng.choice(m, 4, replace=False).tolist()
            V = np.linalg.solve(C[np.ix_(S, S)] + ridge * np.eye(4), C[S])
            left = np.eye(m)
            left[S] -= V  # samples times this are their residuals
            expected.append(np.trace(left.T @ (T + np.outer(shift, shift)) @ left))
            rounds.append(given)
            chosen.append(S)
            ridges.append(ridge)
    for limit in (1.0, 1e9):
        monkeypatch.setattr(_batched_split, "room", lambda _, limit=limit: limit)
        np.testing.assert_allclose(_batched_split.subset_errors(rounds, chosen, ridges), expected, rtol=1e-9)


def test_fewer_searches_at_a_time_where_memory_does_not_last(monkeypatch: pytest.MonkeyPatch) -> None:
    from stableselect._core import _batched_forward

    pairs = [grams(C, "cpu") for C in tables(1).values()]
    sizes, run = [], _batched_forward._LockStep.run

    def limited(search: Any, *given: Any) -> Any:
        sizes.append(len(search.rows))
        if len(search.rows) > 3:
            raise torch.cuda.OutOfMemoryError
        return run(search, *given)

    monkeypatch.setattr(_batched_forward._LockStep, "run", limited)
    for exclude in ([[0]], [[j] for j in range(len(pairs))]):
        expected = [
            forward_searches([(gram, 0.1)], 4, (), exclude[at % len(exclude)])[0] for at, (gram, _) in enumerate(pairs)
        ]
        assert _batched_forward.forward_in_lock_step([(tensor, 0.1) for _, tensor in pairs], 4, (), exclude) == expected
    assert max(sizes) == len(pairs)
