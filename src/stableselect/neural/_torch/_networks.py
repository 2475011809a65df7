"""Encoders and decoders in torch: linear, layers of given sizes, or user-defined modules."""

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


def build_network(
    spec: Any, n_in: int, n_out: int, activation: str, rng: np.random.RandomState, *, role: str, bias: bool = True
) -> nn.Module:
    """Return a network from n_in to n_out values with weights drawn from ``rng``.

    Layers start Glorot uniform with zero biases. A function is called as ``spec(n_in, n_out)`` with a seed drawn from
    ``rng``, after which torch's own random state is restored, and the module it returns is tested on two samples.
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
        # Copies, since a function may return the same module each time.
        network, again = (copy.deepcopy(_made(spec, n_in, n_out, role)) for _ in range(2))
        rows = torch.from_numpy(rng.uniform(size=(2, n_in)))
        tried = _tried(network, rows, n_in, role)
        if not isinstance(tried, torch.Tensor) or tuple(tried.shape) != (2, n_out):
            shape = tuple(tried.shape) if isinstance(tried, torch.Tensor) else type(tried).__name__
            raise ValueError(
                f"The {role} returned shape {shape} for two samples of {n_in} values, but (2, {n_out}) is needed; "
                "use the (n_in, n_out) that the function is called with."
            )
        again.load_state_dict(network.state_dict())
        if not torch.allclose(tried, _tried(again, rows, n_in, role), rtol=1e-4, atol=1e-6, equal_nan=True):
            raise ValueError(
                f"Two {role}s returned by the function differ although their weights are equal, so that a fitted one "
                "could not be restored; store everything random in parameters or persistent buffers."
            )
    return network


def _made(spec: Callable[[int, int], nn.Module], n_in: int, n_out: int, role: str) -> nn.Module:
    network = spec(n_in, n_out)
    if not isinstance(network, nn.Module):
        raise ValueError(
            f"{role} must be 'linear', a tuple of hidden sizes or a function (n_in, n_out) -> torch.nn.Module; "
            f"the function returned {type(network).__name__}."
        )
    return network


def _tried(network: nn.Module, rows: torch.Tensor, n_in: int, role: str) -> Any:
    """Run two samples through a module in evaluation mode."""
    was_training = network.training
    dtype = next((p.dtype for p in network.parameters() if p.dtype.is_floating_point), torch.get_default_dtype())
    try:
        return network.eval()(rows.to(dtype))
    except (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"The {role} does not accept samples of {n_in} values ({reason}); check its layers.") from None
    finally:
        network.train(was_training)


def first_linear(network: nn.Module, n_in: int) -> nn.Linear | None:
    """Return the first layer of a plain sequence if it is a linear layer that takes all features, else None."""
    if type(network) is not nn.Sequential or not len(network):
        return None
    first = network[0]
    return first if type(first) is nn.Linear and first.in_features == n_in else None


def to_arrays(network: nn.Module) -> dict[str, np.ndarray]:
    """Return the weights of a network as plain arrays by name."""
    state = network.state_dict()
    for name, value in state.items():
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"The state of a module holds {name!r}, which is not a tensor; make it a buffer.")
    return {name: value.detach().cpu().numpy().copy() for name, value in state.items()}


def from_arrays(network: nn.Module, arrays: dict[str, np.ndarray]) -> nn.Module:
    """Set the weights of a network of the same form, and return it."""
    try:
        network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in arrays.items()})
    except RuntimeError:
        raise ValueError(
            "The function returns a module of another form than the fitted one, whose weights are "
            + ", ".join(f"{name} {value.shape}" for name, value in arrays.items())
            + "."
        ) from None
    return network
