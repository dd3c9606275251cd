"""Convolution and its two gradients over one to three spatial axes: a plan for each geometry, chosen once.

A gradient of the input is a correlation with the filters flipped and transposed, of slopes spread by the stride. Few
channels or filters, depthwise and small problems go to the direct kernels, all else to NVIDIA's cuDNN where it is
installed, or becomes products.
"""

from collections.abc import Callable
from math import prod

from ..errors import DeviceError
from ..shapes import Shape, Window
from . import array as geometry
from . import cudnn, plans
from .array import DeviceArray
from .copy import full
from .correlation import Correlation, Layout, grouped, of_conv, of_input_grad, phase_count, triple
from .direct import Direct, DirectWeight
from .plans import Key, Plan
from .unfold import MOST_PHASES, UnfoldedWeight, product_plan, weight_problem

FEW = 4                # channels or filters of a group up to which a product has too little to share
SMALL = 1 << 20        # products up to which one launch is faster than three


def choose(problem: Correlation) -> Plan:
    """The plan of a correlation."""
    _, filters, channels, *_ = problem.w.shape
    is_small = prod(problem.result) * problem.depth <= SMALL
    if is_small or min(filters, channels) <= FEW or phase_count(problem) > MOST_PHASES:
        return Direct(problem)
    return product_plan(problem)


def choose_weight(problem: Correlation, g: Layout) -> Plan:
    """The plan of a weight gradient."""
    _, filters, channels, *_ = problem.w.shape
    if prod(problem.result) * problem.depth <= SMALL or min(filters, channels) <= FEW:
        return DirectWeight(problem, g)
    return UnfoldedWeight(problem, g)


def _layout(raw: DeviceArray) -> Layout:
    return Layout(raw.shape, raw.strides)


def _key(entry: str, a: DeviceArray, b: DeviceArray, shape: Shape, window: Window, input_dilation: Shape = (),
         flip: bool = False) -> Key:
    aligned = (geometry.address(a) | geometry.address(b)) % 16 == 0
    return Key(entry, plans.device(), a.element, (a.shape, b.shape, shape), (a.strides, b.strides), window,
               input_dilation, flip, aligned, cudnn.rules())


def _run(key: Key, chosen: Callable[[], Plan], direct: Callable[[], Plan], a: DeviceArray, b: DeviceArray,
         shape: Shape) -> DeviceArray:
    """The result by the plan of the key, a library's where it has one. Where that refuses, or memory is short, the next
    best is taken and kept."""
    plan = plans.PLANS.find(key, lambda: cudnn.plan_of(key) or chosen())
    while True:
        try:
            return geometry.view(plan(a, b), shape, geometry.row_major(shape))
        except (DeviceError, cudnn.Refused):
            if isinstance(plan, (Direct, DirectWeight)):
                raise
            plan = chosen() if isinstance(plan, cudnn.Convolution) else direct()
            plans.PLANS.keep(key, plan)


def conv(x: DeviceArray, w: DeviceArray, window: Window) -> DeviceArray:
    """Correlation of x (batch, channels, *sizes) with w (filters, channels // groups, *taps)."""
    shape = (x.shape[0], w.shape[0], *window.output_sizes(x.shape[2:], w.shape[2:]))
    if not (prod(shape) and x.size and w.size):
        return full(shape, 0, x.element)

    def problem() -> Correlation:
        return of_conv(x.element, _layout(x), _layout(w), window, shape)
    return _run(_key("conv", x, w, shape, window), lambda: choose(problem()), lambda: Direct(problem()), x, w, shape)


def conv_input_grad(g: DeviceArray, w: DeviceArray, window: Window, x_shape: Shape) -> DeviceArray:
    """The gradient of the input, of shape `x_shape`, from that of the result."""
    if not (prod(x_shape) and g.size and w.size):
        return full(x_shape, 0, g.element)

    def problem() -> Correlation:
        return of_input_grad(g.element, _layout(g), _layout(w), window, x_shape)
    key = _key("conv_input_grad", g, w, x_shape, window, window.stride, flip=True)
    return _run(key, lambda: choose(problem()), lambda: Direct(problem()), g, w, x_shape)


def conv_weight_grad(x: DeviceArray, g: DeviceArray, window: Window, w_shape: Shape) -> DeviceArray:
    """The gradient of the weight, of shape `w_shape`, summed in a fixed order."""
    if not (prod(w_shape) and x.size and g.size):
        return full(w_shape, 0, x.element)

    def problem() -> Correlation:
        steps = triple(window.stride, 1), triple(window.low, 0), triple(window.dilation, 1)
        return weight_problem(x.element, grouped(x.shape, x.strides, window.groups), w_shape[0] // window.groups,
                              triple(w_shape[2:], 1), triple(g.shape[2:], 1), steps)
    slopes = grouped(g.shape, g.strides, window.groups)
    return _run(_key("conv_weight_grad", x, g, w_shape, window), lambda: choose_weight(problem(), slopes),
                lambda: DirectWeight(problem(), slopes), x, g, w_shape)
