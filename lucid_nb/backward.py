"""Backward on Tensors: how pullbacks call ops, on raw arrays or recorded, and how gradients reach the leaves."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from importlib import import_module
from typing import Any

import numpy as np

from . import anomaly, backend, tape
from .apply import apply, as_operand
from .array import Leaf, Tensor, fresh
from .chains import Chains
from .errors import DeviceError, DTypeError, GradError, described
from .graph import Wanted
from .op import registry
from .shapes import LARGE, product
from .storage import Broadcast, Movement, Permute, Version

Params = Mapping[str, Any] | None
CONFIG = f"{__package__}.config"      # imported with the first backward: a wrong setting must not stop the import


class Runner:
    """`ops.name(...)` of a pullback."""

    records = False
    is_quick = False           # may a formula's gradient call its kernel without asking?

    def run(self, op: Any, arguments: Sequence[Any], params: Params = None) -> Any:
        """Run an op."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Callable:
        op = registry.get(name)
        if op is None:
            raise AttributeError(name)

        def call(*arguments: Any, **params: Any) -> Any:
            return self.run(op, arguments, params)
        setattr(self, name, call)
        return call

    def fit(self, g: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """Undo what broadcasting and promotion did to an input: the gradient in its shape and dtype."""
        if type(g) is np.ndarray and g.dtype is dtype and g.shape == shape:
            return g
        if tuple(g.shape) != shape:
            extra = len(g.shape) - len(shape)
            axes = tuple(i for i, size in enumerate(g.shape)
                         if i < extra or shape[i - extra] == 1 != size)
            g = self.sum(g, axes=axes, keepdims=False) if axes else g
            g = g if tuple(g.shape) == shape else self.reshape(g, shape=shape)
        found = g.dtype if isinstance(g, (Tensor, np.ndarray)) else backend.of(g).dtype_of(g)
        if found == dtype:
            return g
        return self.cast(self.real(g) if found.kind == "c" != dtype.kind else g, dtype=dtype)


class RawRunner(Runner):
    """On raw arrays, unrecorded: nobody will differentiate the gradient."""

    is_quick = True

    def run(self, op: Any, arguments: Sequence[Any], params: Params = None) -> Any:
        return op.run(arguments, params)

    def add(self, a: Any, b: Any) -> Any:
        """Two gradients of one value, which are alike."""
        op: Any = registry["add"]
        compiled = op.compiled.get((a.dtype, b.dtype))
        if compiled is None:
            return op.run((a, b))
        return compiled.kernel(a, b) if a.size < LARGE else compiled.large(a, b)

    def broadcast_to(self, x: Any, shape: tuple[int, ...]) -> Any:
        """A larger shape; a small one in memory of its own, which kernels read by their short road."""
        if type(x) is not np.ndarray or product(shape) >= LARGE:
            return self.run(registry["broadcast_to"], (x,), {"shape": shape})
        found = np.empty(shape, x.dtype)
        found[...] = x
        return found

    def zeros(self, shape: tuple[int, ...], like: Any) -> Any:
        """Zeros of the dtype and device of `like`."""
        table = backend.of(like)
        return table.full(shape, 0, table.dtype_of(like))

    def zeros_like(self, like: Any) -> Any:
        """Zeros."""
        return self.zeros(tuple(like.shape), like)

    def watched(self, watch: tape.Watch, g: Any) -> Any:
        """Show a gradient to the hooks, and keep it where retain_grad asked for it; what they see is not what flows."""
        copy = backend.of(g).copy
        shown = fresh(copy(g))
        found = show(watch, shown)
        return g if found is shown else copy(found.raw)


class RecordingRunner(Runner):
    """On Tensors, recorded: create_graph. Saved raw arrays find their place in the graph again."""

    records = True

    def run(self, op: Any, arguments: Sequence[Any], params: Params = None) -> Any:
        return apply(op, arguments, params)

    @staticmethod
    def lift(raw: Any, edge: Any, version: Version) -> Tensor:
        """A saved raw array as a tensor at its place in the graph; its memory keeps its version."""
        found = Tensor(raw, edge)
        found.version = version
        return found

    # What a device would give as an alias must be a view here, or a write into one would not be seen by the other.
    def permute(self, x: Tensor, axes: tuple[int, ...]) -> Tensor:
        """Axes reordered."""
        return x.moved(Permute(axes))

    def reshape(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Another shape."""
        return x.reshape(shape)

    def broadcast_to(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        """A larger shape."""
        return x.moved(Broadcast(shape))

    def view(self, x: Tensor, steps: tuple[Movement, ...]) -> Tensor:
        """The view at the end of `steps`."""
        return reduce(Tensor.moved, steps, x)

    def zeros(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Zeros of the dtype and device of `like`."""
        return fresh(raw_runner.zeros(shape, like.raw))

    def zeros_like(self, like: Tensor) -> Tensor:
        """Zeros."""
        return self.zeros(like.shape, like)

    def watched(self, watch: tape.Watch, g: Tensor) -> Tensor:
        """Show a gradient to the hooks, and keep it where retain_grad asked for it."""
        return show(watch, g)


raw_runner, recording_runner = RawRunner(), RecordingRunner()


def show(watch: tape.Watch, g: Tensor) -> Tensor:
    """The gradient after the hooks."""
    for hook in list(watch.hooks.values()):
        changed = hook(g)
        if changed is not None:
            if described(changed) != described(g):
                raise GradError(f"hook: gave {described(changed)} for a gradient of {described(g)}. "
                                "Give None, or a tensor like the gradient.")
            g = changed
    if watch.keeps:
        watch.grad = copied(g) if watch.grad is None else watch.grad + g
    return g


def copied(g: Tensor) -> Tensor:
    """The same content in memory of its own, recorded."""
    return apply(registry["copy"], (g,))


def seed_gradient(output: Tensor, gradient: Any, op: str = "backward") -> Tensor:
    """The gradient that backward starts from, checked against the output."""
    if gradient is None:
        if output.size != 1:
            raise GradError(f"{op}: needs a gradient for shape {output.shape}. Pass one, or sum first.")
        return fresh(backend.of(output.raw).full(output.shape, 1, output.dtype))
    if not isinstance(gradient, Tensor):
        is_typed = hasattr(gradient, "dtype")
        gradient = as_operand(op, gradient, "cpu")
        if not is_typed:                          # numbers and lists are weak: they take the tensor's dtype and device
            table = backend.of(output.raw)
            gradient = Tensor(table.from_numpy(gradient.raw.astype(output.dtype)))
    gradient.refresh()
    if gradient.shape != output.shape or gradient.dtype != output.dtype:
        raise GradError(f"{op}: the gradient is {gradient.dtype} {gradient.shape}, the tensor {output.dtype} "
                        f"{output.shape}. Pass one like the tensor.")
    if gradient.device != output.device:
        raise DeviceError(f"{op}: the gradient lives on {gradient.device}, the tensor on {output.device}. "
                          f"Use .to({output.device!r}).")
    return gradient


def gradients_of(outputs: Sequence[Tensor], seeds: Sequence[Any], retain_graph: bool, create_graph: bool,
                 wanted: Wanted | None = None, op: str = "backward") -> dict[Any, Any]:
    """{leaf: gradient}: raw arrays, or with create_graph Tensors; of `wanted` too, if that is given.

    Errors name `op`.
    """
    roots = []
    for output, seed in zip(outputs, seeds):
        node = output.refresh().node
        if node is None:
            raise GradError(f"{op}: the tensor does not depend on anything that requires grad. Set requires_grad.")
        seed = seed_gradient(output, seed, op)
        roots.append((node, seed if create_graph else seed.raw))
    runner = recording_runner if create_graph else raw_runner
    with tape.grad_mode(create_graph):
        return pulled(roots, runner, retain_graph or create_graph, wanted)


def pulled(roots: list[tuple[Any, Any]], runner: Runner, retain_graph: bool, wanted: Wanted | None) -> dict:
    """`tape.backward`, on the watch for NaN where `config.check_nan` or `detect_anomaly` asks, else fusing chains."""
    config = sys.modules.get(CONFIG) or import_module(CONFIG)
    pull, chains = tape.pull, None
    counter = tape.modes.counter if runner is raw_runner else None
    if counter is not None:
        runner, pull = counter.runner, counter.pull
    looks, tells = config.check_nan or tape.modes.anomaly, tape.modes.anomaly is not None
    if looks:
        pull = partial(anomaly.pull, raw_runner)
    elif runner is raw_runner and not tells and (
            config.fusion is True or (config.fusion and type(roots[0][1]) is np.ndarray)):
        chains = Chains(roots, () if wanted is None else wanted.nodes, config.fusion_threshold)
    found = (anomaly.telling if tells else tape.backward)(roots, runner, retain_graph, pull, wanted, chains)
    if looks:
        anomaly.check_sums(found)
    if wanted is not None:
        found |= wanted.found
    return found


def backward(self: Tensor, gradient: Any = None, *, retain_graph: bool = False, create_graph: bool = False,
             inputs: Sequence[Tensor] | None = None) -> None:
    """Accumulate gradients into the leaves, or only into `inputs`.

    `gradient`: that of the tensor, of its shape and dtype; may be left out for one element.
    `retain_graph`: keep what a second backward needs.  `create_graph`: record, for higher derivatives.
    `inputs`: leaves or computed tensors, which then retain their gradients; nothing behind them is computed or freed.

    >>> import lucid_nb as lnb
    >>> x = lnb.tensor(3.0, requires_grad=True)
    >>> (x ** 2).backward()
    >>> x.grad
    tensor(6.)
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else inputs
    if inputs is not None and not (isinstance(inputs, (list, tuple)) and all(isinstance(x, Tensor) for x in inputs)):
        raise GradError(f"backward: inputs is {inputs!r}. Give a list of tensors.")
    wanted = None if inputs is None else Wanted(_asked(inputs), [self.refresh().node])
    owned: set[int] = set()
    if self.requires_grad and gradient is not None:
        gradient = seed_gradient(self, gradient)
        owned.add(id(gradient.raw))
    found = gradients_of([self], [gradient], retain_graph, create_graph, wanted)
    for leaf, g in found.items():
        if type(leaf) is Leaf:                    # computed ones have theirs already
            _accumulate(leaf, g, create_graph, owned)


def _asked(inputs: Sequence[Tensor]) -> list[Any]:
    """The nodes of `inputs`; those of computed ones keep their gradients."""
    if not inputs:
        raise GradError("backward: inputs is empty. Name tensors, or leave it out.")
    for x in inputs:
        if x.refresh().node is None:
            raise GradError(f"backward: an input of shape {x.shape} does not require grad. Set requires_grad.")
        if type(x.node) is not Leaf:
            x.retain_grad()
    return [x.node for x in inputs]


def _accumulate(leaf: Leaf, g: Any, create_graph: bool, owned: set[int]) -> None:
    """Add to a leaf's gradient; `x + y` passes one array on to both, and each leaf must own its own."""
    if not create_graph:
        table = backend.of(g)
        g = g if isinstance(g, np.ndarray) or table.name != "cpu" else np.asarray(g)
        is_view = table.name == "cpu" and (isinstance(g.base, np.ndarray) or not g.flags.writeable)
        is_shared = is_view or id(g) in owned
        g = Tensor(table.copy(g) if is_shared else g)
        owned.add(id(g.raw))
    if leaf.watch is not None:
        g = show(leaf.watch, g)
    g = copied(g) if leaf.grad is None and (create_graph or leaf.watch is not None) else g
    with tape.anywhere.lock:               # threads that share a leaf must not lose what another adds
        leaf.grad = g if leaf.grad is None else leaf.grad + g
    if leaf.watch is not None and leaf.watch.after:
        with tape.grad_mode(create_graph):
            for hook in list(leaf.watch.after.values()):
                hook()


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> tape.Handle:
    """Call `hook(tensor)` whenever backward has added to `.grad` of this leaf; GradError for any other tensor.

    >>> import lucid_nb as lnb
    >>> x = lnb.tensor(3.0, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda x: print(x.grad))
    >>> (x ** 2).backward()
    tensor(6.)
    """
    if type(self.refresh().node) is not Leaf:
        raise GradError("register_post_accumulate_grad_hook: the tensor is no leaf that requires grad, so nothing is "
                        "added to its gradient. Use .register_hook.")
    if not callable(hook):
        raise DTypeError(f"register_post_accumulate_grad_hook: {hook!r} is not a function. Give one of the tensor.")
    return tape.Handle(self._watch().after, partial(hook, self))


Tensor.backward = backward  # type: ignore[method-assign]
Tensor.register_post_accumulate_grad_hook = register_post_accumulate_grad_hook  # type: ignore
