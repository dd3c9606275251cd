"""Tensors among others: NumPy's functions, DLPack, the buffer protocol, pickle and copy."""

from typing import Any

import numpy as np

from . import backend
from .array import Tensor
from .creation import tensor
from .errors import DeviceError, DTypeError, GradError
from .register import functions, public

CPU = (1, 0)        # DLPack's number for memory that the host can read, and the first of its kind


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """`np.sin(t)` and `ndarray * t` give Tensors: by the op of that name, otherwise by NumPy on the values."""
    function = functions.get(ufunc.__name__)
    if function is not None and method == "__call__" and not options:
        return function(*inputs)
    if options.get("out") is not None:
        return NotImplemented
    found = getattr(ufunc, method)(*[np.asarray(x) if isinstance(x, Tensor) else x for x in inputs], **options)
    return tuple(map(_wrapped, found)) if isinstance(found, tuple) else _wrapped(found)


def _wrapped(value: Any) -> Any:
    return tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def dlpack(self: Tensor, **options: Any) -> Any:
    """A DLPack capsule of the memory, without a copy; read-only memory stays so for consumers that can tell."""
    if self.requires_grad:
        raise GradError("__dlpack__: the tensor requires grad, and the consumer would lose it. Use .detach() first.")
    if self.device != "cpu":
        raise DeviceError(f"__dlpack__: the tensor lives on {self.device}. Use .to('cpu') first.")
    return self.numpy().__dlpack__(**options)


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """DLPack's device type and number."""
    if self.device != "cpu":
        raise DeviceError(f"__dlpack_device__: the tensor lives on {self.device}. Use .to('cpu') first.")
    return CPU


def buffer(self: Tensor, flags: int) -> memoryview:
    """The memory as a buffer (Python 3.12 and newer)."""
    return np.asarray(self).data


@public(method=False)
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, without a copy; read-only memory stays read-only.

    >>> import numpy, lucid_nb as lnb
    >>> lnb.from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    try:
        found = np.from_dlpack(x)
    except (AttributeError, TypeError) as error:
        raise DTypeError(f"from_dlpack: {type(x).__name__} offers no DLPack memory ({error}). "
                         "Use lnb.asarray.") from None
    shared = Tensor(found.copy() if copy else found)
    return shared if device is None else shared.to(device)


def rebuild(array: np.ndarray, device: str, requires_grad: bool) -> Tensor:
    """What a pickle of a tensor calls: a tensor with memory of its own, and no graph."""
    return tensor(array, device=device if backend.is_usable(device) else "cpu", requires_grad=requires_grad)


def reduce(self: Tensor) -> tuple:
    """How pickle and copy.deepcopy take a tensor: by value, without the graph; a leaf stays one."""
    if self.requires_grad and not self.is_leaf:
        raise GradError("copy: the tensor was computed, and a pickle or deepcopy would lose its graph. "
                        "Use .detach() or .clone().")
    return rebuild, (self.to_host(), self.device, self.requires_grad)


def _install() -> None:
    Tensor.__array_ufunc__ = array_ufunc  # type: ignore[method-assign]
    Tensor.__dlpack__, Tensor.__dlpack_device__ = dlpack, dlpack_device  # type: ignore[method-assign]
    Tensor.__buffer__, Tensor.__reduce__ = buffer, reduce  # type: ignore[method-assign]


_install()
