"""The few things that Numba's language cannot say: bit casts, half floats, pointers, status flags, attributes."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from . import compiler

WORD, WIDE_WORD, BYTE = ir.IntType(32), ir.IntType(64), ir.IntType(8)
IR = {types.float32: ir.FloatType(), types.float64: ir.DoubleType(), types.int8: BYTE, types.uint8: BYTE,
      types.int16: ir.IntType(16), types.uint16: ir.IntType(16), types.int32: WORD, types.uint32: WORD,
      types.int64: WIDE_WORD, types.uint64: WIDE_WORD, types.complex64: ir.LiteralStructType([ir.FloatType()] * 2),
      types.complex128: ir.LiteralStructType([ir.DoubleType()] * 2)}


# ------------------------------------------------------------------------------------------------- numbers
@intrinsic
def bits(typing, x):
    """The bits of a float as an integer of its width."""
    result = {types.float32: types.int32, types.float64: types.int64}[x]
    return result(x), lambda context, builder, sig, args: builder.bitcast(args[0], IR[result])


@intrinsic
def float32_from(typing, x):
    """The float32 with these bits. Numba widens int32 arithmetic to int64, so the low half counts."""
    def emit(context, builder, sig, args):
        narrow = builder.trunc(args[0], WORD) if x.bitwidth == 64 else args[0]
        return builder.bitcast(narrow, IR[types.float32])
    return types.float32(x), emit


@intrinsic
def float64_from(typing, x):
    """The float64 with these bits."""
    return types.float64(x), lambda context, builder, sig, args: builder.bitcast(args[0], IR[types.float64])


def _same_type(name, count=1):
    """Emit LLVM's `name` on `count` floats of one type."""
    def emit(context, builder, sig, args):
        kind = ir.FunctionType(args[0].type, [args[0].type] * count)
        return builder.call(builder.module.declare_intrinsic(name, [args[0].type], kind), args)
    return emit


@intrinsic
def fabs(typing, x):
    """Absolute value as one instruction (math.fabs would call libm for float32)."""
    return x(x), _same_type("llvm.fabs")


@intrinsic
def floor(typing, x):
    """Rounding down as one instruction (math.floor would call libm)."""
    return x(x), _same_type("llvm.floor")


@intrinsic
def ceil(typing, x):
    """Rounding up as one instruction."""
    return x(x), _same_type("llvm.ceil")


@intrinsic
def truncate(typing, x):
    """Rounding towards zero as one instruction."""
    return x(x), _same_type("llvm.trunc")


@intrinsic
def round_even(typing, x):
    """Rounding to the nearest integer, ties to even, as one instruction."""
    return x(x), _same_type("llvm.roundeven")


@intrinsic
def square_root(typing, x):
    """Square root as one instruction, NaN below zero."""
    return x(x), _same_type("llvm.sqrt")


@intrinsic
def copysign(typing, x, y):
    """The magnitude of x with the sign of y."""
    return x(x, x), _same_type("llvm.copysign", 2)


@intrinsic
def multiply_add(typing, a, b, c):
    """a * b + c, rounded once where the CPU can and twice elsewhere (llvm.fma itself would call libm there)."""
    return a(a, a, a), _same_type("llvm.fmuladd", 3)


def _constant(value, kind):
    return ir.Constant(IR[kind], value)


def _widened_half(builder, word):
    """float16 bits -> float32 by integers: 2**112 mends the bias, of subnormals too; exponent 31 becomes 255."""
    wide = builder.zext(word, WORD)
    shifted = builder.shl(builder.and_(wide, _constant(0x7FFF, types.int32)), _constant(13, types.int32))
    scaled = builder.fmul(builder.bitcast(shifted, IR[types.float32]), _constant(2.0 ** 112, types.float32))
    special = builder.icmp_unsigned(">=", shifted, _constant(0x0F800000, types.int32))
    infinite = builder.or_(shifted, _constant(0x7F800000, types.int32))
    size = builder.select(special, infinite, builder.bitcast(scaled, WORD))
    sign = builder.shl(builder.and_(wide, _constant(0x8000, types.int32)), _constant(16, types.int32))
    return builder.bitcast(builder.or_(size, sign), IR[types.float32])


