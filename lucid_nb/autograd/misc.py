"""Trees of arrays as one vector, and plain optimizers of functions of trees, by HIPS autograd's names.

`from lucid_nb.autograd.misc import adam, flatten` takes the place of its `misc.optimizers` and `misc.flatten`. Training
of networks is served better by `lucid_nb.optim`.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from .. import trees
from ..array import Tensor
from ..creation import zeros
from ..errors import ShapeError, described
from ..ops.movement import concat
from .start import as_float


def flatten(tree: Any) -> tuple[Tensor, Callable[[Any], Any]]:
    """All numbers of a tree of float arrays as one vector, and the function that makes such a tree of a vector.

    Leaves get back their shape and dtype. Both can be differentiated.

    >>> from lucid_nb.autograd.misc import flatten
    >>> vector, unflatten = flatten({"w": lnb.ones((2, 1)), "b": 3.0})
    >>> vector, unflatten(2 * vector)
    (tensor([1., 1., 3.]), {'w': tensor([[2.], [2.]]), 'b': tensor(6.)})
    """
    leaves, structure = trees.flatten(tree)
    tensors = [as_float("flatten", leaf, f"leaf {number}") for number, leaf in enumerate(leaves)]
    bounds = np.cumsum([0, *[x.size for x in tensors]]).tolist()

    def unflatten(vector: Tensor) -> Any:
        """The tree of a vector."""
        if vector.shape != (bounds[-1],):
            raise ShapeError(f"unflatten: the vector is {described(vector)}, and the tree holds {bounds[-1]} numbers. "
                             f"Give shape ({bounds[-1]},).")
        return trees.unflatten(structure, [vector[first:last].reshape(x.shape).astype(x.dtype, copy=False)
                                           for (first, last), x in zip(pairwise(bounds), tensors)])
    vector = concat([x.reshape(-1) for x in tensors]) if tensors else zeros(0)
    return vector, unflatten


def flatten_func(f: Callable, example: Any) -> tuple[Callable, Callable[[Any], Any], Tensor]:
    """`f` of trees as a function of vectors that gives vectors; `unflatten` and the vector of an example.

    >>> from lucid_nb.autograd.misc import flatten_func
    >>> twice, unflatten, vector = flatten_func(lambda p: {"a": 2 * p["a"]}, {"a": lnb.ones((1, 2))})
    >>> twice(vector)
    tensor([2., 2.])
    """
    vector, unflatten = flatten(example)
    return (lambda vector, *more: flatten(f(unflatten(vector), *more))[0]), unflatten, vector


# ----------------------------------------------------------------------------------------------- optimizers
Step = Callable[[Tensor, int], Tensor]


def _descended(step: Step, gradient: Callable, start: Any, callback: Callable | None, num_iters: int) -> Any:
    """The tree after so many steps; `step` gives what is taken from the vector for a gradient."""
    vector, unflatten = flatten(start)
    for number in range(num_iters):
        tree = unflatten(vector)
        g = gradient(tree, number)
        if callback is not None:
            callback(tree, number, g)
        vector = vector - step(flatten(g)[0], number)
    return unflatten(vector)


def sgd(gradient: Callable, start: Any, callback: Callable | None = None, num_iters: int = 200,
        step_size: float = 0.1, mass: float = 0.9) -> Any:
    """The tree that gradient descent with momentum reaches from `start`.

    `gradient(tree, number)` gives the gradient at the step of that number, `callback(tree, number, gradient)` sees it.

    >>> from lucid_nb.autograd.misc import sgd
    >>> round(float(sgd(lambda x, number: 2 * (x - 3), 0.0)), 4)
    3.0
    """
    velocity: Any = 0.0

    def step(g: Tensor, number: int) -> Tensor:
        nonlocal velocity
        velocity = mass * velocity + (1 - mass) * g
        return step_size * velocity
    return _descended(step, gradient, start, callback, num_iters)


def rmsprop(gradient: Callable, start: Any, callback: Callable | None = None, num_iters: int = 100,
            step_size: float = 0.1, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    """`sgd` with each step divided by the root of a running mean of squares (T. Tieleman and G. Hinton, 2012).

    >>> from lucid_nb.autograd.misc import rmsprop
    >>> abs(float(rmsprop(lambda x, number: 2 * (x - 3), 0.0)) - 3) < 0.1
    True
    """
    squares: Any = 1.0

    def step(g: Tensor, number: int) -> Tensor:
        nonlocal squares
        squares = gamma * squares + (1 - gamma) * g ** 2
        return step_size * g / (squares ** 0.5 + eps)
    return _descended(step, gradient, start, callback, num_iters)


def adam(gradient: Callable, start: Any, callback: Callable | None = None, num_iters: int = 100,
         step_size: float = 0.001, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """`sgd` by running means of gradients and squares, corrected for their start (D. Kingma and J. Ba, 2015).

    >>> from lucid_nb.autograd.misc import adam
    >>> abs(float(adam(lambda x, number: 2 * (x - 3), 0.0, num_iters=300, step_size=0.1)) - 3) < 1e-3
    True
    """
    mean: Any = 0.0
    squares: Any = 0.0

    def step(g: Tensor, number: int) -> Tensor:
        nonlocal mean, squares
        mean = b1 * mean + (1 - b1) * g
        squares = b2 * squares + (1 - b2) * g ** 2
        corrected = squares / (1 - b2 ** (number + 1))
        return step_size / (1 - b1 ** (number + 1)) * mean / (corrected ** 0.5 + eps)
    return _descended(step, gradient, start, callback, num_iters)
