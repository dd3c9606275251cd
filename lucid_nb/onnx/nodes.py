"""One operator, called on arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..creation import asarray
from .table import Node, required

LATEST = 28


def run_node(op_type: str, inputs: Sequence[Any], attributes: Mapping[str, Any] | None = None, *, n_out: int = 1,
             opset: int = LATEST, domain: str = "") -> list[Any]:
    """The outputs of one operator of ONNX, as tensors: what a graph of this one node computes.

    `inputs`: tensors or arrays, lists of them for sequences, None for an optional input that is left out. `attributes`:
    numbers, words, lists, arrays; the standard's defaults hold for what is not named. `n_out`: how many outputs are
    wanted. BackendError where the operator is not supported, ConfigError where it has no such attribute.

    Source: the operator schemas of ONNX, onnx.ai/onnx/operators.

    >>> x = lnb.tensor([[-1.0, 2.0]], requires_grad=True)
    >>> y, = lnb.onnx.run_node("LeakyRelu", [x], {"alpha": 0.5})
    >>> y.tolist()
    [[-0.5, 2.0]]
    >>> values, places = lnb.onnx.run_node("TopK", [y, np.array([1])], n_out=2)
    >>> places.tolist()
    [[1]]
    """
    found = required(op_type, domain, opset)
    node = Node(found, opset, tuple([str(number) for number in range(len(inputs))]),
                tuple([str(number) for number in range(n_out)]), dict(attributes or {}))
    return list(node.call([as_value(x) for x in inputs])[:n_out])


def as_value(x: Any) -> Any:
    """A tensor of an array, a list of them of a sequence."""
    if x is None:
        return None
    if isinstance(x, list) and all(isinstance(part, np.ndarray) or hasattr(part, "requires_grad") for part in x):
        return [asarray(part) for part in x]
    return asarray(x)
