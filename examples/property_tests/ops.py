"""An op of one's own, three ways: the Huber loss with a smooth corner, sqrt(x**2 + width**2) - width.

P. Charbonnier et al., "Two deterministic half-quadratic regularization algorithms for computed imaging" (1994).
"""

from typing import Any

import lucid_nb as lnb
from lucid_nb import Tensor
from lucid_nb.autograd import Function


def composed(x: Any, width: float = 1.0) -> Tensor:
    """Of ops that have gradients: nothing else to do. It loses digits where x is small."""
    return lnb.sqrt(x * x + width * width) - width


@lnb.custom_vjp
def stated(x: Any, width: float = 1.0) -> Tensor:
    """Without the cancellation, and with a gradient that reuses the root."""
    return x * x / (lnb.sqrt(x * x + width * width) + width)


def _forward(x: Any, width: float) -> tuple:
    return stated(x, width), (x, width)


def _backward(residuals: tuple, g: Tensor) -> tuple:
    x, width = residuals
    return g * x / lnb.sqrt(x * x + width * width), None


stated.defvjp(_forward, _backward)


class Charbonnier(Function):
    """The same in PyTorch's form."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, width: float = 1.0) -> Tensor:
        """The loss of each element; x is kept."""
        ctx.save_for_backward(x)
        ctx.width = width
        return x * x / (lnb.sqrt(x * x + width * width) + width)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple:
        """The gradient of x; the width has none."""
        x, = ctx.saved_tensors
        return g * x / lnb.sqrt(x * x + ctx.width ** 2), None
