"""What draws random numbers. A seed gives NumPy's legacy numbers, as onnx's own evaluator; without one they are those
of `lucid_nb.random`.
"""

from typing import Any

import numpy as np

from ... import random
from ...register import functions
from ..library import dtype_of
from ..table import operator
from ..values import on, scalar


def _generator(seed: Any) -> Any:
    return random if seed is None else random.RandomState(int(seed) & 0xFFFFFFFF)


def uniform(shape: tuple[int, ...], seed: Any) -> np.ndarray:
    """Numbers from 0 to 1, on the host."""
    found = np.asarray(_generator(seed).uniform(0.0, 1.0, shape))
    return found


def _normal(shape: tuple[int, ...], seed: Any) -> np.ndarray:
    return np.asarray(_generator(seed).normal(0.0, 1.0, shape))


@operator("Dropout", since=12)
def dropout(x: Any, ratio: Any = None, training_mode: Any = None, *, seed: int | None = None) -> tuple[Any, Any]:
    """Some elements zero and the others scaled while training; otherwise the input. And which ones are kept."""
    share = 0.5 if ratio is None else float(scalar(ratio))
    if training_mode is None or not scalar(training_mode) or share == 0:
        return x, functions["ones"](x.shape, bool, device=x.device)
    kept = on(x, uniform(x.shape, seed) >= share)
    return x * kept / (1 - share), kept


@operator("Dropout")
def dropout_of_inference(x: Any, ratio: Any = 0.5, *, is_test: int = 0, consumed_inputs: Any = None) -> tuple[Any, Any]:
    """The input; before opset 12 nodes do not say that they train."""
    return x, functions["ones"](x.shape, bool, device=x.device)


@operator("Bernoulli")
def bernoulli(x: Any, *, dtype: int | None = None, seed: float | None = None) -> Any:
    """1 with the probability that the input says, otherwise 0."""
    return (on(x, uniform(x.shape, seed)) < x).astype(x.dtype if dtype is None else dtype_of(dtype))


@operator("RandomUniform")
def random_uniform(*, shape: Any, dtype: int = 1, low: float = 0.0, high: float = 1.0, seed: Any = None) -> Any:
    """Evenly drawn numbers."""
    found = low + (high - low) * uniform(tuple(shape), seed)
    return functions["asarray"](found.astype(dtype_of(dtype)))


@operator("RandomUniformLike")
def random_uniform_like(x: Any, *, dtype: int | None = None, low: float = 0.0, high: float = 1.0,
                        seed: Any = None) -> Any:
    """Evenly drawn numbers, as many as the input has."""
    found = low + (high - low) * uniform(x.shape, seed)
    return on(x, found.astype(x.dtype if dtype is None else dtype_of(dtype)))


@operator("RandomNormal")
def random_normal(*, shape: Any, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: Any = None) -> Any:
    """Normally drawn numbers."""
    found = mean + scale * _normal(tuple(shape), seed)
    return functions["asarray"](found.astype(dtype_of(dtype)))


@operator("RandomNormalLike")
def random_normal_like(x: Any, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0,
                       seed: Any = None) -> Any:
    """Normally drawn numbers, as many as the input has."""
    found = mean + scale * _normal(x.shape, seed)
    return on(x, found.astype(x.dtype if dtype is None else dtype_of(dtype)))
