"""Calling ops on Tensors: operands, recording, and the two ways in which backward calls them."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import FrameType
from typing import Any

import numpy as np

from . import backend, dtypes, tape
from .array import Leaf, Node, Tensor, fresh, new
from .errors import DeviceError, DTypeError, GradError, ShapeError
from .op import LARGE, RESULT, Compiled, Elementwise, Primitive, constant, registry
from .storage import Broadcast, Movement, Permute, Version
from .tape import next_sequence, place_of

Params = Mapping[str, Any] | None



# ------------------------------------------------------------------------------------------------ operands
def as_array(op: str, data: Any) -> np.ndarray:
    """A NumPy array of data that is not a tensor: numbers, nested lists, arrays."""
    if isinstance(data, (list, tuple)) and _holds_tensor(data):
        data = _tensors_to_arrays(data)
    try:
        found = np.asarray(data)
    except ValueError:
        raise ShapeError(f"{op}: the nested sequence is ragged. Give rows of equal length.") from None
    except OverflowError as error:
        raise dtypes.OverflowError(f"{op}: {error}. Use a wider dtype.") from None
    if found.dtype.kind == "O" and found.size and all(isinstance(number, int) for number in found.flat):
        raise dtypes.OverflowError(f"{op}: {max(found.flat, key=abs)} does not fit int64. Use floats.")
    if found.dtype.kind == "O" and isinstance(data, (list, tuple)):
        raise DTypeError(f"{op}: the sequence has elements that are not numbers. Use numbers of one kind.")
    return found if found.dtype.isnative else found.astype(found.dtype.newbyteorder("="))


def _holds_tensor(data: Any) -> bool:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, Tensor)


def _tensors_to_arrays(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return [_tensors_to_arrays(part) for part in data]
    return data.to_host() if isinstance(data, Tensor) else data


def as_operand(op: str, value: Any, device: str) -> Tensor:
    """What becomes a tensor: lists go to `device`, NumPy arrays are on the cpu."""
    array = as_array(op, value)
    dtypes.check_supported(op, array.dtype)
    if isinstance(value, (list, tuple)):
        if array.dtype == dtypes.FLOAT64:
            array = array.astype(dtypes.default_dtype())
        return fresh(backend.table(device).from_numpy(array))
    return fresh(array)


def operands(op: str, values: Sequence[Any]) -> list[Any]:
    """Tensors, all on one device; Python scalars stay as they are, being weak, unless there is nothing else."""
    devices = {value.device: value for value in values if isinstance(value, Tensor)}
    device = next(iter(devices), None) or backend.default_device()
    found: list[Any] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value.refresh())
        elif type(value) in dtypes.WEAK:
            found.append(value)
        else:
            found.append(as_operand(op, value, device))
    kinds = list(dict.fromkeys(value.device for value in found if isinstance(value, Tensor)))
    if len(kinds) > 1:
        raise DeviceError(f"{op}: operands live on {kinds[0]} and {kinds[1]}. Use .to({kinds[0]!r}) on one of them.")
    if not kinds and found:
        key = tuple(map(type, found))
        dtype = dtypes.promote(key)
        return [fresh(constant(op, value, dtype, backend.table(device))) for value in found]
    return found


# ---------------------------------------------------------------------------------------------- calling ops
def apply(op: Elementwise | Primitive, values: Sequence[Any], params: Params = None) -> Any:
    """Run an op on tensors, and on what becomes one; record it where a gradient may be asked for."""
    tensors = operands(op.name, values)
    if isinstance(op, Elementwise):
        raws = op.strengthen([x.raw if isinstance(x, Tensor) else x for x in tensors])
        tensors = [x if isinstance(x, Tensor) else Tensor(raw) for x, raw in zip(tensors, raws)]
    else:
        tensors = [x if isinstance(x, Tensor) else as_operand(op.name, x, backend.default_device()) for x in tensors]
        raws = [x.raw for x in tensors]
    result = op.run(raws, params)
    if tape.is_recording():
        edges = tuple([x.node for x in tensors])
        if edges.count(None) != len(edges):
            return recorded(op, tensors, edges, result, params)
    return tuple([fresh(r) for r in result]) if type(result) is tuple else fresh(result)


def recorded_one(op: Elementwise, compiled: Compiled, x: Tensor, y: Tensor | None, edges: tuple, wanted: int, raw: Any,
                 frame: FrameType) -> Tensor:
    """`recorded` for the common case: one result, of the shape of its one or two inputs. `frame` is the caller's.

    `wanted`: bit i says that input i has an edge. The constructors of Tensor and Node are written out: this is the cost
    of a small op.
    """
    if type(raw) is not np.ndarray:
        return recorded(op, (x,) if y is None else (x, y), edges, raw, None)
    plan = compiled.plans[wanted]
    if plan is None:
        plan = compiled.plans[wanted] = op.plan(edges).for_dtypes()
    result = new(Tensor)
    result.raw, result.is_value, result.storage, result.version = raw, False, None, None
    if not plan.serves:
        result.node = None
        return result
    result.node = node = new(Node)
    node.op, node.plan, node.edges, node.like, node.watch = op, plan, edges, None, None
    node.place, node.sequence = place_of(frame), next_sequence()
    kept = plan.kept
    if not kept:
        node.saved, node.versions, node.stamp = (), (), 0
    elif kept == BOTH and y is not None:
        first, second = x.version or version_of(x), y.version or version_of(y)
        node.saved, node.versions, node.stamp = (x.raw, y.raw), (first, second), first.count + second.count
    else:
        node.saved, node.versions, node.stamp = save(kept, (x, result) if y is None else (x, y, result))
    return result


BOTH = (0, 1)        # of two inputs; of one, the input and the result


def save(kept: tuple[int, ...], available: Sequence[Tensor]) -> tuple[Any, Any, int]:
    """The kept tensors' raw arrays and versions, and the sum of the counts."""
    if len(kept) == 1:
        tensor = available[kept[0]]
        version = tensor.version or version_of(tensor)
        return (tensor.raw,), (version,), version.count
    saved, versions, stamp = [], [], 0
    for number in kept:
        tensor = available[number]
        version = tensor.version or version_of(tensor)
        saved.append(tensor.raw)
        versions.append(version)
        stamp += version.count
    return saved, versions, stamp


