"""What CuPy does for us where it is installed: sorts of long rows (CUB), Fourier transforms and linear algebra.

CuPy sees our memory as it lies, works on our stream, and takes its memory from our pool. What it refuses is remembered
and done as without it.
"""

import logging
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from .. import config
from ..errors import DeviceError
from . import array as geometry
from . import interop, noted, plans, runtime
from .array import DeviceArray

BYTE = np.dtype(np.uint8)

log = logging.getLogger(__name__)
_refused: set[str] = set()


@cache
def module() -> Any:
    """CuPy, None where it is not installed or does not load."""
    try:
        import cupy
        return cupy
    except Exception:                                # what a package for another CUDA raises is not said anywhere
        return None


def _pointer(library: Any, address: int, size: int, owner: Any) -> Any:
    """Memory of ours for CuPy, which keeps its owner."""
    return library.cuda.MemoryPointer(library.cuda.UnownedMemory(address, size, owner, plans.device()), 0)


def _allocated(library: Any, size: int) -> Any:
    """Memory of our pool; it goes back there when CuPy has forgotten it."""
    memory = runtime.allocate(size, BYTE)
    return _pointer(library, runtime.address(memory), size, memory)


def _theirs(library: Any, raw: DeviceArray) -> Any:
    """The same elements as CuPy's array."""
    return library.ndarray(raw.shape, raw.element, _pointer(library, geometry.address(raw), raw.nbytes, raw),
                           tuple([stride * raw.element.itemsize for stride in raw.strides]))


def _ours(found: Any) -> Any:
    """CuPy's array, or several, as ours."""
    if isinstance(found, tuple):
        return tuple(map(_ours, found))
    return interop.of_interface(found.__cuda_array_interface__, found)


def called(name: str, function: Callable[..., Any], *raws: DeviceArray) -> Any:
    """function(cupy, *arrays), an array or a tuple; None where CuPy is not there, or refuses what goes by this name."""
    library = module() if config.cuda_libraries else None
    if library is None or name in _refused or not all(raw.size for raw in raws):
        return None
    runtime.crosses(noted.CUPY)
    found: list[Any] = []

    def run(stream: int) -> None:
        with library.cuda.ExternalStream(stream), library.cuda.using_allocator(partial(_allocated, library)):
            found.append(function(library, *(_theirs(library, raw) for raw in raws)))
    try:
        runtime.call(f"cupy {name}", run)
        return _ours(found[0])
    except (np.linalg.LinAlgError, DeviceError) as error:
        log.debug("CuPy did not do this %s: %s", name, error)
    except Exception as error:                       # CuPy's errors share no base class
        log.debug("CuPy does no %s: %s", name, error)
        _refused.add(name)
    return None


def sorted_keys(keys: DeviceArray, gives_places: bool) -> DeviceArray | None:
    """One long row of integers in order, or the places that put it in order, equal ones as they were; None without."""
    if keys.shape[0] > 1:                            # CuPy sorts several rows by comparing pairs of row and key
        return None
    found = called("sort", lambda library, row: library.argsort(row) if gives_places else library.sort(row),
                   geometry.view(keys, keys.shape[1:], (1,)))
    return None if found is None else geometry.view(found, keys.shape, geometry.row_major(keys.shape))
