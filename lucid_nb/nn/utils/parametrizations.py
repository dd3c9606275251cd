"""Parametrizations of weights."""

from typing import TypeVar

from ...errors import StateError
from ..module import Module
from .parametrize import register_parametrization
from .spectral_norm import SpectralNorm, output_axis
from .weight_norm import WeightNorm

Layer = TypeVar("Layer", bound=Module)


def weight_norm(module: Layer, name: str = "weight", dim: int | None = 0) -> Layer:
    """Train a weight as its length (`original0`), one for each place along the axis `dim`, and direction (`original1`).

    >>> layer = lnb.nn.utils.parametrizations.weight_norm(lnb.nn.Linear(4, 3))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    register_parametrization(module, name, WeightNorm(dim), unsafe=True)
    return module


def spectral_norm(module: Layer, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Layer:
    """Divide a weight by its largest singular value, which each reading in training follows by power iterations."""
    weight = getattr(module, name, None)
    if weight is None:
        raise StateError(f"spectral_norm: {type(module).__name__} has no parameter {name!r}. Use one of "
                         f"{list(module._parameters)}.")
    register_parametrization(module, name, SpectralNorm(weight, n_power_iterations, output_axis(module, dim), eps))
    return module
