"""The one place that launches kernels: geometry, launchers, and what the simulator needs.

Kernels are lazy: they compile at their first launch, for the types of that launch. Every launch uses the x axis of
the grid only, whose limit is 2**31 - 1, and walks by the size of the grid, so no number of elements is too large.
"""

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import config
from ..errors import DeviceError
from . import driver, launching, memory, noted
from .driver import SIMULATED, cuda, description, is_available, require, unavailable  # noqa: F401
from .launching import core_stream  # noqa: F401
from .memory import Memory, allocate  # noqa: F401
from .noted import Launches

THREADS = 32 if SIMULATED else 256
BLOCK = 8 if SIMULATED else 256                 # threads that merge in shared memory; each merge is slow to simulate
MAX_BLOCKS = 2 if SIMULATED else 1 << 16
FEW_BLOCKS = 2 if SIMULATED else 512            # below this a reduction is cut into chunks to fill the device
MIN_CHUNK = 8 if SIMULATED else 1024
WARP = 4 if SIMULATED else 32                   # neighbours along x, so that a warp reads neighbouring elements


def kernel(function: Callable, bounds: tuple[int, int] | None = None) -> Any:
    """A kernel, compiled at its first launch; `bounds`: threads of a block, blocks that registers leave room for."""
    if SIMULATED or bounds is None:
        return cuda.jit(function)
    return cuda.jit(function, launch_bounds=bounds)  # type: ignore[call-arg]


def inline(function: Callable) -> Any:
    """A scalar function whose text is put into the kernel: a call would need a driver at compile time."""
    return function if SIMULATED else cuda.jit(device=True, inline="always")(function)


def block_inline(function: Callable) -> Any:
    """A function that uses the threads of a block, put into the kernel. The simulator has to know it."""
    return cuda.jit(device=True)(function) if SIMULATED else inline(function)


def shared_memory(shape: Any, dtype: np.dtype) -> Callable:
    """A function that gives a kernel the shared memory of its block; each call in the text is memory of its own."""
    scalar = dtype.type

    def take():
        return cuda.shared.array(shape, dtype=scalar, alignment=16)

    def take_simulated():
        # The simulator's own way may give two threads of a block different arrays, and reads the stack each time.
        block = threading.current_thread()._manager
        return vars(block).setdefault(take, np.empty(shape, scalar))
    return take_simulated if SIMULATED else inline(take)


