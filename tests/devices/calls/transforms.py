"""Transforms, custom derivatives, fused programs and optimizers."""

import lucid_nb as lnb
from lucid_nb import autograd, optim

from . import call

M, V = (3, 4), (4,)


def smooth(x):
    """A number of a vector, curved everywhere."""
    return (lnb.tanh(x) * x).sum() + (x ** 3).sum()


def curved(x):
    """A vector of a vector."""
    return lnb.sin(x) * x.sum()


def gate(x, w):
    """Elements only."""
    return lnb.tanh(x * w + 0.5) * lnb.sigmoid(x)


def rows(x, w):
    """A program with reductions."""
    return (x - x.mean(-1, keepdims=True)) / lnb.sqrt(x.var(-1, keepdims=True) + 1e-5) * w


def branched(x):
    """A program with branches, comparisons and numbers."""
    return lnb.where(x > 0, lnb.log1p(x * x), lnb.exp(x) - 1.0) + lnb.maximum(x, 0.0)


class Double(autograd.Function):
    """2 x, with a backward of its own."""

    @staticmethod
    def forward(ctx, x):
        """Twice."""
        ctx.save_for_backward(x)
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        """Twice, and a bit of what was saved."""
        return 2 * g + 0 * ctx.saved_tensors[0]


def ruled_vjp():
    """A function with a rule for its gradient."""
    function = lnb.custom_vjp(lambda x: x * x)
    function.defvjp(lambda x: (x * x, x), lambda x, g: (3 * g * x,))
    return function


def ruled_jvp():
    """A function with a rule for its forward derivative."""
    function = lnb.custom_jvp(lambda x: x * x)
    function.defjvp(lambda primals, tangents: (primals[0] ** 2, 3 * primals[0] * tangents[0]))
    return function


def hooked(x):
    """The gradient, tripled on its way."""
    y = 1 * x
    if y.requires_grad:
        y.register_hook(lambda g: 3 * g)
    return y


def kept_on_the_host(x):
    """What backward needs waits on the host."""
    with autograd.save_on_cpu():
        return lnb.exp(x) * x


def packed(x):
    """What backward needs is packed by hooks."""
    with autograd.saved_tensors_hooks(lambda y: 2 * y, lambda y: y / 2):
        return lnb.exp(x) * x


def watched(x):
    """Under the search for NaN."""
    with autograd.detect_anomaly():
        return lnb.exp(x) * x


def walked(kind, **options):
    """Parameters after three steps."""
    def run(x, g):
        parameter = lnb.nn.Parameter(x.detach())
        optimizer = kind([parameter], lr=0.1, **options)
        for turn in range(3):
            parameter.grad = g.detach() * (turn + 1)
            optimizer.step()
        return parameter.detach()
    return call(run, M, M)


FUSED = {"gate": lnb.fuse(gate), "rows": lnb.fuse(rows), "branched": lnb.fuse(branched),
         "softmax": lnb.fuse(lambda y: lnb.softmax(y * 2.0))}
MAPPED = {"": lambda x: lnb.softmax(x) * x.sum(), "mask": lambda x: lnb.where(x > 0, x, 0 * x),
          "matmul": lambda x: lnb.outer(x, x) @ x, "sort": lambda x: lnb.sort(x), "gradient": lnb.grad(smooth)}
CALLS = {
    "grad": call(lambda x: lnb.grad(smooth)(x), V), "value_and_grad": call(lambda x: lnb.value_and_grad(smooth)(x), V),
    "grad_and_aux": call(lambda x: lnb.grad_and_aux(lambda y: (smooth(y), curved(y)))(x), V),
    "deriv": call(lambda x: lnb.deriv(lnb.sin)(x.sum()), V), "elementwise_grad": call(
        lambda x: lnb.elementwise_grad(lnb.tanh)(x), V),
    "holomorphic_grad": call(lambda x: lnb.abs(lnb.holomorphic_grad(lambda z: (z * z).sum())(x + 1j * x)), V),
    "vjp": call(lambda x, g: lnb.vjp(curved, x)[1](g), V, V),
    "jvp": call(lambda x, t: lnb.jvp(curved, (x,), (t,)), V, V),
    "jacobian": call(lambda x: lnb.jacobian(curved)(x), V), "hessian": call(lambda x: lnb.hessian(smooth)(x), V),
    "jacobian forward": call(lambda x: lnb.jacobian(curved, mode="forward")(x), V),
    "hvp": call(lambda x, t: lnb.hvp(smooth, (x,), (t,)), V, V), "linearize": call(
        lambda x, t: lnb.linearize(curved, x)[1](t), V, V),
    "hessian_tensor_product": call(lambda x, t: lnb.hessian_tensor_product(smooth)(x, t), V, V),
    "tensor_jacobian_product": call(lambda x, g: lnb.tensor_jacobian_product(curved)(x, g), V, V),
    "make_vjp": call(lambda x, g: lnb.make_vjp(curved)(x)[0](g), V, V),
    "make_jvp": call(lambda x, t: lnb.make_jvp(curved)(x)(t), V, V),
    "make_hvp": call(lambda x, t: lnb.make_hvp(smooth)(x)[0](t), V, V),
    "make_ggnvp": call(lambda x, t: lnb.make_ggnvp(curved)(x)(t), V, V),
    "checkpoint": call(lambda x: lnb.checkpoint(curved, x), V), "stop_gradient": call(
        lambda x: lnb.stop_gradient(x) * x, V),
    "custom_vjp": call(lambda x: ruled_vjp()(x), V), "custom_jvp": call(lambda x: ruled_jvp()(x), V),
    "autograd.Function": call(lambda x: Double.apply(x), V), "autograd.save_on_cpu": call(kept_on_the_host, V),
    "autograd.saved_tensors_hooks": call(packed, V), "autograd.detect_anomaly": call(watched, V),
    "autograd.grad": call(lambda x: autograd.grad(smooth(y := 1.0 * x.detach().copy().requires_grad_()), y)
                          if hasattr(x, "requires_grad_") else lnb.grad(smooth)(x), V),
    "Tensor.register_hook": call(hooked, V),
    "fuse": call(lambda x, w: FUSED["gate"](x, w), M, V), "fuse rows": call(lambda x, w: FUSED["rows"](x, w), M, V),
    "fuse branched": call(lambda x: FUSED["branched"](x), M), "fuse softmax": call(
        lambda x: FUSED["softmax"](x), M),
    "fuse gradient": call(lambda x, w: lnb.grad(lambda y: FUSED["gate"](y, w).sum())(x), M, V),
    "optim.SGD": walked(optim.SGD), "optim.SGD momentum": walked(
        optim.SGD, momentum=0.9, nesterov=True, weight_decay=0.1),
    "optim.Adam": walked(optim.Adam), "optim.Adam amsgrad": walked(optim.Adam, amsgrad=True, weight_decay=0.1),
    "optim.AdamW": walked(optim.AdamW),

}
CALLS |= {f"vmap {word}".strip(): call(lambda x, f=f: lnb.vmap(f)(x), M) for word, f in MAPPED.items()}
