"""Parameter and Buffer: tensors that a module registers when they are assigned to it."""

from typing import Any

from ..array import Leaf, Tensor
from ..creation import tensor
from ..dtypes import is_inexact
from ..errors import DTypeError
from ..register import open_roads


class Parameter(Tensor):
    """A tensor that is trained: a leaf that requires grad, with its own copy of the data.

    Arrays keep their dtype; Python numbers become float32. DTypeError if that dtype has no gradient.

    >>> lnb.nn.Parameter([1.0, 2.0])
    Parameter([1., 2.], dtype=float32, requires_grad=True)
    """

    __slots__ = ()

    def __init__(self, data: Any, dtype: Any = None, device: str | None = None, requires_grad: bool = True) -> None:
        source = own(data, dtype, device)
        if requires_grad and not is_inexact(source.dtype):
            raise DTypeError(f"Parameter: {source.dtype} has no gradient. Use a float dtype, or requires_grad=False.")
        super().__init__(source.raw, Leaf() if requires_grad else None)

    def __reduce__(self) -> tuple:
        return type(self), (self.to_host(), None, self.device, self.requires_grad)

    def __repr__(self) -> str:
        return Tensor.__repr__(self).replace("tensor(", "Parameter(", 1)


class Buffer(Tensor):
    """A tensor that is moved and saved with its module but not trained, with its own copy of the data.

    Arrays keep their dtype; Python numbers become float32.
    """

    __slots__ = ()

    def __init__(self, data: Any, dtype: Any = None, device: str | None = None) -> None:
        super().__init__(own(data, dtype, device).raw)

    def __reduce__(self) -> tuple:
        return type(self), (self.to_host(), None, self.device)


open_roads({Parameter, Buffer})


def own(data: Any, dtype: Any, device: str | None) -> Tensor:
    """A copy of the data outside any graph; a tensor's copy stays on its device."""
    if isinstance(data, float | int | list | tuple) and dtype is None:
        dtype = "float32"
    if isinstance(data, Tensor):
        data, device = data.detach(), device or data.device
    return tensor(data, dtype=dtype, device=device)
