"""How a fused program is cut into passes over a row: one for each depth of reductions, and one for the results.

A pass computes what it needs of each element from the inputs again; only what is dear (an exponential) and was computed
by an earlier pass is read from a scratch row. Values that are one for a row are computed between the passes.
"""

from collections.abc import Sequence

from ..expr import vocabulary
from ..program import ALONG, ROW, RowProgram
from .math import NEEDS_SLOW_PATH

DEAR = 8             # the cost from which a value is kept rather than computed again
# From which size of its argument on a function needs its form that is right for every argument.
LIMITS = {op: limit for op, limit in NEEDS_SLOW_PATH.items() if isinstance(limit, float)}


class Pass:
    """What one pass over a row reads, computes and writes, as numbers of steps of the program."""

    def __init__(self, roots: Sequence[int]) -> None:
        self.roots = roots
        self.steps: list[int] = []                   # in order, without what is loaded
        self.loads: list[int] = []                   # inputs that have elements along the row
        self.reads: list[int] = []                   # dear steps of an earlier pass
        self.writes: list[int] = []                  # dear steps that a later pass reads
        self.given: list[int] = []                   # values that are one for the row
        self.probe: Pass | None = None               # looks at arguments, where a function has a form for large ones


class Analysis:
    """How a program is cut into passes."""

    def __init__(self, program: RowProgram) -> None:
        self.rows, self.program = program, program.program
        self.steps = self.program.steps
        self.first_value = len(program.kinds) + program.scalars           # number of the first reduction's input
        self.along = self._along()
        self.level = self._levels()
        self.depth = max(self.level, default=0)
        outputs = self.program.outputs
        self.operands = [outputs[number] for _, number in program.reductions]
        self.reduction_levels = [self.level[operand] + 1 for operand in self.operands]
        self.results = outputs[len(program.reductions):]
        wide = [value for value, kind in zip(self.results, program.results) if kind != ROW]
        by_level = [[operand for operand, level in zip(self.operands, self.reduction_levels) if level == wanted]
                    for wanted in range(1, max(self.reduction_levels, default=0) + 1)]
        self.passes = [Pass(roots) for roots in (*by_level, wide)]
        self.scratch: list[int] = []
        self._fill()

    def _along(self) -> list[bool]:
        found: list[bool] = []
        for step in self.steps:
            is_input = step.op == "input" and step.literal < len(self.rows.kinds)
            found.append(self.rows.kinds[step.literal] == ALONG if is_input else any(found[i] for i in step.args))
        return found

    def _levels(self) -> list[int]:
        """After how many passes each value is known."""
        level = [0] * len(self.steps)
        for _ in range(len(self.rows.reductions) + 1):
            before = list(level)
            for number, step in enumerate(self.steps):
                if step.op == "input" and step.literal >= self.first_value:
                    _, output = self.rows.reductions[step.literal - self.first_value]
                    level[number] = level[self.program.outputs[output]] + 1
                else:
                    level[number] = max((level[i] for i in step.args), default=0)
            if level == before:
                break
        return level

    def _fill(self) -> None:
        """Decide what each pass loads, computes, and keeps for later ones."""
        done: dict[int, Pass] = {}                   # dear steps, and the first pass that computed them
        for each in self.passes:
            self._fill_pass(each, done)
            slow = [self.steps[number] for number in each.steps if self.steps[number].op in LIMITS]
            if slow:
                each.probe = Pass([step.args[0] for step in slow])
                self._fill_pass(each.probe, done)
            done |= {number: each for number in each.steps if self._is_dear(number) and number not in done}

    def _fill_pass(self, each: Pass, done: dict[int, Pass]) -> None:
        needed, waiting = set(), list(each.roots)
        while waiting:
            number = waiting.pop()
            if number not in needed:
                needed.add(number)
                waiting += self.steps[number].args if self.along[number] and number not in done else ()
        for number in sorted(needed):
            self._place(number, each, done)

    def _place(self, number: int, each: Pass, done: dict[int, Pass]) -> None:
        step = self.steps[number]
        if not self.along[number]:
            if step.op != "literal":
                each.given.append(number)
        elif number in done:
            each.reads.append(number)
            if number not in self.scratch:
                self.scratch.append(number)
                done[number].writes.append(number)
        elif step.op == "input":
            each.loads.append(number)
        else:
            each.steps.append(number)

    def kinds_of(self, index: int) -> list[str]:
        """The reductions that a pass computes."""
        return [kind for (kind, _), level in zip(self.rows.reductions, self.reduction_levels)
                if level == index + 1]

    def _is_dear(self, number: int) -> bool:
        op = self.steps[number].op
        return op in vocabulary and vocabulary[op].cost >= DEAR
