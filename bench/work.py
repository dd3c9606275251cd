"""What a row does, in words that every library can read. Needs NumPy alone: lucid-dl's own environment reads it too."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NORMS = {"layer_norm": "normalized_shape", "group_norm": "num_groups"}


@dataclass
class Work:
    """A function by PyTorch's name, what it is given, and, where the row times a step, the gradient of its result."""

    op: str
    arrays: Sequence[np.ndarray]
    options: dict[str, Any] = field(default_factory=dict)
    seed: np.ndarray | None = None


def matmul(a: Any, b: Any, transposed: str = "") -> Any:
    """A product of operands of which some are read transposed."""
    return (a.T if "a" in transposed else a) @ (b.T if "b" in transposed else b)


def function(functional: Any, work: Work) -> Callable[..., Any]:
    """The work of operands, for a library whose functions have PyTorch's names and orders of arguments."""
    options = dict(work.options)
    call = matmul if work.op == "matmul" else getattr(functional, work.op)
    if work.op in NORMS:
        size = options.pop(NORMS[work.op])
        return lambda x, weight, bias: call(x, size, weight, bias, **options)
    if work.op == "batch_norm":
        return lambda x, weight, bias: call(x, None, None, weight, bias, **options)
    return lambda *operands: call(*operands, **options)


def like_torch(library: Any, work: Work) -> Callable[[], Any]:
    """The work's call for lucid_nb and for PyTorch, forward only."""
    call, operands = function(library.nn.functional, work), [library.tensor(x) for x in work.arrays]
    return lambda: call(*operands)


def first(found: Any) -> Any:
    """The result, of what gives one alone or a tuple: of gradients, that of the first operand."""
    return found[0] if isinstance(found, list | tuple) else found
