"""Whole Jacobians and Hessians, and products with a Hessian."""

import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .. import backend, trees
from ..array import Tensor, fresh
from ..errors import GradError
from ..ops.axes import moveaxis
from ..ops.movement import concat
from ..vectorize import vmap
from .start import Start, as_tensors, recorded_call
from .transforms import Argnums, Chosen, grad, pushed_along, pushed_outputs

CHUNK_BYTES = 2**26          # of a block of basis vectors that are pushed or pulled at once


def jacobian(f: Callable, argnums: Argnums = 0, *, mode: str = "auto", argnum: Argnums | None = None) -> Callable:
    """A function that gives the matrix of derivatives of `f`'s results by the arguments `argnums`.

    For a result of shape `out` and an argument of shape `in` it has shape `out + in`. Where results or arguments are
    trees, it is a tree of results whose leaves are trees of arguments; of several `argnums`, tuples. `mode`: "forward"
    pushes a basis of the arguments, "reverse" pulls one of the results, "auto" takes the smaller basis. Of complex
    numbers the derivative is along the real axis, which for a holomorphic function is its complex derivative.
    `argnum` is another name of `argnums`.

    >>> import lucid_nb as lnb
    >>> lnb.jacobian(lambda x: lnb.stack([x[0] * x[1], x[1]]))(lnb.tensor([2.0, 3.0]))
    tensor([[3., 2.],
            [0., 1.]])
    """
    if mode not in ("auto", "forward", "reverse"):
        raise GradError(f'jacobian: mode is {mode!r}. Use "auto", "forward" or "reverse".')
    chosen = Chosen("jacobian", argnums if argnum is None else argnum)

    @functools.wraps(f)
    def derivative(*arguments: Any, **keywords: Any) -> Any:
        start, replaced = chosen.start(arguments)
        outputs, structure = as_tensors("jacobian", recorded_call(f, *replaced, **keywords))
        blocks = _blocks(start, outputs, mode)
        rows = [chosen.results(start.unflatten(row)) for row in blocks]
        return trees.unflatten(structure, rows)
    return derivative


def _blocks(start: Start, outputs: Sequence[Tensor], mode: str) -> list[list[Tensor]]:
    """The derivatives of each output by each argument."""
    results, arguments = (sum(x.size for x in side) for side in (outputs, start.given))
    is_complex = any(x.dtype.kind == "c" for x in (*outputs, *start.given))
    if mode == "forward" or (mode == "auto" and (is_complex or arguments <= results)):
        columns = _swept(start.given, lambda tangents: pushed_outputs(start, outputs, start.unflatten(tangents)),
                         outputs)
        return [[_shaped(moveaxis(block, 0, -1), output.shape + x.shape)
                 for block, x in zip(_split(column, start.given), start.given)]
                for column, output in zip(columns, outputs)]
    if is_complex:
        raise GradError('jacobian: reverse mode gives no complex derivative. Use mode="forward".')
    rows = _swept(outputs, lambda cotangents: start.pull(outputs, cotangents, True), start.given)
    parts = [[_shaped(block, output.shape + x.shape) for block, output in zip(_split(row, outputs), outputs)]
             for row, x in zip(rows, start.given)]
    return [list(row) for row in zip(*parts)]


def _shaped(block: Tensor, shape: tuple[int, ...]) -> Tensor:
    return block if block.shape == shape else block.reshape(shape)


def _split(stacked: Tensor, basis: Sequence[Tensor]) -> list[Tensor]:
    """What belongs to each tensor of a basis, along the first axis."""
    if len(basis) == 1:
        return [stacked]
    bounds = np.cumsum([0, *[x.size for x in basis]])
    return [stacked[first:last] for first, last in pairwise(bounds)]


def _swept(basis: Sequence[Tensor], linear: Callable, results: Sequence[Tensor]) -> list[Tensor]:
    """A linear function of tensors like `basis` at each of their unit vectors, stacked along a first axis."""
    chunks: list[list[Tensor]] = [vmap(linear)(vectors) for vectors in _unit_vectors(basis)]
    if len(chunks) == 1:
        return chunks[0]
    return [concat(list(parts)) for parts in zip(*chunks)] if chunks else \
        [fresh(backend.of(x.raw).full((0, *x.shape), 0, x.dtype)) for x in results]


def _unit_vectors(basis: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """The unit vectors of all tensors together, some at a time along a first axis."""
    sizes = [x.size for x in basis]
    total = sum(sizes)
    step = max(1, CHUNK_BYTES // (8 * max(total, 1)))
    for first in range(0, total, step):
        eye = np.eye(min(step, total - first), total, first)
        parts = np.split(eye, np.cumsum(sizes)[:-1], axis=1)
        yield [fresh(backend.of(x.raw).from_numpy(part.reshape(len(eye), *x.shape).astype(x.dtype)))
               for part, x in zip(parts, basis)]


def hessian(f: Callable, argnums: Argnums = 0, *, argnum: Argnums | None = None) -> Callable:
    """A function that gives the matrix of second derivatives of `f`, which gives one number: forward over reverse.

    For an argument of shape `in` it has shape `in + in`, and is nested as the Jacobian of the gradient.

    >>> import lucid_nb as lnb
    >>> lnb.hessian(lambda x: x[0] ** 2 * x[1])(lnb.tensor([1.0, 2.0]))
    tensor([[4., 2.],
            [2., 0.]])
    """
    chosen = argnums if argnum is None else argnum
    return jacobian(grad(f, chosen), chosen, mode="forward")


def hvp(f: Callable, primals: Any, tangents: Any) -> Any:
    """The Hessian of `f` at `primals` times `tangents`, without the Hessian: forward over reverse.

    `primals` is a tuple with a tree for each argument, and so is the result; or one array, for a function of one.

    >>> import lucid_nb as lnb
    >>> lnb.hvp(lambda x: (x ** 3).sum(), lnb.tensor([1.0, 2.0]), lnb.tensor([1.0, 10.0]))
    tensor([  6., 120.])
    """
    is_one = not isinstance(primals, (tuple, list))
    primals, tangents = ((primals,), (tangents,)) if is_one else (primals, tangents)
    product = pushed_along("hvp", grad(f, tuple(range(len(primals)))), primals, tangents)[1]
    return product[0] if is_one else product
