"""What a drawing of a graph shows: a box for each call and each leaf, with its words, and the arrows between them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from .. import flops, tape
from ..array import Tensor
from ..calls import Like, Recorded, recorded_behind
from ..errors import DTypeError, ShapeError
from ..op import Elementwise, Primitive
from ..views import movement

Names = Mapping[str, Tensor] | Iterable[tuple[str, Tensor]]
PRODUCTS = {flops.matmul, flops.linear, flops.contraction, flops.conv, flops.conv_input_grad, flops.conv_weight_grad,
            flops.attention}
SUMMARIES = set("max min nanmax nanmin argmax argmin any all count_nonzero count_numbers extreme_scan".split())
FAMILIES = {"leaf": "requires grad", "constant": "no gradient", "product": "products", "elementwise": "elementwise",
            "summary": "sums, norms, losses, others", "movement": "moves data", "chain": "several ops"}
PLAIN = ("leaf", "constant")
# What users call ops that have no name in their programs.
WORDS = {"index_put_view": "write", "copied_reshape": "reshape", "parts": "split", "start": "argument"}
TOP, LEAST = 40, 3              # letters of a name that are shown; ops of a chain that is worth one box


@dataclass
class Box:
    """A call, a leaf, what has no gradient, or a chain of calls drawn as one."""

    family: str
    name: str
    note: str                   # at the right: bytes
    detail: str                 # the line below: shape and dtype
    tip: str = ""
    inputs: list[int] = field(default_factory=list)      # numbers of boxes, one for each arrow
    is_result: bool = False


@dataclass
class Picture:
    """The boxes, each after those that lead to it, and what is said of the whole."""

    boxes: list[Box]
    summary: str
    remark: str = ""

    @property
    def arrows(self) -> list[tuple[int, int]]:
        """(from, to) as numbers of boxes."""
        return [(source, target) for target, box in enumerate(self.boxes) for source in box.inputs]


# ------------------------------------------------------------------------------------------------------ words
def bytes_of(like: Like) -> int:
    """How much memory something of this shape and dtype takes."""
    return prod(like[0]) * like[1].itemsize


def as_size(count: int) -> str:
    """Bytes with three digits and a unit."""
    size, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{count} B" if units[0] == "B" else f"{size:.3g} {units[0]}"


def as_like(like: Like) -> str:
    """Shape and dtype."""
    return f"{tuple(like[0])} {like[1]}"


def shortened(text: str) -> str:
    """A name of at most TOP letters."""
    return text if len(text) <= TOP else text[:TOP - 1] + "…"


def name_of(call: Recorded) -> str:
    """The op's name in a user's words; of a view, what it does."""
    if call.node.op is movement:
        steps = call.node.plan["steps"]
        return ", ".join(dict.fromkeys(type(step).__name__.lower() for step in steps))
    return WORDS.get(call.node.op.name, str(call.node.op.name))


def family_of(op: Any) -> str:
    """The colour of an op."""
    if isinstance(op, Elementwise):
        return "elementwise"
    if not isinstance(op, Primitive):
        return "summary"
    if op.facts.flops in PRODUCTS or op.name.startswith("recurrent_"):
        return "product"
    return "movement" if op.facts.flops is None and op.name not in SUMMARIES else "summary"


# ------------------------------------------------------------------------------------------------------ boxes
def picture_of(tensor: Tensor, params: Names, most: int) -> Picture:
    """The graph behind a tensor, with at most so many boxes."""
    root = tensor.refresh().node
    calls = recorded_behind(tensor)[::-1]
    names = _names(params)
    boxes: list[Box] = []
    numbers: dict[Any, int] = {}
    if not calls:
        like = (tensor.shape, tensor.dtype)
        family = "constant" if root is None else "leaf"
        boxes.append(_leaf(family, names.get(root, "tensor") if root is not None else "tensor", like))
    for call in calls:
        inputs = [number for edge, like in zip(call.node.edges, call.inputs)
                  if (number := _input(boxes, numbers, names, call, edge, like)) is not None]
        numbers[call.node] = len(boxes)
        boxes.append(Box(family_of(call.node.op), shortened(name_of(call)), as_size(bytes_of(call.result)),
                         as_like(call.result), _tip(call), inputs))
    boxes[-1].is_result = True
    summary = _summary(calls)
    whole = len(boxes)
    boxes = _collapsed(boxes, most)
    boxes, cut = _latest(boxes, most)
    remark = f"{whole} boxes are drawn as {len(boxes)}" if len(boxes) < whole else ""
    return Picture(boxes, summary, remark + (f"; {cut} of the earliest are left out" if cut else ""))


def _names(params: Names) -> dict[Any, str]:
    """{node: name} of the tensors that a user names."""
    try:
        params = dict(params)
    except (TypeError, ValueError):
        raise DTypeError(f"draw_graph: params is a {type(params).__name__}. Give tensors by name, as "
                         "dict(module.named_parameters()) does.") from None
    for name, tensor in params.items():
        if not isinstance(tensor, Tensor):
            raise ShapeError(f"draw_graph: params[{name!r}] is a {type(tensor).__name__}. Give tensors by name.")
    return {tensor.refresh().node: str(name) for name, tensor in params.items() if tensor.node is not None}


def _input(boxes: list[Box], numbers: dict[Any, int], names: dict[Any, str], call: Recorded, edge: Any,
           like: Like) -> int | None:
    """The number of the box of an operand, made where there is none; None for a constant that is not shown."""
    if edge is None:
        if isinstance(call.node.op, Elementwise) or prod(like[0]) < 2:      # numbers, and what a record does not tell
            return None
        boxes.append(_leaf("constant", "no gradient", like))
        return len(boxes) - 1
    node = edge.node if type(edge) is tape.Port else edge
    if node not in numbers:
        numbers[node] = len(boxes)
        boxes.append(_leaf("leaf", names.get(node, "leaf"), like))
    return numbers[node]


def _leaf(family: str, name: str, like: Like) -> Box:
    size = as_size(bytes_of(like))
    return Box(family, shortened(name), size, as_like(like), f"{name}: {as_like(like)}, {size}")


def _tip(call: Recorded) -> str:
    """What a pointer on the box is told."""
    given = ", ".join(map(as_like, call.inputs))
    place = f"\n{tape.line_of(call.node.place)}" if call.node.place is not None else ""
    return f"{call.node.op.name}({given}) -> {as_like(call.result)}\n{call.flops:,} flops{place}"


def _summary(calls: Sequence[Recorded]) -> str:
    """Numbers of the whole graph."""
    leaves = {edge: like for call in calls for edge, like in zip(call.node.edges, call.inputs)
              if type(edge) is tape.Leaf}
    parts = [_counted(len(calls), "call"), f"results of {as_size(sum(bytes_of(call.result) for call in calls))}",
             f"{_counted(len(leaves), 'leaf', 'leaves')} of {as_size(sum(map(bytes_of, leaves.values())))}",
             _counted(sum(call.flops for call in calls), "flop")]
    return " · ".join(parts)


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


# ------------------------------------------------------------------------------------------------- fewer boxes
def _collapsed(boxes: list[Box], most: int) -> list[Box]:
    """The longest chains of calls as one box each, with the leaves that only they read, until there are few enough."""
    left, readers = len(boxes) - most, _readers(boxes)
    gone: set[int] = set()
    for chain in sorted(_chains(boxes, readers), key=len, reverse=True):
        if left <= 0 or len(chain) < LEAST:
            break
        inside = {*chain, *[source for number in chain for source in boxes[number].inputs
                            if boxes[source].family in PLAIN and readers[source] <= {*chain}]}
        outside = [source for number in chain for source in boxes[number].inputs if source not in inside]
        boxes[chain[-1]] = _joined([boxes[number] for number in chain], len(inside) - len(chain), outside)
        gone |= inside - {chain[-1]}
        left -= len(inside) - 1
    return _without(boxes, gone)


def _readers(boxes: Sequence[Box]) -> list[set[int]]:
    """The boxes that each leads to."""
    found: list[set[int]] = [set() for _ in boxes]
    for number, box in enumerate(boxes):
        for source in box.inputs:
            found[source].add(number)
    return found


def _chains(boxes: Sequence[Box], readers: Sequence[set[int]]) -> list[list[int]]:
    """Runs of calls, each the only reader of the one before, and reading no other call."""
    chains: list[list[int]] = []
    ending: dict[int, list[int]] = {}
    for number, box in enumerate(boxes):
        if box.family in PLAIN:
            continue
        calls = {source for source in box.inputs if boxes[source].family not in PLAIN}
        before = calls.pop() if len(calls) == 1 else None
        chain = ending.pop(before, None) if before is not None and readers[before] == {number} else None
        if chain is None:
            chain = []
            chains.append(chain)
        chain.append(number)
        ending[number] = chain
    return chains


def _joined(chain: Sequence[Box], leaves: int, inputs: Sequence[int]) -> Box:
    """A chain as one box, which names its commonest ops."""
    last, kinds = chain[-1], Counter(box.name for box in chain)
    told = [f"{name} × {count}" if count > 1 else name for name, count in kinds.most_common()]
    name = ", ".join(told[:3]) + (", …" if len(told) > 3 else "")
    note = f"{len(chain)} ops" + (f", {_counted(leaves, 'leaf', 'leaves')}" if leaves else "")
    inputs = list(dict.fromkeys(inputs))
    return Box("chain", shortened(name), note, last.detail, ", ".join(told), inputs, last.is_result)


def _latest(boxes: list[Box], most: int) -> tuple[list[Box], int]:
    """The last boxes, if there are still too many, and how many are left out."""
    cut = max(len(boxes) - most, 0)
    return _without(boxes, set(range(cut))), cut


def _without(boxes: Sequence[Box], gone: set[int]) -> list[Box]:
    """The other boxes, with new numbers."""
    kept = [number for number in range(len(boxes)) if number not in gone]
    new = {old: number for number, old in enumerate(kept)}
    for old in kept:
        boxes[old].inputs = [new[source] for source in boxes[old].inputs if source in new]
    return [boxes[old] for old in kept]
