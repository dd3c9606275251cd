"""Branches and loops over graphs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...register import functions
from ..table import Node, operator
from ..values import on, scalar

Body = Callable[..., tuple[Any, ...]]


@operator("If")
def branch(condition: Any, *, then_branch: Body, else_branch: Body) -> tuple[Any, ...]:
    """The results of one of two graphs."""
    return then_branch() if scalar(condition) else else_branch()


def _stacked(parts: list[Any], axis: int = 0) -> Any:
    return functions["stack"](parts, axis) if parts else functions["zeros"]((0,), np.float32)


@operator("Loop")
def loop(count: Any = None, condition: Any = None, *carried: Any, body: Body, node: Node) -> tuple[Any, ...]:
    """A graph again and again: what it carries on, and stacks of its other results."""
    most = None if count is None else int(scalar(count))
    goes, step = condition is None or bool(scalar(condition)), 0
    values, rows = tuple(carried), list[Any]()
    while goes and (most is None or step < most):
        number = np.array(step, np.int64)
        like = next((x for x in (*values, count, condition) if hasattr(x, "device")), None)
        at = functions["asarray"](number) if like is None else on(like, number)
        flag = functions["asarray"](np.array(True)) if like is None else on(like, np.array(True))
        again, *found = body(at, flag, *values)
        values, rows = tuple(found[:len(values)]), [*rows, found[len(values):]]
        goes, step = bool(scalar(again)), step + 1
    scans = len(node.outputs) - len(values)
    return *values, *[_stacked([row[number] for row in rows]) for number in range(scans)]


@operator("Scan", since=9)
def scan(*inputs: Any, body: Body, num_scan_inputs: int, scan_input_axes: Any = None, scan_input_directions: Any = None,
         scan_output_axes: Any = None, scan_output_directions: Any = None, node: Node) -> tuple[Any, ...]:
    """A graph over the slices of tensors: the last states, and stacks of its other results."""
    count = len(inputs) - num_scan_inputs
    states, scanned = tuple(inputs[:count]), inputs[count:]
    axes = list(scan_input_axes or [0] * num_scan_inputs)
    back = list(scan_input_directions or [0] * num_scan_inputs)
    size = scanned[0].shape[axes[0]]
    rows: list[tuple[Any, ...]] = []
    for step in range(size):
        here = [x[(slice(None),) * (axis % x.ndim) + (size - 1 - step if reverse else step,)]
                for x, axis, reverse in zip(scanned, axes, back)]
        found = body(*states, *here)
        states, rows = tuple(found[:count]), [*rows, found[count:]]
    results = len(node.outputs) - count
    return *states, *[_stacked([row[number] for row in (rows[::-1] if reverse else rows)], axis)
                      for number, axis, reverse in zip(range(results), scan_output_axes or [0] * results,
                                                       scan_output_directions or [0] * results)]


@operator("Scan")
def scan_of_batch(lengths: Any, *inputs: Any, body: Body, num_scan_inputs: int, directions: Any = None,
                  node: Node) -> tuple[Any, ...]:
    """Before opset 9 the first axis is a batch, whose examples are scanned along the second."""
    found = [scan(*[x[example] for x in inputs], body=body, num_scan_inputs=num_scan_inputs,
                  scan_input_directions=directions, node=node) for example in range(inputs[0].shape[0])]
    return tuple([functions["stack"](parts) for parts in zip(*found)])
