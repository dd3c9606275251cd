"""A step whose kernels are launched together, as one CUDA graph: what Python does between them happens once."""

from collections.abc import Callable
from typing import Any

from ..errors import DeviceError
from . import runtime
from .memory import Pool, taken_from
from .runtime import SIMULATED, UPLOAD, Launched, cuda

# Runs as usual: the first compiles and makes what lasts, such as momenta; the others show that nothing but memory
# changes from step to step.
TRIALS = 3


class Graph:
    """What `graph` gives: call it for a step."""

    def __init__(self, step: Callable[[], Any]) -> None:
        self.step, self.pool = step, Pool()
        self.launches: list[Launched] = []
        self.trials = 0
        self.built: Any = None
        self.result: Any = None

    def __call__(self) -> Any:
        """One step; from the fourth call on the kernels of the graph, and the results that it writes anew."""
        if self.built is not None:
            self.built.launch(self.stream)
            return self.result
        if self.trials < TRIALS or SIMULATED:
            self.trials += 1
            return self._checked(0)
        return self._build()

    def _checked(self, stream: Any) -> Any:
        """The step as Python, with launches that must be those of the time before."""
        with runtime.kept_launches(stream) as launches:
            result = self.step()
        before, self.launches = self.launches, launches
        if self.trials >= TRIALS:
            check_equal(before, launches)
        return result

    def _build(self) -> Any:
        """Run Python once more, with launches that are only noted, then run them."""
        self.stream = runtime.core_stream(cuda.default_stream())
        side = runtime.core_stream(cuda.stream())
        builder = side.create_graph_builder()
        cuda.synchronize()
        builder.begin_building("relaxed")
        try:
            with taken_from(self.pool):
                self.result = self._checked(builder)
        finally:
            builder.end_building()
        self.built = builder.complete()
        self.built.launch(self.stream)
        return self.result


def check_equal(before: list[Launched], now: list[Launched]) -> None:
    """Refuse a step whose kernels, or the numbers they are given, differ from the time before."""
    if len(before) != len(now):
        raise DeviceError(f"graph: the step launched {len(now)} kernels, {len(before)} the time before. A graph is the "
                          "same every time: keep shapes and branches fixed.")
    if any(name == UPLOAD for name, *_ in now):
        raise DeviceError("graph: the step sends data of the host to the device, which a graph would not do again. "
                          "Make the tensor before the step, and write new data into it.")
    for number, (old, new) in enumerate(zip(before, now)):
        if old != new:
            raise DeviceError(
                f"graph: launch {number} was {new[0]} with {new[2]}, the time before {old[0]} with {old[2]}. Numbers "
                "that the host counts or draws stay as they are in a graph: leave dropout, schedules and optimizers "
                "that count their steps (Adam) outside.")


def graph(step: Callable[[], Any]) -> Graph:
    """A callable that runs `step`, which takes nothing, as one CUDA graph: one launch for all of its kernels.

    The first three calls run as usual and show that shapes, kernels and numbers stay the same; the fourth is captured,
    and later calls replay it on the same memory. So data come in by writing into tensors that the step reads
    (`x[...] = batch`), and results are tensors that each call writes anew. DeviceError where something else than
    memory changes. The simulator has no graphs and runs the step each time.
    """
    return Graph(step)
