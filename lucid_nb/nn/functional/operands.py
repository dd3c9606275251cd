"""How functions with weights read their operands."""

from typing import Any

from ...array import Tensor
from ...creation import asarray
from ...dtypes import BFLOAT16, FLOAT16, FLOAT32
from ...errors import DTypeError
from ...tape import modes

CAST = {FLOAT16, BFLOAT16, FLOAT32}           # between which autocast casts


def like_weight(op: str, input: Any, weight: Tensor) -> Tensor:
    """The input as a Tensor of the weight's dtype; plain Python numbers become that, arrays must have it.

    In a block of autocast halves and float32 become it too.
    """
    if isinstance(input, list | tuple | bool | int | float):
        return asarray(input, dtype=weight.dtype, device=weight.device)
    found = asarray(input)
    if found.dtype != weight.dtype:
        if modes.casting is not None and {found.dtype, weight.dtype} <= CAST:
            return found.astype(weight.dtype)              # what an op in half precision has left
        raise DTypeError(f"{op}: the input is {found.dtype}, the weight {weight.dtype}. Cast the input, "
                         f".astype('{weight.dtype}'), or make it so from the start, "
                         f"lnb.set_default_dtype('{weight.dtype}').")
    return found