def _narrowed_half(builder, x):
    """float32 -> float16 bits by integers. Adding 2**13 times the last binade's unit rounds subnormals in the adder."""
    word = builder.bitcast(x, WORD)
    size = builder.and_(word, _constant(0x7FFFFFFF, types.int32))
    odd = builder.and_(builder.lshr(size, _constant(13, types.int32)), _constant(1, types.int32))
    normal = builder.lshr(builder.add(builder.add(size, odd), _constant(0xFFF - (112 << 23), types.int32)),
                          _constant(13, types.int32))
    shifted = builder.fadd(builder.bitcast(size, IR[types.float32]), _constant(0.5, types.float32))
    tiny = builder.sub(builder.bitcast(shifted, WORD), _constant(0x3F000000, types.int32))
    half = builder.select(builder.icmp_unsigned("<", size, _constant(0x38800000, types.int32)), tiny, normal)
    half = builder.select(builder.icmp_unsigned(">=", size, _constant(0x477FF000, types.int32)),
                          _constant(0x7C00, types.int32), half)
    kept = builder.or_(builder.lshr(size, _constant(13, types.int32)), _constant(0x7E00, types.int32))
    kept = builder.and_(kept, _constant(0x7FFF, types.int32))
    half = builder.select(builder.icmp_unsigned(">", size, _constant(0x7F800000, types.int32)), kept, half)
    sign = builder.and_(builder.lshr(word, _constant(16, types.int32)), _constant(0x8000, types.int32))
    return builder.trunc(builder.or_(half, sign), IR[types.uint16])


@intrinsic
def half_to_float(typing, x):
    """uint16 holding float16 -> float32; one instruction where the CPU has it."""
    def emit(context, builder, sig, args):
        if compiler.has_half():
            return builder.fpext(builder.bitcast(args[0], ir.HalfType()), IR[types.float32])
        return _widened_half(builder, args[0])
    return types.float32(x), emit


@intrinsic
def float_to_half(typing, x):
    """float32 -> uint16 holding float16, rounded to nearest even; a NaN stays one."""
    def emit(context, builder, sig, args):
        if compiler.has_half():
            return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), IR[types.uint16])
        return _narrowed_half(builder, args[0])
    return types.uint16(x), emit


@intrinsic
def bfloat16_to_float(typing, x):
    """uint16 holding bfloat16 -> float32."""
    def emit(context, builder, sig, args):
        word = builder.shl(builder.zext(args[0], WORD), _constant(16, types.int32))
        return builder.bitcast(word, IR[types.float32])
    return types.float32(x), emit


@intrinsic
def float_to_bfloat16(typing, x):
    """float32 -> uint16 holding bfloat16, rounded to nearest even; a NaN stays one."""
    def emit(context, builder, sig, args):
        word = builder.bitcast(args[0], WORD)
        high = builder.lshr(word, _constant(16, types.int32))
        odd = builder.and_(high, _constant(1, types.int32))
        rounded = builder.lshr(builder.add(builder.add(word, odd), _constant(0x7FFF, types.int32)),
                               _constant(16, types.int32))
        # By integers: of a square root LLVM makes a comparison of its operand, which raises INVALID for NaN.
        size = builder.and_(word, _constant(0x7FFFFFFF, types.int32))
        nan = builder.icmp_unsigned(">", size, _constant(0x7F800000, types.int32))
        quiet = builder.or_(high, _constant(0x40, types.int32))
        return builder.trunc(builder.select(nan, quiet, rounded), IR[types.uint16])
    return types.uint16(x), emit


