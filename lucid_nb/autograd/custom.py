"""`custom_vjp` and `custom_jvp`: functions with derivatives of their own, as in JAX."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .. import tape, trees
from ..array import Tensor
from ..dtypes import is_inexact
from ..errors import GradError, ShapeError, described, told
from ..fusion.watching import is_tracing
from .opaque import Opaque, Tangents, traced
from .start import filled_like
from .transforms import Chosen, vjp


class _Custom:
    """A function whose calls are one op where they are differentiated."""

    kind = ""

    def __init__(self, f: Callable, nondiff_argnums: int | Sequence[int] = ()) -> None:
        if not callable(f):
            raise GradError(f"{self.kind}: {told(f)} is not a function. Give one.")
        functools.update_wrapper(self, f)
        self.f = f
        self.nondiff = Chosen(self.kind, tuple([nondiff_argnums] if isinstance(nondiff_argnums, int) else
                                               nondiff_argnums))

    @property
    def name(self) -> str:
        """That of the function."""
        return getattr(self.f, "__name__", type(self.f).__name__)

    def __get__(self, instance: Any, owner: type | None = None) -> Callable:
        """As a method: the instance is the first argument, which `nondiff_argnums` should name."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """The function's result, with a way back by its rules where a gradient may be asked for."""
        if keywords or self._has_defaults:
            bound = inspect.signature(self.f).bind(*arguments, **keywords)
            bound.apply_defaults()
            arguments, keywords = bound.args, bound.kwargs
        if keywords:
            raise GradError(f"{self.name}: {sorted(keywords)} can be passed by name only, and rules get arguments by "
                            "position. Let it take them by position.")
        found = traced(self.name, self, arguments) if is_tracing() else None
        if found is not None:
            return found
        still = {*self.nondiff.places(len(arguments))}
        chosen = [argument for number, argument in enumerate(arguments) if number not in still]
        leaves, structure = trees.flatten(chosen)
        inputs = [leaf.refresh() for leaf in leaves if isinstance(leaf, Tensor)]
        if not (tape.is_recording() and any(x.node is not None for x in inputs)):
            return self.f(*arguments)
        call = self._call(arguments, [arguments[number] for number in sorted(still)])
        call.leaves, call.structure = [None if isinstance(leaf, Tensor) else leaf for leaf in leaves], structure
        call.is_tensor = [isinstance(leaf, Tensor) for leaf in leaves]
        return call.led(inputs)

    @functools.cached_property
    def _has_defaults(self) -> bool:
        try:
            found = inspect.signature(self.f).parameters.values()
        except (ValueError, TypeError):           # of a function in C, which tells nothing of itself
            return False
        return any(parameter.default is not parameter.empty for parameter in found)

    def _call(self, arguments: Sequence[Any], still: Sequence[Any]) -> "_Call":
        """What a call is recorded as."""
        raise NotImplementedError


class _Call(Opaque):
    """One call: `arguments` are all, `still` those that are not differentiated by."""

    leaves: list[Any]                      # of the arguments that are: what is no tensor
    structure: trees.Structure
    is_tensor: list[bool]

    def __init__(self, custom: _Custom, arguments: Sequence[Any], still: Sequence[Any]) -> None:
        super().__init__(custom.name)
        self.arguments: Any = arguments
        self.still = tuple(still)

    def run(self, inputs: Sequence[Tensor]) -> tuple[Any, list[Tensor]]:  # type: ignore[override]
        """The result, and the tensors to keep."""
        raise NotImplementedError

    def led(self, inputs: Sequence[Tensor]) -> Any:
        """The result, in the graph."""
        edges = [x.node for x in inputs]
        with tape.grad_mode(False):
            result, saved = self.run(inputs)
        self.arguments = ()
        leaves, self.result_structure = trees.flatten(result)
        outputs = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        is_single = self.result_structure == trees.LEAF
        node = self.record(inputs, edges, outputs, saved, is_single)
        of_tensors = iter(self.led_from(node, inputs, outputs, [is_inexact(x.dtype) for x in outputs]))
        self.is_result = [isinstance(leaf, Tensor) for leaf in leaves]
        return trees.unflatten(self.result_structure, [next(of_tensors) if is_one else leaf
                                                       for leaf, is_one in zip(leaves, self.is_result)])

    def chosen(self, tensors: Sequence[Any]) -> list[Any]:
        """The arguments that are differentiated by, of their tensors."""
        of_tensors = iter(tensors)
        leaves = [next(of_tensors) if is_tensor else leaf for leaf, is_tensor in zip(self.leaves, self.is_tensor)]
        return trees.unflatten(self.structure, leaves)

    def result_tree(self, tensors: Sequence[Any]) -> Any:
        """What is nested as the result, of what belongs to its tensors."""
        of_tensors = iter(tensors)
        return trees.unflatten(self.result_structure, [next(of_tensors) if is_tensor else None
                                                       for is_tensor in self.is_result])

    def of_tensors(self, rule: str, structure: trees.Structure, is_tensor: Sequence[bool], tree: Any) -> list[Any]:
        """What a rule gives for each tensor; None where a whole part is None."""
        leaves = trees.leaves_like(self.name, f"what {rule} gives", structure, tree, may_miss=True)
        return [leaf for leaf, is_one in zip(leaves, is_tensor) if is_one]