def version_of(tensor: Tensor) -> Version:
    """The version of a tensor's memory, made when it is first needed."""
    if tensor.storage is not None:
        return tensor.storage.version
    if tensor.version is None:
        tensor.version = Version()
    return tensor.version


def recorded(op: Elementwise | Primitive, inputs: Sequence[Tensor], edges: tuple, result: Any, params: Params) -> Any:
    """Results with the node that leads back; it saves exactly what the op's gradient reads."""
    outputs = [fresh(r) for r in result] if type(result) is tuple else [fresh(result)]
    like = tuple([(x.shape, x.dtype) for x in (*inputs, outputs[0])])
    if isinstance(op, Primitive):
        if not (op.is_differentiable and dtypes.is_inexact(like[-1][1])):
            return tuple(outputs) if type(result) is tuple else outputs[0]
        kept = tuple([len(inputs) if number == RESULT else number for number in op.keeps])
        node = Node(op, params, edges, like, *save(kept, [*inputs, *outputs]), tape.user_place())
    else:
        plan = op.plan(edges)
        if True not in plan.served:
            return tuple(outputs) if type(result) is tuple else outputs[0]
        like = None if like.count(like[-1]) == len(like) else like
        node = Node(op, plan, edges, like, *save(plan.kept, [*inputs, *outputs]), tape.user_place())
    if type(result) is not tuple:
        outputs[0].node = node
        return outputs[0]
    for index, output in enumerate(outputs):
        if dtypes.is_inexact(output.dtype):                          # an exponent has no gradient
            output.node = tape.Port(node, index)
    return tuple(outputs)


# ----------------------------------------------------------------------------------------------- backward
class Runner:
    """`ops.name(...)` of a pullback."""

    records = False

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
        if tuple(g.shape) != shape:
            extra = len(g.shape) - len(shape)
            axes = tuple(i for i, size in enumerate(g.shape)
                         if i < extra or shape[i - extra] == 1 != size)
            g = self.reshape(self.sum(g, axes=axes, keepdims=False) if axes else g, shape=shape)
        found = g.dtype if isinstance(g, (Tensor, np.ndarray)) else backend.of(g).dtype_of(g)
        if found == dtype:
            return g
        return self.cast(self.real(g) if found.kind == "c" != dtype.kind else g, dtype=dtype)


