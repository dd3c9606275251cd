"""An elementwise kernel run over many arrays in place: an optimizer's step over a group of parameters."""

from numba.core.types import int64

from ..intrinsics import call_kernel, element, restore_flags, save_flags, stack_words

BLOCK = 4096                 # elements of a unit


def update_blocks(start, stop, kernel, objects, header, starts, counts, numbers, targets, arrays, scalars, results,
                  size):
    """Unit: BLOCK elements of one set of `arrays` arrays of one size; starts[n] is the first unit of set n.

    objects: the arrays of each set, as NumPy's objects, whose data's address stands `header` bytes into them. Result k
    goes to array targets[k]. numbers: the address of `scalars` elements of `size` bytes, which are the same for all.
    """
    table, flags, item, unit = stack_words(arrays + scalars + results), save_flags(), 0, start
    for k in range(scalars):
        table[arrays + k] = numbers + k * size
    while unit < stop:
        while starts[item + 1] <= unit:
            item += 1
        first, end = (unit - starts[item]) * BLOCK, min(stop, starts[item + 1])
        count = min(counts[item] - first, (end - unit) * BLOCK)
        for k in range(arrays):
            table[k] = element(objects[item * arrays + k] + header, int64)[0] + first * size
        for k in range(results):
            table[arrays + scalars + k] = table[targets[k]]
        call_kernel(kernel, count, table)
        unit = end
    restore_flags(flags)
