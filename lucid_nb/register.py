"""The record: what turns a formula, or a function, into an op with all its names.

An elementwise op is written as its formula under `unary`, `binary` or `ternary`; its function, method, operator and
stub, its tests on every device and its benchmark row come from what the decorator is told. A function over
primitives is published by `public`.
"""

from collections.abc import Callable, Sequence
from sys import _getframe as getframe
from typing import Any

import numpy as np

from . import dtypes, expr
from .apply import COMPARISONS, apply, compare, recorded, recorded_one
from .array import Tensor, fresh, modes, ndarray, new
from .facts import Facts, Rule
from .op import Elementwise, is_large, registry
from .shapes import LARGE, MIDDLING
from .storage import Reshape
from .tape import anywhere

functions: dict[str, Callable] = {}                  # public name -> function
ARITHMETIC = {"add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "and", "or", "xor", "lshift",
              "rshift"}
WEAK = frozenset(dtypes.WEAK)
TENSORS: set[type] = {Tensor}    # and the classes made of it that want the short roads: parameters; see `close_roads`
closed: set[type] = set()        # what was in TENSORS while the short roads are closed
gate = np.array([id(Tensor)], np.int64)      # for the roads in machine code (see roads.py): 0 while they are closed
operators: dict[str, Callable] = {}          # those that such roads may serve
targets: dict[Elementwise, Callable] = {}    # such roads, which write an op's result into its last argument
FEW = 4096               # elements below which NumPy's own routines do as well as kernels
SQUARE = 180             # two operands of fewer elements broadcast to fewer than LARGE


class Short:
    """What short roads in Python begin and end with, in Python itself until machine code is there (see roads.py)."""

    def small(self, x: Any) -> ndarray | None:
        """The array of a tensor that no graph knows, where it has axes and few elements; otherwise None."""
        raw = self.plain(x)
        return raw if raw is not None and raw.ndim > 0 and raw.size < FEW else None

    def middling(self, x: Any, times: int = 1) -> ndarray | None:
        """`small` up to sizes (so many times the array's) for whose copies recycled memory and threads do not pay."""
        raw = self.plain(x)
        return raw if raw is not None and raw.ndim > 0 and raw.size * times < MIDDLING else None

    def made(self, raw: ndarray) -> Tensor:
        """The tensor of a new array."""
        return fresh(raw)

    def plain(self, x: Any) -> ndarray | None:
        """The array of a tensor that no graph knows; otherwise None."""
        if type(x) not in TENSORS or x.node is not None or type(x.raw) is not ndarray:
            return None
        return x.raw if x.storage is None or x.storage.generation == x.generation else None

    def writable(self, x: Any) -> ndarray | None:
        """The array of a tensor that may be written without anybody being told: no graph knows it, or has saved it."""
        raw = self.plain(x)
        if raw is None or x.is_value or not raw.flags.writeable:
            return None
        if x.storage is None:
            return raw if x.version is None else None
        is_free = x.root.node is None and not x.root.is_unrecorded and not x.storage.version.is_saved()
        return raw if is_free else None

    def zeros(self, shape: int | tuple, dtype: np.dtype) -> Tensor:
        """A new tensor of zeros."""
        return self.made(np.zeros(shape, dtype))

    def empty(self, shape: int | tuple, dtype: np.dtype) -> Tensor:
        """A new tensor of any content."""
        return self.made(np.empty(shape, dtype))

    def ones(self, shape: int | tuple, dtype: np.dtype) -> Tensor:
        """A new tensor of ones."""
        return self.made(np.ones(shape, dtype))

    def shaped(self, x: Any, shape: int | tuple) -> Tensor | None:
        """The view of a tensor of the cpu in another shape, where its memory has one; otherwise None."""
        if type(x) is not Tensor or type(x.refresh().raw) is not ndarray:
            return None
        try:
            seen = x.raw.reshape(shape, copy=False)
        except (ValueError, TypeError):
            return None
        return x.moved(Reshape(seen.shape), seen)


