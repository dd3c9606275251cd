"""Running sums and products of a few neighbours in one vector: a chain of single operations would wait for each.

Lane i of the vector is joined to the lane 1, then 2, then 4 before it, and all of them to what came before the vector.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..intrinsics import IR

LANES = 16
WORD = ir.IntType(32)
DOUBLES, SINGLES = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(ir.FloatType(), LANES)


def wide(pointer):
    """What the elements of a pointer are accumulated in: floats in float64."""
    return types.float64 if isinstance(pointer.dtype, types.Float) else pointer.dtype


@intrinsic
def stack_wide(typing, pointer, count):
    """`count` elements on the stack of what the pointer's are accumulated in; to be taken before any loop."""
    def emit(context, builder, sig, args):
        memory = builder.alloca(IR[wide(pointer)], size=args[1])
        memory.align = 64
        return memory
    return types.CPointer(wide(pointer))(pointer, types.int64), emit


def _place(builder, pointer):
    """A pointer as one to a vector."""
    return builder.bitcast(pointer, ir.VectorType(pointer.type.pointee, LANES).as_pointer())


def _load(builder, pointer, dtype):
    found = builder.load(_place(builder, pointer), align=dtype.bitwidth // 8)
    return builder.fpext(found, DOUBLES) if dtype == types.float32 else found


def _store(builder, value, pointer, dtype):
    value = builder.fptrunc(value, SINGLES) if dtype == types.float32 else value
    builder.store(value, _place(builder, pointer), align=dtype.bitwidth // 8)


def _indices(lanes):
    return ir.Constant(ir.VectorType(WORD, LANES), list(lanes))


def _running(builder, operation, value, identity):
    """The running values of a vector."""
    step, identities = 1, ir.Constant(value.type, [ir.Constant(value.type.element, identity)] * LANES)
    while step < LANES:
        lanes = [lane - step if lane >= step else LANES + lane for lane in range(LANES)]
        value = operation(builder.shuffle_vector(value, identities, _indices(lanes)), value)
        step *= 2
    return value


def _repeated(builder, value):
    """A vector of one value."""
    nothing = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    return builder.shuffle_vector(builder.insert_element(nothing, value, ir.Constant(WORD, 0)), nothing,
                                  _indices([0] * LANES))


def _keep_lowest(builder, value, lowest):
    """lowest = the smaller size, lane by lane."""
    kind = ir.FunctionType(DOUBLES, [DOUBLES])
    size = builder.call(builder.module.declare_intrinsic(f"llvm.fabs.v{LANES}f64", (), kind), [value])
    place = _place(builder, lowest)
    before = builder.load(place, align=8)
    builder.store(builder.select(builder.fcmp_ordered("<", size, before), size, before), place, align=8)


def running(is_product):
    """An intrinsic `run(x, out, carry, lowest) -> carry`: out = running values of LANES elements after `carry`.

    Of float products `lowest`, LANES elements, keeps the smallest sizes before they met the carry.
    """
    @intrinsic
    def run(typing, x, out, carry, lowest):
        dtype, is_float = x.dtype, isinstance(x.dtype, types.Float)
        identity = (1.0 if is_float else 1) if is_product else -0.0 if is_float else 0

        def emit(context, builder, sig, args):
            operation = getattr(builder, "f" * is_float + ("mul" if is_product else "add"))
            value = _running(builder, operation, _load(builder, args[0], dtype), identity)
            if is_product and is_float:
                _keep_lowest(builder, value, args[3])
            value = operation(_repeated(builder, args[2]), value)
            _store(builder, value, args[1], dtype)
            return builder.extract_element(value, ir.Constant(WORD, LANES - 1))
        return wide(x)(x, out, wide(x), lowest), emit
    return run
