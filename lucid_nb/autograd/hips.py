"""The names of HIPS autograd, for programs written for it: change the imports, keep the program.

`import lucid_nb as np` takes the place of `autograd.numpy`, and these functions, from `lucid_nb`, that of `autograd`'s.
"""

from collections.abc import Callable
from typing import Any

from .. import trees
from ..ops.linalg import tensordot
from ..ops.reduction import sum as total
from .derivatives import hvp, jacobian
from .start import as_float, filled_like
from .transforms import Argnums, Chosen, grad, jvp, linearize, vjp


def elementwise_grad(f: Callable, argnum: Argnums = 0) -> Callable:
    """A function that gives the gradient of the sum of `f`'s results: of an elementwise `f`, its derivative.

    >>> import lucid_nb as lnb
    >>> lnb.elementwise_grad(lnb.sin)(lnb.zeros(2))
    tensor([1., 1.])
    """
    return grad(lambda *arguments, **keywords: total(f(*arguments, **keywords)), argnum)


def deriv(f: Callable, argnum: int = 0) -> Callable:
    """A function that gives the derivative of `f`, which may give arrays, as its argument grows by ones: forward mode.

    >>> import lucid_nb as lnb
    >>> lnb.deriv(lambda t: lnb.array([t, t ** 2]))(3.0)
    tensor([1., 6.])
    """
    def derivative(*arguments: Any, **keywords: Any) -> Any:
        ones = trees.map_leaves(lambda leaf: filled_like(as_float("deriv", leaf, "the argument"), 1), arguments[argnum])
        return make_jvp(f, argnum)(*arguments, **keywords)(ones)[1]
    return derivative


def holomorphic_grad(f: Callable, argnum: int = 0) -> Callable:
    """A function that gives the complex derivative of a holomorphic `f` of complex numbers, which gives one number.

    >>> import lucid_nb as lnb
    >>> lnb.holomorphic_grad(lambda z: z ** 2)(1 + 2j)
    tensor(2.+4.j, dtype=complex128)
    """
    def derivative(*arguments: Any, **keywords: Any) -> Any:
        vjp_fn, value = make_vjp(f, argnum)(*arguments, **keywords)
        return trees.map_leaves(lambda g: g.conj(), vjp_fn(filled_like(value, 1)))
    return derivative


def grad_and_aux(f: Callable, argnum: Argnums = 0) -> Callable:
    """A function that gives the gradient of the first of `f`'s two results, and the second.

    >>> import lucid_nb as lnb
    >>> lnb.grad_and_aux(lambda x: (x ** 2, "more"))(3.0)
    (tensor(6.), 'more')
    """
    return grad(f, argnum, has_aux=True)


def make_vjp(f: Callable, argnum: Argnums = 0) -> Callable:
    """A function that gives the product with the transposed Jacobian by `argnum`, as a function, and `f`'s value.

    >>> import lucid_nb as lnb
    >>> vjp_fn, value = lnb.make_vjp(lnb.sin)(0.0)
    >>> vjp_fn(2.0), value
    (tensor(2.), tensor(0.))
    """
    chosen = Chosen("make_vjp", argnum)

    def at(*arguments: Any, **keywords: Any) -> tuple[Callable, Any]:
        value, vjp_fn = vjp(chosen.alone(f, arguments, keywords), *chosen.of(arguments))
        return lambda cotangent: chosen.results(vjp_fn(cotangent)), value
    return at


def make_jvp(f: Callable, argnum: Argnums = 0) -> Callable:
    """A function that gives a function of tangents by `argnum`: `f`'s value and derivative along them.

    >>> import lucid_nb as lnb
    >>> lnb.make_jvp(lnb.sin)(0.0)(2.0)
    (tensor(0.), tensor(2.))
    """
    chosen = Chosen("make_jvp", argnum)

    def at(*arguments: Any, **keywords: Any) -> Callable:
        def along(tangent: Any) -> tuple[Any, Any]:
            tangents = (tangent,) if chosen.is_one else tuple(tangent)
            return jvp(chosen.alone(f, arguments, keywords), chosen.of(arguments), tangents)
        return along
    return at


def make_hvp(f: Callable, argnum: int = 0) -> Callable:
    """A function that gives the product with the Hessian of `f`, as a function of the vector, and the gradient.

    >>> import lucid_nb as lnb
    >>> hvp_fn, gradient = lnb.make_hvp(lambda x: (x ** 3).sum())(lnb.ones(2))
    >>> hvp_fn(lnb.tensor([1.0, 10.0])), gradient
    (tensor([ 6., 60.]), tensor([3., 3.]))
    """
    chosen = Chosen("make_hvp", argnum)

    def at(*arguments: Any, **keywords: Any) -> tuple[Callable, Any]:
        gradient, push = linearize(grad(chosen.alone(f, arguments, keywords)), *chosen.of(arguments))
        return push, gradient
    return at


def hessian_vector_product(f: Callable, argnum: int = 0) -> Callable:
    """A function of the arguments of `f` and a vector, that gives the product of the Hessian with the vector.

    >>> import lucid_nb as lnb
    >>> lnb.hessian_vector_product(lambda x: (x ** 3).sum())(lnb.ones(2), lnb.tensor([1.0, 10.0]))
    tensor([ 6., 60.])
    """
    return lambda *arguments, **keywords: make_hvp(f, argnum)(*arguments[:-1], **keywords)[0](arguments[-1])


hessian_tensor_product = hessian_vector_product


def tensor_jacobian_product(f: Callable, argnum: int = 0) -> Callable:
    """A function of the arguments of `f` and a tensor, that gives the tensor times the Jacobian.

    The tensor has the shape of `f`'s result, or of its first axes: over those the product is summed.

    >>> import lucid_nb as lnb
    >>> lnb.vector_jacobian_product(lambda x: x ** 2)(lnb.tensor([1.0, 2.0]), lnb.tensor([1.0, 10.0]))
    tensor([ 2., 40.])
    """
    def product(*arguments: Any, **keywords: Any) -> Any:
        *of_f, tensor = arguments
        axes = as_float("tensor_jacobian_product", tensor, "the tensor").ndim
        return jacobian(lambda *inner: tensordot(tensor, f(*inner, **keywords), axes), argnum)(*of_f)
    return product


vector_jacobian_product = tensor_jacobian_product


def _half_square(x: Any) -> Any:
    return 0.5 * (x ** 2).sum(-1)


def make_ggnvp(f: Callable, g: Callable = _half_square, f_argnum: int = 0) -> Callable:
    """A function that gives the product with the generalised Gauss-Newton matrix of `g` of `f`, as a function.

    J' H J, of the Jacobian J of `f` and the Hessian H of `g`, a half of the sum of squares unless said otherwise
    (N. Schraudolph, "Fast curvature matrix-vector products", 2002).

    >>> import lucid_nb as lnb
    >>> lnb.make_ggnvp(lambda x: 3 * x)(lnb.ones(2))(lnb.tensor([1.0, 2.0]))
    tensor([ 9., 18.])
    """
    chosen = Chosen("make_ggnvp", f_argnum)

    def at(*arguments: Any, **keywords: Any) -> Callable:
        alone, primals = chosen.alone(f, arguments, keywords), chosen.of(arguments)
        value, push = linearize(alone, *primals)
        pull = vjp(alone, *primals)[1]
        return lambda vector: pull(hvp(g, (value,), (push(vector),))[0])[0]
    return at
