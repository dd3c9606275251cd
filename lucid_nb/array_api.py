"""The array API standard's way to the library: the namespace of a tensor, and what devices and dtypes there are."""

import importlib
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from . import backend, dtypes
from .array import Tensor
from .creation.data import float_dtype
from .errors import DTypeError, LucidError, ShapeError, told
from .ops.kinds import isdtype

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
          "complex64", "complex128")          # those of the standard; there are float16 and bfloat16 besides


@cache
def is_had(device: str, name: str) -> bool:
    """Has a device arrays of this dtype?"""
    try:
        backend.table(device).full((1,), 0, np.dtype(name))
    except LucidError:
        return False
    return True


def array_namespace(self: Tensor, /, *, api_version: str | None = None) -> ModuleType:
    """The module `lucid_nb`, which holds the functions of the array API standard."""
    if api_version is not None and api_version not in VERSIONS:
        raise ShapeError(f"__array_namespace__: version {told(api_version)} is unknown. "
                         f"Use one of {', '.join(VERSIONS)}.")
    return importlib.import_module(__package__)


Tensor.__array_namespace__ = array_namespace  # type: ignore


class Info:
    """What `__array_namespace_info__` gives."""

    __module__ = "lucid_nb"

    def capabilities(self) -> dict[str, Any]:
        """What is possible: masks as indices, shapes that depend on values, arrays of up to 64 axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The device of new tensors in this thread."""
        return backend.default_device()

    def devices(self) -> tuple[str, ...]:
        """The devices that this machine can use."""
        return tuple(backend.devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtypes of new tensors of Python's numbers, by kind."""
        real = float_dtype("default_dtypes", None, backend.resolve(device))
        return {"real floating": real, "complex floating": np.result_type(real, np.complex64),
                "integral": dtypes.INT64, "indexing": dtypes.INT64}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype]:
        """{name: dtype} of the standard's dtypes that a device computes in, all or those of a kind."""
        place = backend.resolve(device)
        found = {name: np.dtype(name) for name in DTYPES if is_had(place, name)}
        if kind is None:
            return found
        if not isinstance(kind, (str, tuple)):
            raise DTypeError(f"dtypes: kind is of type {type(kind).__name__}. Give a word, or a tuple of words.")
        return {name: dtype for name, dtype in found.items() if isdtype(dtype, kind)}


def __array_namespace_info__() -> Info:
    """What the array API standard lets a program ask of the library: devices, dtypes and capabilities.

    >>> import lucid_nb as lnb
    >>> lnb.__array_namespace_info__().capabilities()["boolean indexing"]
    True
    """
    return Info()
