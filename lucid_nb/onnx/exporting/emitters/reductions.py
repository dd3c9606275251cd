"""Sums, extremes, softmax and normalisations."""

from typing import Any

import numpy as np

from ....shapes import product
from ..known import emits
from ..recording import Value
from ..sizes import is_fixed
from ..writer import Ref, Writer, refused

NAMES = {"sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin", "mean": "ReduceMean",
         "centre": "ReduceMean", "logsumexp": "ReduceLogSumExp", "euclidean_norm": "ReduceL2",
         "sum_of_sizes": "ReduceL1"}


def reduced(w: Writer, word: str, x: str | Ref, axes: Any, keepdims: bool) -> str:
    """A reduction; until opset 17 (of sums 12) the axes are an attribute."""
    if word == "ReduceSum" or w.opset >= 18:
        return w.node(word, x, w.integers(axes), keepdims=int(keepdims))
    return w.node(word, x, axes=list(axes), keepdims=int(keepdims))


def _reduction(name: str, word: str) -> None:
    @emits(name)
    def emit(w: Writer, out: Value, x: Ref, axes: Any, keepdims: bool, **params: Any) -> str:
        given = w.cast(x.name, x.dtype, out.dtype)
        return reduced(w, word, given, axes, keepdims)


for _name, _word in NAMES.items():
    _reduction(_name, _word)


def _question(name: str, word: str) -> None:
    @emits(name)
    def emit(w: Writer, out: Value, x: Ref, axes: Any, keepdims: bool) -> str:
        numbers = w.cast(w.cast(x.name, x.dtype, np.bool_), np.bool_, np.int32)
        return w.cast(reduced(w, word, numbers, axes, keepdims), np.int32, np.bool_)


_question("any", "ReduceMax")
_question("all", "ReduceMin")


@emits("variance")
def _variance(w: Writer, out: Value, x: Ref, axes: Any, keepdims: bool, degrees: float) -> str:
    mean = reduced(w, "ReduceMean", x, axes, True)
    away = w.node("Sub", x, mean)
    total = reduced(w, "ReduceSum", w.node("Mul", away, away), axes, keepdims)
    count = product(tuple([x.shape[axis] for axis in axes]))
    if not all(is_fixed(x.shape[axis]) for axis in axes) and degrees != count:
        raise refused("var", "over a dynamic axis, with ddof. Use ddof=0.")
    if degrees == count:
        return reduced(w, "ReduceMean", w.node("Mul", away, away), axes, keepdims)
    return w.node("Div", total, w.constant(np.array(degrees, x.dtype)))


def _arg(name: str, word: str) -> None:
    @emits(name)
    def emit(w: Writer, out: Value, x: Ref, axis: int, keepdims: bool = False) -> str:
        return w.node(word, x, axis=axis, keepdims=int(keepdims))


_arg("argmax", "ArgMax")
_arg("argmin", "ArgMin")


@emits("softmax")
def _softmax(w: Writer, out: Value, x: Ref, axis: int) -> str:
    return w.node("Softmax", x, axis=axis)


@emits("log_softmax")
def _log_softmax(w: Writer, out: Value, x: Ref, axis: int) -> str:
    return w.node("LogSoftmax", x, axis=axis)


# ------------------------------------------------------------------------------------------- normalisations
@emits("normalize_by")
def _normalize_by(w: Writer, out: Value, x: Ref, mean: Ref, variance: Ref, weight: Ref, bias: Ref, eps: float) -> str:
    return w.node("BatchNormalization", x, weight, bias, mean, variance, epsilon=float(eps), stem="batch_norm")


@emits("normalize")
def _normalize(w: Writer, out: Value, x: Ref, weight: Ref, bias: Ref, form: Any) -> list[str]:
    """Over the last axes one node; of groups and images by the form that the op has."""
    if form.axes == (2, 3) and (form.shape[1], form.shape[3]) == (1, 1):
        axis = _first_of(x.shape, form.shape[2])
        if axis is not None:
            return [_of_last(w, x, weight, bias, axis, form), "", ""]
    if form.axes == (2, 3) and form.centred and form.weights[0] == 1:
        return [_of_groups(w, x, weight, bias, form), "", ""]
    raise refused("batch_norm", "by statistics of the batch, in training. Call .eval() on the model.")


def _first_of(shape: tuple[int, ...], count: int) -> int | None:
    """The axis from which on a shape has so many elements."""
    for axis in range(len(shape) - 1, -1, -1):
        if product(shape[axis:]) == count:
            return axis
    return None


def _of_last(w: Writer, x: Ref, weight: Ref, bias: Ref, axis: int, form: Any) -> str:
    sizes = x.shape[axis:]
    scale, shift = (part.name if part.shape == sizes else w.reshape(part, sizes) for part in (weight, bias))
    scale, shift = (w.cast(part, given.dtype, x.dtype) for part, given in ((scale, weight), (shift, bias)))
    if form.centred:
        return w.node("LayerNormalization", x, scale, shift, axis=axis - x.ndim, epsilon=float(form.eps),
                      stem="layer_norm")
    axes = list(range(axis, x.ndim))
    square = reduced(w, "ReduceMean", w.node("Mul", x, x), axes, True)
    root = w.node("Sqrt", w.node("Add", square, w.constant(np.array(form.eps, x.dtype))))
    return w.node("Mul", w.node("Div", x, root), scale, stem="rms_norm")


def _of_groups(w: Writer, x: Ref, weight: Ref, bias: Ref, form: Any) -> str:
    """Each group of channels of an image is one plane of an instance norm, whose weights come after."""
    groups, inside = form.shape[1:3]
    if inside == 1 and groups == x.shape[1]:
        return w.node("InstanceNormalization", x, weight, bias, epsilon=float(form.eps), stem="instance_norm")
    rows = w.node("Reshape", x, w.integers([0, groups, -1]))
    ones, zeros = (w.constant(np.full(groups, value, x.dtype)) for value in (1, 0))
    normal = w.node("InstanceNormalization", rows, ones, zeros, epsilon=float(form.eps), stem="group_norm")
    whole = w.node("Reshape", normal, w.node("Shape", x))
    scale, shift = (w.reshape(part, (x.shape[1], *[1] * (x.ndim - 2))) for part in (weight, bias))
    return w.node("Add", w.node("Mul", whole, scale), shift, stem="group_norm")
