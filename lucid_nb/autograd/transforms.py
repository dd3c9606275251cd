"""Transforms of functions: gradients, products with the Jacobian and its transpose."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import shapes, tape, trees
from ..array import Tensor
from ..backward import seed_gradient
from ..errors import GradError
from ..forward import push
from .start import Start, as_result, as_tensors, filled_like, recorded_call, scalar_result

Argnums = int | Sequence[int]


# ---------------------------------------------------------------------------------------------- arguments
class Chosen:
    """Which positional arguments a transform differentiates by."""

    def __init__(self, op: str, argnums: Argnums) -> None:
        self.op = op
        self.is_one = not isinstance(argnums, (tuple, list))
        numbers: Sequence[Any] = [argnums] if not isinstance(argnums, (tuple, list)) else argnums
        self.numbers = [shapes.as_integer(op, "argnums", number) for number in numbers]

    def places(self, count: int) -> list[int]:
        """The numbers, counted from the front, of so many arguments."""
        for number in self.numbers:
            if not -count <= number < count:
                raise GradError(f"{self.op}: argnums has {number}, and the call has {count} positional arguments. "
                                "Pass that argument by position.")
        return [number % count for number in self.numbers]

    def of(self, arguments: Sequence[Any]) -> tuple:
        """The chosen ones."""
        return tuple([arguments[place] for place in self.places(len(arguments))])

    def put(self, arguments: Sequence[Any], chosen: Sequence[Any]) -> list[Any]:
        """All arguments, the chosen ones replaced."""
        replaced = list(arguments)
        for place, tree in zip(self.places(len(arguments)), chosen):
            replaced[place] = tree
        return replaced

    def start(self, arguments: Sequence[Any]) -> tuple[Start, list[Any]]:
        """A graph that starts at the chosen arguments, and all arguments with those replaced."""
        start = Start(self.op, self.of(arguments))
        return start, self.put(arguments, start.trees)

    def alone(self, f: Callable, arguments: Sequence[Any], keywords: dict[str, Any]) -> Callable:
        """`f` as a function of the chosen arguments alone."""
        return lambda *chosen: f(*self.put(arguments, chosen), **keywords)

    def results(self, trees_: Sequence[Any]) -> Any:
        """What is given for the chosen arguments: of one by itself."""
        return trees_[0] if self.is_one else tuple(trees_)


# ------------------------------------------------------------------------------------------------ gradients
def value_and_grad(f: Callable, argnums: Argnums = 0, has_aux: bool = False, *, argnum: Argnums | None = None
                   ) -> Callable:
    """A function that gives `f`'s value, one real number, and its gradient by the arguments `argnums`.

    Arguments may be nested tuples, lists, dicts and dataclasses of arrays; the gradient is nested the same way, each
    leaf of the shape and dtype of its argument. Of several `argnums` it is a tuple. With `has_aux`, `f` gives a pair
    whose second part is passed on: `((value, aux), gradient)`. Gradients of complex numbers point up the steepest
    ascent (PyTorch's convention). GradError where `f` gives anything but one number. `argnum` is another name of
    `argnums`.

    >>> import lucid_nb as lnb
    >>> lnb.value_and_grad(lambda p: (p["a"] * p["b"]).sum())({"a": lnb.ones(2), "b": lnb.full(2, 3.0)})
    (tensor(6.), {'a': tensor([3., 3.]), 'b': tensor([1., 1.])})
    """
    differentiated = _differentiated("value_and_grad", f, argnums if argnum is None else argnum, has_aux)

    @functools.wraps(f)
    def value_and_gradient(*arguments: Any, **keywords: Any) -> Any:
        start, value, aux, found = differentiated(arguments, keywords)
        return start.outcome((value, aux) if has_aux else value), found
    return value_and_gradient


def grad(f: Callable, argnums: Argnums = 0, has_aux: bool = False, *, argnum: Argnums | None = None) -> Callable:
    """A function that gives the gradient of `f` by the arguments `argnums`; see `value_and_grad`.

    With `has_aux` it gives the pair of gradient and aux. It can be differentiated again.

    >>> import lucid_nb as lnb
    >>> lnb.grad(lnb.sin)(0.0), lnb.grad(lnb.grad(lambda x: x ** 3))(2.0)
    (tensor(1.), tensor(12.))
    """
    differentiated = _differentiated("grad", f, argnums if argnum is None else argnum, has_aux)

    @functools.wraps(f)
    def gradient(*arguments: Any, **keywords: Any) -> Any:
        start, _, aux, found = differentiated(arguments, keywords)
        return (found, start.outcome(aux)) if has_aux else found
    return gradient


def _differentiated(op: str, f: Callable, argnums: Argnums, has_aux: bool) -> Callable:
    """What the gradient of a call is made of: where it starts, the value, what else `f` gives, and the gradient."""
    chosen = Chosen(op, argnums)

    def differentiated(arguments: Sequence[Any], keywords: dict[str, Any]) -> tuple[Start, Tensor, Any, Any]:
        start, replaced = chosen.start(arguments)
        result = recorded_call(f, *replaced, **keywords)
        result, aux = _pair(op, result) if has_aux else (result, None)
        value = scalar_result(op, result)
        found = start.pull([value], [filled_like(value, 1)], False)
        return start, value, aux, chosen.results(start.unflatten(found))
    return differentiated


def _pair(op: str, result: Any) -> Sequence[Any]:
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise GradError(f"{op}: has_aux=True, and the function gives a {type(result).__name__}. "
                        "Let it give a pair: the number, and the rest.")
    return result


# --------------------------------------------------------------------------------- products with Jacobians
def vjp(f: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """`f(*primals)`, and the function that multiplies by its transposed Jacobian there.

    `vjp_fn(cotangents)`, of cotangents nested and shaped as the result, gives a tuple with a tree for each primal; it
    can be called as often as one likes. With `has_aux`, `f` gives a pair whose second part is passed on as a third.

    >>> import lucid_nb as lnb
    >>> out, vjp_fn = lnb.vjp(lambda x, y: x * y, lnb.tensor([1.0, 2.0]), lnb.tensor([3.0, 4.0]))
    >>> vjp_fn(lnb.tensor([1.0, 10.0]))
    (tensor([ 3., 40.]), tensor([ 1., 20.]))
    """
    start = Start("vjp", primals)
    result = recorded_call(f, *start.trees)
    result, aux = _pair("vjp", result) if has_aux else (result, None)
    outputs, structure = as_tensors("vjp", result)

    def vjp_fn(cotangents: Any) -> tuple:
        given = trees.leaves_like("vjp", "the cotangent", structure, cotangents)
        seeds = [seed_gradient(output, cotangent, "vjp") for output, cotangent in zip(outputs, given)]
        return tuple(start.unflatten(start.pull(outputs, seeds, True)))
    kept = start.outcome((trees.unflatten(structure, outputs), aux))
    return (kept[0], vjp_fn, kept[1]) if has_aux else (kept[0], vjp_fn)


def linearize(f: Callable, *primals: Any) -> tuple[Any, Callable]:
    """`f(*primals)`, and the function that multiplies by its Jacobian there: `f` is not run again for new tangents.

    `jvp_fn(*tangents)`, one tree for each primal, nested and shaped as it, gives the tangent of the result.

    >>> import lucid_nb as lnb
    >>> out, jvp_fn = lnb.linearize(lnb.exp, lnb.tensor([0.0, 1.0]))
    >>> jvp_fn(lnb.tensor([1.0, 0.0])), jvp_fn(lnb.tensor([2.0, 0.0]))
    (tensor([1., 0.]), tensor([2., 0.]))
    """
    return linearized("linearize", f, primals)


def linearized(op: str, f: Callable, primals: Sequence[Any]) -> tuple[Any, Callable]:
    """`linearize`, on behalf of a transform that errors name."""
    start = Start(op, primals)
    outputs, structure = as_tensors(op, recorded_call(f, *start.trees))

    def jvp_fn(*tangents: Any) -> Any:
        return trees.unflatten(structure, pushed_outputs(start, outputs, tangents))
    return start.outcome(trees.unflatten(structure, outputs)), jvp_fn


def jvp(f: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """`f(*primals)`, and its derivative along `tangents`, by forward mode: about the cost of running `f` twice.

    `primals` and `tangents` are tuples, one tree for each argument; a tangent has its primal's shape and dtype.

    >>> import lucid_nb as lnb
    >>> lnb.jvp(lambda x: x ** 2, (lnb.tensor([1.0, 2.0]),), (lnb.tensor([1.0, 10.0]),))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    return pushed_along("jvp", f, primals, tangents)


def pushed_along(op: str, f: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """`jvp`, on behalf of a transform that errors name."""
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise GradError(f"{op}: {what} is a {type(given).__name__}. Give a tuple with one for each argument.")
    out, jvp_fn = linearized(op, f, primals)
    return out, jvp_fn(*tangents)


def pushed_outputs(start: Start, outputs: Sequence[Tensor], tangents: Sequence[Any]) -> list[Tensor]:
    """The tangents of outputs when those of all arguments are given."""
    moving = start.tangents(tangents)
    roots = [output.refresh().node for output in outputs]
    runner, records = start.runner(roots, moving, start.given)
    known = {node: t if runner.records else t.raw for node, t in zip(start.nodes, moving)}
    with tape.grad_mode(records):
        found = push(roots, known, runner)
    return [as_result(t, output) for t, output in zip(found, outputs)]


def stop_gradient(tree: Any) -> Any:
    """The same values, through which no gradient and no tangent passes.

    >>> import lucid_nb as lnb
    >>> lnb.grad(lambda x: x * lnb.stop_gradient(x))(3.0)
    tensor(3.)
    """
    return trees.map_leaves(lambda leaf: leaf.detach() if isinstance(leaf, Tensor) else leaf, tree)
