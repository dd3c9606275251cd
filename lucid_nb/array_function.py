"""NumPy's own functions on tensors: `np.concatenate([t, a])` is our `concatenate`, and gives a Tensor (NEP 18).

Ufuncs come by another road (`interop.array_ufunc`).
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .array import Tensor
from .creation import tensor
from .errors import DTypeError
from .trees import map_leaves

PACKAGE = __package__ or "lucid_nb"
ADMITTED = (Tensor, np.ndarray, np.memmap)        # other classes of arrays keep a meaning of their own, as masks
MOVERS = {"broadcast_arrays", "broadcast_to", "concatenate", "stack"}      # of any data: a plot's heights and colours
WRITERS = {"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"}    # into their first argument


def array_function(self: Tensor, func: Callable, types: Iterable[type], arguments: tuple,
                   keywords: dict[str, Any]) -> Any:
    """What NumPy calls for one of its functions that has a tensor among its arguments."""
    if not all(issubclass(kind, Tensor) or kind in ADMITTED for kind in types):
        return NotImplemented
    if func.__name__ in WRITERS and isinstance(next(iter((*arguments, *keywords.values()))), np.ndarray):
        return _called_on_arrays(func, arguments, keywords)
    own = _own(func)
    if own is None:
        raise DTypeError(f"{func.__module__}.{func.__name__}: lucid_nb has no function of this name. "
                         "Pass arrays: t.numpy().")
    if own is not func:                           # otherwise a name that lucid_nb takes from NumPy as it is
        try:
            return own(*arguments, **keywords)
        except DTypeError:
            if func.__name__ not in MOVERS or not _holds_objects(arguments):
                raise
    return map_leaves(_tensor, _called_on_arrays(func, arguments, keywords))


def _called_on_arrays(func: Callable, arguments: tuple, keywords: dict[str, Any]) -> Any:
    """NumPy's function on arrays in the place of tensors, also of those in lists and tuples."""
    return func(*map_leaves(_array, arguments), **map_leaves(_array, keywords))


def _own(func: Callable) -> Callable | None:
    """Our function of the same place and name: of `numpy.fft.fft` that of `lucid_nb.fft`."""
    place, found = func.__module__.split(".")[1:], sys.modules[PACKAGE]
    for name in (*place, func.__name__):
        found = getattr(found, name, None)        # type: ignore[assignment]
    return found if callable(found) else None


def _holds_objects(arguments: tuple) -> bool:
    """Is one of the arguments data that no tensor holds: Python's objects, or words?"""
    return any(not isinstance(value, Tensor) and np.asarray(value).dtype.kind in "OU" for value in arguments)


def _array(value: Any) -> Any:
    """A tensor as an array; anything else as it is."""
    return np.asarray(value) if isinstance(value, Tensor) else value


def _tensor(value: Any) -> Any:
    """An array of numbers as a tensor; anything else as it is."""
    return tensor(value) if isinstance(value, np.ndarray) and value.dtype.kind in "biufc" else value


Tensor.__array_function__ = array_function  # type: ignore[method-assign]
