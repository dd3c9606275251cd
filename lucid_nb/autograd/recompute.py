"""`checkpoint`: a function that keeps its arguments instead of what its ops save, and runs again for its gradient.

While the function runs the first time it is recorded as always, so that its graph is the one that it would have had,
but what each node saves is dropped and becomes the number of a set in the region. Where the first of these is asked
for, the function runs again on the same arguments, and the sets that its ops save then, in order, take their places;
it is left as soon as all that are still wanted are there.
T. Chen, B. Xu, C. Zhang and C. Guestrin, "Training deep nets with sublinear memory cost" (2016).
"""

import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from types import SimpleNamespace, TracebackType
from typing import Any

from .. import tape, trees
from ..apply import version_of
from ..array import Tensor
from ..batched import active
from ..calls import cast_mode
from ..errors import GradError, told
from ..storage import clock
from .saved import Packing


def checkpoint(f: Callable, /, *arguments: Any, use_reentrant: Any = None, **keywords: Any) -> Any:
    """`f(*arguments, **keywords)`, whose gradient costs a second run of `f` instead of memory for what its ops save.

    Arguments may be trees, and are kept. `f` must compute the same when it runs again: random numbers of this library
    are repeated, and running statistics move once; GradError where it records something else, or what it read was
    overwritten in between. The second run ends, by an exception, where the gradient needs nothing more of it. Tensors
    that `f` finds elsewhere, as the parameters of a module, get their gradients too. Calls nest, and may be
    differentiated to any order, in both modes. A second backward (`retain_graph`) is one more run. Without arguments it
    gives the function that does so. `use_reentrant` is PyTorch's and has no meaning here.

    >>> import lucid_nb as lnb
    >>> def block(x):
    ...     return lnb.exp(lnb.sin(x) ** 2).sum()
    >>> x = lnb.tensor([0.5, 1.0], requires_grad=True)
    >>> lnb.checkpoint(block, x).backward()
    >>> bool((x.grad == lnb.grad(block)(x.detach())).all())
    True
    """
    if not callable(f):
        raise GradError(f"checkpoint: {told(f)} is not a function. Give one, then its arguments.")
    if not (arguments or keywords):
        return functools.wraps(f)(functools.partial(_called, f))
    return _called(f, *arguments, **keywords)


def _called(f: Callable, /, *arguments: Any, **keywords: Any) -> Any:
    if not tape.is_recording():
        return f(*arguments, **keywords)
    return Region(f, arguments, keywords).first()


