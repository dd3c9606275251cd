"""Kernels as Python builtins: the short road of small arrays. Where it is not to be had, the ufunc serves alone."""

import ctypes
import platform
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from . import store

FASTCALL = 0x80                # METH_FASTCALL
NEW_LIKE_ARRAY = 277           # of NumPy's public array API table: PyArray_NewLikeArray


class MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


@cache
def is_possible() -> bool:
    """Is this a Python whose objects, and a NumPy whose arrays, lie in memory as the builtin reads them?"""
    if platform.python_implementation() != "CPython" or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return False
    if object.__basicsize__ != 16 or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    probe = np.arange(6, dtype=np.float32).reshape(2, 3)
    words = ctypes.cast(id(probe), ctypes.POINTER(ctypes.c_int64))
    halves = ctypes.cast(id(probe), ctypes.POINTER(ctypes.c_int32))
    dimensions = ctypes.cast(words[4], ctypes.POINTER(ctypes.c_int64))
    strides = ctypes.cast(words[5], ctypes.POINTER(ctypes.c_int64))
    descriptor = ctypes.cast(words[7], ctypes.POINTER(ctypes.c_int64))
    weak, strong = 2.5, np.float64(2.5)
    number, double = [ctypes.cast(id(each), ctypes.POINTER(ctypes.c_double)) for each in (weak, strong)]
    return (words[1] == id(np.ndarray) and words[2] == probe.ctypes.data and halves[6] == 2
            and dimensions[:2] == [2, 3] and strides[:2] == [12, 4] and halves[16] & 0x501 == 0x501
            and words[7] == id(probe.dtype) and ctypes.cast(words[7], ctypes.POINTER(ctypes.c_int32))[7] == 11
            and descriptor[5] == 4 and number[2] == double[2] == 2.5)


def of_python(*names: str) -> list[int]:
    """Addresses of functions of Python's C interface."""
    return [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in names]


@cache
def of_numpy() -> Any:
    """NumPy's public array API table."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(pointer(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


@cache
def functions() -> np.ndarray:
    """What builtins know of Python and NumPy, in the order of their table."""
    return np.array([id(np.ndarray), id(float), id(int), id(np.float64), of_numpy()[NEW_LIKE_ARRAY], *of_python(
        "Py_IncRef", "Py_DecRef", "PyTuple_New", "PyTuple_SetItem", "PyObject_Vectorcall",
        "PyLong_AsLongLongAndOverflow"), machine_code("serve")], np.int64)


def machine_code(name: str, where: str = "builtin") -> int:
    """The address of a function of three words, of a file in loops."""
    def compile_it(symbol: str) -> bytes:
        return store.words_object(getattr(import_module(f".loops.{where}", __package__), name), symbol)
    return store.load(f"{where} {name}", compile_it)


SHARED = "builtin call"        # the text under which the store keeps the machine code that all builtins share


def is_ready() -> bool:
    """Does making a builtin take no compilation?"""
    return store.has(SHARED)


_early = count()
PATIENCE = 1000                # small calls after which a process compiles the builtin; most short ones never need it


def is_due() -> bool:
    """Asked at each small call of a process that began without the builtin: is it time to compile it?"""
    return next(_early) >= PATIENCE


arrivals: list[Callable[[], None]] = []        # are called when the process has builtins


@cache
def _address() -> int:
    found = machine_code("call")
    while arrivals:
        arrivals.pop()()
    return found


def when_there(arrival: Callable[[], None]) -> None:
    """Call a function when the process has builtins, or now where it has."""
    if _address.cache_info().currsize:
        arrival()
    elif is_possible():
        arrivals.append(arrival)


def forever(*objects: Any) -> None:
    """Hold what machine code knows by address, even when a process that ends has cleared the modules: finalizers of
    objects that live that long still take the roads."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(objects))


def make(name: str, ufunc: Callable, layout: int, dtypes: Sequence[np.dtype], limit: np.ndarray) -> Callable:
    """A builtin for a kernel with this layout, over arrays of these dtypes; the ufunc, where Python has no such road.

    `limit` is a word that says up to how many elements.
    """
    if not is_possible():
        return ufunc
    words = np.array([functions().ctypes.data, id(ufunc), limit.ctypes.data, layout, *map(id, dtypes)], np.int64)
    forever(functions(), ufunc, limit, *dtypes)
    return bound(name, _address(), words)


def bound(name: str, address: int, words: np.ndarray) -> Callable:
    """The builtin of some machine code and its table."""
    method = MethodDef(name.encode(), address, FASTCALL, None)
    forever(method, words)                 # which a builtin borrows
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(method), words, None)
