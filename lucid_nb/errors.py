"""The error types. One form of text: "op: what is wrong, with the values. What to do."."""

import builtins
import math
import os
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

GIB = 1 << 30
PACKAGE = os.path.dirname(__file__) + os.sep

READABLE = 100        # letters of a value in an error's text


def told(value: Any) -> str:
    """A value as an error names it, on one line: of an integer too long to read its size, of others the beginning."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, tuple) and all(isinstance(part, int) for part in value):
        return f"({', '.join(map(told, value))}{',' * (len(value) == 1)})"
    text = " ".join(repr(value).split())
    return text if len(text) <= READABLE else f"{text[:READABLE - 3]}..."


def level_of_user() -> int:
    """The `stacklevel` at which a warning of the function that asks names the caller outside this package."""
    level, frame = 1, sys._getframe(1)
    while PACKAGE in frame.f_code.co_filename and frame.f_back:
        level, frame = level + 1, frame.f_back
    return level


class LucidError(Exception):
    """Base of every error that the library raises on purpose."""


class ShapeError(LucidError, ValueError):
    """Shapes do not fit together."""


class AxisError(ShapeError, np.exceptions.AxisError):
    """An axis is out of range, or named twice."""

    def __init__(self, text: str) -> None:
        np.exceptions.AxisError.__init__(self, text)


class DTypeError(LucidError, TypeError):
    """A dtype has no meaning here."""


class DeviceError(LucidError, RuntimeError):
    """Tensors live on different devices, or a device cannot do this."""


class BackendError(LucidError, RuntimeError):
    """A device or an optional library is not usable on this machine."""


class GradError(LucidError, RuntimeError):
    """A gradient was asked for that cannot be given, or would be wrong."""


class ConfigError(LucidError, ValueError):
    """A setting or an environment variable has a value that is not allowed."""


class FormulaError(LucidError, TypeError):
    """A formula uses Python control flow or a foreign function on a traced value."""


class IndexError(LucidError, builtins.IndexError):
    """An index is out of range, or has no meaning."""


class OverflowError(LucidError, builtins.OverflowError):
    """A Python number does not fit the dtype."""


class MemoryError(LucidError, builtins.MemoryError):
    """An array is larger than the memory that there is."""


class LinAlgError(LucidError, np.linalg.LinAlgError):
    """A matrix has no such decomposition or inverse."""


class StateError(LucidError, RuntimeError):
    """Saved weights or optimizer states do not belong to what they are loaded into."""


class DownloadError(LucidError, OSError):
    """A file cannot be fetched, or is not the one that was published."""


class WorkerError(LucidError, RuntimeError):
    """A worker process ended, or did not answer."""


class HiddenNaNWarning(RuntimeWarning):
    """A derivative took zero times infinity for zero, while `config.check_nan` is on."""


def memory_of(size: int) -> str:
    """So many bytes in words: in GiB, or below one in MiB."""
    return f"{size / GIB:,.1f} GiB" if size >= GIB else f"{size / (GIB >> 10):,.1f} MiB"


def out_of_memory(op: str, what: str, error: builtins.MemoryError) -> builtins.MemoryError:
    """The error to raise for want of memory, with what NumPy's error tells; one that is in words already stays."""
    if isinstance(error, LucidError):
        return error
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    size = "" if shape is None or dtype is None else f"{memory_of(math.prod(shape) * dtype.itemsize)} at once, "
    return MemoryError(f"{op}: {what} asks for {size}more memory than there is. Work on parts, or use smaller sizes.")


def is_one_of(word: Any, words: Iterable[str]) -> bool:
    """Is it one of these words? Anything that is no string is none, also an array, which compares with each of them."""
    return isinstance(word, str) and word in words


def described(value: Any) -> str:
    """Shape, dtype and device of a tensor in words, by which gradients must be alike; of anything else its type."""
    if not hasattr(value, "requires_grad"):
        return f"a {type(value).__name__}"
    return f"shape {value.shape}, {value.dtype} on {value.device}"
