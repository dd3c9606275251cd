"""Expressions over rows: the vocabulary of scalar functions, and reductions of rows among them.

A node stands for one value an element of a row (`along`), or for one a row, which is implicitly repeated where it meets
elements. The adjoint of that repetition is a sum over the row, so derivatives are programs of the same kind, of any
order. A reduction of rows is a node that expr.vocabulary does not know; its rule stands here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from ..expr import Expr, Rule, Scalar, lift, m, make, over, product, read, substitute, topological, vocabulary
from ..flops import of_entry
from ..shapes import Shape, broadcast_shapes
from ..shapes import product as elements


def row_sum(x: Expr) -> Expr:
    """The sum over the row."""
    return make("row_sum", (x,))


def row_max(x: Expr) -> Expr:
    """The largest of the row; NaN wins."""
    return make("row_max", (x,))


def row_min(x: Expr) -> Expr:
    """The smallest of the row; NaN wins."""
    return make("row_min", (x,))


def row_scatter(x: Expr, cols: float) -> Expr:
    """The sum of squared deviations from the mean of a row of so many elements."""
    return make("row_scatter", (x, lift(Scalar(cols))))


def softmax(x: Expr) -> Expr:
    """Exponentials over their sum over the row."""
    return make("softmax", (x,))


def log_softmax(x: Expr) -> Expr:
    """The logarithm of that."""
    return make("log_softmax", (x,))


def logsumexp(x: Expr) -> Expr:
    """The logarithm of the sum of exponentials over the row."""
    return make("row_logsumexp", (x,))


def detached(x: Expr) -> Expr:
    """The value, as a constant."""
    return make("detached", (x,))


def mean_of(x: Expr, cols: Expr) -> Expr:
    """The mean over a row."""
    return row_sum(x) / cols


# ------------------------------------------------------------------------------------------------------- rules
def _of_sum(g: Expr, y: Expr, x: Expr) -> tuple[Expr]:
    return (g,)


@cache
def flows(op: str) -> tuple[bool, ...]:
    """Through which of its arguments does a gradient come?"""
    args = list(map(read, range(vocabulary[op].arity)))
    return tuple([part is not None for part in vocabulary[op].rule(read(len(args)), read(len(args) + 1), *args)])


def carriers(outputs: Sequence[Expr]) -> list[frozenset[int]]:
    """The inputs to which each output of a formula passes a gradient."""
    found: dict[Expr, frozenset[int]] = {}
    for node in topological(outputs):
        found[node] = frozenset({node.literal}) if node.op == "input" else frozenset().union(
            *[found[arg] for arg, does_flow in zip(node.args, flows(node.op) if node.args else ()) if does_flow])
    return [found[node] for node in outputs]


def _of_extreme(g: Expr, y: Expr, x: Expr) -> tuple[Expr]:
    """Equals share evenly; where the extreme is NaN, the NaNs are equal to it."""
    is_best = m.where(y == y, m.where(x == y, 1, 0), m.where(x != x, 1, 0))
    return (m.where(is_best == 1, g / row_sum(is_best), 0),)


def _of_scatter(g: Expr, y: Expr, x: Expr, cols: Expr) -> tuple[Expr | None, None]:
    """Deviations sum to nothing, so the mean's own change does not count; that of the slope does, in later orders."""
    return product(g, 2 * (x - mean_of(x, cols))), None


# As ops/norm.py and ops/reducers.py have them, so that infinities and NaN come to the same.
def _of_softmax(g: Expr, y: Expr, x: Expr) -> tuple[Expr]:
    return (y * (g - row_sum(g * y)),)


def _of_log_softmax(g: Expr, y: Expr, x: Expr) -> tuple[Expr]:
    return (g - m.exp(y) * row_sum(g),)


def _of_logsumexp(g: Expr, y: Expr, x: Expr) -> tuple[Expr]:
    return (g * m.where(y == float("-inf"), 0, m.exp(x - y)),)


RULES: Mapping[str, Rule] = {"row_sum": _of_sum, "row_max": _of_extreme, "row_min": _of_extreme,
                             "row_scatter": _of_scatter, "detached": lambda g, y, x: (None,), "softmax": _of_softmax,
                             "log_softmax": _of_log_softmax, "row_logsumexp": _of_logsumexp}
REDUCTIONS = {"row_sum": "sum", "row_max": "max", "row_min": "min"}


class Along:
    """Which nodes have elements along the row; `inputs` says it of inputs."""

    def __init__(self, inputs: Sequence[bool]) -> None:
        self.inputs = inputs
        self.known: dict[Expr, bool] = {}

    def __call__(self, node: Expr) -> bool:
        """Has this one?"""
        known = self.known
        if node not in known:
            for each in topological([node], known):
                known[each] = self.inputs[each.literal] if each.op == "input" else (
                    not each.op.startswith("row_") and True in [known[arg] for arg in each.args])
        return known[node]

    def summed(self, g: Expr, is_wanted: bool) -> Expr:
        """What arrives at a value: at one that is one a row, the sum over the row."""
        return g if is_wanted or not self(g) else row_sum(g)