short = Short()


def is_into(op: Elementwise, inputs: Sequence[Any], out: Any) -> bool:
    """Write an op's result straight into a tensor, where nothing forbids it; False, with nothing written, elsewhere."""
    road = targets.get(op)
    return write_into(op, *inputs, out) if road is None else road(*inputs, out)


def write_into(op: Elementwise, *given: Any) -> bool:
    """`is_into` in Python; the last argument is the target."""
    *inputs, out = given
    target, raws = short.writable(out), [short.plain(x) for x in inputs]
    if target is None or any([raw is None for raw in raws]):
        return False
    compiled = op.compiled.get(tuple([raw.dtype for raw in raws]) if len(raws) > 1 else raws[0].dtype)  # type: ignore
    return compiled is not None and compiled.into is not None and compiled.into(target, *raws)


class Manners:
    """How functions take NumPy's further arguments (`out=`, `where=`, `dtype=` ...): `ufuncs` says it here, which
    needs the chapters."""

    call: Callable[..., Any]


manners = Manners()


def record(arity: int, *, kind: str = "number", bools: bool | str = True, complexes: bool | Callable = False,
           integers: tuple[int, ...] = (), oracle: str = "", samples: Sequence[tuple[float, float]] = (),
           ulp: float = 0.0, names: tuple[str, ...] = (), operator: str = "", method: bool = True,
           published: bool = True, name: str = "") -> Callable[[Callable], Callable]:
    """A formula becomes an op, its public function, and its methods. What the arguments mean: see `op.Facts`.

    `complexes` may be the formula for complex numbers, where it is another one. Not `published`, the function is only
    given back, for a function that looks at its arguments first.
    """
    def decorate(formula: Callable) -> Callable:
        op_name = name or formula.__name__
        samples_ = tuple(samples) or ((-3.0, 3.0),)
        facts = Facts(formula.__doc__ or "", Rule(kind, bools, bool(complexes), integers), oracle,
                      samples_ * (arity // len(samples_)), ulp, names, op_name if method else "", operator)
        of_complex = Elementwise(op_name, expr.trace(complexes, arity), arity, facts) if callable(complexes) else None
        op = Elementwise(op_name, expr.trace(formula, arity), arity, facts, of_complex=of_complex)
        registry[op_name] = op
        has_roads = len(op.outputs) == 1 and kind != "double"      # on them results have the dtype of the operands
        roads = {1: unary_function, 2: binary_function} if has_roads else {}
        function = roads.get(arity, general_function)(op)
        function.__name__, function.__qualname__, function.__doc__ = op_name, op_name, formula.__doc__
        function.__module__, function.record = formula.__module__, op  # type: ignore[attr-defined]
        if published:
            publish(function, names, method)
        if operator:
            install_operator(operator, function)
            operators.update({operator: function} if has_roads else {})
        return function
    return decorate


def unary(**facts: Any) -> Callable[[Callable], Callable]:
    """A formula of one input."""
    return record(1, **facts)


def binary(**facts: Any) -> Callable[[Callable], Callable]:
    """A formula of two inputs, broadcast."""
    return record(2, **facts)


def ternary(**facts: Any) -> Callable[[Callable], Callable]:
    """A formula of three inputs, broadcast."""
    return record(3, **facts)


def public(*, names: tuple[str, ...] = (), method: bool = True) -> Callable[[Callable], Callable]:
    """Publish a function over primitives, under its own and other names, and as a method of its first argument."""
    def decorate(function: Callable) -> Callable:
        return publish(function, names, method)
    return decorate


def publish(function: Callable, names: tuple[str, ...], method: bool) -> Callable:
    """Enter a function under its names."""
    for name in (function.__name__, *names):
        functions[name] = function
        if method and not hasattr(Tensor, name):
            setattr(Tensor, name, function)
    return function


def open_roads(kinds: set[type]) -> None:
    """Let tensors of these classes take the short roads."""
    (closed or TENSORS).update(kinds)


def close_roads() -> None:
    """Send every call of an op, in all threads, the general road, where it can be seen; until `reopen_roads`."""
    gate[0] = 0
    closed.update(TENSORS)
    TENSORS.clear()


def reopen_roads() -> None:
    """The short roads again."""
    TENSORS.update(closed)
    closed.clear()
    gate[0] = id(Tensor)


def install_operator(operator: str, function: Callable) -> None:
    """Make a function Python's operator, reflected and in place too where it is arithmetic."""
    setattr(Tensor, f"__{operator}__", function)
    if operator in ARITHMETIC:
        setattr(Tensor, f"__r{operator}__", lambda x, y: function(y, x))
        setattr(Tensor, f"__i{operator}__", lambda x, y: x.update(function(x, y), function.__name__))


# ------------------------------------------------------------------------------- the functions that users call
# One and two inputs have a short road for tensors that nothing has rewritten and whose kernel is known. Their further
# arguments, and Tensor's constructor, are written out: a dict of them, or a call, takes a tenth of a small add's time.
def plain(raw: ndarray) -> Tensor:
    """A new result without a gradient."""
    result = new(Tensor)
    result.raw, result.node, result.is_value, result.storage, result.version = raw, None, False, None, None
    return result


def unary_function(op: Elementwise) -> Callable:
    """A function of one tensor."""
    compiled_for = op.compiled.get

    def function(x: Any, /, out: Any = None, where: Any = None, casting: Any = None, order: Any = None,
                 dtype: Any = None, subok: Any = None, signature: Any = None) -> Tensor:
        if (out is not None or where is not None or dtype is not None or casting is not None or order is not None
                or signature is not None):
            return manners.call(function, (x,), out, where, casting, order, dtype, signature)
        if type(x) in TENSORS and ((storage := x.storage) is None or storage.generation == x.generation):
            raw = x.raw
            compiled = compiled_for(raw.dtype)
            if compiled is not None:
                try:
                    result = compiled.kernel(raw) if raw.size < LARGE else compiled.large(raw)
                except MemoryError:                # the general road says how much
                    return apply(op, (x,))
                edge = x.node
                if edge is None or (anywhere.blocks and not modes.enabled):
                    return plain(result) if type(result) is ndarray else fresh(result)
                return recorded_one(op, compiled, x, None, (edge,), 1, result, getframe(1))
        return apply(op, (x,))
    return function


def binary_function(op: Elementwise) -> Callable:
    """A function of two tensors, or a tensor and what becomes one.

    The short road records where shapes and dtypes are equal: elsewhere each gradient must be fitted to its input
    (tests/test_backward.py), and no elements are of one size in any shape.
    """
    with_scalar = scalar_function(op)
    general = compare if op.name in COMPARISONS else apply
    latest: tuple = (None, None, None)         # two dtypes and what is compiled for them, swapped as one

    def function(x: Any, y: Any, /, out: Any = None, where: Any = None, casting: Any = None, order: Any = None,
                 dtype: Any = None, subok: Any = None, signature: Any = None) -> Tensor:
        nonlocal latest
        if (out is not None or where is not None or dtype is not None or casting is not None or order is not None
                or signature is not None):
            return manners.call(function, (x, y), out, where, casting, order, dtype, signature)
        if type(x) in TENSORS and ((storage := x.storage) is None or storage.generation == x.generation):
            if type(y) in TENSORS:
                if (storage := y.storage) is None or storage.generation == y.generation:
                    a, b = x.raw, y.raw
                    a_dtype, b_dtype, compiled = latest
                    if a.dtype is not a_dtype or b.dtype is not b_dtype:
                        if (compiled := op.compiled.get((a.dtype, b.dtype))) is None:
                            return general(op, (x, y))
                        latest = a.dtype, b.dtype, compiled
                    size, left, right = a.size, x.node, y.node
                    is_one_shape = size == b.size and (size < SQUARE or a.shape == b.shape)
                    is_plain = left is right is None or (anywhere.blocks and not modes.enabled)
                    if is_one_shape or is_plain:       # otherwise a gradient must undo the broadcast: the general road
                        try:
                            large = size >= LARGE if is_one_shape else is_large((a, b))
                            result = compiled.large(a, b) if large else compiled.kernel(a, b)
                        except (ValueError, MemoryError):      # the general road says what is wrong
                            return general(op, (x, y))
                        if is_plain:
                            if type(result) is not ndarray:
                                return fresh(result)
                            z = new(Tensor)              # `plain`, written out
                            z.raw, z.node, z.is_value, z.storage, z.version = result, None, False, None, None
                            return z
                        if result.size == size != 0 and a.ndim == b.ndim and (a.dtype is b.dtype or a.dtype == b.dtype):
                            wanted = (0 if left is None else 1) + (0 if right is None else 2)
                            return recorded_one(op, compiled, x, y, (left, right), wanted, result, getframe(1))
            elif type(y) in WEAK:
                return with_scalar(x, y, False, getframe(1))
        elif type(x) in WEAK and type(y) in TENSORS and (
                (storage := y.storage) is None or storage.generation == y.generation):
            return with_scalar(y, x, True, getframe(1))
        return general(op, (x, y))
    return function


def scalar_function(general: Elementwise) -> Callable:
    """The road of a tensor and a Python scalar, whose 0-d array and kernel are remembered by value."""
    known_for = general.numbers.get

    def function(x: Tensor, scalar: Any, is_first: bool, frame: Any) -> Tensor:
        raw = x.raw
        found = known_for((scalar, type(scalar), raw.dtype, is_first)) or general.beside(raw, scalar, is_first)
        op, compiled = found.op, found.compiled
        run = compiled.kernel if raw.size < LARGE else compiled.large
        try:
            result = run(found.raw, raw) if is_first else run(raw, found.raw)
        except MemoryError:
            return apply(op, (scalar, x) if is_first else (x, scalar))
        edge = x.node
        if edge is None or (anywhere.blocks and not modes.enabled):
            return plain(result) if type(result) is ndarray else fresh(result)
        if (constant := found.tensor) is None:
            constant = found.tensor = Tensor(found.raw, None, True)
        if x.dtype != constant.dtype:                  # an integer tensor has no edge, so this promoted a float
            inputs, edges = ((constant, x), (None, edge)) if is_first else ((x, constant), (edge, None))
            return recorded(op, inputs, edges, result, None)
        if is_first:
            return recorded_one(op, compiled, constant, x, (None, edge), 2, result, frame)
        return recorded_one(op, compiled, x, constant, (edge, None), 1, result, frame)
    return function


def general_function(op: Elementwise) -> Callable:
    """A function of any number of tensors. Those without a gradient have a short road, as above."""
    arity, compiled_for = op.arity, op.compiled.get

    def function(*inputs: Any, **options: Any) -> Any:
        if options:
            return manners.call(function, inputs, **options)
        if len(inputs) != arity:
            if len(inputs) == arity + len(op.outputs):     # NumPy takes outputs by position, too
                return manners.call(function, inputs[:arity], inputs[arity:])
            raise TypeError(f"{op.name}: takes {arity} arguments, got {len(inputs)}.")
        raws = [x.raw for x in inputs if type(x) in TENSORS and x.node is None and (
            (storage := x.storage) is None or storage.generation == x.generation)]
        if len(raws) == arity:
            compiled = compiled_for(tuple([raw.dtype for raw in raws]) if arity > 1 else raws[0].dtype)
            if compiled is not None:
                try:
                    result = (compiled.large if is_large(raws) else compiled.kernel)(*raws)
                except (ValueError, MemoryError):          # the general road says what is wrong
                    return apply(op, inputs)
                return tuple(map(fresh, result)) if type(result) is tuple else fresh(result)
        return apply(op, inputs)
    return function