# ------------------------------------------------------------------------------------------------ custom_vjp
class custom_vjp(_Custom):
    """A function whose gradient is stated by two others: `f.defvjp(forward, backward)`.

    `forward(*arguments)` gives the pair of result and residuals; `backward(residuals, gradient)` gives a tuple with the
    gradient of each argument, nested as the argument, None for none. Arguments, results and residuals may be trees.
    `nondiff_argnums` are not differentiated by: `backward(*these, residuals, gradient)` gets them first, and gives
    gradients of the others. Forward mode transposes `backward`. To be differentiated again, `backward` must call ops of
    this library; through residuals that are neither arguments nor results, by running `forward` again, recorded.

    >>> import lucid_nb as lnb
    >>> @lnb.custom_vjp
    ... def clipped(x):
    ...     return lnb.clip(x, -1, 1)
    >>> clipped.defvjp(lambda x: (lnb.clip(x, -1, 1), None), lambda residuals, g: (g,))
    >>> lnb.grad(clipped)(3.0)                    # passes straight through
    tensor(1.)
    """

    kind = "custom_vjp"
    forward: Callable | None = None
    backward: Callable | None = None

    def defvjp(self, forward: Callable, backward: Callable) -> None:
        """State the rules."""
        if not (callable(forward) and callable(backward)):
            raise GradError(f"custom_vjp: the rules of {self.name} are not two functions. Give forward and backward.")
        self.forward, self.backward = forward, backward

    def _call(self, arguments: Sequence[Any], still: Sequence[Any]) -> "_VjpCall":
        if self.forward is None or self.backward is None:
            raise GradError(f"custom_vjp: {self.name} has no rules. Call {self.name}.defvjp(forward, backward).")
        return _VjpCall(self, self.forward, self.backward, arguments, still)


