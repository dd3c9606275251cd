"""What a mask selects: how many, which elements, at which places, and the way back.

A block's selected elements are packed side by side by the vector unit into memory of its own, of which as many as there
are go to the result, so that blocks may be done in any order.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..intrinsics import BYTE, IR, WIDE_WORD, mark_kernel
from .typed import convert, scalar, shift, stack_like

BLOCK = 4096
VECTOR = 64                                # bytes of what is packed at once
BYTE_TYPE = ir.IntType(8).as_pointer()


def _selected(builder, mask, lanes):
    """A vector of bits from bytes, and how many are set."""
    kind = ir.VectorType(BYTE, lanes)
    chosen = builder.load(builder.bitcast(mask, kind.as_pointer()), align=1)
    chosen = builder.icmp_unsigned("!=", chosen, ir.Constant(kind, [0] * lanes))
    word = ir.IntType(lanes)
    count = builder.module.declare_intrinsic("llvm.ctpop", [word], ir.FunctionType(word, [word]))
    count = builder.call(count, [builder.bitcast(chosen, word)])
    return chosen, count if lanes == 64 else builder.zext(count, WIDE_WORD)


def _pack(builder, values, chosen, target, align):
    """Store the chosen elements side by side; behind them comes anything."""
    kind = values.type
    function = ir.FunctionType(kind, [kind, chosen.type, kind])
    name = f"llvm.experimental.vector.compress.v{kind.count}{'i' + str(kind.element.width)}"
    packed = builder.module.globals.get(name) or ir.Function(builder.module, function, name)
    packed = builder.call(packed, [values, chosen, ir.Constant(kind, ir.Undefined)])
    builder.store(packed, builder.bitcast(target, kind.as_pointer()), align=align)


@intrinsic
def pack(typing, mask, source, target):
    """Pack a vector of integers by its mask; how many were selected."""
    width = source.dtype.bitwidth // 8
    lanes = VECTOR // width

    def emit(context, builder, sig, args):
        chosen, count = _selected(builder, args[0], lanes)
        kind = ir.VectorType(IR[source.dtype], lanes)
        values = builder.load(builder.bitcast(args[1], kind.as_pointer()), align=width)
        _pack(builder, values, chosen, args[2], width)
        return count
    return types.int64(mask, source, target), emit


@intrinsic
def pack_places(typing, mask, start, target):
    """Pack start, start + 1, ... by a mask of eight; how many were selected."""
    lanes = VECTOR // 8

    def emit(context, builder, sig, args):
        chosen, count = _selected(builder, args[0], lanes)
        kind = ir.VectorType(WIDE_WORD, lanes)
        first = builder.insert_element(ir.Constant(kind, ir.Undefined), args[1], ir.Constant(ir.IntType(32), 0))
        all_first = builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes))
        places = builder.add(all_first, ir.Constant(kind, list(range(lanes))))
        _pack(builder, places, chosen, args[2], 8)
        return count
    return types.int64(mask, types.int64, target), emit


@intrinsic
def lanes_of(typing, pointer):
    """How many elements are packed at once."""
    lanes = VECTOR // (pointer.dtype.bitwidth // 8)
    return types.int64(pointer), lambda context, builder, sig, args: context.get_constant(types.int64, lanes)


@scalar
def copy_packed(source, target, count):
    """target = source."""
    for i in range(count):
        target[i] = source[i]


def count(start, stop, mask, counts, size):
    """Unit: a block. counts[unit] = how many it selects."""
    mark_kernel()
    for unit in range(start, stop):
        found, here = 0, shift(mask, unit * BLOCK)
        for i in range(min(BLOCK, size - unit * BLOCK)):
            found += here[i]
        counts[unit] = found


def compress(start, stop, mask, x, starts, out, size):
    """Unit: a block, whose selected elements begin at out[starts[unit]]."""
    mark_kernel()
    lanes, packed = lanes_of(x), stack_like(x, BLOCK + VECTOR)
    for unit in range(start, stop):
        length, found = min(BLOCK, size - unit * BLOCK), 0
        chosen, source = shift(mask, unit * BLOCK), shift(x, unit * BLOCK)
        whole = length // lanes * lanes
        for i in range(0, whole, lanes):
            found += pack(shift(chosen, i), shift(source, i), shift(packed, found))
        for i in range(whole, length):
            packed[found] = source[i]
            found += chosen[i]
        copy_packed(packed, shift(out, starts[unit]), found)


def places(start, stop, mask, starts, out, size):
    """Unit: a block, the places of whose selected elements begin at out[starts[unit]]."""
    mark_kernel()
    lanes, packed = lanes_of(out), stack_like(out, BLOCK + VECTOR)
    for unit in range(start, stop):
        first, found = unit * BLOCK, 0
        length, chosen = min(BLOCK, size - first), shift(mask, first)
        whole = length // lanes * lanes
        for i in range(0, whole, lanes):
            found += pack_places(shift(chosen, i), first + i, shift(packed, found))
        for i in range(whole, length):
            packed[found] = first + i
            found += chosen[i]
        copy_packed(packed, shift(out, starts[unit]), found)


def expand(start, stop, mask, base, values, starts, out, size, last):
    """Unit: a block. out = the values, one after the other, where the mask holds, otherwise base."""
    mark_kernel()
    for unit in range(start, stop):
        here = unit * BLOCK
        found, chosen, old, target = starts[unit], shift(mask, here), shift(base, here), shift(out, here)
        for i in range(min(BLOCK, size - here)):
            value = values[min(found, last)]
            target[i] = convert(out, value if chosen[i] != 0 else old[i])
            found += chosen[i]
