"""Differentiation: of functions (`grad`, `vjp`, `jvp` ... of `lucid_nb`), and here of tensors by tensors.

`lucid_nb.autograd.grad` takes outputs and inputs; `lucid_nb.grad` takes a function.
"""

from ..anomaly import detect_anomaly, set_detect_anomaly
from .custom import custom_jvp, custom_vjp
from .derivatives import hessian, hvp, jacobian
from .engine import grad
from .function import Function, once_differentiable
from .hips import (
    deriv,
    elementwise_grad,
    grad_and_aux,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    tensor_jacobian_product,
    vector_jacobian_product,
)
from .recompute import checkpoint
from .saved import save_on_cpu, saved_tensors_hooks
from .transforms import jvp, linearize, stop_gradient, value_and_grad, vjp

__all__ = ["Function", "checkpoint", "custom_jvp", "custom_vjp", "deriv", "detect_anomaly", "elementwise_grad",
           "grad", "grad_and_aux", "hessian", "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad",
           "hvp", "jacobian", "jvp", "linearize", "make_ggnvp", "make_hvp", "make_jvp", "make_vjp",
           "once_differentiable", "save_on_cpu", "saved_tensors_hooks", "set_detect_anomaly", "stop_gradient",
           "tensor_jacobian_product", "value_and_grad", "vector_jacobian_product", "vjp"]
