"""NumPy, JAX and MLX, where they are installed: the calls that do what a row does, for rows that they have an equal of.

A library's operands are laid out as it likes them before anything is timed: JAX has images channels first, as PyTorch
has, MLX channels last. `results` brings what a call gives into PyTorch's layout.
"""

from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import works_jax
import works_mlx
from work import Work, matmul


class Side(NamedTuple):
    """A library's call, and what makes its result comparable."""

    name: str
    call: Callable[[], Any]
    results: Callable[[Any], np.ndarray]


def sides(work: Work) -> Iterator[Side]:
    """The calls of every installed library that has this work."""
    if work.op == "matmul" and work.seed is None:
        yield Side("NumPy", lambda: matmul(*work.arrays, **work.options), np.asarray)
    for name, module in installed():
        if work.op in module.FUNCTIONS:
            yield Side(name, *module.side(work))


@cache
def installed() -> list[tuple[str, Any]]:
    """Those of JAX and MLX that can be imported."""
    return [(name, module) for name, module, package in (("JAX", works_jax, "jax"), ("MLX", works_mlx, "mlx"))
            if find_spec(package)]


def versions() -> dict[str, str]:
    """Their versions."""
    found = {"NumPy": np.__version__}
    return found | {name: module.version() for name, module in installed()}
