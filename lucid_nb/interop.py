"""Tensors among others: NumPy's functions, DLPack, the buffer protocol, pickle and copy."""

import sys
from typing import Any

import numpy as np

from . import backend, dlpack
from .apply import free, is_free
from .array import Leaf, Tensor, fresh
from .creation import asarray, tensor
from .creation.data import foreign
from .dtypes import BFLOAT16, FLOAT64
from .errors import DeviceError, DTypeError, GradError, LucidError
from .register import functions, public
from .tape import grad_mode

CPU = (dlpack.CPU, 0)               # memory that the host can read, and the first of its kind
REFLECTED = {np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__", np.divide: "__rtruediv__"}
CUDA_KINDS = (dlpack.CUDA, 13)      # of a GPU alone, and what the driver moves to and fro


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """`np.sin(t)` and `ndarray * t` give Tensors: by our op of that ufunc, otherwise by NumPy on the values.

    What `out` names, tensors or arrays (`array += t`), is written and given back.
    """
    if type(inputs[0]) is np.float64 and ufunc in REFLECTED and not options and method == "__call__" and (
            len(inputs) == 2 and self.dtype == FLOAT64):         # beside float64 it is as weak as Python's own float
        return getattr(self, REFLECTED[ufunc])(float(inputs[0]))
    function = functions.get(ufunc.__name__) if is_known(ufunc) else None
    if function is not None and hasattr(function, "record"):
        try:
            return (function if method == "__call__" else getattr(function, method))(*inputs, **options)
        except DTypeError:
            if not any(isinstance(x, np.ndarray) and x.dtype.kind in "OSUmM" for x in inputs):
                raise
    out = options.pop("out", None)
    if out is not None and any(target is not None for target in out):
        return _into(self, ufunc, method, inputs, options, out)
    if function is not None and method == "__call__" and not options:
        return function(*inputs)
    found = getattr(ufunc, method)(*[np.asarray(x) if isinstance(x, Tensor) else x for x in inputs], **options)
    return tuple(map(_wrapped, found)) if isinstance(found, tuple) else _wrapped(found)


def is_known(ufunc: np.ufunc) -> bool:
    """Is this NumPy's or SciPy's own function of its name? Others may have a name of ours and mean something else."""
    homes = np, sys.modules.get("scipy.special")
    return any(getattr(home, ufunc.__name__, None) is ufunc for home in homes)


def _into(self: Tensor, ufunc: np.ufunc, method: str, inputs: tuple, options: dict[str, Any], out: tuple) -> Any:
    """A ufunc's result written into what `out` names."""
    if "where" in options:
        raise DTypeError(f"{ufunc.__name__}: where= and out= together write a part of a tensor. Use out[mask] = ....")
    casting = options.get("casting", "same_kind")
    found = array_ufunc(self, ufunc, method, *inputs, **options)
    results = found if isinstance(found, tuple) else (found,)
    for target, result in zip(out, results):
        if isinstance(target, Tensor):
            if target.device != result.device:
                raise DeviceError(f"{ufunc.__name__}: out lives on {target.device}, the result on {result.device}. "
                                  f"Use .to({result.device!r}).")
            target.write(result, f"{ufunc.__name__} into out", casting)
        elif target is not None:
            np.copyto(target, np.asarray(result), casting=casting)
    given = tuple([result if target is None else target for target, result in zip(out, results)])
    return given if len(given) > 1 else given[0]


def _wrapped(value: Any) -> Any:
    return tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def lent(self: Tensor, *, stream: int | None = None, max_version: tuple[int, int] | None = None,
         dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
    """A DLPack capsule of the memory, without a copy; read-only memory stays so for consumers that can tell.

    `stream`: where a consumer on a GPU will work; it is made to wait for what was launched here.
    """
    if self.requires_grad:
        raise GradError("__dlpack__: the tensor requires grad, and the consumer would lose it. Use .detach() first.")
    if dl_device is not None and tuple(dl_device) != dlpack_device(self):
        return _lent_elsewhere(self, dl_device, max_version, copy)
    if self.device == "cpu" and self.dtype != BFLOAT16:
        return self.numpy().__dlpack__(stream=stream, max_version=max_version, copy=copy)
    table, source = backend.of(self.raw), self.copy() if copy else self
    block = table.describe(source.numpy() if self.device == "cpu" else source.raw)
    if self.device == "cuda":
        table.make_wait(stream)
    return dlpack.lend(block, max_version is not None and max_version[0] >= 1, bool(copy))


def _lent_elsewhere(self: Tensor, device: tuple[int, int], max_version: Any, copy: bool | None) -> Any:
    """A capsule on another device, of a copy; only the host can be asked for."""
    if tuple(device) != CPU or copy is False:
        raise DeviceError(f"__dlpack__: the tensor lives on {self.device}, asked for was DLPack's device {device} with "
                          f"copy={copy}. Use .to('cpu') first.")
    return lent(self.to("cpu"), max_version=max_version, copy=None)


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """DLPack's device type and number."""
    if not backend.of(self.raw).has("describe"):
        raise DeviceError(f"__dlpack_device__: the tensor lives on {self.device}. Use .to('cpu') first.")
    return (dlpack.CUDA, 0) if self.device == "cuda" else CPU       # the host reads what MLX computes where it is


def cuda_array_interface(self: Tensor) -> dict[str, Any]:
    """The memory on a GPU, as CuPy, Numba and PyTorch read it, without a copy."""
    if self.device != "cuda":
        raise AttributeError(f"__cuda_array_interface__: the tensor lives on {self.device}. Use .to('cuda').")
    if self.requires_grad:
        raise GradError("__cuda_array_interface__: the tensor requires grad, and the consumer would lose it. "
                        "Use .detach() first.")
    if self.dtype == BFLOAT16:
        raise DTypeError("__cuda_array_interface__: it has no bfloat16. Use DLPack, or .astype('float32').")
    return backend.of(self.raw).array_interface(self.raw)


def mlx(self: Tensor) -> Any:
    """The content as an mlx.core.array: without a copy on device "mlx", and not computed yet where ours is not."""
    if self.requires_grad:
        raise GradError("mlx: the tensor requires grad, and MLX would lose it. Use .detach() first.")
    raw = self.raw if self.device == "mlx" else backend.table("mlx").from_numpy(self.to_host())
    return backend.table("mlx").copy(raw)


def evaluated(self: Tensor) -> Tensor:
    """The tensor, when all that was asked of its device is computed. Nobody need call this: reading computes."""
    backend.of(self.refresh().raw).synchronize()
    return self


# ------------------------------------------------------------------------------------------- lucid's spellings
def zero(self: Tensor) -> None:
    """Fill with 0; also a leaf that requires grad."""
    with grad_mode(False):
        self.write(fresh(backend.of(self.raw).full((), 0, self.dtype)), "zero")


def clear_node(self: Tensor, clear_op: bool = True) -> None:
    """Forget how the tensor was computed: from now on it is a leaf, which requires grad if it did. `clear_op`: ignored.
    """
    if not self.is_leaf:
        self._reroot(Leaf())


def copied(data: Any) -> Any:
    """A copy of a tensor, or of an array of NumPy or MLX, in its own kind."""
    if isinstance(data, Tensor):
        return fresh(backend.of(data.raw).copy(data.refresh().raw))
    table = backend.of(data)
    if not isinstance(data, table.module.RAW_TYPES):
        raise DTypeError(f"copy_data: a {type(data).__name__} is no array. Give a tensor, or a device's array.")
    return table.copy(data)


def freed(self: Tensor) -> Tensor:
    """The tensor, which from now on goes to the device of the other operands wherever they live on another one."""
    free[id(self)] = self
    return self


def are_free(*tensors: Tensor) -> bool:
    """Are all of them free to go to another device?"""
    return all(map(is_free, tensors))


def is_cpu(self: Tensor) -> bool:
    """Is the memory that of the CPU?"""
    return self.device == "cpu"


def array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """What NumPy makes of a tensor: its memory, or a copy."""
    if self.requires_grad:
        raise GradError("__array__: the tensor requires grad, and NumPy would lose it. Use .detach() first.")
    if self.device != "cpu":
        raise GradError(f"__array__: the tensor lives on {self.device}. Use .to('cpu') first.")
    return np.array(self.numpy(), dtype=dtype, copy=copy)


def is_gpu(self: Tensor) -> bool:
    """Is the memory that of a device other than the CPU?"""
    return self.device != "cpu"


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
        kind, table = x.__dlpack_device__()[0], foreign(x)
        raw = table.adopt(x) if table else _borrowed_on_cuda(x) if kind in CUDA_KINDS else _borrowed_on_host(x)
    except (AttributeError, TypeError, BufferError, RuntimeError) as error:
        if isinstance(error, LucidError):
            raise
        raise DTypeError(f"from_dlpack: {type(x).__name__} offers no DLPack memory ({error}). "
                         "Use lnb.asarray.") from None
    shared = Tensor(backend.of(raw).copy(raw) if copy else raw)
    return shared if device is None else shared.to(device)


def _borrowed_on_host(x: Any) -> np.ndarray:
    """By NumPy where it knows the dtype; bfloat16 by ourselves."""
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError):
        return dlpack.on_host(dlpack.borrow(_capsule(x)))


def _borrowed_on_cuda(x: Any) -> Any:
    """Work of the producer is done before ours on the legacy default stream, which it is told of."""
    table = backend.table("cuda")
    return table.over(dlpack.borrow(_capsule(x, stream=table.LEGACY_STREAM)))


def _capsule(x: Any, **options: Any) -> Any:
    """Of version 1, which tells of memory that is read-only, where the producer knows it."""
    try:
        return x.__dlpack__(max_version=(1, 0), **options)
    except TypeError:
        return x.__dlpack__(**options)


def rebuild(array: np.ndarray, device: str, requires_grad: bool, is_value: bool = False) -> Tensor:
    """What a pickle of a tensor calls: a tensor of what it has read, and no graph; a value stays one.

    The array is new, or lies in a buffer that was handed on besides the pickle (PEP 574) and is not copied, unless it
    is read-only.
    """
    place = device if backend.is_usable(device) else "cpu"
    found = asarray(array, device=place) if array.flags.writeable else tensor(array, device=place)
    if requires_grad:
        found.requires_grad = True
    found.is_value = is_value
    return found


def reduce(self: Tensor) -> tuple:
    """How pickle and copy.deepcopy take a tensor: by value, without the graph; a leaf stays one."""
    if self.requires_grad and not self.is_leaf:
        raise GradError("copy: the tensor was computed, and a pickle or deepcopy would lose its graph. "
                        "Use .detach() or .clone().")
    return rebuild, (self.to_host(), self.device, self.requires_grad, self.is_value)


def _install() -> None:
    Tensor.__array_ufunc__ = array_ufunc  # type: ignore[method-assign]
    Tensor.__dlpack__, Tensor.__dlpack_device__ = lent, dlpack_device  # type: ignore
    Tensor.__cuda_array_interface__ = property(cuda_array_interface)  # type: ignore
    Tensor.__buffer__, Tensor.__reduce__ = buffer, reduce  # type: ignore[method-assign]
    Tensor.__array__ = array  # type: ignore[method-assign]
    Tensor.mlx, Tensor.eval = mlx, evaluated  # type: ignore[method-assign]
    Tensor.zero, Tensor.clear_node, Tensor.free = zero, clear_node, freed  # type: ignore
    Tensor.is_cpu, Tensor.is_gpu, Tensor.is_free = is_cpu, is_gpu, property(is_free)  # type: ignore
    Tensor.is_all_free = staticmethod(are_free)  # type: ignore[method-assign]
    Tensor.copy_data = Tensor.copy_grad = staticmethod(copied)  # type: ignore[method-assign]
    Tensor.to_numpy = Tensor.numpy  # type: ignore[method-assign]    # by this name matplotlib asks for it


_install()
