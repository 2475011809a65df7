"""Encoders and decoders: linear, layers of given sizes, or the caller's own modules."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "elu": nn.ELU,
}

Spec = str | tuple[int, ...] | Callable[[int, int], nn.Module]


def build_network(
    spec: Any, n_in: int, n_out: int, activation: str, rng: np.random.RandomState, *, role: str, bias: bool = True
) -> nn.Module:
    """Return a network from n_in to n_out columns with weights drawn from ``rng``.

    Layers start Glorot uniform with zero biases. A factory is called as ``spec(n_in, n_out)`` under a seed drawn from
    ``rng``, with torch's own random state put back afterwards, and what it returns is tried on two rows.
    """
    if callable(spec):
        return _from_factory(spec, n_in, n_out, rng, role)
    sizes = [n_in, *(() if spec == "linear" else spec), n_out]
    layers: list[nn.Module] = []
    for i in range(len(sizes) - 1):
        if i:
            layers.append(ACTIVATIONS[activation]())
        linear = nn.utils.skip_init(nn.Linear, sizes[i], sizes[i + 1], bias=bias)
        limit = (6 / (sizes[i] + sizes[i + 1])) ** 0.5
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(rng.uniform(-limit, limit, (sizes[i], sizes[i + 1])).T.copy()))
            if bias:
                linear.bias.zero_()
        layers.append(linear)
    return nn.Sequential(*layers)


def _from_factory(
    spec: Callable[[int, int], nn.Module], n_in: int, n_out: int, rng: np.random.RandomState, role: str
) -> nn.Module:
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(int(rng.randint(2**31 - 1)))
        # Copies, since a function may hand out one module again and again.
        network, again = (copy.deepcopy(_made(spec, n_in, n_out, role)) for _ in range(2))
        rows = torch.from_numpy(rng.uniform(size=(2, n_in)))
        tried = _tried(network, rows, n_in, role)
        if not isinstance(tried, torch.Tensor) or tuple(tried.shape) != (2, n_out):
            shape = tuple(tried.shape) if isinstance(tried, torch.Tensor) else type(tried).__name__
            raise ValueError(
                f"The {role} returned shape {shape} for two rows of {n_in} numbers, but (2, {n_out}) is needed; use "
                "the (n_in, n_out) that the function is called with."
            )
        again.load_state_dict(network.state_dict())
        if not torch.allclose(tried, _tried(again, rows, n_in, role), rtol=1e-4, atol=1e-6, equal_nan=True):
            raise ValueError(
                f"Two {role}s made by the function given differ although their weights are equal, so a fitted one "
                "could not be rebuilt; keep everything that is drawn in parameters or persistent buffers."
            )
    return network


def _made(spec: Callable[[int, int], nn.Module], n_in: int, n_out: int, role: str) -> nn.Module:
    network = spec(n_in, n_out)
    if not isinstance(network, nn.Module):
        raise ValueError(
            f"{role} must be 'linear', a tuple of hidden sizes or a function (n_in, n_out) -> torch.nn.Module; "
            f"the function given returned {type(network).__name__}."
        )
    return network


def _tried(network: nn.Module, rows: torch.Tensor, n_in: int, role: str) -> Any:
    """Run two rows through a module as if it were trained."""
    was_training = network.training
    dtype = next((p.dtype for p in network.parameters() if p.dtype.is_floating_point), torch.get_default_dtype())
    try:
        return network.eval()(rows.to(dtype))
    except (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"The {role} does not take rows of {n_in} numbers ({reason}); check its layers.") from None
    finally:
        network.train(was_training)


def first_linear(network: nn.Module, n_in: int) -> nn.Linear | None:
    """Return the layer that meets the columns first, where it is a plain linear one and nothing comes in between."""
    if type(network) is not nn.Sequential or not len(network):
        return None
    first = network[0]
    return first if type(first) is nn.Linear and first.in_features == n_in else None


def to_arrays(network: nn.Module) -> dict[str, np.ndarray]:
    """Return a network's weights as plain arrays by name."""
    state = network.state_dict()
    for name, value in state.items():
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"A module keeps {name!r}, which is not a tensor, in its state; make it a buffer.")
    return {name: value.detach().cpu().numpy().copy() for name, value in state.items()}


def from_arrays(network: nn.Module, arrays: dict[str, np.ndarray]) -> nn.Module:
    """Give a network of the same form those weights."""
    try:
        network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in arrays.items()})
    except RuntimeError:
        raise ValueError(
            "The function given makes a module of another form than the one fitted: its weights are "
            + ", ".join(f"{name} {value.shape}" for name, value in arrays.items())
            + "."
        ) from None
    return network
