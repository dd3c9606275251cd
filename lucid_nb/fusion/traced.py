"""What stands for a tensor while a function is traced: a shape, a dtype, and an expression instead of memory."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import apply as applying
from .. import backend
from ..array import Tensor
from ..errors import BackendError
from ..expr import Expr
from ..shapes import Shape, product
from ..storage import Movement

if TYPE_CHECKING:
    from .trace import Trace


READING = "it reads a value"


class Untraceable(Exception):
    """The function does what no trace can follow; its text says what."""


class ReadsPositions(Untraceable, backend.Unbatchable):
    """The function reads a value; where that is of positions, the function of positions becomes a call of the plan."""

    def __init__(self) -> None:
        Exception.__init__(self, "it reads a value")
        self.level = None

    def __str__(self) -> str:
        return "it reads a value"


def left() -> BackendError:
    """The error of whoever uses what a function kept while it was traced."""
    return BackendError("fuse: a tensor from inside a function that was traced has no value outside of it. Let the "
                        "function return it.")


def refusal(what: str) -> Exception:
    """Why a traced tensor refuses something: the trace is given up, or is over."""
    return left() if not applying.instead else ReadsPositions() if what == READING else Untraceable(what)


class Ghost:
    """A raw array without memory, for code that asks it for no more than its shape and dtype."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise refusal(READING)

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        raise refusal(READING)

    def __init__(self, shape: Shape, dtype: np.dtype) -> None:
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)
        self.size = product(shape)

    @property
    def strides(self) -> Shape:
        """Those of elements in order."""
        return tuple([product(self.shape[axis + 1:]) for axis in range(self.ndim)])


SAFE = {"empty", "full", "iota", "synchronize", "is_available", "description", "NATIVE", "UNSUPPORTED"}


class GhostFolder:
    """In the place of a device's folder: what makes new arrays is the device's, what would read a ghost is refused."""

    ALIASES = True

    def __init__(self, table: backend.Table, device: str) -> None:
        self.device_module, self.DEVICE = table.module, device

    def dtype_of(self, raw: Any) -> np.dtype:
        """The dtype."""
        return raw.dtype

    def from_numpy(self, array: np.ndarray) -> np.ndarray:
        """Scalars among operands stay on the host: they become numbers of a program."""
        return array

    def __getattr__(self, entry: str) -> Any:
        found = getattr(self.device_module, entry)
        if entry in SAFE:
            return found

        def refuse(*_: Any, **__: Any) -> Any:
            raise refusal("it needs the elements while it is traced, as vmap does")
        return refuse


@cache
def ghosts(table: backend.Table, device: str) -> type[Ghost]:
    """The class of ghosts on a device, or within vmap on it, which has other fast paths."""
    kind = type("Ghost", (Ghost,), {})
    backend.admit(kind, f"trace of {device}", GhostFolder(table, device))
    return kind


def refusing(what: str) -> Callable:
    """A method that no trace can follow."""
    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        raise refusal(what)
    return refuse


ASKS = "it asks for gradients"


class Traced(Tensor):
    """A tensor whose value is an expression over the inputs of a trace, or a slot of its plan.

    `slot`: its number among the plan's values, where it is one of them; `expr`: how it is computed of others.
    `is_dropped`: the axis of rows is not in its shape, see `Spec`. `cols`: the extent of the rows that it reduces.
    `weight`: the nodes of its expression, or more.
    """

    storage = version = node = None
    is_value = False

    def __init__(self, owner: "Trace", shape: Shape, dtype: np.dtype, *, slot: int | None = None,
                 expr: Expr | None = None, compute: str | None = None, is_dropped: bool = False,
                 cols: int | None = None, needs: bool = False, weight: int = 1) -> None:
        self.owner, self.slot, self.expr, self.compute = owner, slot, expr, compute
        self.is_dropped, self.cols, self.needs, self.weight = is_dropped, cols, needs, weight
        self.raw = owner.ghost(shape, dtype)

    raw: Any = None

    @property
    def aligned(self) -> Shape:
        """The shape with the axis of rows."""
        return (*self.shape, 1) if self.is_dropped else self.shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype."""
        return self.raw.dtype

    @property
    def device(self) -> str:
        """The device of the trace."""
        return self.owner.device

    @property
    def requires_grad(self) -> bool:
        """Does a gradient flow back from here, in the call that is traced?"""
        return self.needs

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        raise Untraceable(ASKS)

    _watch = refusing(ASKS)

    def like(self, expr: Expr | None, dtype: np.dtype, compute: str | None, **changes: Any) -> "Traced":
        """Another value of the same rows."""
        kept: dict[str, Any] = {"shape": self.shape, "is_dropped": self.is_dropped, "cols": self.cols,
                                "needs": self.needs, "weight": self.weight}
        return Traced(self.owner, dtype=dtype, expr=expr, compute=compute, **(kept | changes))

    def refresh(self) -> "Traced":
        """Nothing writes here."""
        return self

    def share(self) -> Any:
        """A storage, for those who ask whether a reshape is a view."""
        return self

    aliases, steps = True, ()
    generation = 0

    def moved(self, step: Movement, raw: Any = None) -> Tensor:
        """One movement step further."""
        return self.owner.moved(self, step)

    def element(self, index: tuple[int, ...]) -> Tensor:
        """One element."""
        return self.owner.method("element", self, index)

    def detach(self) -> Tensor:
        """The value, as a constant."""
        return self.owner.detached(self)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"tensor(traced, shape={self.shape}, dtype={self.dtype})"


READS = """to_host numpy item tolist __array__ __bool__ __float__ __int__ __complex__ __index__ __dlpack__ __contains__
__reduce_ex__""".split()
WRITES = "write update check_writable mark_written".split()
for _names, _what in ((READS, READING), (WRITES, "it writes in place"),
                      (["backward", "register_hook", "retain_grad"], "it asks for gradients")):
    for _name in _names:
        setattr(Traced, _name, refusing(_what))
