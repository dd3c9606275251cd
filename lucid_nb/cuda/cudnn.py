"""Convolutions by NVIDIA's cuDNN, where it and the package of its frontend are installed: which, and how.

A convolution is a graph of one node, built once for a geometry. Only algorithms that give the same bits in every run
are let in; float32 is float32 unless config.tf32 says otherwise, short floats are added in float32, and Winograd's and
Fourier's ways, which lose digits, need config.winograd.
"""

import logging
import threading
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import config
from ..dtypes import BFLOAT16
from ..shapes import Shape
from . import array as geometry
from . import runtime
from .array import DeviceArray
from .plans import Key

LEAST = 1 << 20                # multiplications below which a launch of ours is as fast
FEW = 4                        # channels or filters of a group up to which our own kernels only read memory
MOST = 1 << 31                 # elements of a tensor
A, B, Y = 1, 2, 3              # the numbers of the tensors
BYTE = np.dtype(np.uint8)
TYPES = {np.dtype(np.float16): "HALF", BFLOAT16: "BFLOAT16", np.dtype(np.float32): "FLOAT",
         np.dtype(np.float64): "DOUBLE"}
# The frontend's name of each entry of the table, and what it calls both operands.
NODES = {"conv": ("conv_fprop", "image", "weight"), "conv_input_grad": ("conv_dgrad", "loss", "filter"),
         "conv_weight_grad": ("conv_wgrad", "image", "loss")}


log = logging.getLogger(__name__)


class Refused(Exception):
    """cuDNN did not run a graph that it had built."""


class Tensor(NamedTuple):
    """An operand or the result, of one axis of items, one of channels and two or three others."""

    shape: Shape
    strides: Shape


class Problem(NamedTuple):
    """A convolution, or a gradient, as cuDNN is asked for it."""

    entry: str
    dtype: np.dtype
    a: Tensor
    b: Tensor
    result: Tensor
    low: Shape
    high: Shape
    stride: Shape
    dilation: Shape


class Rules(NamedTuple):
    """What the settings allow."""

    tf32: bool
    winograd: bool


# ------------------------------------------------------------------------------------------------ the decision
def rules() -> Rules | None:
    """What cuDNN is allowed now; None where it is not there, or config.cuda_libraries switches it off."""
    return Rules(config.tf32, config.winograd) if config.cuda_libraries and module() is not None else None


def _padded(values: Shape, filler: int) -> Shape:
    """Numbers of two axes at least: cuDNN has no convolution of one."""
    return (filler,) * (2 - len(values)) + tuple(values)


def _tensor(shape: Shape, strides: Shape) -> Tensor:
    """With strides of single cells as if they lay side by side, whatever a view says of them."""
    sizes, steps = (*shape[:2], *_padded(shape[2:], 1)), [*strides[:2], *_padded(strides[2:], 0)]
    for axis in reversed(range(len(sizes))):
        if sizes[axis] == 1:
            steps[axis] = sizes[axis + 1] * steps[axis + 1] if axis + 1 < len(sizes) else 1
    return Tensor(sizes, tuple(steps))


def _is_plain(tensor: Tensor) -> bool:
    """Few enough elements, none of which is read twice or backwards?"""
    return prod(tensor.shape) < MOST and min(tensor.strides) > 0


def problem_of(key: Key) -> Problem | None:
    """What cuDNN is asked for, None where our own kernels do it: little work, depthwise layers, complex numbers."""
    window, (a, b) = key.window, map(_tensor, key.shapes[:2], key.strides)
    result = _tensor(key.shapes[2], geometry.row_major(key.shapes[2]))
    w, y = {"conv": (b, result), "conv_input_grad": (b, a), "conv_weight_grad": (result, b)}[key.entry]
    filters, channels = w.shape[0] // window.groups, w.shape[1]
    if (key.dtype not in TYPES or not key.aligned or prod(y.shape) * channels * prod(w.shape[2:]) < LEAST
            or (window.groups > 1 and min(filters, channels) <= FEW) or min(*window.low, *window.high) < 0
            or not all(map(_is_plain, (a, b, result)))):
        return None
    return Problem(key.entry, key.dtype, a, b, result, _padded(window.low, 0), _padded(window.high, 0),
                   _padded(window.stride, 1), _padded(window.dilation, 1))


