"""What lets one loop serve float32 and float64: types named by a pointer, functions chosen by type, blocks of rows."""

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

from ..intrinsics import IR
from ..math.exponential import exp_float32, exp_float64

INLINE: Any = dict(error_model="numpy", fastmath={"contract"}, forceinline=True)
scalar = njit(**INLINE)
# Each operation rounds: said outright, as a function that says nothing of contraction does as its caller does.
rounded = njit(error_model="numpy", fastmath=False, forceinline=True)
block = njit(error_model="numpy", fastmath={"contract"}, forceinline=False)
any_order = njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"}, forceinline=True)


DOUBLES = types.CPointer(types.float64)
LONG = 16                # elements of a row from which on a call to copy them pays


@intrinsic
def shift(typing, pointer, count):
    """The pointer `count` elements further."""
    return pointer(pointer, types.int64), lambda context, builder, sig, args: builder.gep(args[0], [args[1]])


@intrinsic
def convert(typing, pointer, value):
    """The value as the element type of the pointer."""
    def emit(context, builder, sig, args):
        return context.cast(builder, args[1], value, pointer.dtype)
    return pointer.dtype(pointer, value), emit


@intrinsic
def item_size(typing, pointer):
    """Bytes of an element, a constant."""
    def emit(context, builder, sig, args):
        return context.get_constant(types.int64, pointer.dtype.bitwidth // 8)
    return types.int64(pointer), emit


def _stack(builder, dtype, count):
    memory = builder.alloca(IR[dtype], size=count)
    memory.align = 64
    return memory


@intrinsic
def stack_like(typing, pointer, count):
    """`count` elements of the pointer's type on the stack, aligned to 64 bytes; to be taken before any loop."""
    return pointer(pointer, types.int64), lambda context, builder, sig, args: _stack(builder, pointer.dtype, args[1])


@intrinsic
def stack_of(typing, dtype, count):
    """`count` elements of a dtype (np.float64) on the stack, aligned to 64 bytes; to be taken before any loop."""
    result = types.CPointer(dtype.dtype)
    return result(dtype, types.int64), lambda context, builder, sig, args: _stack(builder, dtype.dtype, args[1])


@intrinsic
def stack_doubles(typing, pointer, count):
    """`stack_like`, in float64 whatever the pointer's type."""
    return DOUBLES(pointer, types.int64), lambda context, builder, sig, args: _stack(builder, types.float64, args[1])


@intrinsic
def out_of_line(typing):
    """Of the function being compiled: callers call it, so that all of them run the same instructions.

    A block that is summed in any order must be summed in the same order by every kernel that sums it.
    """
    def emit(context, builder, sig, args):
        set.add(builder.function.attributes, "noinline")
        return context.get_dummy_value()
    return types.void(), emit


@scalar
def clear(x, count):
    """x = 0."""
    for i in range(count):
        x[i] = convert(x, 0)


@scalar
def finite_or_zero(x, value):
    """What elements of x are compared to, 0 instead of infinity or NaN: distances from those would all be NaN."""
    return value if value - value == convert(x, 0) else convert(x, 0)


def _ieee(name, flags=()):
    def emit(context, builder, sig, args):
        kind = ir.FunctionType(args[0].type, [args[0].type] * 2)
        return builder.call(builder.module.declare_intrinsic(name, [args[0].type], kind), args, fastmath=flags)
    return emit


@intrinsic
def larger(typing, a, b):
    """The larger of two floats: NaN if one is, 0.0 above -0.0 (IEEE 754-2019 maximum), so the order does not matter."""
    return a(a, a), _ieee("llvm.maximum")


@intrinsic
def smaller(typing, a, b):
    """The smaller of two floats: NaN if one is, -0.0 below 0.0 (IEEE 754-2019 minimum)."""
    return a(a, a), _ieee("llvm.minimum")


@intrinsic
def larger_but_zeros(typing, a, b):
    """As `larger`, but either zero of two: half the instructions."""
    return a(a, a), _ieee("llvm.maximum", ("nsz", "reassoc"))


@intrinsic
def smaller_but_zeros(typing, a, b):
    """As `smaller`, but either zero of two."""
    return a(a, a), _ieee("llvm.minimum", ("nsz", "reassoc"))


@any_order
def plus(total, value):
    """A step of a sum that may be taken in any order."""
    return total + value


@any_order
def times(total, value):
    """A step of a product that may be taken in any order."""
    return total * value


def exponential(x):
    """exp of the vocabulary."""


@overload(exponential, jit_options=INLINE)
def _choose_exponential(x):
    return {types.float32: lambda x: exp_float32(x), types.float64: lambda x: exp_float64(x)}[x]


@intrinsic
def copy_memory(typing, target, source, count):
    """target = so many elements of the source, from other memory, by the C library's quickest way."""
    def emit(context, builder, sig, args):
        byte = ir.IntType(8).as_pointer()
        copy = builder.module.declare_intrinsic("llvm.memcpy", [byte, byte, args[2].type])
        size = builder.mul(args[2], ir.Constant(args[2].type, sig.args[0].dtype.bitwidth // 8))
        builder.call(copy, [builder.bitcast(args[0], byte), builder.bitcast(args[1], byte), size,
                            ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()
    return types.void(target, source, types.int64), emit


@scalar
def copy_row(source, target, cols):
    """target = source."""
    if cols >= LONG:         # LLVM, which cannot know that they are apart, would copy element by element
        copy_memory(target, source, cols)
    else:
        for j in range(cols):
            target[j] = source[j]
