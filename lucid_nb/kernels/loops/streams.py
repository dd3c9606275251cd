"""Stores past the caches: of large results, which would drive the operands out before anybody reads them again.

A usual store first reads the line that it writes into. Whole lines that are stored past the caches are only written.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .typed import item_size, scalar, shift

LINE = 64            # bytes


@intrinsic
def _store_line(typing, out, buffer):
    """The line at `out`, where one begins, = the bytes at `buffer`."""
    def emit(context, builder, sig, args):
        line = ir.VectorType(args[0].type.pointee, LINE * 8 // sig.args[0].dtype.bitwidth).as_pointer()
        content = builder.load(builder.bitcast(args[1], line), align=1)
        store = builder.store(content, builder.bitcast(args[0], line), align=LINE)
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
        return context.get_dummy_value()
    return types.void(out, buffer), emit


@intrinsic
def finish_stores(typing):
    """Let no later store, such as the word that work is done, be seen before those past the caches."""
    def emit(context, builder, sig, args):
        builder.fence("seq_cst")
        return context.get_dummy_value()
    return types.void(), emit


@scalar
def store_past(out, buffer, count):
    """out = the elements of the buffer, all of them whole lines."""
    for first in range(0, count, LINE // item_size(out)):
        _store_line(shift(out, first), shift(buffer, first))
