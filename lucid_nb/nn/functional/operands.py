"""How functions with weights read their operands."""

from typing import Any

from ...array import Tensor
from ...creation import asarray
from ...errors import DTypeError


def like_weight(op: str, input: Any, weight: Tensor) -> Tensor:
    """The input as a Tensor of the weight's dtype; plain Python numbers become that, arrays must have it."""
    if isinstance(input, list | tuple | bool | int | float):
        return asarray(input, dtype=weight.dtype, device=weight.device)
    found = asarray(input)
    if found.dtype != weight.dtype:
        raise DTypeError(f"{op}: the input is {found.dtype}, the weight {weight.dtype}. Cast the input, "
                         f".astype('{weight.dtype}'), or make it so from the start, "
                         f"lnb.set_default_dtype('{weight.dtype}').")
    return found
