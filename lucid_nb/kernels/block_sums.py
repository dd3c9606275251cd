"""Long sums of register tiles as sums of blocks, which keep digits that one chain of additions would lose.

Each addition errs relative to the sum so far, so that a chain of n products errs as n does, blocks of b as b + n / b
(N. J. Higham, "The accuracy of floating point summation", SIAM J. Sci. Comput. 14, 1993). A tile fills the registers,
so the sums of earlier blocks wait on the stack: additions and stores there, one of each for 128 multiplications, take
about a hundredth of the time.
"""
from collections.abc import Sequence

from llvmlite.ir import Value

from .emission import Emitter, Step

BLOCK = 128                      # products of a block


class Blocks:
    """The sums of earlier blocks of a tile of `count` vectors of sums; each method takes whether there are any."""

    def __init__(self, e: Emitter, count: int) -> None:
        room = e.local(count * e.lanes)
        self.e, self.places = e, [e.at(room, number * e.lanes) for number in range(count)]
        self.none = [e.zero()] * count               # what a block begins with

    def plus(self, is_any: Value, sums: Sequence[Value]) -> list[Value]:
        """The sums of a block and of earlier ones."""
        e = self.e
        return e.either(is_any, lambda: [e.add(e.load_vector(place), value) for place, value in zip(self.places, sums)],
                        lambda: sums)

    def join(self, is_any: Value, sums: Sequence[Value]) -> None:
        """The sums of a block join those of earlier ones."""
        for value, place in zip(self.plus(is_any, sums), self.places):
            self.e.store_vector(value, place)


def summed(e: Emitter, steps: Value, step: Step, carried: Sequence[Value], count: int, times: int, block: int
           ) -> list[Value]:
    """The `count` vectors of sums of so many steps, as `unrolled` does them, in blocks of `block` steps.

    step takes and gives `carried` and then the sums of the block, which begin at 0.
    """
    blocks = Blocks(e, count)

    def part(first: Value, values: list) -> Sequence:
        with e.when(e.compare(first, ">", 0)):
            blocks.join(e.compare(first, ">", block), values[-count:])
        values = [*values[:-count], *blocks.none]
        if times == 1:
            return e.loop(first, e.smaller(e.add(first, block), steps), step, values)
        return e.unrolled(e.smaller(e.sub(steps, first), block), lambda k, values: step(e.add(first, k), values),
                          values, times)
    sums = e.loop(0, steps, part, [*carried, *blocks.none], block)[-count:]
    return blocks.plus(e.compare(steps, ">", block), sums)
