"""Roads of tensors in machine code (see loops/tensors.py), with their tables, for a class that is told from above.

This module knows a tensor as a struct with fields. It makes builtins that bind as methods do.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import builtin
from .builtin import when_there

__all__ = ["Road", "fills", "numbers", "places", "steps_of", "table_of", "when_there"]

# Of NumPy's public array API table: PyArray_NewFromDescr, and what is named like these.
NEW_FROM_DESCRIPTOR, COPY_INTO, TRANSPOSE, NEW_SHAPE, ZEROS, EMPTY = 94, 50, 123, 135, 183, 184
KNOWN, ENTRY, HEAD = 8, 3, 4                   # entries of an operator's table, their words, the words before them
FILES = {"operators": ("binary", "unary", "in_place", "product", "into"),
         "indices": ("getitem", "setitem", "moved"),
         "tensors": ("number", "truth", "small", "made", "plain", "writable"),
         "shapes": ("turned", "shaped", "filled")}


def places(kind: type, *fields: str) -> list[int]:
    """Which word of an instance each of its slots is."""
    found = []
    for field in fields:
        instance: Any = object.__new__(kind)
        marker = object()
        setattr(instance, field, marker)
        words = ctypes.cast(id(instance), ctypes.POINTER(ctypes.c_int64))
        found.append(next(k for k in range(2, kind.__basicsize__ // 8) if words[k] == id(marker)))
    return found


def table_of(gate: np.ndarray, tensor: type, storage: type, share: Callable, fields: Sequence[int]) -> np.ndarray:
    """What the roads know of tensors; `gate` holds the address of their class while the roads are open."""
    values = [tensor, storage, tuple, slice, ..., None, True, False, Exception]
    functions = builtin.of_python("PyType_GenericAlloc", "PyObject_GetItem", "PyObject_SetItem", "PyErr_Clear",
                                  "PyErr_Occurred", "PyErr_ExceptionMatches")
    numpys = [builtin.of_numpy()[place] for place in (NEW_FROM_DESCRIPTOR, COPY_INTO, TRANSPOSE, NEW_SHAPE)]
    conversions = builtin.of_python("PyNumber_Float", "PyNumber_Long", "PyObject_IsTrue", "PyNumber_Index",
                                    "PySlice_New", "PyLong_FromLongLong")
    table = np.array([gate.ctypes.data, builtin.functions().ctypes.data, *map(id, values), *functions, *numpys,
                      id(share), *conversions, id(np.int64), *fields], np.int64)
    builtin.forever(gate, tensor, storage, share, table, builtin.functions(), np.int64, np.matmul)
    return table


def steps_of(reversals: Sequence[Any], reshape: type) -> dict[str, tuple[int, ...]]:
    """What the roads to other shapes know of steps: those that reverse so many axes, and the class of a reshape's."""
    addresses = np.array([*map(id, reversals)], np.int64)
    builtin.forever(addresses, *reversals, reshape)
    return {"turned": (addresses.ctypes.data,), "shaped": (id(reshape), *places(reshape, "shape"))}


def fills() -> dict[str, int]:
    """For each function that makes a tensor, NumPy's for its array."""
    return {"zeros": builtin.of_numpy()[ZEROS], "empty": builtin.of_numpy()[EMPTY]}


def numbers() -> dict[str, tuple[int, int, int]]:
    """For each method that gives a number: Python's function, or 0, and NumPy's numbers of the types that it takes."""
    as_float, as_int, as_index = builtin.of_python("PyNumber_Float", "PyNumber_Long", "PyNumber_Index")
    return {"__float__": (as_float, 0, 12), "__int__": (as_int, 0, 12), "__index__": (as_index, 1, 10),
            "item": (0, 1, 12)}


class Road:
    """A method of tensors in machine code; what it does not serve, `general` does."""

    def __init__(self, kind: str, name: str, tensors: np.ndarray, general: Callable, *own: int) -> None:
        self.words = np.zeros(HEAD + KNOWN * ENTRY, np.int64)
        self.words[:2 + len(own)] = tensors.ctypes.data, id(general), *own
        self.keys: list[tuple[np.dtype, ...]] = []
        builtin.forever(general)
        (file,) = [file for file, kinds in FILES.items() if kind in kinds]
        self.function = builtin.bound(name, builtin.machine_code(kind, file), self.words)

    def method(self) -> Any:
        """The function as it binds in a class."""
        as_method = ctypes.pythonapi.PyInstanceMethod_New
        as_method.restype, as_method.argtypes = ctypes.py_object, [ctypes.py_object]
        return as_method(self.function)

    def learn(self, key: tuple[np.dtype, ...], kernel: Any) -> None:
        """Serve operands of these dtypes by a kernel; the first few combinations that come are served."""
        count, words = len(self.keys), words_of(kernel)
        if words is None or count == KNOWN or key in self.keys:
            return
        self.keys.append(key)
        builtin.forever(key, kernel)
        start = HEAD + ENTRY * count
        self.words[start:start + ENTRY] = id(key[0]), id(key[1]) if len(key) > 1 else 0, words.ctypes.data
        self.words[3] = count + 1                  # last: the machine code of another thread may look


def words_of(kernel: Any) -> np.ndarray | None:
    """The table of an elementwise kernel's builtin, if it has one."""
    owner = getattr(kernel, "__self__", None)
    small = getattr(owner, "by_builtin", None)     # where the process began with an empty store
    found = owner if small is None else getattr(small, "__self__", None)
    return found if type(found) is np.ndarray else None
