"""Why a call departs from PyTorch, where it does so on purpose, by chance, or because PyTorch itself is wrong.

Nothing here is a tolerance: a reason names the operators, what departs, and what must be seen in the call.
"""

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np

from .comparison import Difference


class Reason(NamedTuple):
    """A reason: which operators, what of them, and what else must hold."""

    text: str
    operators: str
    what: str
    holds: Callable[[Difference], bool] = lambda difference: True


EVERYTHING = "result gradient forward second"


def says(*words: str) -> Callable[[Difference], bool]:
    """Does the difference say one of these?"""
    return lambda difference: any(word in difference.how for word in words)


def is_axis_of_scalar(difference: Difference) -> bool:
    """Is an axis of a 0-d array refused, or has the result the axis that was asked for?"""
    return difference.call.inputs[0].ndim == 0 and says("AxisError", "(1,)")(difference)


def is_random(difference: Difference) -> bool:
    """Does the call draw numbers?"""
    keywords, arguments = difference.call.keywords, difference.call.arguments
    return keywords.get("dropout_p", 0) > 0 or keywords.get("training") is True or 0.5 in [
        part for part in arguments if isinstance(part, float)]


def has_equal_places(difference: Difference) -> bool:
    """Does an index name a place twice?"""
    indices = difference.call.inputs[1]
    planes = indices.reshape(*indices.shape[:-int(difference.call.operator[-2])], -1)     # max_unpool2d: 2
    return any(np.unique(row).size < row.size for row in planes.reshape(-1, planes.shape[-1]))


def is_large_and_complex(difference: Difference) -> bool:
    """Are there complex numbers whose last place is far from that of 1?"""
    x = difference.call.inputs[0]
    return x.dtype.kind == "c" and bool(np.abs(x).max(initial=0) > 1e3)


NUMPYS = "NumPy's rule (the namespace is NumPy's): "
REASONS = [
    Reason(NUMPYS + "a 0-d array has no axis 0. PyTorch takes it for one of shape (1,).",
           "cum* log*sumexp *quantile norm linalg.vector_norm mean topk index_*", EVERYTHING, is_axis_of_scalar),
    Reason(NUMPYS + "arrays that are joined have one number of axes. PyTorch leaves out those of shape (0,).", "cat",
           "result", says("AxisError", "ShapeError")),
    Reason(NUMPYS + "an ellipsis among the operands stands in the result.", "einsum", "result", says("'...'")),
    Reason(NUMPYS + "contracted axes have one size. PyTorch repeats those of size 1.", "tensordot", "result",
           says("must be equal")),
    Reason(NUMPYS + "ldexp takes integers as exponents; x * exp2(y) takes any.", "ldexp", "result",
           says("signed integers")),
    Reason("Promotion is NumPy's: int32 and float32 give float64.", "clamp", "result gradient",
           says("dtype float64, float32", "the tensor float64")),
    Reason("Complex numbers are refused, with the remedy, by functions that NumPy does not have of them.",
           "logcumsumexp", "result", says("has no meaning")),
    Reason("A cast that would lose the imaginary part is refused, with the remedy.", "*softmax *softmin", "result",
           says("loses the imaginary part")),
    Reason("An index has as many axes as what it indexes. PyTorch lets an index without elements have any.",
           "gather scatter*", "result", says("Give it")),
    Reason("A loss or norm of another shape than its page says is refused.",
           "*multi_margin_loss *multilabel_margin_loss *batch_norm", "result", says("ShapeError")),
    Reason("Inverses follow with linear algebra.", "linalg.matrix_power", "result", says("is negative")),
    Reason("Random numbers: each library has its own.",
           "*rrelu *scaled_dot_product_attention *multi_head_attention_forward", EVERYTHING, is_random),
    Reason("The gradient of ctc_loss is that of its formula, for any input. PyTorch's holds after log_softmax only.",
           "*ctc_loss", "gradient forward"),
    Reason("PyTorch's error: where two elements are put in one place, only the one that stands there has a gradient.",
           "*max_unpool*", "gradient forward", has_equal_places),
    Reason("PyTorch's rounding: the weights of complex logsumexp are exp(x - logsumexp(x)), with the rounding of x in "
           "their phase. mpmath agrees with ours.", "logsumexp", "gradient second", is_large_and_complex),
    Reason("PyTorch's error: ndtr below -8 is 0.", "special.ndtr", "result"),
    Reason("PyTorch's error: the slope 1/6 is rounded to float32.", "*hardsigmoid", "gradient forward"),
    Reason("PyTorch's error: 1e-12 is added to denominators of second derivatives.", "*binary_cross_entropy", "second"),
]


def reason(difference: Difference) -> str | None:
    """Why a call departs, if it is known."""
    for text, operators, what, holds in REASONS:
        name = difference.call.operator
        if any(fnmatchcase(name, pattern) or fnmatchcase(name.rsplit(".", 1)[0], pattern)
               for pattern in operators.split()) and difference.what in what.split() and holds(difference):
            return text
    return None
