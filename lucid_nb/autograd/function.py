"""`Function`: an op whose forward and backward a user writes; PyTorch's interface."""

import functools
from collections.abc import Callable, Container, Sequence
from typing import Any

from .. import tape
from ..apply import apply
from ..array import Tensor
from ..dtypes import is_inexact
from ..errors import GradError
from ..fusion.watching import is_tracing
from ..op import Primitive
from .opaque import Opaque, Tangents, traced


class Context:
    """What forward leaves for backward: `save_for_backward`, and any attribute that is set on it."""

    materialize_grads = True
    _saving: tuple[Tensor | None, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _constant: tuple[Tensor, ...] = ()
    _opened: tuple[Tensor | None, ...] | None = None

    def __init__(self, name: str, needs_input_grad: tuple[bool, ...]) -> None:
        self._name = name
        self.needs_input_grad = needs_input_grad       #: which arguments of forward want a gradient

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `saved_tensors`; None passes. Arguments and results can be differentiated through again.

        A tensor that is neither, as in PyTorch, counts as a constant then: give it as a result to have its gradient.
        """
        for x in tensors:
            if not (isinstance(x, Tensor) or x is None):
                raise GradError(f"{self._name}: save_for_backward got a {type(x).__name__}. Set it as an attribute.")
        self._saving = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was saved, in backward; GradError where it was overwritten or freed."""
        if self._opened is None:
            raise GradError(f"{self._name}: saved_tensors is read outside backward. Read it there.")
        return self._opened

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which arguments forward writes into; it must return them."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which results have no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Let backward get None instead of zeros for results that nothing uses."""
        self.materialize_grads = bool(value)


class Function:
    """An op of one's own: a subclass with the static methods `forward(ctx, ...)` and `backward(ctx, *gradients)`.

    `Subclass.apply(...)` calls it. `forward` runs unrecorded and gives a tensor, or a tuple with tensors in it.
    `backward` gets the gradient of each result and gives one for each argument of forward, None for none; of the shape
    of the argument, or of one that it was broadcast to. Where it calls ops of this library, it can be differentiated
    again. Instead of writing into `ctx` in forward, `forward(...)` may come without it, with
    `setup_context(ctx, inputs, output)`. With `jvp(ctx, *tangents)` forward mode uses that; without, it transposes
    `backward`. Within `vmap`, both see one example.

    >>> import lucid_nb as lnb
    >>> class Cube(lnb.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return g * 3 * x ** 2
    >>> lnb.grad(Cube.apply)(2.0), lnb.grad(lnb.grad(Cube.apply))(2.0)
    (tensor(12.), tensor(12.))
    """

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        """Compute the result."""
        raise NotImplementedError("Function: forward is missing. Define what the op computes.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        """Save what backward needs, where forward gets no `ctx`."""
        raise NotImplementedError("Function: setup_context is missing.")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradients of the arguments from those of the results."""
        raise NotImplementedError("Function: backward is missing. Define the gradient of each argument.")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """The tangents of the results from those of the arguments."""
        raise NotImplementedError("Function: jvp is missing.")

    @classmethod
    def apply(cls, *arguments: Any) -> Any:
        """Call the op."""
        found = traced(cls.__name__, cls.apply, arguments) if is_tracing() else None
        if found is not None:
            return found
        inputs: list[Tensor] = []
        edges: list[Any] = []
        needs = []
        for x in arguments:
            edge = None
            if isinstance(x, Tensor):
                edge = x.refresh().node
                inputs.append(x)
                edges.append(edge)
            needs.append(edge is not None)
        ctx = Context(cls.__name__, tuple(needs))
        with tape.grad_mode(False):
            if cls.setup_context is Function.setup_context:
                result = cls.forward(ctx, *arguments)
            else:
                result = cls.forward(*arguments)
                cls.setup_context(ctx, arguments, result)
        is_recorded = True in ctx.needs_input_grad and tape.is_recording()
        if isinstance(result, tuple):
            return _Call(cls, ctx, arguments, result).led(inputs, edges, result, is_recorded, False)
        return _Call(cls, ctx, arguments, (result,)).led(inputs, edges, (result,), is_recorded, True)[0]


class _Call(Opaque):
    """One call of a Function."""

    def __init__(self, function: type[Function], ctx: Context, arguments: Sequence[Any], results: tuple) -> None:
        super().__init__(function.__name__)
        self.function, self.ctx = function, ctx
        self.is_tensor = [isinstance(x, Tensor) for x in arguments]
        self.is_result = [isinstance(x, Tensor) for x in results]
        self.has_push = function.jvp is not Function.jvp
        self.materializes = ctx.materialize_grads
        self.is_saved = [x is not None for x in ctx._saving]

    def led(self, inputs: list[Tensor], edges: list[Any], results: tuple, is_recorded: bool, is_single: bool) -> tuple:
        """The results, in the graph."""
        ctx, outputs = self.ctx, [x for x in results if isinstance(x, Tensor)]
        dirty: Container[int] = ()
        if ctx._dirty:
            dirty = {*map(id, ctx._dirty)}
            self._check_dirty(inputs, outputs, is_recorded)
        constant = {*map(id, ctx._constant)} if ctx._constant else ()
        carry = [is_recorded and id(x) not in constant and is_inexact(x.dtype) for x in outputs]
        node = self.record(inputs, edges, outputs, [x for x in ctx._saving if x is not None], is_single) \
            if True in carry else None
        ctx._saving = ctx._dirty = ctx._constant = ()
        found = self.led_from(node, inputs, outputs, carry, dirty)
        if len(found) == len(results):
            return tuple(found)
        of_tensors = iter(found)
        return tuple([next(of_tensors) if is_tensor else x for x, is_tensor in zip(results, self.is_result)])

    def _check_dirty(self, inputs: list[Tensor], outputs: list[Tensor], is_recorded: bool) -> None:
        """Only an argument can be marked so; it must be returned, and have a graph that a write can go into."""
        for x in self.ctx._dirty:
            if id(x) not in map(id, inputs) or id(x) not in map(id, outputs):
                raise GradError(f"{self.name}: mark_dirty of what is no argument, or not returned. Return each "
                                "argument that forward writes into.")
            x.share()
            if is_recorded and (type(x.node) is tape.Leaf or x.steps[x.root.depth:]):
                raise GradError(f"{self.name}: forward writes into a leaf that requires grad, or into a view. Let it "
                                "work on a copy.")

    # --------------------------------------------------------------------------------------- differentiation
    def gradients(self, kept: Sequence[Tensor], arriving: Tangents) -> Tangents:
        """What backward gives, of the arguments that are tensors."""
        of_tensors = iter(arriving)
        given = [next(of_tensors) if is_tensor else None for is_tensor in self.is_result]
        found = self._called(self.function.backward if self.function.backward is not Function.backward
                             else self.function.vjp, kept, given)
        return self._of_tensors(found, self.is_tensor, self.rule, "arguments of forward")

    def tangents(self, kept: Sequence[Tensor], moving: Tangents) -> Tangents:
        """What jvp gives, of the results that are tensors."""
        of_tensors = iter(moving)
        given = [next(of_tensors) if is_tensor else None for is_tensor in self.is_tensor]
        return self._of_tensors(self._called(self.function.jvp, kept, given), self.is_result, self.push_rule, "results")

    def _called(self, rule: Callable, kept: Sequence[Tensor], given: Sequence[Any]) -> tuple:
        tensors = iter(kept)
        self.ctx._opened = tuple([next(tensors) if is_saved else None for is_saved in self.is_saved])
        try:
            found = rule(self.ctx, *given)
        finally:
            self.ctx._opened = None
        return found if isinstance(found, tuple) else (found,)

    def _of_tensors(self, found: tuple, is_tensor: list[bool], rule: str, what: str) -> list[Any]:
        """What a rule gives for tensors; anything else must have None, and so may what comes besides."""
        count = len(is_tensor)
        if len(found) < count or any(extra is not None for extra in found[count:]):
            raise GradError(f"{self.name}: {rule} gives {len(found)} gradients for {count} {what}. Give one for each, "
                            "None where there is none.")
        for number, (g, is_one) in enumerate(zip(found, is_tensor)):
            if g is not None and not is_one:
                raise GradError(f"{self.name}: {rule} gives a gradient for number {number} of the {what}, which is no "
                                "tensor. Give None.")
        return [g for g, is_one in zip(found, is_tensor) if is_one]


# ----------------------------------------------------------------------------------------- once differentiable
def _refuse(ops: Any, info: Any, g: Any, name: str) -> Any:
    raise GradError(f"{name}: its gradient is differentiated again, and is marked as once_differentiable. Write it "
                    "with ops of lucid_nb, without the mark.")


_once = Primitive("once_differentiable", lambda table, x, *others, name: x, _refuse)


def once_differentiable(backward: Callable) -> Callable:
    """Mark a `backward` that must not be differentiated, as it computes outside this library: GradError says so then.

    >>> import lucid_nb as lnb
    >>> class Twice(lnb.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @lnb.autograd.once_differentiable
    ...     def backward(ctx, g):
    ...         return lnb.asarray(2 * g.numpy())
    >>> lnb.grad(Twice.apply)(1.0)
    tensor(2.)
    """
    @functools.wraps(backward)
    def marked(ctx: Context, *gradients: Any) -> Any:
        with tape.grad_mode(False):
            found = backward(ctx, *[g.detach() if isinstance(g, Tensor) else g for g in gradients])
        behind = [x for x in (*gradients, *ctx.saved_tensors) if isinstance(x, Tensor) and x.requires_grad]
        if not (tape.is_recording() and behind):
            return found
        results = [apply(_once, (x, *behind), {"name": ctx._name}) if isinstance(x, Tensor) else x
                   for x in (found if isinstance(found, tuple) else (found,))]
        return tuple(results)
    return marked
