"""`ndarray`: the class by which NumPy's programs know and make arrays."""

from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..array import Tensor
from ..errors import DTypeError, ShapeError
from .data import place_of
from .filled import empty


class _OfTensors(type):
    """Every tensor is an instance."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, Tensor)


class ndarray(Tensor, metaclass=_OfTensors):
    """NumPy's constructor of arrays: any content, or the memory of a buffer. Every tensor is an instance.

    >>> import lucid_nb as lnb
    >>> isinstance(lnb.zeros(2), lnb.ndarray), lnb.ndarray((2, 3), dtype=int).shape
    (True, (2, 3))
    """

    __slots__ = ()

    def __new__(cls, shape: Any, dtype: Any = None, buffer: Any = None, offset: int = 0,  # type: ignore[misc]
                strides: Any = None, order: str | None = None) -> Tensor:
        """A tensor; of a buffer, on its memory from byte `offset` on, at strides in bytes."""
        sizes = shapes.check_sizes("ndarray", shapes.as_shape("ndarray", shape))
        if buffer is None and strides is None:
            return empty(sizes, dtype=dtype, order=order or "C")
        wanted = dtypes.FLOAT64 if dtype is None else dtypes.as_dtype("ndarray", dtype)
        source = buffer.numpy() if isinstance(buffer, Tensor) else buffer
        try:
            raw = np.ndarray(sizes, wanted, source, offset, strides, order)  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            kind = DTypeError if isinstance(error, TypeError) else ShapeError
            raise kind(f"ndarray: {error}. Use a shape, offset and strides within the buffer.") from None
        return Tensor(backend.table(place_of(None, None)).from_numpy(raw))