def reverse(outputs: Sequence[Expr], cotangents: Sequence[Expr], arity: int, inputs: Sequence[bool],
            cols: int) -> tuple[Expr | None, ...]:
    """As expr.reverse, for rows of so many elements; `inputs` says which inputs, cotangents included, have them."""
    is_along = Along(inputs)
    adjoint: dict[Expr, Expr] = {}

    def accumulate(node: Expr, g: Expr | None) -> None:
        if g is None or node.op == "literal":
            return
        g = is_along.summed(g, is_along(node))
        adjoint[node] = adjoint[node] + g if node in adjoint else g

    for node, g in zip(outputs, cotangents):
        accumulate(node, g)
    for node in reversed(topological(outputs)):
        if node.args and node in adjoint:
            rule = RULES.get(node.op) or vocabulary[node.op].rule
            for arg, part in zip(node.args, rule(adjoint[node], node, *node.args)):
                if part is not None and is_along(node) and not (is_along(arg) or is_along(part)):
                    part = part * lift(Scalar(cols))         # every element of the row gives the same
                accumulate(arg, part)
    return tuple(adjoint.get(read(i)) for i in range(arity))


# ------------------------------------------------------------------------------------------------------- costs
def operations(outputs: Sequence[Expr], inputs: Sequence[Shape]) -> int:
    """What the outputs cost, each node by its entry for each of its elements, a reduction what it merges."""
    nodes = topological(lower(outputs))
    found: dict[Expr, Shape] = {}
    cost = 0
    for node in nodes:
        given = [found[arg] for arg in node.args]
        if node.op == "input":
            found[node] = inputs[node.literal]
        elif node.op in REDUCTIONS:
            found[node] = (*given[0][:-1], 1)
            cost += elements(given[0]) - elements(found[node])
        else:
            found[node] = broadcast_shapes("fuse", *given)
            cost += of_entry(node.op) * elements(found[node]) if node.args else 0
    return cost


# ---------------------------------------------------------------------------------------------------- lowering
def _lowered_scatter(x: Expr, cols: Expr) -> Expr:
    deviation = x - mean_of(x, cols)
    return row_sum(deviation * deviation)


def _shifted(x: Expr) -> tuple[Expr, Expr]:
    """Elements less the largest, and the largest: 0 where nothing is finite."""
    best = row_max(x)
    top = m.where(m.isinf(best), m.where(best < 0, 0, best), best)
    return x - top, top


def _lowered_softmax(x: Expr) -> Expr:
    power = m.exp(_shifted(x)[0])
    total = row_sum(power)
    return power * m.where(total == 0, 0, 1 / total)


def _lowered_log_softmax(x: Expr) -> Expr:
    shifted, _ = _shifted(x)
    total = row_sum(m.exp(shifted))
    return shifted - m.where(total == 0, 0, m.log(total))


def _lowered_logsumexp(x: Expr) -> Expr:
    shifted, top = _shifted(x)
    return m.where(m.isinf(top), top, m.log(row_sum(m.exp(shifted))) + top)


def _sigmoid_parts(x: Expr) -> tuple[Expr, Expr]:
    """exp(-|x|) and 1 / (1 + exp(-|x|)), of which both the sigmoid and its slope are made."""
    power = m.exp(-m.absolute(x))
    return power, 1 / (1 + power)


def _sigmoid(x: Expr) -> Expr:
    power, inverse = _sigmoid_parts(x)
    return m.where(x >= 0, 1, power) * inverse


def _sigmoid_slope(x: Expr) -> Expr:
    power, inverse = _sigmoid_parts(x)
    return power * inverse * inverse


LOWERED: Mapping[str, Callable[..., Expr]] = {
    "detached": lambda x: x, "row_scatter": _lowered_scatter, "softmax": _lowered_softmax,
    "log_softmax": _lowered_log_softmax, "row_logsumexp": _lowered_logsumexp}
PAIRED: Mapping[str, Callable[..., Expr]] = {"sigmoid": _sigmoid, "sigmoid_slope": _sigmoid_slope}


def lower(outputs: Sequence[Expr]) -> tuple[Expr, ...]:
    """The outputs by what kernels know: scalar functions, sums and extremes of rows.

    A sigmoid and its slope at one place share an exponential and a division.
    """
    order = topological(outputs)
    both = set.intersection(*[{node.args[0] for node in order if node.op == name} for name in PAIRED])
    new: dict[Expr, Expr] = {}
    for node in order:
        rule = LOWERED.get(node.op) or (PAIRED.get(node.op) if node.args and node.args[0] in both else None)
        new[node] = rule(*[new[arg] for arg in node.args]) if rule else over(node, new)
    return tuple([new[node] for node in outputs])


def reductions(outputs: Sequence[Expr]) -> list[Expr]:
    """The reductions of rows, those first that others are made of."""
    return [node for node in topological(outputs) if node.op in REDUCTIONS]


def scalars(outputs: Sequence[Expr]) -> list[Expr]:
    """The literals that a kernel takes when it runs; not exponents, which decide how a power is computed."""
    nodes = topological(outputs)
    exponents = {node.args[1] for node in nodes if node.op == "power"}
    return [node for node in nodes if type(node.literal) is Scalar and node not in exponents]


def renumbered(outputs: Sequence[Expr], used: Sequence[int]) -> tuple[Expr, ...]:
    """The outputs with inputs numbered by their place in `used`."""
    return substitute(outputs, {read(old): read(new) for new, old in enumerate(used)})


def used_inputs(outputs: Sequence[Expr]) -> list[int]:
    """The numbers of the inputs that are read."""
    return sorted(node.literal for node in topological(outputs) if node.op == "input")