def word_table(name, words):
    """An intrinsic `load(index) -> uint64` that reads a constant table of 32-bit words."""
    @intrinsic
    def load(typing, index):
        def emit(context, builder, sig, args):
            content = ir.Constant(ir.ArrayType(WORD, len(words)), [ir.Constant(WORD, word) for word in words])
            table = cgutils.global_constant(builder.module, name, content)
            place = builder.gep(table, [_constant(0, types.int64), args[0]], inbounds=True)
            return builder.zext(builder.load(place), WIDE_WORD)
        return types.uint64(types.int64), emit
    return load


# ------------------------------------------------------------------------------------------------ memory
@intrinsic
def stack_words(typing, count):
    """`count` 8-byte words on the stack, 64-byte aligned, as a pointer."""
    def emit(context, builder, sig, args):
        memory = builder.alloca(WIDE_WORD, size=args[0])
        memory.align = 64
        return memory
    return types.CPointer(types.int64)(count), emit


@intrinsic
def address_of(typing, pointer):
    """A pointer as an integer."""
    return types.int64(pointer), lambda context, builder, sig, args: builder.ptrtoint(args[0], WIDE_WORD)


@intrinsic
def element(typing, address, dtype):
    """A pointer to an element of `dtype` (a Numba dtype object such as np.uint16) at an address."""
    result = types.CPointer(dtype.dtype)
    def emit(context, builder, sig, args):
        return builder.inttoptr(args[0], IR[dtype.dtype].as_pointer())
    return result(address, dtype), emit


@intrinsic
def call_kernel(typing, address, count, table):
    """Call `void kernel(count, table)` at an address."""
    def emit(context, builder, sig, args):
        kind = ir.FunctionType(ir.VoidType(), [WIDE_WORD, args[2].type])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])
        return context.get_dummy_value()
    return types.void(address, count, table), emit


@intrinsic
def prefetch(typing, pointer):
    """Ask for the cache line of a pointer, which may lie outside of any array."""
    def emit(context, builder, sig, args):
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [args[0].type, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [args[0], *[ir.Constant(word, number) for number in (0, 3, 1)]])
        return context.get_dummy_value()
    return types.void(pointer), emit


@intrinsic
def call_address(typing, address, *arguments):
    """Call a C function without result at an address, such as an emitted kernel: pointers as int64 addresses."""
    def emit(context, builder, sig, args):
        values = cgutils.unpack_tuple(builder, args[1], len(arguments))
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), values)
        return context.get_dummy_value()
    return types.void(address, types.StarArgTuple(arguments)), emit


@intrinsic
def call_examiner(typing, address, layout, table, count):
    """Call `int64 examiner(layout, table, count)` of loops/conditions.py at an address."""
    def emit(context, builder, sig, args):
        kind = ir.FunctionType(WIDE_WORD, [WIDE_WORD] * 3)
        words = [builder.ptrtoint(pointer, WIDE_WORD) for pointer in args[1:3]]
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), [*words, args[3]])
    return types.int64(address, layout, table, count), emit


@intrinsic
def mark_kernel(typing):
    """Of the function being compiled: pointers do not overlap, vectors may be as wide as the registers.

    Without noalias a kernel whose output is its input takes LLVM's scalar road, 6 to 8 times slower. Overlap by exactly
    one address is safe here, because element i is loaded before it is stored and no other iteration touches it.
    """
    def emit(context, builder, sig, args):
        for argument in builder.function.args:
            is_operand = isinstance(argument.type, ir.PointerType) and argument.name.startswith("arg.")
            if is_operand and not argument.attributes:
                argument.add_attribute("noalias")
        width = compiler.vector_width()
        set.add(builder.function.attributes, f'"prefer-vector-width"="{width}"')
        return context.get_dummy_value()
    return types.void(), emit


# ------------------------------------------------------------------------------------------------- status
# The four conditions that NumPy reports, by the same numbers on every CPU.
INVALID, DIVIDE, OVERFLOW, UNDERFLOW = 1, 2, 4, 8
X86 = ("x86_64", "i686", "i386")


