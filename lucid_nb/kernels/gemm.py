"""Matrix products by NumPy's BLAS, held to one thread of its own while a product runs.

A product must have the same bits for every number of our threads, and one setting must govern them, so BLAS gets one.
OpenBLAS, which NumPy's wheels bring, knows no setting for one call or one thread: the number that a user chose is put
back when the last of concurrent products ends. Products that OpenBLAS would not split anyway are not bracketed.
Accelerate and a BLAS with other names for its settings keep their own threads.
"""

import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from . import memory
from .copying import contiguous
from .steps import SINGLE, narrow

UNSPLIT = 9216               # multiplications up to which OpenBLAS (interface/gemv.c, gemm.c, syrk.c) uses one thread
BLAS_KINDS = "fc"


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(..., n, k) @ (..., k, m) with batch axes that broadcast; float16 and bfloat16 are accumulated in float32."""
    if narrow(a.dtype):
        return matmul(a.astype(SINGLE), b.astype(SINGLE)).astype(a.dtype)
    if a.dtype.kind not in BLAS_KINDS:
        return np.matmul(a, b)
    if b.ndim == 2 and a.ndim > 2:                               # one product instead of one for each of the batch
        return matmul(_walkable(a).reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[-1])
    a, b = _walkable(a), _walkable(b)
    if a.shape[-2] * a.shape[-1] * b.shape[-1] <= UNSPLIT:
        return _product(a, b)
    with ONE_THREAD:
        return _product(a, b)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) if a.ndim > 2 or b.ndim > 2 else ()
    shape = (*batch, a.shape[-2], b.shape[-1])
    if prod(shape) * a.itemsize < memory.LARGE:
        return np.matmul(a, b)
    return np.matmul(a, b, out=memory.empty(shape, a.dtype))


def _walkable(raw: np.ndarray) -> np.ndarray:
    """The array, copied where BLAS could not take its matrices: NumPy would use loops a hundred times slower."""
    rows, cols = raw.strides[-2:]
    size = raw.itemsize
    usable = (cols == size and rows >= size * raw.shape[-1]) or (rows == size and cols >= size * raw.shape[-2])
    return raw if usable and not rows % size and not cols % size else contiguous(raw)


class _OneThread:
    """A context in which OpenBLAS uses one thread; counted, as products may run in several threads at once."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """In a forked child: whoever held the lock is not there."""
        self._lock, self._depth, self._before = threading.Lock(), 0, 1

    def __enter__(self) -> None:
        get, put = thread_setting()
        with self._lock:
            if not self._depth:
                self._before = get()
                if self._before != 1:
                    put(1)
            self._depth += 1

    def __exit__(self, *error: object) -> None:
        _, put = thread_setting()
        with self._lock:
            self._depth -= 1
            if not self._depth and self._before != 1:
                put(self._before)


ONE_THREAD = _OneThread()


@cache
def thread_setting() -> tuple[Callable[[], int], Callable[[int], None]]:
    """OpenBLAS's functions that read and set how many threads it uses; functions of no effect where it is not found."""
    for path in _libraries():
        for prefix in ("scipy_openblas", "openblas"):
            for suffix in ("64_", "", "_64"):
                try:
                    library = ctypes.PyDLL(str(path))
                    get = getattr(library, f"{prefix}_get_num_threads{suffix}")
                    put = getattr(library, f"{prefix}_set_num_threads{suffix}")
                except (OSError, AttributeError):
                    continue
                get.restype, get.argtypes, put.restype, put.argtypes = ctypes.c_int, (), None, (ctypes.c_int,)
                return get, put
    return lambda: 1, lambda threads: None


def _libraries() -> list[Path]:
    """Where the BLAS may be: what NumPy's core was linked to, and the libraries that its wheel brings."""
    package = Path(np.__file__).parent
    folders = package.parent / "numpy.libs", package / ".dylibs"
    return [Path(_multiarray_umath.__file__), *(path for folder in folders for path in folder.glob("*openblas*"))]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ONE_THREAD.forget)
