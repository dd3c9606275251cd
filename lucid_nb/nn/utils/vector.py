"""All parameters as one vector, and back."""

from typing import Any

from ...array import Tensor
from ...creation import asarray
from ...errors import DTypeError, ShapeError
from ...ops.movement import concat
from ...tape import grad_mode
from .clip import Params, all_of


def parameters_to_vector(parameters: Params) -> Tensor:
    """The elements of all parameters in their order, (elements,); differentiable.

    >>> layer = lnb.nn.Linear(3, 2)
    >>> lnb.nn.utils.parameters_to_vector(layer.parameters()).shape
    (8,)
    """
    params = all_of("parameters_to_vector", parameters)
    if not params:
        raise ShapeError("parameters_to_vector: no parameters. Give at least one.")
    if len({param.device for param in params}) > 1:
        raise DTypeError(f"parameters_to_vector: parameters on {sorted({param.device for param in params})}. Move "
                         "them to one device.")
    return concat([param.reshape(-1) for param in params])


def vector_to_parameters(vec: Any, parameters: Params) -> None:
    """Write a vector of parameters_to_vector into the parameters; ShapeError where it is too short or too long."""
    params, vector = all_of("vector_to_parameters", parameters), asarray(vec)
    sizes = [param.size for param in params]
    if vector.shape != (sum(sizes),):
        raise ShapeError(f"vector_to_parameters: a vector of shape {vector.shape} for {sum(sizes)} elements. Give "
                         f"({sum(sizes)},).")
    with grad_mode(False):
        for param in params:
            param.check_writable("vector_to_parameters")
        start = 0
        for param, size in zip(params, sizes):
            param[...] = vector.detach()[start:start + size].reshape(param.shape)
            start += size