class Region:
    """One call of a function whose ops keep nothing.

    `saved`: the raw arrays of its arguments, which a region around this one drops too, as those of a node.
    """

    def __init__(self, f: Callable, arguments: Sequence[Any], keywords: dict[str, Any]) -> None:
        self.f, self.arguments, self.lock = f, (arguments, keywords), threading.RLock()
        self.op = SimpleNamespace(name="checkpoint")
        leaves, self.structure = trees.flatten((tuple(arguments), keywords))
        tensors = list({id(leaf): leaf.refresh() for leaf in leaves if isinstance(leaf, Tensor)}.values())
        numbers = {id(x): number for number, x in enumerate(tensors)}
        self.saved: Any = tuple([x.raw for x in tensors])
        self.versions = tuple(map(version_of, tensors))
        self.stamp = clock.now
        self.facts = [(x.requires_grad, x.is_value) for x in tensors]
        # One tensor that is given twice must be one again: a function may ask whether query is key.
        self.leaves = [(numbers[id(leaf)], None) if isinstance(leaf, Tensor) else (None, leaf) for leaf in leaves]
        self.levels, self.place, self.casting = list(active.levels), tape.user_place(), tape.modes.casting
        self.told: list[tuple] = []               # of each set, by which it is known again
        self.sets: list[weakref.ref[Recomputed]] = []
        self.draws, self.is_finished = Draws(), False

    # ---------------------------------------------------------------------------------------------- first run
    def first(self) -> Any:
        """Run the function, recorded, and drop what its nodes save."""
        arguments, keywords = self.arguments
        del self.arguments
        if self.saved and tape.modes.packing is not None:
            tape.modes.packing.pack(self)
        with _Dropping(self), self.draws:
            result = self.f(*arguments, **keywords)
        self.is_finished = True
        return result

    def drop(self, node: Any) -> None:
        """A reference instead of what a node saved."""
        self.told.append(told_of(node))
        later = Recomputed(self, len(self.sets))
        self.sets.append(weakref.ref(later))
        node.saved = later

    # --------------------------------------------------------------------------------------------- second run
    def give(self, wanted: "Recomputed") -> Any:
        """The raw arrays of a set, once: who needs them again pays for another run, and nobody for their memory."""
        with self.lock:
            if wanted.found is None:
                self._again()
            found, wanted.found = wanted.found, None
        return found

    def _again(self) -> None:
        """Run the function again until every set that is still referred to has what the ops save now."""
        count = max([number for number, reference in enumerate(self.sets) if reference() is not None]) + 1
        collecting, has_ended = _Collecting(count, self.told[count - 1]), False
        arguments, keywords = self._arguments()
        try:
            with (_Repeating(self.levels), tape.grad_mode(True), cast_mode(self.casting), collecting,
                  Repeated(self.draws, self.is_finished)):
                self.f(*arguments, **keywords)
            has_ended = True
        except _Enough:
            pass
        self._check([told for told, _ in collecting.sets], has_ended)
        for reference, (_, saved) in zip(self.sets, collecting.sets):
            later = reference()
            if later is not None:
                later.found = saved

    def _arguments(self) -> Any:
        """The arguments as they were, at the start of a graph of their own."""
        if tape.is_stale(self.versions, self.stamp):
            name, place = max(self.versions, key=attrgetter("written")).writer
            raise GradError(f"checkpoint: an argument of {self.name} at {tape.line_of(self.place)} was overwritten by "
                            f"{name} at {tape.line_of(place)}. Write into a copy, or out of place.")
        tensors = list(map(_started, self.saved, self.versions, self.facts))
        return trees.unflatten(self.structure, [leaf if number is None else tensors[number]
                                                for number, leaf in self.leaves])

    def _check(self, found: list[tuple], has_ended: bool) -> None:
        """Refuse a second run that saved other sets. While the first is on its way, a second may be further."""
        expected = self.told if has_ended else self.told[:len(found)]
        found = found if self.is_finished else found[:len(expected)]
        if found == expected:
            return
        number = next((i for i, (a, b) in enumerate(zip(found, expected)) if a != b), min(len(found), len(expected)))
        this, other = [f"{sets[number][0]} of {sets[number][1]}" if number < len(sets) else "nothing"
                       for sets in (found, expected)]
        raise GradError(f"checkpoint: {self.name}, run again for its gradient, saved {this} as set {number}, and "
                        f"{other} when it was called at {tape.line_of(self.place)}. Let it compute the same from the "
                        "same arguments.")

    @property
    def name(self) -> str:
        """That of the function."""
        return getattr(self.f, "__name__", type(self.f).__name__)


def told_of(node: Any) -> tuple:
    """By what a set is known again: the op, and the shapes."""
    return node.op.name, shapes_of(node.saved)


def shapes_of(raws: Sequence[Any]) -> tuple:
    """The shape of each."""
    return tuple([tuple(raw.shape) for raw in raws])


def _started(raw: Any, version: Any, facts: tuple[bool, bool]) -> Tensor:
    requires_grad, is_value = facts
    x = Tensor(raw, tape.Leaf() if requires_grad else None, is_value)
    x.version = version
    return x


class Recomputed:
    """What a node of a region saved; iterated, it gives the raw arrays of a second run."""

    __slots__ = ("__weakref__", "found", "number", "region")

    def __init__(self, region: Region, number: int) -> None:
        self.region, self.number = region, number
        self.found: Any = None

    def __iter__(self) -> Iterator[Any]:
        return iter((*self.region.give(self),))


class _Dropping(Packing):
    """The first run."""

    def __init__(self, region: Region) -> None:
        super().__init__()
        self.pack = region.drop  # type: ignore[method-assign]


class _Enough(BaseException):
    """The second run has saved all that is wanted, and ends here. No error that a function would catch."""