def refused_notes(dtype: np.dtype, allowed: Rules) -> list[str]:
    """What an algorithm must not be said to do."""
    names = ["NONDETERMINISTIC", "REDUCED_PRECISION_REDUCTION"]
    if dtype == np.float32 and not allowed.tf32:
        names += ["TENSOR_CORE", "DOWN_CONVERT_INPUTS"]
    if not allowed.winograd:
        names += ["FFT", "WINOGRAD", "WINOGRAD_TILE_4x4", "WINOGRAD_TILE_6x6", "WINOGRAD_TILE_13x13"]
    return names


# ------------------------------------------------------------------------------------------------ the frontend
@cache
def module() -> Any:
    """The package of the frontend, with cuDNN 9 or newer below it; None without."""
    try:
        import cudnn
        return cudnn if cudnn.backend_version() >= 90_000 else None
    except Exception:                                # what a package without its library raises is not said anywhere
        return None


class _Handles(threading.local):
    """cuDNN's handle of a thread, which no other may use."""

    own: Any = None


_handles = _Handles()


def handle() -> Any:
    """The handle of this thread."""
    if _handles.own is None:
        _handles.own = module().create_handle()
    return _handles.own


def described(frontend: Any, problem: Problem, owner: Any) -> Any:
    """The graph of a problem, which has not been looked at."""
    kinds = frontend.data_type
    kind, wide = getattr(kinds, TYPES[problem.dtype]), kinds.DOUBLE if problem.dtype == np.float64 else kinds.FLOAT
    graph = frontend.pygraph(io_data_type=kind, intermediate_data_type=wide, compute_data_type=wide, handle=owner)
    node, *names = NODES[problem.entry]
    operands = {name: graph.tensor(dim=list(tensor.shape), stride=list(tensor.strides), data_type=kind, uid=number)
                for name, tensor, number in zip(names, (problem.a, problem.b), (A, B))}
    result = getattr(graph, node)(
        **operands, pre_padding=list(problem.low), post_padding=list(problem.high), stride=list(problem.stride),
        dilation=list(problem.dilation), compute_data_type=wide)
    result.set_uid(Y).set_output(True).set_data_type(kind)
    result.set_dim(list(problem.result.shape)).set_stride(list(problem.result.strides))
    return graph


def built(frontend: Any, problem: Problem, allowed: Rules, owner: Any) -> Any:
    """The graph with the algorithm that cuDNN expects to be fastest of those that are let in."""
    graph = described(frontend, problem, owner)
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([frontend.heur_mode.A, frontend.heur_mode.FALLBACK])
    graph.deselect_numeric_notes([getattr(frontend.numerical_note, name)
                                  for name in refused_notes(problem.dtype, allowed)
                                  if hasattr(frontend.numerical_note, name)])
    if config.conv_view_limit_mb >= 0:
        graph.deselect_workspace_greater_than(config.conv_view_limit_mb << 20)
    graph.check_support()
    graph.build_plans()
    return graph


class Convolution:
    """The plan of a problem by cuDNN."""

    def __init__(self, problem: Problem, allowed: Rules) -> None:
        self.problem, self.lock = problem, threading.Lock()
        self.graph = built(module(), problem, allowed, handle())
        self.workspace = int(self.graph.get_workspace_size())

    def __call__(self, a: DeviceArray, b: DeviceArray) -> DeviceArray:
        """The result for operands of the geometry."""
        y = geometry.empty(self.problem.result.shape, self.problem.dtype)
        memory = runtime.allocate(self.workspace, BYTE) if self.workspace else None
        places = {number: geometry.address(raw) for number, raw in ((A, a), (B, b), (Y, y))}
        below = 0 if memory is None else runtime.address(memory)
        runtime.call("cudnn", lambda stream: self._execute(places, below, stream), self.problem,
                     *[part for raw in (a, b, y) for part in (raw.memory, raw.offset)], memory)
        return y

    def _execute(self, places: dict[int, int], workspace: int, stream: int) -> None:
        frontend, owner = module(), handle()
        try:
            frontend.set_stream(handle=owner, stream=stream)
            with self.lock:                          # a graph packs what it is given in memory of its own
                self.graph.execute(places, workspace, handle=owner)
        except Exception as error:                   # the frontend's errors share no base class
            raise Refused(str(error)) from error


def plan_of(key: Key) -> Convolution | None:
    """cuDNN's plan, None where it is not asked or has none."""
    problem = None if key.rules is None else problem_of(key)
    if problem is None:
        return None
    try:
        return Convolution(problem, key.rules)
    except Exception as error:                       # the frontend's errors share no base class
        log.debug("cuDNN has no plan for %s: %s", problem, error)
        return None
