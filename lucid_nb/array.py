"""Tensor: an array with NumPy's semantics on every device, and a gradient."""

import sys
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from . import backend, dtypes, tape
from .errors import DTypeError, GradError, ShapeError, described
from .storage import READ_ONLY, Movement, Permute, Root, Slice, Storage, Version, read
from .views import Steps, current_node, index_put_view, spelled_out, view_node

modes, anywhere, Leaf, Node = tape.modes, tape.anywhere, tape.Leaf, tape.Node
new = object.__new__
REVERSED = [Permute(tuple(range(ndim)[::-1])) for ndim in range(65)]       # NumPy has no more axes
ndarray = np.ndarray


class Tensor:
    """An array with NumPy's semantics on every device, and a gradient.

    Make one with `lucid_nb.tensor` or `lucid_nb.asarray`.

    >>> import lucid_nb as lnb
    >>> x = lnb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4., 6.])
    """

    # `raw` and `node` are current while `storage` is None (nothing shares the memory) or its generation is the one
    # that this tensor has seen; `refresh` makes them so. The slots after `is_value` mean something with a storage only.
    __slots__ = ("__weakref__", "generation", "is_value", "node", "path", "raw", "root", "storage", "version")
    __array_priority__ = 1000

    def __init__(self, raw: Any, node: Any = None, is_value: bool = False) -> None:
        self.raw, self.node, self.is_value = raw, node, is_value
        self.storage = self.version = None

    # ------------------------------------------------------------------------------------ memory and graph
    def share(self) -> Storage:
        """The storage of this tensor's memory, made when it is first needed."""
        if self.storage is None:
            self.storage = Storage(self.raw, self.version or Version())
            self.root = Root(self.node, 0, (self.shape, self.dtype))
            self.path, self.generation, self.version = (), 0, None
        return self.storage

    @property
    def steps(self) -> Steps:
        """The movements from the storage's memory to this view. Until they are asked for, indices stand for slices."""
        self.path = spelled_out(self.path)
        return self.path

    def refresh(self) -> "Tensor":
        """Bring `raw` and `node` up to date after writes through other views."""
        storage = self.storage
        if storage is not None and self.generation != storage.generation:
            self.generation = storage.generation
            if not storage.aliases:
                self.raw = read(storage.raw, self.steps)
            self.node = current_node(self.node, self.root, self.steps)
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        return tuple(self.raw.shape)

    @property
    def ndim(self) -> int:
        """How many axes."""
        return len(self.raw.shape)

    @property
    def size(self) -> int:
        """How many elements."""
        return prod(self.raw.shape)

    @property
    def dtype(self) -> np.dtype:
        """The dtype, a numpy.dtype on every device."""
        raw = self.raw
        return raw.dtype if type(raw) is ndarray else backend.of(raw).dtype_of(raw)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def device(self) -> str:
        """Where the memory is: "cpu", "cuda" or "mlx"."""
        return backend.of(self.raw).device

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, on each axis; of a contiguous array where the device has no strides."""
        found = getattr(self.raw, "strides", None)
        return found if type(self.raw) is ndarray and found is not None else np.empty(self.shape, self.dtype).strides

    @property
    def T(self) -> "Tensor":
        """All axes reversed, as a view."""
        raw = self.raw
        return self.moved(REVERSED[len(raw.shape)], raw.T if type(raw) is ndarray else None)

    @property
    def mT(self) -> "Tensor":
        """The last two axes exchanged, as a view."""
        if self.ndim < 2:
            raise ShapeError(f"mT: needs two axes, the shape is {self.shape}. Reshape it.")
        return self.moved(Permute((*range(self.ndim - 2), self.ndim - 1, self.ndim - 2)))

    # --------------------------------------------------------------------------------------------- gradients
    @property
    def requires_grad(self) -> bool:
        """Does a graph lead here, or can a gradient end here?"""
        return self.refresh().node is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        node = self.refresh().node
        if wanted and node is None:
            if not dtypes.is_inexact(self.dtype):
                raise DTypeError(f"requires_grad: {self.dtype} has no gradient. Use .astype('float32').")
            self._reroot(Leaf())
        elif not wanted and node is not None:
            if type(node) is not Leaf:
                raise GradError("requires_grad: the tensor was computed. Use .detach() for its value alone.")
            self._reroot(None)

    def _reroot(self, node: Any) -> None:
        """Start a graph (or none) at this tensor, whatever shares its memory."""
        self.node = node
        if self.storage is not None:
            self.root = Root(node, len(self.steps), (self.shape, self.dtype))

    @property
    def is_leaf(self) -> bool:
        """Not the result of a recorded op?"""
        return type(self.refresh().node) in (Leaf, type(None))

    @property
    def grad(self) -> "Tensor | None":
        """The gradient that backward left: of a leaf, or of a tensor after retain_grad()."""
        node = self.refresh().node
        if type(node) is Leaf:
            return node.grad
        return node.watch.grad if node is not None and node.watch is not None else None

    @grad.setter
    def grad(self, value: "Tensor | None") -> None:
        node = self.refresh().node
        if value is not None and described(value) != described(self):
            kind = ShapeError if getattr(value, "shape", None) != self.shape else GradError
            raise kind(f"grad: got {described(value)} for {described(self)}. Assign a tensor like it, or None.")
        if type(node) is Leaf:
            node.grad = value
        elif node is not None and node.watch is not None:
            node.watch.grad = value
        elif value is not None:
            raise GradError("grad: the tensor does not require grad. Set requires_grad first.")

    def zero_grad(self) -> None:
        """Forget the gradient."""
        self.grad = None

    def detach(self) -> "Tensor":
        """The same memory and version, outside the graph."""
        storage = self.share()
        self.refresh()
        root = Root(None, len(self.path), (self.shape, self.dtype))
        return view_of(storage, self.raw, self.path, root, None, self.is_value)

    def _watch(self) -> tape.Watch:
        node = self.refresh().node
        if node is None:
            raise GradError("hook: the tensor does not require grad. Set requires_grad first.")
        if node.watch is None:
            node.watch = tape.Watch()
        return node.watch

    def register_hook(self, hook: "Callable[[Tensor], Tensor | None]") -> tape.Handle:
        """Call `hook(gradient)` when backward has the gradient of this tensor; a tensor that it gives replaces it."""
        if not callable(hook):
            raise DTypeError(f"register_hook: {hook!r} is not a function. Give one of the gradient.")
        return tape.Handle(self._watch().hooks, hook)

    def retain_grad(self) -> None:
        """Keep the gradient of a computed tensor in `.grad`."""
        self._watch().keeps = True

    # ------------------------------------------------------------------------------------------------ views
    def moved(self, step: Movement, raw: Any = None) -> "Tensor":
        """One movement step further; of a value, which nothing may write, an array of its own."""
        storage = self.storage
        if storage is None:
            storage = self.share()
        elif storage.generation != self.generation:
            self.refresh()
        before, node, root = self.raw, self.node, self.root
        raw = step.read(before) if raw is None else raw
        if node is not None:
            if not anywhere.blocks or modes.enabled:
                like = (before.shape, before.dtype) if type(before) is ndarray else (self.shape, self.dtype)
                node = view_node(node, like, (step,))
            else:                                  # as if detached, also after later writes
                node, root = None, Root(None, len(self.path) + 1, (tuple(raw.shape), self.dtype), True)
        if self.is_value and type(step) not in READ_ONLY:
            return fresh(backend.of(raw).copy(raw), node)
        if type(step) in READ_ONLY and type(raw) is ndarray:
            raw = raw.view()                       # it may be the very array that it views
            raw.flags.writeable = False
        return view_of(storage, raw, (*self.path, step), root, node)

    def element(self, index: tuple[int, ...]) -> "Tensor":
        """One element as a value of its own."""
        self.refresh()
        node, raw = self.node, self.raw
        step = Slice(index)
        if node is not None:
            node = view_node(node, (self.shape, self.dtype), (step,)) if modes.enabled else None
        taken = np.array(raw[index]) if type(raw) is ndarray else backend.of(raw).copy(step.read(raw))
        return fresh(taken, node)

    def __iter__(self) -> "Iterator[Tensor]":
        if not self.raw.shape:
            raise DTypeError("iteration: over a 0-d tensor. Use .item() for its value.")
        return (self[i] for i in range(self.raw.shape[0]))

    # ----------------------------------------------------------------------------------------------- writes
    def update(self, result: "Tensor", name: str) -> "Tensor":
        """`x += y`: a value rebinds, anything else is written. `result` is the temporary that overlaps nothing."""
        if self.is_value:
            return result
        node = result.node
        while type(node) is Node and len(node.edges) == 1 and not node.saved:      # a product's reshape, say
            node = node.edges[0]
        if type(node) is Node:
            node.keep_copy(self.share().version)
        self.write(result, f"in-place {name}", "same_kind")
        return self

    def write(self, value: "Tensor", name: str, casting: str = "unsafe") -> None:
        """Replace this view's content; recorded where either side has a gradient. `casting` is one of NumPy's."""
        self.check_writable(name)
        storage = self.share()
        if value.storage is storage and value.steps == self.steps and value.root.node is self.root.node:
            return                                  # the store that ends `x[1:3] *= 10`: already written
        value = value.refresh() if backend.batching.fit is None else backend.batching.fit(name, self, value.refresh())
        self._check_write(value, name, casting)
        self._record_write(index_put_view, value, {"steps": self.refresh().steps[self.root.depth:]}, name)
        table = backend.of(self.raw)
        raw = value.raw if value.dtype == self.dtype else table.cast(value.raw, self.dtype)
        if storage.aliases:
            overlaps = value.storage is storage or (table.name == "cpu" and np.may_share_memory(raw, self.raw))
            table.assign(self.raw, table.copy(raw) if overlaps else raw)
        else:
            storage.replace(self.steps, raw)
        self.mark_written(name)

    def check_writable(self, name: str) -> None:
        """Refuse what no write may change, before anything is recorded or written."""
        if self.is_value:
            raise ShapeError(f"{name}: a 0-d result is a value and cannot be written. Bind the name to the new value.")
        if self._is_read_only():
            raise ShapeError(f"{name}: the memory is read-only (broadcast, or imported so). Write into .copy().")
        if modes.enabled and self.storage is not None and self.root.is_unrecorded:
            raise GradError(f"{name}: the tensor is a view taken under no_grad, and the graph would not know of "
                            "the write. Take the view again, or write under no_grad.")
        if modes.enabled:
            tape.refuse_start(name, self.refresh().node, "")

    def _is_read_only(self) -> bool:
        """Broadcast, or memory that came so?"""
        if type(self.raw) is ndarray:
            return not self.raw.flags.writeable
        steps = () if self.storage is None else self.steps
        return getattr(self.raw, "is_read_only", False) or any(type(step) in READ_ONLY for step in steps)

    def _check_write(self, value: "Tensor", name: str, casting: str) -> None:
        """Shape, dtype and device rules, before anything is recorded or written."""
        shape = value.shape
        if len(shape) > self.ndim or any(size not in (1, own) for size, own in
                                         zip(reversed(shape), reversed(self.shape))):
            raise ShapeError(f"{name}: a value of shape {shape} does not fit {self.shape}. Reshape it.")
        given, wanted = value.dtype, self.dtype
        if given != wanted and not dtypes.can_cast(given, wanted, casting):
            raise DTypeError(f"{name}: {given} cannot go into {wanted}. Use .astype.")

    def _record_write(self, op: Any, value: "Tensor", params: dict, name: str, saved: tuple = ()) -> None:
        """The root's content becomes op(old content, value): checks, and the new node."""
        root, storage = self.root, self.share()
        if not modes.enabled or (root.node is None and value.node is None):
            return
        tape.refuse_start(name, root.node, "a view of ")
        if not dtypes.is_inexact(self.dtype):
            return
        before = root.node
        like = root.like, (value.shape, value.dtype), root.like
        root.node = Node(op, params, (before, value.node), like, saved)
        if before is not None and before.watch is not None and before.watch.keeps:     # `.grad` is that of the content
            root.node.watch = before.watch.move_keeping(root.node.watch)
        storage.generation += 1

    def mark_written(self, name: str) -> None:
        """Count a write, and remember who did it."""
        self.share().version.write(name, tape.user_place(sys._getframe(1)))

    # ----------------------------------------------------------------------------------------------- Python
    def item(self) -> bool | int | float | complex:
        """The only element as a Python number."""
        if self.size != 1:
            raise ShapeError(f"item: the tensor has {self.size} elements, shape {self.shape}. Index one first.")
        return self.to_host().reshape(()).item()

    def tolist(self) -> Any:
        """The content as nested lists of Python numbers."""
        return self.to_host().tolist()

    def to_host(self) -> ndarray:
        """The content as a NumPy array, for reading only: it may be the tensor's own memory."""
        raw = self.refresh().raw
        return raw if type(raw) is ndarray else backend.of(raw).to_numpy(raw)

    def numpy(self) -> ndarray:
        """The content as a NumPy array; on the cpu a view of the same memory, on mlx too, for reading only.

        It is read-only where writing would falsify a gradient or a value: memory that a live graph has saved, a
        tensor that requires grad, a 0-d result.
        """
        found = self.to_host().view()
        holder = self.storage or self
        is_saved = holder.version is not None and holder.version.is_saved()     # a name for it would be one more holder
        if self.node is not None or self.is_value or is_saved or self._is_read_only():
            found.flags.writeable = False
        return found

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ShapeError(f"bool: the truth value of {self.size} elements, shape {self.shape}. "
                             "Use .any() or .all().")
        return bool(self.item())

    def __float__(self) -> float: return float(self.item())  # type: ignore[arg-type]
    def __int__(self) -> int: return int(self.item())  # type: ignore[arg-type]
    def __complex__(self) -> complex: return complex(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise DTypeError(f"index: {self.dtype} of shape {self.shape} is no index. Use an integer 0-d tensor.")
        return int(self.item())  # type: ignore[arg-type]

    def __len__(self) -> int:
        if not self.raw.shape:
            raise DTypeError("len: of a 0-d tensor. Use .item() for its value.")
        return self.raw.shape[0]

    def __repr__(self) -> str:
        facts = [np.array2string(self.to_host(), separator=", ", prefix="tensor(")]
        default = self.dtype in (dtypes.default_dtype(), dtypes.INT64, dtypes.BOOL)
        facts += [f"shape={self.shape}"] if not self.size and self.ndim != 1 else []
        facts += [] if default else [f"dtype={self.dtype}"]
        facts += [] if self.device == "cpu" else [f"device='{self.device}'"]
        facts += ["requires_grad=True"] if self.requires_grad else []
        return f"tensor({', '.join(facts)})"

    def __format__(self, spec: str) -> str:
        if self.ndim and spec:
            raise DTypeError(f"format: {spec!r} for {self.size} elements, shape {self.shape}. Index one first.")
        return format(str(self) if self.ndim else self.to_host()[()], spec)

    def __hash__(self) -> int:
        return hash(self.item()) if self.is_value else id(self) >> 4

    def __contains__(self, value: Any) -> bool:
        return bool((self.to_host() == (value.to_host() if isinstance(value, Tensor) else value)).any())


def fresh(raw: Any, node: Any = None) -> Tensor:
    """A new result. NumPy gives scalars for 0-d, and a 0-d result is a value."""
    if raw.shape:
        return Tensor(raw, node)
    return Tensor(np.asarray(raw) if isinstance(raw, np.generic) else raw, node, True)


def view_of(storage: Storage, raw: Any, path: tuple, root: Root, node: Any, is_value: bool = False) -> Tensor:
    """A tensor on a part of a storage."""
    view = new(Tensor)               # the constructor written out: slices are as frequent as ops
    view.raw, view.node, view.is_value, view.version = raw, node, is_value, None
    view.storage, view.path, view.root, view.generation = storage, path, root, storage.generation
    return view
