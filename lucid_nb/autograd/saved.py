"""What becomes of the values that ops save for their gradients: packed by hooks, moved to the host."""

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

from .. import tape
from ..apply import version_of
from ..array import Tensor, fresh
from ..errors import GradError, described
from ..storage import Version


class Packing:
    """A block in which `pack` gets every node of this thread that saved something; the innermost block alone does."""

    def __init__(self) -> None:
        self._before: list[Any] = []

    def __enter__(self) -> "Packing":
        self._before.append(tape.modes.packing)
        tape.modes.packing = self
        tape.anywhere.add(1)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        tape.modes.packing = self._before.pop()
        tape.anywhere.add(-1)

    def before(self, op: Any, inputs: Sequence[Tensor]) -> None:
        """An op is about to run, on the general road."""

    def pack(self, node: Any) -> None:
        """Replace `node.saved`, the raw arrays, by something that gives them when it is iterated."""
        raise NotImplementedError


class Aside:
    """A block in which nothing is recorded, and nothing packed: hooks run so."""

    def __init__(self) -> None:
        self._mode = tape.grad_mode(False)
        self._before: Any = None

    def __enter__(self) -> None:
        self._mode.__enter__()
        self._before, tape.modes.packing = tape.modes.packing, None

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        tape.modes.packing = self._before
        self._mode.__exit__(kind, error, trace)


class saved_tensors_hooks(Packing):
    """Within the block, `pack_hook(tensor)` decides what is kept of each tensor that an op saves for its gradient.

    `unpack_hook` gets what it returned, at each use, and gives the tensor back: of the same shape, dtype and device.
    Both run unrecorded; neither may write into a tensor that it gets. A write into the memory of what `pack_hook` gave
    back unchanged is noticed as without hooks, one into the memory of anything else is not, as the hook may have copied
    it. Blocks nest, and the innermost decides; threads have their own.

    >>> import lucid_nb as lnb
    >>> sizes = []
    >>> def pack(x):
    ...     sizes.append(x.size)
    ...     return x.astype("float16")
    >>> x = lnb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> with lnb.autograd.saved_tensors_hooks(pack, lambda packed: packed.astype("float64")):
    ...     y = lnb.exp(x)
    >>> y.sum().backward()
    >>> sizes, x.grad
    ([3], tensor([ 2.71875 ,  7.390625, 20.078125]))
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        super().__init__()
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise GradError("saved_tensors_hooks: needs two functions. Give one that packs a tensor, and one that "
                            "gives it back.")
        self._hooks = pack_hook, unpack_hook

    def pack(self, node: Any) -> None:
        """Let the hook pack what a node saved."""
        pack_hook, unpack_hook = self._hooks
        kept, versions = [], []
        with Aside():
            for raw, version in zip(node.saved, node.versions):
                given, written = fresh(raw), version.written
                given.version = version
                packed = pack_hook(given)
                if version_of(given).written != written:
                    raise GradError(f"saved_tensors_hooks: pack_hook wrote into a tensor that {node.op.name} saved. "
                                    "Let it work on a copy.")
                kept.append((packed, described(given)))
                versions.append(version if packed is given else Version())
        node.saved = Packed(node.op.name, kept, unpack_hook)
        node.versions = tuple(versions)


class Packed:
    """What hooks made of the values that a node saved; iterated, it gives the raw arrays."""

    __slots__ = ("kept", "op", "unpack_hook")

    def __init__(self, op: str, kept: Sequence[tuple[Any, str]], unpack_hook: Callable) -> None:
        self.op, self.kept, self.unpack_hook = op, kept, unpack_hook

    def __iter__(self) -> Iterator[Any]:
        with Aside():
            return iter([self._unpacked(packed, like) for packed, like in self.kept])

    def _unpacked(self, packed: Any, like: str) -> Any:
        found = self.unpack_hook(packed)
        if not isinstance(found, Tensor) or described(found.refresh()) != like:
            got = described(found) if isinstance(found, Tensor) else f"a {type(found).__name__}"
            raise GradError(f"saved_tensors_hooks: unpack_hook gave {got} for {like}, which {self.op} saved. Give the "
                            "tensor back as it was.")
        return found.raw


class save_on_cpu(saved_tensors_hooks):
    """Within the block, what ops save for their gradients waits in the memory of the host, and returns when it is used.

    It makes room on a device; on the cpu, where the memory is the same, nothing is copied.

    >>> import lucid_nb as lnb
    >>> x = lnb.tensor([1.0, 2.0], requires_grad=True)
    >>> with lnb.autograd.save_on_cpu():
    ...     y = (x ** 2).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self) -> None:
        super().__init__(lambda x: x if x.device == "cpu" else (x.device, x.to("cpu")),
                         lambda packed: packed if isinstance(packed, Tensor) else packed[1].to(packed[0]))