# ------------------------------------------------------------------------------------------------- geometry
def ceil_div(count: int, size: int) -> int:
    """How many pieces of `size` cover `count`."""
    return -(-count // size)


def power_of_two(count: int) -> int:
    """The smallest power of two that is not below `count`."""
    return 1 << max(count - 1, 0).bit_length()


def grid(pieces: int) -> int:
    """Blocks on the x axis for that many pieces of work, at least one; blocks walk where pieces are more."""
    return max(1, min(pieces, MAX_BLOCKS))


class Slices(NamedTuple):
    """How a block works on (outer, count, inner): `columns` of inner side by side, `lanes` along count."""

    columns: int
    lanes: int
    tiles: int
    blocks: int


@lru_cache(maxsize=4096)
def slices(outer: int, count: int, inner: int, chunks: int = 1) -> Slices:
    """The geometry of a kernel that combines along the middle axis of (outer, count, inner)."""
    columns = min(power_of_two(inner), WARP)
    lanes = min(BLOCK // columns, power_of_two(max(1, ceil_div(count, chunks))))
    tiles = max(1, ceil_div(inner, columns))
    return Slices(columns, lanes, tiles, grid(outer * tiles * chunks))


@lru_cache(maxsize=4096)
def chunks_of(outer: int, count: int, inner: int, least: int = MIN_CHUNK) -> int:
    """Into how many chunks a reduction is cut, by shape alone, so that results never depend on the device; `least`:
    elements that a chunk should have."""
    tiles = outer * ceil_div(inner, min(power_of_two(inner), WARP))
    if tiles >= FEW_BLOCKS or count < 2 * least:
        return 1
    return min(ceil_div(count, least), ceil_div(FEW_BLOCKS, tiles))


# -------------------------------------------------------------------------------------------------- launches
def crosses(kind: str) -> None:
    """Note that the host has a part in what this thread does; a graph that is being captured cannot hold that."""
    if _watching.launches is not None:
        _watching.launches.crossings.append(kind)
        if is_building():
            raise DeviceError(f"graph: the step {noted.CROSSINGS[kind]}")


def upload(flat: np.ndarray) -> Memory:
    """Host memory copied to the device."""
    crosses(noted.UPLOAD)
    return memory.upload(flat)


def download(flat: Any) -> np.ndarray:
    """Device memory copied to the host, after everything launched before."""
    crosses(noted.DOWNLOAD)
    return memory.download(flat)


def synchronize() -> None:
    """Wait until everything that was launched is done."""
    crosses(noted.WAIT)
    driver.synchronize()


def address(flat: Memory) -> int:
    """Where memory begins on the device; the simulator's is taken to be aligned."""
    return 0 if SIMULATED else flat.address


_simulator = threading.RLock()       # the simulator runs one kernel at a time


def _simulate(function: Any, blocks: int, threads: Any, arguments: list[Any]) -> None:
    """Run a kernel in the simulator, whose threads do not inherit np.errstate.

    It waits for threads in a busy loop that would hold the interpreter for whole switch intervals.
    """
    with _simulator, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            function[blocks, threads](*arguments)
        finally:
            sys.setswitchinterval(interval)


def launch(function: Any, blocks: int, threads: Any, *arguments: Any) -> None:
    """Run a kernel on flat memory and scalars, asynchronously."""
    require("launch")
    if _watching.launches is not None:
        _watching.launches.launch(name_of(function), (function, threads), blocks, arguments)
    if SIMULATED:
        _simulate(function, blocks, threads, [given.array if type(given) is Memory else given for given in arguments])
    else:
        launching.launch(function, blocks, threads, _watching.stream, arguments)
    if is_watched():
        _finish(name_of(function))


def call(library: str, run: Callable[[int], None], *arguments: Any) -> None:
    """Let a library of NVIDIA's launch its kernels on the stream of ours, whose number `run` is given.

    `arguments`: all that tells this call from others, memory among them.
    """
    require(library)
    cuda.current_context()                           # becomes this thread's, which the library takes
    run(launching.number_of(_watching.stream))
    if _watching.launches is not None:
        _watching.launches.launch(library, None, 1, arguments)
    if is_watched():
        _finish(library)


class _Watching(threading.local):
    """What this thread does besides launching: looks for the op that fails, keeps launches, builds a graph of them."""

    on = False
    launches: Launches | None = None
    stream: Any = launching.LEGACY_STREAM


_watching = _Watching()


def watch(on: bool) -> None:
    """Wait for every kernel of this thread from now on, or no longer, so that errors are raised at their op."""
    _watching.on = on


def is_watched() -> bool:
    """Is every kernel of this thread waited for?"""
    return config.check_nan or _watching.on


@contextmanager
def kept_launches(stream: Any = launching.LEGACY_STREAM, pool: memory.Pool = memory.pool) -> Iterator[Launches]:
    """The launches of this thread, as they are made in the block; they go to `stream`, which may build a graph, and
    memory comes from `pool`."""
    before, launches = (_watching.launches, _watching.stream), Launches()
    _watching.launches, _watching.stream = launches, stream
    try:
        with memory.taken_from(pool, launches.make):
            yield launches
    finally:
        _watching.launches, _watching.stream = before


def is_building() -> bool:
    """Do launches of this thread go into a graph, so that nothing runs now?"""
    return _watching.stream != launching.LEGACY_STREAM


def name_of(function: Any) -> str:
    """The name of a kernel."""
    return getattr(getattr(function, "py_func", getattr(function, "fn", function)), "__name__", "kernel")


def _finish(name: str) -> None:
    """Wait for a kernel, so that its error is raised where it was launched and not at a later op."""
    try:
        cuda.synchronize()
    except Exception as error:       # the driver's errors share no base class
        raise DeviceError(f"{name}: the GPU stopped in this kernel ({error}). Its memory is lost: restart "
                          "the process, and check the shapes and indices that this op was given.") from error


def launch_each(function: Any, count: int, *arguments: Any) -> None:
    """Run a kernel(*arguments) whose threads walk by the size of the grid over `count` pieces, where there are any."""
    if count:
        launch(function, grid(ceil_div(count, THREADS)), THREADS, *arguments)
