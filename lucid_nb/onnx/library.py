"""The package onnx, which reads and checks files of the format; loaded when it is first needed."""

from functools import cache
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import BackendError, DTypeError

ORDINARY = """float16 float32 float64 bfloat16 bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64
complex128""".split()


@cache
def library() -> Any:
    """The package; BackendError where it is not installed."""
    try:
        import onnx
        import onnx.inliner
        import onnx.reference
    except ImportError as error:
        raise BackendError(f"onnx: the package onnx is needed, and did not load ({error}). Install "
                           "it: pip install onnx.") from None
    return onnx


def type_name(number: int) -> str:
    """The standard's name of a dtype's number."""
    known = library().TensorProto.DataType
    return str(known.Name(number)) if number in known.values() else f"dtype number {number}"


def dtype_of(number: int) -> np.dtype:
    """The dtype of the standard's number; DTypeError where no tensor here has it."""
    try:
        found = np.dtype(library().helper.tensor_dtype_to_np_dtype(number))
    except (KeyError, TypeError):
        found = np.dtype(object)
    if found.name not in ORDINARY:
        raise DTypeError(f"onnx: {type_name(number)} is no dtype of tensors here. Convert the model to one of "
                         f"{', '.join(ORDINARY)}.")
    return found


def number_of(dtype: np.dtype) -> int:
    """The standard's number of a dtype."""
    if dtype == dtypes.BFLOAT16:
        return int(library().TensorProto.BFLOAT16)
    return int(library().helper.np_dtype_to_tensor_dtype(dtype))
