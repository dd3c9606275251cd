"""Maps of two operands in two parts: what reads one alone is computed before that is broadcast, if it is costly.

So are the derivatives at each example, which multiply every row of its Jacobian: exp is taken once for each example.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import prod
from typing import Any

from ..program import Program, Step
from ..vocabulary import vocabulary

MANY, FEWER = 1 << 13, 2        # elements of a result, and how many times fewer those of the operand must be
COSTLY = 10                     # what an element must cost, in the vocabulary's measure


def in_two(raws: Sequence[Any], apart: Callable[[int], Sequence[Callable] | None]) -> Any:
    """The result by two kernels, of those that `apart` gives for an operand; None where one kernel is as good."""
    sizes = [prod(x.shape) for x in raws]
    total = prod([max(extents) for extents in zip(raws[0].shape, raws[1].shape)])
    for number in (0, 1) if sizes[0] <= sizes[1] else (1, 0):
        kernels = apart(number) if total >= max(MANY, FEWER * sizes[number]) else None
        if kernels is not None:
            alone, rest = kernels
            found = alone(raws[number])
            return rest(found, raws[1]) if number == 0 else rest(raws[0], found)
    return None


def kernels_apart(compiled: Callable, program: Program, name: str, number: int) -> list[Callable] | None:
    """The kernels of both parts, from what compiles a program under a name."""
    parts = parted(program, number)
    return parts and [compiled(part, f"{name} {which}") for part, which in zip(parts, ("alone", "rest"))]


def parted(program: Program, number: int) -> tuple[Program, Program] | None:
    """What reads one input alone as a program of one result, and the program that reads this in the input's place.

    None where there are several such results, or they cost little.
    """
    steps, is_alone = program.steps, partial(_reads_alone, program.steps, number)
    alone: set[int] = set()
    for i in range(len(steps)):
        if is_alone(alone, i):
            alone.add(i)
    rest = [i for i in range(len(steps)) if i not in alone]
    cut = {a for i in rest for a in steps[i].args if a in alone} | (alone & {*program.outputs})
    cost = sum([vocabulary[steps[i].op].cost for i in alone if steps[i].op in vocabulary])
    if len(cut) != 1 or cost < COSTLY:
        return None
    (value,) = cut
    dtype = steps[value].dtype
    literals = [i for i in rest if steps[i].op == "literal"]
    first = _picked(steps, sorted([*alone, *literals]), {number: 0}, {})
    second = _picked(steps, [value, *rest], {}, {value: Step("input", (), dtype, number)})
    inputs = tuple([dtype if i == number else own for i, own in enumerate(program.inputs)])
    return (Program((program.inputs[number],), first[0], (first[1][value],), (dtype,), program.warns),
            Program(inputs, second[0], tuple([second[1][i] for i in program.outputs]), program.results, program.warns))


def _reads_alone(steps: Sequence[Step], number: int, alone: set[int], i: int) -> bool:
    """Is a step computed of one input and of literals only?"""
    step = steps[i]
    if step.op == "input":
        return bool(step.literal == number)
    return any(a in alone for a in step.args) and all(a in alone or steps[a].op == "literal" for a in step.args)


def _picked(steps: Sequence[Step], chosen: Iterable[int], inputs: dict[int, int], others: dict[int, Step]
            ) -> tuple[tuple[Step, ...], dict[int, int]]:
    """Some steps, which read each other, and the new number of each. `inputs`: new numbers; `others`: put in place."""
    found: list[Step] = []
    places: dict[int, int] = {}
    for i in chosen:
        step = others.get(i, steps[i])
        literal = inputs.get(step.literal, step.literal) if step.op == "input" else step.literal
        places[i] = len(found)
        found.append(Step(step.op, tuple([places[a] for a in step.args]), step.dtype, literal))
    return tuple(found), places
