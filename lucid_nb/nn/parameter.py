"""Parameter and Buffer: tensors that a module registers when they are assigned to it."""

from typing import Any, NoReturn

from ..array import Leaf, Tensor
from ..creation import empty, tensor
from ..dtypes import is_inexact
from ..errors import DTypeError, StateError
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

    Arrays keep their dtype; Python numbers become float32. Not saved unless `persistent`.
    """

    __slots__ = ("persistent",)

    def __init__(self, data: Any, dtype: Any = None, device: str | None = None, *, persistent: bool = True) -> None:
        super().__init__(own(data, dtype, device).raw)
        self.persistent = persistent

    def __reduce__(self) -> tuple:
        return buffer, (type(self), self.to_host(), self.device, self.persistent)


def buffer(kind: type[Buffer], data: Any, device: str, persistent: bool) -> Buffer:
    """What a pickle of a buffer calls."""
    return kind(data, None, device, persistent=persistent)


# ------------------------------------------------------------------------------------------- of unknown shape yet
class Uninitialized:
    """What a lazy layer has in the place of a parameter or a buffer until it sees an input: a dtype and a device."""

    __slots__ = ()
    becomes: type

    def share(self) -> NoReturn:
        """StateError: what has no shape has no views."""
        raise StateError(f"{type(self).__name__}: it has no shape yet. Call the module on an input first.")

    shape: Any = property(share)
    ndim: Any = shape
    size: Any = shape
    __len__: Any = share
    storage: Any = property(share, Tensor.storage.__set__)     # every op asks its operands whether they are views
    is_leaf: Any = True

    def _set_requires_grad(self, wanted: bool) -> None:
        like: Any = self
        like.node = Leaf() if wanted else None

    def _set_grad(self, gradient: None) -> None:
        if gradient is not None:
            self.share()

    requires_grad: Any = property(lambda self: self.node is not None, _set_requires_grad)
    grad: Any = property(lambda self: None, _set_grad)

    def materialize(self, shape: tuple[int, ...], device: str | None = None, dtype: Any = None) -> None:
        """Become a parameter or a buffer of this shape, with undefined content and the same identity."""
        like: Any = self
        like.raw = empty(shape, dtype=like.dtype if dtype is None else dtype, device=device or like.device).raw
        like.__class__ = self.becomes

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce__(self) -> tuple:
        like: Any = self
        return unshaped, (type(self), like.requires_grad, like.device, like.dtype.name)


class UninitializedParameter(Uninitialized, Parameter):
    """A parameter of unknown shape."""

    __slots__ = ()
    becomes = Parameter

    def __init__(self, requires_grad: bool = True, device: str | None = None, dtype: Any = "float32") -> None:
        Parameter.__init__(self, empty((0,), dtype=dtype, device=device), requires_grad=requires_grad)


class UninitializedBuffer(Uninitialized, Buffer):
    """A buffer of unknown shape."""

    __slots__ = ()
    becomes = Buffer

    def __init__(self, requires_grad: bool = False, device: str | None = None, dtype: Any = "float32", *,
                 persistent: bool = True) -> None:
        Buffer.__init__(self, empty((0,), dtype=dtype, device=device), persistent=persistent)


def unshaped(kind: type, requires_grad: bool, device: str, dtype: str) -> Any:
    """What a pickle of a parameter or buffer of unknown shape calls."""
    return kind(requires_grad, device, dtype)


open_roads({Parameter, Buffer})


def own(data: Any, dtype: Any, device: str | None) -> Tensor:
    """A copy of the data outside any graph; a tensor's copy stays on its device."""
    if isinstance(data, float | int | list | tuple) and dtype is None:
        dtype = "float32"
    if isinstance(data, Tensor):
        data, device = data.detach(), device or data.device
    return tensor(data, dtype=dtype, device=device)


SLOTS = tuple([slot for slot in vars(Tensor)["__slots__"] if slot != "__weakref__"])


def adopted(kind: type[Tensor], value: Tensor, requires_grad: bool) -> Tensor:
    """A parameter or buffer on the memory of a tensor, without a copy."""
    source, found = value.detach(), object.__new__(kind)
    for slot in SLOTS:
        setattr(found, slot, getattr(source, slot))
    if isinstance(found, Buffer):
        found.persistent = True
    found.requires_grad = requires_grad
    return found
