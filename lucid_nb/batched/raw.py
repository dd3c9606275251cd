"""The raw array with a hidden leading axis, one class for each class of raw arrays below it."""

import threading
from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from .. import backend
from ..errors import ShapeError


class Level:
    """One call of `vmap`: how many examples it has. Later calls have higher numbers.

    `roots`: the memory that came in, by id, while the call runs: what goes out must not share it.
    """

    __slots__ = ("number", "roots", "size")

    def __init__(self, number: int, size: int) -> None:
        self.number, self.size = number, size
        self.roots: dict[int, Any] = {}


class Key:
    """Stands for a dtype of a class of raw arrays where kernels are looked up: equal to nothing but itself.

    `dtype`: the one that it stands for, once somebody has asked.
    """

    __slots__ = ("dtype",)

    def __init__(self) -> None:
        self.dtype: Any = None


class Keys(dict):
    """The keys of one class, by the dtype of the raw arrays below."""

    def __missing__(self, dtype: Any) -> Key:
        return self.setdefault(dtype, Key())


class Batched:
    """An array of one example to look at: `raw`, of the device below, has the examples along its first axis.

    That axis has the size of the level, or 1: the same for every example.
    """

    __slots__ = ("dtype", "level", "raw", "shape")
    under: ClassVar[backend.Table]
    keys: ClassVar[Keys]

    def __init__(self, raw: Any, level: Level | None) -> None:
        self.raw, self.level = raw, level
        self.shape, self.dtype = tuple(raw.shape[1:]), self.keys[raw.dtype]

    @property
    def hidden(self) -> int:
        """The extent of the hidden axis."""
        return int(self.raw.shape[0])

    @property
    def size(self) -> int:
        """Elements of one example."""
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        """Axes of one example."""
        return len(self.shape)


_classes: dict[type, type[Batched]] = {}
_making = threading.Lock()


def over(raw: Any) -> type[Batched]:
    """The class of arrays whose examples lie in raw arrays like this one."""
    kind = type(raw)
    found = _classes.get(kind)
    if found is None:
        with _making:
            found = _classes.get(kind) or _made(kind, backend.of(raw))
    return found


def _made(kind: type, under: backend.Table) -> type[Batched]:
    found = type(f"Batched{kind.__name__}", (Batched,), {"__slots__": (), "under": under, "keys": Keys()})
    backend.admit(found, f"{under.name} in vmap", makers[0](under, found))
    _classes[kind] = found
    return found


makers: list[Any] = []        # of what stands for the folder of a device: device.Device, which knows the rules


# ------------------------------------------------------------------------------------------ what rules share
def common(raws: Sequence[Batched]) -> tuple[int, Level | None]:
    """The extent of the hidden axis of what is computed of these, and its level; None of constants alone."""
    size, level = 1, None
    for x in raws:
        hidden = x.raw.shape[0]
        if hidden != 1:
            if size not in (1, hidden):
                raise ShapeError(f"vmap: tensors of {size} and of {hidden} examples meet. Use what a function computes "
                                 "within vmap only there, or return it.")
            size, level = hidden, x.level
        elif level is None:
            level = x.level
    return size, level


def spread(x: Batched, size: int) -> Any:
    """The array below, with every example."""
    return x.raw if x.raw.shape[0] == size else x.under.broadcast_to(x.raw, (size, *x.shape))


def aligned(x: Batched, ndim: int) -> Any:
    """The array below, in which an example has so many axes: those that it lacks come first, as in broadcasting."""
    missing = ndim - len(x.shape)
    return x.under.reshape(x.raw, (x.raw.shape[0], *(1,) * missing, *x.shape)) if missing else x.raw


def first(x: Batched) -> Any:
    """The one example of what is the same for all."""
    return x.under.slice(x.raw, (0,))