class _VjpCall(_Call):
    """A call by the rules of custom_vjp."""

    def __init__(self, custom: _Custom, forward: Callable, backward: Callable, arguments: Sequence[Any],
                 still: Sequence[Any]) -> None:
        super().__init__(custom, arguments, still)
        self.forward_rule, self.backward_rule = forward, backward
        self.order = custom.nondiff

    def run(self, inputs: Sequence[Tensor]) -> tuple[Any, list[Tensor]]:  # type: ignore[override]
        """The result; the tensors among the residuals, and the arguments where residuals must be computed again."""
        result, residuals = self._pair(self.arguments)
        leaves, self.residual_structure = trees.flatten(residuals)
        self.residuals = [None if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        self.is_residual = [isinstance(leaf, Tensor) for leaf in leaves]
        tensors = [leaf.refresh() for leaf in leaves if isinstance(leaf, Tensor)]
        known = {*map(id, inputs), *map(id, trees.flatten(result)[0])}
        self.is_recomputed = any(id(x) not in known and is_inexact(x.dtype) for x in tensors)
        return result, [*tensors, *(inputs if self.is_recomputed else ())]

    def _pair(self, arguments: Sequence[Any]) -> Sequence[Any]:
        found = self.forward_rule(*arguments)
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise GradError(f"{self.name}: forward gives {told(found)}. Let it give a pair: the result, and the "
                            "residuals for backward.")
        return found

    def gradients(self, kept: Sequence[Tensor], arriving: Tangents) -> Tangents:
        """What backward gives."""
        residuals, inputs = kept[:sum(self.is_residual)], kept[sum(self.is_residual):]
        if self.is_recomputed and tape.is_recording() and any(x.requires_grad for x in inputs):
            tree = self._pair(self._whole_arguments(self.chosen(inputs)))[1]
        else:
            of_tensors = iter(residuals)
            tree = trees.unflatten(self.residual_structure, [
                next(of_tensors) if is_tensor else leaf for leaf, is_tensor in zip(self.residuals, self.is_residual)])
        found = self.backward_rule(*self.still, tree, self.result_tree(arriving))
        if not isinstance(found, (tuple, list)) or len(found) != len(self.structure.parts):
            got = f"{len(found)} gradients" if isinstance(found, (tuple, list)) else f"a {type(found).__name__}"
            raise GradError(f"{self.name}: backward gives {got} for {len(self.structure.parts)} arguments. Let it give "
                            "a tuple with one for each, None where there is none.")
        return self.of_tensors(self.rule, self.structure, self.is_tensor, list(found))

    def _whole_arguments(self, chosen: Sequence[Any]) -> list[Any]:
        """All arguments, in order."""
        still = {*self.order.places(len(chosen) + len(self.still))}
        of_chosen, of_still = iter(chosen), iter(self.still)
        return [next(of_still if number in still else of_chosen) for number in range(len(chosen) + len(self.still))]


# ------------------------------------------------------------------------------------------------ custom_jvp
class custom_jvp(_Custom):
    """A function whose derivative is stated by its tangents: `f.defjvp(rule)`.

    `rule(primals, tangents)`, of tuples with one for each argument, gives the result and its tangent, nested alike; it
    must be linear in the tangents, and reverse mode transposes it. `nondiff_argnums` come before: `rule(*these,
    primals, tangents)`. The tangent of what has none (an integer, say) is None. Called where nothing is differentiated,
    the function itself runs.

    >>> import lucid_nb as lnb
    >>> @lnb.custom_jvp
    ... def log1pexp(x):
    ...     return lnb.log(1 + lnb.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t / (1 + lnb.exp(-x))
    >>> lnb.grad(log1pexp)(0.0), lnb.jvp(log1pexp, (0.0,), (2.0,))[1]
    (tensor(0.5), tensor(1.))
    """

    kind = "custom_jvp"
    jvp_rule: Callable | None = None

    def defjvp(self, rule: Callable) -> Callable:
        """State the rule; a decorator too."""
        if not callable(rule):
            raise GradError(f"custom_jvp: the rule of {self.name} is {told(rule)}. Give a function.")
        self.jvp_rule = rule
        return rule

    def _call(self, arguments: Sequence[Any], still: Sequence[Any]) -> "_JvpCall":
        if self.jvp_rule is None:
            raise GradError(f"custom_jvp: {self.name} has no rule. Call {self.name}.defjvp(rule).")
        return _JvpCall(self, self.jvp_rule, arguments, still)


class _JvpCall(_Call):
    """A call by the rule of custom_jvp."""

    push_rule = "the rule"
    has_push = True

    def __init__(self, custom: _Custom, rule: Callable, arguments: Sequence[Any], still: Sequence[Any]) -> None:
        super().__init__(custom, arguments, still)
        self.function, self.jvp_rule = custom.f, rule

    def run(self, inputs: Sequence[Tensor]) -> tuple[Any, list[Tensor]]:  # type: ignore[override]
        """The result; the rule needs the arguments again."""
        return self.function(*self.arguments), [*inputs]

    def tangents(self, kept: Sequence[Tensor], moving: Tangents) -> Tangents:
        """What the rule gives."""
        found = self.jvp_rule(*self.still, tuple(self.chosen(kept)), tuple(self.chosen_tangents(moving)))
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise GradError(f"{self.name}: the rule gives {told(found)}. Let it give a pair: the result, and its "
                            "tangent.")
        return self.of_tensors(self.push_rule, self.result_structure, self.is_result, found[1])

    def chosen_tangents(self, moving: Tangents) -> list[Any]:
        """The tangents nested as the arguments, None of what is no tensor."""
        of_tensors = iter(moving)
        return trees.unflatten(self.structure, [next(of_tensors) if is_one else None for is_one in self.is_tensor])

    def gradients(self, kept: Sequence[Tensor], arriving: Tangents) -> Tangents:
        """The transpose of the rule, which is linear in the tangents."""
        numbers = [number for number, x in enumerate(kept) if is_inexact(x.dtype)]
        ones = [filled_like(kept[number], 1) for number in numbers]      # at zeros an iteration would end at once

        def linear(*tangents: Tensor) -> list[Tensor | None]:
            moving = dict(zip(numbers, tangents))
            found = self.tangents(kept, [moving.get(number) for number in range(len(kept))])
            return [None if g is None else self._checked(t, g) for t, g in zip(found, arriving)]
        outputs, transposed = vjp(linear, *ones)
        of_inputs = dict(zip(numbers, transposed([None if t is None else g for t, g in zip(outputs, arriving)])))
        return [of_inputs.get(number) for number in range(len(kept))]

    def _checked(self, t: Any, like: Tensor) -> Any:
        if t is not None and described(t) != described(like):
            raise ShapeError(f"{self.name}: the rule gives a tangent of {described(t)} for a result of "
                             f"{described(like)}. Let it give one like the result.")
        return t
