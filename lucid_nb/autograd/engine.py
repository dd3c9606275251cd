"""Gradients of tensors by tensors: `lucid_nb.autograd.grad`."""

from collections.abc import Sequence
from typing import Any

from .. import tape
from ..array import Tensor, fresh
from ..backward import gradients_of, show
from ..errors import GradError, ShapeError
from ..fusion.watching import ASKS, refuse_tracing
from ..graph import Wanted
from .start import filled_like

Tensors = Tensor | Sequence[Tensor]


def grad(outputs: Tensors, inputs: Tensors, grad_outputs: Any = None, *, retain_graph: bool | None = None,
         create_graph: bool = False, allow_unused: bool | None = None, materialize_grads: bool = False
         ) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs`, added up, by `inputs`, which may be leaves or computed; no `.grad` changes.

    `grad_outputs`: the gradient of each output, of its shape and dtype; None for an output of one element.
    `retain_graph`: keep what another backward needs (as `create_graph` does, if left out). `create_graph`: record, for
    higher derivatives. `allow_unused`: an input that outputs do not depend on gives None rather than GradError;
    `materialize_grads`: or zeros.

    >>> import lucid_nb as lnb
    >>> x = lnb.tensor(3.0, requires_grad=True)
    >>> g, = lnb.autograd.grad(x ** 3, x, create_graph=True)
    >>> g, lnb.autograd.grad(g, x)
    (tensor(27., requires_grad=True), (tensor(18.),))
    """
    refuse_tracing(ASKS)
    results, asked = _listed("outputs", outputs), _listed("inputs", inputs)
    seeds = [None] * len(results) if grad_outputs is None else \
        list(grad_outputs) if isinstance(grad_outputs, (tuple, list)) and not isinstance(outputs, Tensor) else \
        list(grad_outputs) if isinstance(grad_outputs, (tuple, list)) and len(grad_outputs) == 1 else [grad_outputs]
    if len(seeds) != len(results):
        raise ShapeError(f"grad: {len(seeds)} grad_outputs for {len(results)} outputs. Give one for each, or None.")
    nodes = [x.refresh().node for x in asked]
    for number, (x, node) in enumerate(zip(asked, nodes)):
        if node is None:
            raise GradError(f"grad: input {number} of shape {x.shape} does not require grad. Set requires_grad.")
    keeps = create_graph if retain_graph is None else retain_graph
    wanted = Wanted(nodes, [output.refresh().node for output in results])
    pairs = [(o, s) for o, s in zip(results, seeds) if o.node is None or o.node in wanted.ways]
    roots, gradients = [o for o, _ in pairs], [s for _, s in pairs]
    found = gradients_of(roots, gradients, keeps, create_graph, wanted, "grad") if pairs else {}
    allows = allow_unused or (allow_unused is None and materialize_grads)
    return tuple([_given(number, found.get(node), x, node, allows, materialize_grads)
                  for number, (x, node) in enumerate(zip(asked, nodes))])


def _listed(what: str, given: Any) -> list[Tensor]:
    """One tensor or several, as a list."""
    found = [given] if isinstance(given, Tensor) else list(given) if isinstance(given, (tuple, list)) else None
    if not found or not all(isinstance(x, Tensor) for x in found):
        raise GradError(f"grad: {what} is {type(given).__name__}. Give a tensor, or a list of them.")
    return found


def _given(number: int, g: Any, x: Tensor, node: Any, allows: bool, materialize: bool) -> Tensor | None:
    """A gradient as a tensor of its own; what is given where none came."""
    if g is None:
        if not allows:
            raise GradError(f"grad: the outputs do not depend on input {number} of shape {x.shape}. Leave it out, or "
                            "pass allow_unused=True.")
        return filled_like(x, 0) if materialize else None
    g = g if isinstance(g, Tensor) else fresh(g)
    return show(node.watch, g) if type(node) is tape.Leaf and node.watch is not None else g
