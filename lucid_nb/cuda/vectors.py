"""Several neighbouring elements moved by one access, of up to 16 bytes, from memory that is aligned to it.

Numba's own indexing moves one element, and mends negative indices first. Neither happens here: an index counts from the
start. The simulator moves one element after the other, and refuses what a device would: addresses that are not aligned.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from .runtime import SIMULATED, cuda

ACCESS = 16       # bytes of the widest access

if not SIMULATED:
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    types: Any = cuda.types

    WORD = ir.IntType(32)


def width_of(itemsize: int) -> int:
    """How many elements of so many bytes one access moves."""
    return max(1, ACCESS // itemsize)


# ------------------------------------------------------------------------------------------------- in the simulator
def _check(array: Any, index: int, width: int) -> None:
    """Raise where the elements are not aligned, counted from the first of the array."""
    if index < 0 or index % width:
        raise IndexError(f"an access of {width} elements at {index} is not aligned")


def _simulated_load(width: int) -> Callable:
    def load(array, index):
        _check(array, index, width)
        return tuple([array[index + k] for k in range(width)])
    return load


def _simulated_store(width: int) -> Callable:
    def store(array, index, values):
        _check(array, index, width)
        for k in range(width):
            array[index + k] = values[k]
    return store


# ----------------------------------------------------------------------------------------------------- on a device
class _Elements:
    """How elements of a dtype travel: as vectors of numbers; a complex one as two, short integers in words of 4 bytes,
    which the compiler would otherwise take apart into several accesses."""

    def __init__(self, context: Any, dtype: Any, width: int) -> None:
        self.context, self.dtype, self.model = context, dtype, context.data_model_manager[dtype]
        self.is_complex = isinstance(dtype, types.Complex)
        self.size = width * context.get_abi_sizeof(context.get_data_type(dtype))
        number = context.get_data_type(dtype.underlying_float if self.is_complex else dtype)
        self.bits = number.width if isinstance(number, ir.IntType) else 32
        self.in_words = self.bits < 32 and self.size > 4
        self.vector = (ir.VectorType(WORD, self.size // 4) if self.in_words
                       else ir.VectorType(number, width * (1 + self.is_complex)))

    def place(self, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
        """The address of a vector that starts at an element."""
        data = self.context.make_array(array_type)(self.context, builder, value=array).data
        return builder.bitcast(builder.gep(data, [index]), self.vector.as_pointer(data.type.addrspace))

    def value(self, builder: Any, vector: Any, k: int) -> Any:
        """Element k of a vector."""
        if self.is_complex:
            parts = [builder.extract_element(vector, WORD(2 * k + part)) for part in range(2)]
            nothing = ir.Constant(self.context.get_value_type(self.dtype), ir.Undefined)
            return builder.insert_value(builder.insert_value(nothing, parts[0], 0), parts[1], 1)
        if not self.in_words:
            return self.model.from_data(builder, builder.extract_element(vector, WORD(k)))
        word, shift = divmod(k * self.bits, 32)
        shifted = builder.lshr(builder.extract_element(vector, WORD(word)), WORD(shift))
        return self.model.from_data(builder, builder.trunc(shifted, ir.IntType(self.bits)))

    def packed(self, builder: Any, vector: Any, k: int, value: Any) -> Any:
        """The vector with element k set; elements are set in order."""
        if self.is_complex:
            for part in range(2):
                vector = builder.insert_element(vector, builder.extract_value(value, part), WORD(2 * k + part))
            return vector
        data = self.model.as_data(builder, value)
        if not self.in_words:
            return builder.insert_element(vector, data, WORD(k))
        word, shift = divmod(k * self.bits, 32)
        shifted = builder.shl(builder.zext(data, WORD), WORD(shift))
        before = builder.extract_element(vector, WORD(word)) if shift else WORD(0)
        return builder.insert_element(vector, builder.or_(before, shifted), WORD(word))


def _device_load(width: int) -> Callable:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        elements = _Elements(context, signature.args[0].dtype, width)
        place = elements.place(builder, signature.args[0], *arguments)
        vector = builder.load(place, align=elements.size)
        values = [elements.value(builder, vector, k) for k in range(width)]
        return context.make_tuple(builder, signature.return_type, values)

    @intrinsic
    def load(typing, array, index):
        return types.UniTuple(array.dtype, width)(array, types.int64), generate
    return load


def _device_store(width: int) -> Callable:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, values = arguments
        elements = _Elements(context, signature.args[0].dtype, width)
        vector = ir.Constant(elements.vector, ir.Undefined)
        for k in range(width):
            vector = elements.packed(builder, vector, k, builder.extract_value(values, k))
        builder.store(vector, elements.place(builder, signature.args[0], array, index), align=elements.size)
        return context.get_dummy_value()

    @intrinsic
    def store(typing, array, index, values):
        return types.void(array, types.int64, types.UniTuple(array.dtype, width)), generate
    return store


@cache
def load(width: int) -> Callable:
    """load(array, index): so many elements from an index on, as a tuple. One element is loaded so too."""
    return _simulated_load(width) if SIMULATED else _device_load(width)


@cache
def store(width: int) -> Callable:
    """store(array, index, values): a tuple of so many elements written from an index on."""
    return _simulated_store(width) if SIMULATED else _device_store(width)
