"""A step whose kernels are launched together, as one CUDA graph: what Python does between them happens once."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..errors import DeviceError
from . import launching, runtime
from .array import DeviceArray
from .memory import Lasting, Pool, pool
from .noted import CROSSINGS, Launched, Launches
from .runtime import SIMULATED, cuda

# Runs as usual: the first compiles and makes what lasts, such as momenta; the others show that nothing but memory
# changes from step to step.
TRIALS = 3
SAME = "A graph is the same every time: keep shapes and branches fixed."


class Graph:
    """What `graph` gives: call it for a step."""

    noted: Any = None                                # what makes notes of writes; set by those who know tensors

    def __init__(self, step: Callable[[], Any]) -> None:
        self.step, self.pool = step, Lasting()
        self.launches = Launches()
        self.trials = 0
        self.built: Any = None
        self.result: Any = None

    def __call__(self) -> Any:
        """One step; from the fourth call on the kernels of the graph, and the results that it writes anew.

        Where each kernel is waited for (`detect_anomaly`, `config.check_nan`), the step runs as usual, so that an
        error is raised at its operation.
        """
        if runtime.is_watched():
            return self.step()
        if self.built is not None:
            result = self._replay()
            self.rewrites.repeat("graph")
            return result
        if self.trials < TRIALS or SIMULATED:
            return self._checked(launching.LEGACY_STREAM, pool)
        return self._build()

    def _checked(self, stream: Any, taken: Pool) -> Any:
        """The step as Python, with launches that must be those of the time before."""
        before, trials = self.launches, self.trials
        self.launches, self.trials = Launches(), 0   # if this fails, the next call begins again
        with runtime.kept_launches(stream, taken) as launches:
            result = self.step()
        if trials + 1 >= TRIALS:
            check_equal(before, launches)
        self.launches, self.trials = launches, trials + 1
        return result

    def _build(self) -> Any:
        """Run Python once more, with launches that are only noted, then run them."""
        cuda.synchronize()
        with launching.side_stream() as side, self.noted("cuda", self._is_own) as self.rewrites:
            builder = side.create_graph_builder()
            builder.begin_building("relaxed")
            try:
                result = self._checked(builder, self.pool)
            except BaseException:
                with suppress(Exception):            # of a capture that the error has broken off
                    builder.end_building()
                raise
            try:
                self.built = builder.end_building().complete()
            except Exception as error:               # the driver's errors share no base class
                self.trials = 0
                raise DeviceError(f"graph: the driver did not capture the step ({error}). Call the step itself.") \
                    from error
        self.result, self.stream = result, launching.core_stream(cuda.default_stream())
        return self._replay()

    def _is_own(self, raw: Any) -> bool:
        """Is it memory that the graph writes at each replay?"""
        memory = raw.memory.root or raw.memory if type(raw) is DeviceArray else None
        return memory is not None and memory.block is not None and memory.block.pool is self.pool

    def _replay(self) -> Any:
        runtime.require("graph")
        cuda.current_context()                       # becomes this thread's, which the driver takes
        self.built.launch(self.stream)
        return self.result


def note_rewrites(noted: Any) -> None:
    """Let what a replay writes be told: `noted(device, is_own)` is a context manager that can `repeat` what was."""
    Graph.noted = noted


def check_equal(before: Launches, now: Launches) -> None:
    """Refuse a step whose launches differ from the time before, or that the host has a part in."""
    if now.crossings:
        raise DeviceError(f"graph: the step {CROSSINGS[now.crossings[0]]}")
    if len(before) != len(now):
        raise DeviceError(f"graph: the step launched {len(now)} kernels, {len(before)} the time before. {SAME}")
    for number, (old, new) in enumerate(zip(before, now)):
        if old != new:
            raise DeviceError(f"graph: launch {number} {_difference(old, new)}")


def _difference(old: Launched, new: Launched) -> str:
    """How a launch differs from that of the time before, and what to do."""
    if old.kernel != new.kernel or old.name != new.name:
        return f"was another kernel ({new.name}) than the time before ({old.name}). {SAME}"
    if old.memory != new.memory and old[:3] == new[:3]:
        return (f"({new.name}) was given other memory than the time before. A graph reads and writes the same tensors "
                "every time: write into them (x[...] = y, x += y) where the step makes new ones.")
    return (f"was {new.name} with ({', '.join(new.numbers)}), the time before with ({', '.join(old.numbers)}). Numbers "
            "that the host counts or draws stay as they are in a graph: leave dropout, schedules and optimizers that "
            "count their steps (Adam) outside.")


def graph(step: Callable[[], Any]) -> Graph:
    """A callable that runs `step`, which takes nothing, as one CUDA graph: one launch for all of its kernels.

    The first three calls run as usual and show that kernels, numbers and what is kept from step to step stay the same;
    the fourth is captured, and later calls replay it on the same memory. So data come in by writing into tensors that
    the step reads (`x[...] = batch`), and results are tensors that each call writes anew. DeviceError where something
    else than the contents of memory changes, and where the host reads, sends or waits. The simulator has no graphs and
    runs the step each time.
    """
    return Graph(step)