def _places():
    """Where the four conditions lie in this CPU's word; nowhere on a CPU that this module does not know."""
    triple = compiler.host()[0]
    return (0, 2, 3, 4) if triple.startswith(X86) else (0, 1, 2, 3) if triple.startswith(compiler.ARM) else ()


def _mxcsr(builder, name, memory):
    kind = ir.FunctionType(ir.VoidType(), [BYTE.as_pointer()])
    access = builder.module.declare_intrinsic(f"llvm.x86.sse.{name}", (), kind)
    builder.call(access, [builder.bitcast(memory, BYTE.as_pointer())])


def emit_read_status(builder):
    """The status word of the CPU; 0 on a CPU that this module does not know."""
    if compiler.host()[0].startswith(X86):
        memory = cgutils.alloca_once(builder, WORD)
        _mxcsr(builder, "stmxcsr", memory)
        return builder.zext(builder.load(memory), WIDE_WORD)
    if compiler.host()[0].startswith(compiler.ARM):
        kind = ir.FunctionType(WIDE_WORD, [])
        return builder.call(builder.module.declare_intrinsic("llvm.aarch64.get.fpsr", (), kind), [])
    return _constant(0, types.int64)


def emit_write_status(builder, word):
    """Make `word` the status word of the CPU."""
    if compiler.host()[0].startswith(X86):
        memory = cgutils.alloca_once(builder, WORD)
        builder.store(builder.trunc(word, WORD), memory)
        _mxcsr(builder, "ldmxcsr", memory)
    elif compiler.host()[0].startswith(compiler.ARM):
        kind = ir.FunctionType(ir.VoidType(), [WIDE_WORD])
        builder.call(builder.module.declare_intrinsic("llvm.aarch64.set.fpsr", (), kind), [word])


def emit_moved(builder, word, origins, targets):
    """The bits of `word` at the places `origins` moved to the places `targets`."""
    result = _constant(0, types.int64)
    for origin, target in zip(origins, targets):
        bit = builder.and_(builder.lshr(word, _constant(origin, types.int64)), _constant(1, types.int64))
        result = builder.or_(result, builder.shl(bit, _constant(target, types.int64)))
    return result


@intrinsic
def save_flags(typing):
    """The floating point status word as int64. Branch-free kernels raise flags for lanes they then discard;
    NumPy would report those as warnings, so a kernel puts the word back."""
    return types.int64(), lambda context, builder, sig, args: emit_read_status(builder)


@intrinsic
def restore_flags(typing, word):
    """Undo of `save_flags`."""
    def emit(context, builder, sig, args):
        emit_write_status(builder, args[0])
        return context.get_dummy_value()
    return types.void(types.int64), emit


@intrinsic
def clear_flags(typing):
    """Forget INVALID, DIVIDE, OVERFLOW and UNDERFLOW."""
    def emit(context, builder, sig, args):
        kept = _constant(~sum(1 << place for place in _places()), types.int64)
        emit_write_status(builder, builder.and_(emit_read_status(builder), kept))
        return context.get_dummy_value()
    return types.void(), emit


@intrinsic
def raised_flags(typing):
    """What has been raised: INVALID | DIVIDE | OVERFLOW | UNDERFLOW, the same numbers on every CPU (int64)."""
    def emit(context, builder, sig, args):
        return emit_moved(builder, emit_read_status(builder), _places(), range(4))
    return types.int64(), emit


@intrinsic
def raise_flags(typing, conditions):
    """Set conditions in the status word, where NumPy looks for them after a ufunc's loop."""
    def emit(context, builder, sig, args):
        word = emit_moved(builder, args[0], range(4), _places())
        emit_write_status(builder, builder.or_(emit_read_status(builder), word))
        return context.get_dummy_value()
    return types.void(types.int64), emit
