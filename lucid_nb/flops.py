"""What an op costs: floating-point operations, from shapes alone.

Where products are summed (matmul, linear, conv, attention, recurrent layers) a multiply and its add are one operation,
as lucid counts and as papers give the cost of networks. An elementwise op costs what its formula costs for each element
of its result: 1 for arithmetic, extremes and rounding, a fixed number for each scalar function (exp 10, sqrt 6, ...:
`flops` of its vocabulary entry), 0 for comparisons, choices and bits; a complex number counts as one number. What only
moves data costs 0. Both branches of a choice are computed, and count.
"""

from collections.abc import Callable, Mapping
from functools import cache
from math import ceil, log2
from typing import Any, NamedTuple

from .expr import Expr, topological, trace, vocabulary
from .shapes import Shape, product

EXP = 10                 # as the entries of the vocabulary: what softmax and its like are made of
SQRT = 6


class Call(NamedTuple):
    """What a rule knows: the shapes of the inputs, that of the first result, and the parameters of the call."""

    shapes: tuple[Shape, ...]
    result: Shape
    params: Mapping[str, Any]


Rule = Callable[[Call], float]


# ------------------------------------------------------------------------------------------------ formulas
def of_formula(outputs: tuple[Expr, ...]) -> int:
    """Operations an element; what occurs twice in a formula is computed once."""
    return sum(of_entry(node.op) for node in topological(outputs) if node.args)


@cache
def of_entry(name: str) -> int:
    """Operations of one scalar function: what its entry says, or what its expansion comes to."""
    entry = vocabulary[name]
    if entry.flops is not None:
        return entry.flops
    if entry.expansion is not None:
        return of_formula(trace(entry.expansion, entry.arity))
    return 0 if entry.result == "bool" else 1


# ------------------------------------------------------------------------------------------ elements and sums
def per_input(each: float, number: int = 0) -> Rule:
    """So many for each element of an input."""
    return lambda call: each * product(call.shapes[number])


def per_result(each: float) -> Rule:
    """So many for each element of the result."""
    return lambda call: each * product(call.result)


def merged(call: Call) -> float:
    """Of n numbers that become m: n - m."""
    return max(product(call.shapes[0]) - product(call.result), 0)


def square_sums(call: Call) -> float:
    """Squares and their sums, then the roots."""
    return 2 * product(call.shapes[0]) + SQRT * product(call.result)


def sorting(call: Call) -> float:
    """n log2(n) for each line of n along the axis; of what has no axis, all is one line."""
    size = product(call.shapes[0])
    line = call.shapes[0][call.params["axis"]] if "axis" in call.params else size
    return size * _halvings(line)


def fourier(call: Call) -> float:
    """1.5 n log2(n) for n numbers along the axes together, of real ones half of it (Cooley and Tukey, 1965)."""
    count, kind = product(call.params["sizes"]), call.params["kind"]
    lines = product(call.result) // max(product(tuple([call.result[axis] for axis in call.params["axes"]])), 1)
    return lines * 1.5 * count * log2(count) * (0.5 if kind in ("rfft", "irfft") else 1)


def searching(call: Call) -> float:
    """log2(n) for each value, n being the sorted elements (the first input)."""
    return product(call.shapes[1]) * _halvings(product(call.shapes[0]))


def _halvings(size: int) -> int:
    return ceil(log2(size)) if size > 1 else 0


# ------------------------------------------------------------------------------------------ sums of products
def matmul(call: Call) -> float:
    """(..., n, k) times (..., k, m): n m k a matrix."""
    return product(call.result) * call.shapes[0][-1]


def linear(call: Call) -> float:
    """The product, and one addition a result where there is a bias."""
    return matmul(call) + product(call.result) * (len(call.shapes) == 3)


def contraction(call: Call) -> float:
    """One for each combination of places along all axes."""
    pair = call.params["pair"]
    sizes = dict(zip(pair.left, call.shapes[0])) | dict(zip(pair.right, call.shapes[1]))
    return product(tuple(sizes.values()))