class RawRunner(Runner):
    """On raw arrays, unrecorded: nobody will differentiate the gradient."""

    def run(self, op: Any, arguments: Sequence[Any], params: Params = None) -> Any:
        return op.run(arguments, params)

    def add(self, a: Any, b: Any) -> Any:
        """Two gradients of one value, which are alike."""
        op = registry["add"]
        compiled = op.compiled.get((a.dtype, b.dtype))
        if compiled is None:
            return op.run((a, b))
        return compiled.kernel(a, b) if a.size < LARGE else compiled.large(a, b)

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
        return x.view(Permute(axes))

    def reshape(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Another shape."""
        return x.reshape(shape)

    def broadcast_to(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        """A larger shape."""
        return x.view(Broadcast(shape))

    def view(self, x: Tensor, steps: tuple[Movement, ...]) -> Tensor:
        """The view at the end of `steps`."""
        return reduce(Tensor.view, steps, x)

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
            if not isinstance(changed, Tensor) or changed.shape != g.shape:
                raise GradError(f"hook: gave {getattr(changed, 'shape', type(changed).__name__)} for a gradient of "
                                f"shape {g.shape}. Give None, or a tensor of that shape.")
            g = changed
    if watch.keeps:
        watch.grad = copied(g) if watch.grad is None else watch.grad + g  # type: ignore[operator]
    return g


def copied(g: Tensor) -> Tensor:
    """The same content in memory of its own, recorded."""
    return apply(registry["copy"], (g,))


def seed_gradient(output: Tensor, gradient: Any) -> Tensor:
    """The gradient that backward starts from, checked against the output."""
    if gradient is None:
        if output.size != 1:
            raise GradError(f"backward: needs a gradient for shape {output.shape}. Pass one, or sum first.")
        return fresh(backend.of(output.raw).full(output.shape, 1, output.dtype))
    if not isinstance(gradient, Tensor):
        is_typed = hasattr(gradient, "dtype")
        gradient = as_operand("backward", gradient, "cpu")
        if not is_typed:                          # numbers and lists are weak: they take the tensor's dtype and device
            table = backend.of(output.raw)
            gradient = Tensor(table.from_numpy(gradient.raw.astype(output.dtype)))
    gradient.refresh()
    if gradient.shape != output.shape or gradient.dtype != output.dtype:
        raise GradError(f"backward: the gradient is {gradient.dtype} {gradient.shape}, the tensor {output.dtype} "
                        f"{output.shape}. Pass one like the tensor.")
    if gradient.device != output.device:
        raise DeviceError(f"backward: the gradient lives on {gradient.device}, the tensor on {output.device}. "
                          f"Use .to({output.device!r}).")
    return gradient


def gradients_of(outputs: Sequence[Tensor], seeds: Sequence[Any], retain_graph: bool,
                 create_graph: bool) -> dict[Any, Any]:
    """{leaf: gradient}: raw arrays, or with create_graph Tensors."""
    roots = []
    for output, seed in zip(outputs, seeds):
        node = output.refresh().node
        if node is None:
            raise GradError("backward: the tensor does not depend on anything that requires grad. Set requires_grad.")
        seed = seed_gradient(output, seed)
        roots.append((node, seed if create_graph else seed.raw))
    with tape.grad_mode(create_graph):
        return tape.backward(roots, recording_runner if create_graph else raw_runner, retain_graph or create_graph)


def backward(self: Tensor, gradient: Any = None, *, retain_graph: bool = False, create_graph: bool = False,
             inputs: Sequence[Tensor] | None = None) -> None:
    """Accumulate gradients into the leaves (or only into `inputs`).

    `gradient`: that of the tensor, of its shape and dtype; may be left out for one element.
    `retain_graph`: keep what a second backward needs.  `create_graph`: record, for higher derivatives.

    >>> import lucid_nb as lnb
    >>> x = lnb.tensor(3.0, requires_grad=True)
    >>> (x ** 2).backward()
    >>> x.grad
    tensor(6.)
    """
    wanted = None if inputs is None else {id(leaf) for leaf in _leaves((inputs,) if isinstance(inputs, Tensor) else inputs)}
    if self.requires_grad and gradient is not None:
        gradient = seed_gradient(self, gradient)
    owned = set() if gradient is None else {id(gradient.raw)}
    found = gradients_of([self], [gradient], retain_graph, create_graph)
    for leaf, g in found.items():
        if wanted is None or id(leaf) in wanted:
            _accumulate(leaf, g, create_graph, owned)


def _leaves(inputs: Sequence[Tensor]) -> list[Leaf]:
    """The leaves that `inputs` names."""
    found = [x.refresh().node for x in inputs]
    for x, leaf in zip(inputs, found):
        if type(leaf) is not Leaf:
            raise GradError(f"backward: an input of shape {x.shape} "
                            + ("does not require grad. Set requires_grad." if leaf is None else
                               "was computed. Use .retain_grad() on it, and name leaves."))
    return found


def _accumulate(leaf: Leaf, g: Any, create_graph: bool, owned: set[int]) -> None:
    """Add to a leaf's gradient; `x + y` passes one array on to both, and each leaf must own its own."""
    if not create_graph:
        table = backend.of(g)
        g = g if isinstance(g, np.ndarray) or table.name != "cpu" else np.asarray(g)
        is_shared = id(g) in owned or (table.name == "cpu" and (isinstance(g.base, np.ndarray) or not g.flags.writeable))
        g = Tensor(table.copy(g) if is_shared else g)
        owned.add(id(g.raw))
    if leaf.watch is not None:
        g = show(leaf.watch, g)
    if leaf.grad is not None:
        leaf.grad = leaf.grad + g
    else:
        leaf.grad = copied(g) if create_graph or leaf.watch is not None else g


Tensor.backward = backward  # type: ignore[method-assign]