class _Collecting(Packing):
    """The second run: what nodes save is taken up at once, since a gradient inside the function lets go of it.

    `count`: how many sets are wanted; `last`: by which the last of them is known.
    """

    def __init__(self, count: int, last: tuple) -> None:
        super().__init__()
        self.sets: list[tuple[tuple, Any]] = []
        self.count, self.last = count, last

    def before(self, op: Any, inputs: Sequence[Tensor]) -> None:
        """An op that saves only operands need not run for the last set."""
        if len(self.sets) != self.count - 1 or op.name != self.last[0] or not (tape.is_recording() and op.keeps):
            return
        if min(op.keeps) >= 0 and max(op.keeps) < len(inputs) and any(x.node is not None for x in inputs):
            saved = [inputs[number].raw for number in op.keeps]
            if (op.name, shapes_of(saved)) == self.last:
                self._take(self.last, saved)

    def pack(self, node: Any) -> None:
        """Take up the set of one node, and by which it is known again."""
        node.saved = [*node.saved]                   # in which a node that overwrites its operand puts copies
        self._take(told_of(node), node.saved)

    def _take(self, told: tuple, saved: Any) -> None:
        self.sets.append((told, saved))
        if len(self.sets) == self.count:
            raise _Enough


class _Repeating:
    """A block whose calls were made before, within these levels of vmap."""

    def __init__(self, levels: list) -> None:
        self.levels = levels

    def __enter__(self) -> None:
        self.before = tape.modes.repeats, active.levels
        tape.modes.repeats, active.levels = True, [*self.levels]

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        tape.modes.repeats, active.levels = self.before
        for level in self.levels:
            if level not in active.levels:
                level.roots.clear()


# ----------------------------------------------------------------------------------------- random numbers
class Draws:
    """A block that notes the keys which are drawn, the state of the host before the first number of its own, and the
    levels of vmap that begin."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self.levels: list[Any] = []
        self.state: Any = None

    def __enter__(self) -> "Draws":
        self.outer, tape.modes.draws = tape.modes.draws, self
        tape.anywhere.add(1)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        tape.modes.draws, self.outer = self.outer, None
        tape.anywhere.add(-1)

    def key(self, make: Callable) -> Any:
        """A new key."""
        self.keys.append(make() if self.outer is None else self.outer.key(make))
        return self.keys[-1]

    def level(self, make: Callable) -> Any:
        """A new level."""
        self.levels.append(make() if self.outer is None else self.outer.level(make))
        return self.levels[-1]

    def host(self, generator: Any) -> None:
        """Somebody draws from the generator on the host."""
        if self.outer is not None:
            self.outer.host(generator)
        if self.state is None:
            self.state = generator.get_state()


class Repeated(Draws):
    """A block in which the same numbers are drawn again; afterwards the generator goes on where it was."""

    def __init__(self, drawn: Draws, is_finished: bool) -> None:
        super().__init__()
        self.drawn, self.is_finished, self.restore = drawn, is_finished, lambda: None
        self.roots: list[tuple[Any, dict]] = []

    def __enter__(self) -> "Repeated":
        super().__enter__()
        # The first run may still be within a level, whose memory is not that of this run.
        self.roots = [(level, level.roots) for level in self.drawn.levels]
        for level, _ in self.roots:
            level.roots = {}
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        for level, roots in self.roots:
            level.roots = roots
        self.restore()

    def key(self, make: Callable) -> Any:
        """The key that was drawn at this place."""
        number = len(self.keys)
        if number < len(self.drawn.keys):
            self.keys.append(self.drawn.keys[number])
        elif self.is_finished:
            raise GradError("checkpoint: the function, run again for its gradient, draws more random numbers than "
                            "before. Let it compute the same from the same arguments.")
        else:
            self.keys.append(make())
        return self.keys[-1]

    def level(self, make: Callable) -> Any:
        """The level that began at this place: what the first run made for it meets what this one saves."""
        number, new = len(self.levels), make()
        before = self.drawn.levels[number] if number < len(self.drawn.levels) else new
        self.levels.append(before if before.size == new.size else new)
        return self.levels[-1]

    def host(self, generator: Any) -> None:
        """Set the generator back, the first time."""
        if self.state is None and self.drawn.state is not None:
            self.state = generator.get_state()
            self.restore = functools.partial(generator.set_state, self.state)
            generator.set_state(self.drawn.state)