def conv(call: Call) -> float:
    """Filter size, channels of a group included, for each element of the result."""
    return product(call.result) * product(call.shapes[1][1:])


def biased_conv(call: Call) -> float:
    """The convolution, and one addition a result."""
    return conv(call) + product(call.result)


def conv_input_grad(call: Call) -> float:
    """As the convolution whose result the first input is like; of a transposed convolution, that is its input."""
    return product(call.shapes[0]) * product(call.shapes[1][1:])


def conv_weight_grad(call: Call) -> float:
    """As the convolution whose result the second input is like."""
    return product(call.shapes[1]) * product(call.params["w_shape"][1:])


def resampling(call: Call) -> float:
    """One for each weight that is not zero, on every line along the axis."""
    lines = product(call.shapes[0]) // max(call.shapes[0][call.params["axis"]], 1)
    return lines * len(call.params["taps"].weights)


def sampling(call: Call) -> float:
    """One for each element of the image that has a part in a result; the last input has its place."""
    return product(call.shapes[-1]) * call.shapes[0][1]


def attention(call: Call) -> float:
    """Both products and the softmax between them, of all pairs, also those that a causal mask leaves out."""
    q, _, v = call.shapes[:3]
    pairs = product(q[:-1]) * call.shapes[1][-2]
    return pairs * (q[-1] + v[-1] + SOFTMAX + 1 + (len(call.shapes) > 3))


def recurrence(unit: float) -> Rule:
    """Both products of every row over time, their two biases, and so many for what each unit makes of its gates."""
    def rule(call: Call) -> float:
        inputs, outer, inner = call.shapes[:3]
        rows = product(inputs[:-1])
        return rows * (product(outer) + product(inner) + 2 * outer[0] + unit * inner[1])
    return rule


SOFTMAX = EXP + 3        # x - max, exp, the sum, the quotient


def normalize_by(call: Call) -> float:
    """Subtraction, scale and shift of each element, and the scale of each channel."""
    return 3 * product(call.result) + (SQRT + 3) * product(call.shapes[1])


# -------------------------------------------------------------------------------------------------- windows
def avg_pool(call: Call) -> float:
    """Taps for each window: the additions and the division. Of the gradient as many."""
    axes = call.params["axes"]
    planes = product(call.result[:len(call.result) - len(axes)])
    return planes * product(tuple([axis.results * axis.taps if hasattr(axis, "taps") else int(axis.counts.sum())
                                   for axis in axes]))


def max_pool(call: Call) -> float:
    """Taps less one for each window, though they are comparisons: as lucid counts."""
    return avg_pool(call) - product(call.result)


# ------------------------------------------------------------------------------------------- decompositions
def singular_values(call: Call) -> float:
    """4 m n**2 - 4/3 n**3 a matrix (Golub and Van Loan, Matrix Computations, section 8.6)."""
    return _matrices(call, lambda m, n: 4 * m * n * n - 4 * n ** 3 / 3)


def singular_vectors(call: Call) -> float:
    """14 m n**2 + 8 n**3 a matrix (the same, of thin U, and V), and 2 products of matrices."""
    return _matrices(call, lambda m, n: 14 * m * n * n + 8 * n ** 3 + 2 * m * n * n)


def square_matrices(factor: float) -> Rule:
    """A multiple of n**3 for each matrix: 1/3 by Cholesky, 2/3 of LU, 2 of an inverse, 9 and 25 of eigenvalues (the
    same, chapters 3, 4, 7 and 8).
    """
    return lambda call: factor * _matrices(call, lambda m, n: m * n * n)


def solutions(factor: float) -> Rule:
    """A multiple of n**3 for the decomposition, and 2 n**2 for each column of the right side."""
    return lambda call: square_matrices(factor)(call) + 2 * call.shapes[0][-1] * product(call.result)


def _matrices(call: Call, one: Callable[[int, int], float]) -> float:
    shape = call.shapes[0]
    return product(shape[:-2]) * one(max(shape[-2:]), min(shape[-2:]))
