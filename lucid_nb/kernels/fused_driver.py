"""The range kernel of a fused program, over units of rows: for each row its values and the passes over its elements.

Columns are summed over the UNIT rows of a unit, whose totals the caller adds. Nothing depends on how units are split
over threads.
"""

from collections.abc import Sequence
from functools import reduce

from llvmlite import ir

from ..program import ALONG, COLUMNS, ROW, RowProgram
from .emission import ELEMENTS, INDEX, Emitter
from .fused_passes import LIMITS, Analysis, Pass
from .fused_steps import STORED, Steps

BLOCK, UNIT = 1024, 32
DOUBLE = ELEMENTS["float64"]
STARTS = {"sum": 0.0, "max": float("-inf"), "min": float("inf")}


class Driver:
    """The body of the range kernel: units, rows, passes.

    The table has for each array its address, the step from row to row in elements, and the address of the offsets of
    its rows in elements, or 0; the address of each result; that of scratch rows, one of each dear step for each unit;
    the numbers of rows and of columns; the scalars.
    """

    def __init__(self, rows: RowProgram, plan: Analysis, steps: Steps, e: Emitter,
                 passes: list[tuple[Pass, list[ir.Function]]]) -> None:
        self.rows, self.plan, self.steps, self.e, self.passes = rows, plan, steps, e, passes
        self.program = rows.program
        self.numbers = {step.literal: number for number, step in enumerate(self.program.steps) if step.op == "input"}

    @property
    def letters(self) -> str:
        """The kinds of the table's words."""
        rows = self.rows
        return ("pip" * len(rows.kinds) + "p" * len(rows.results) + "p" * bool(self.plan.scratch) + "ii"
                + "x" * rows.scalars)

    def emit(self) -> None:
        """The whole body."""
        e, arrays = self.e, len(self.rows.kinds)
        words = e.operands(e.function.args[0], self.letters)
        self.arrays = [words[3 * k:3 * k + 3] for k in range(arrays)]
        rest = iter(words[3 * arrays:])
        self.targets = [next(rest) for _ in self.rows.results]
        self.scratch = next(rest) if self.plan.scratch else None
        self.count, self.cols = next(rest), next(rest)
        self.scalars = {self.numbers[arrays + k]: value for k, value in enumerate(rest) if arrays + k in self.numbers}
        self.totals = [e.builder.alloca(DOUBLE, size=max(len(self.plan.kinds_of(index)), 1))
                       for index in range(len(self.plan.passes))]
        widest = max((len(each.probe.roots) for each, _ in self.passes if each.probe), default=0)
        self.largest = e.builder.alloca(DOUBLE, size=max(widest, 1))
        e.loop(e.function.args[1], e.function.args[2], self.unit)

    def unit(self, unit: ir.Value, carried: list) -> list:
        """UNIT rows."""
        e = self.e
        self.parts = {}
        for number, (kind, target) in enumerate(zip(self.rows.results, self.targets)):
            if kind == COLUMNS:
                part = self.parts[number] = e.at(target, e.mul(unit, self.cols))

                def clear(i: ir.Value, nothing: list, part: ir.Value = part) -> list:
                    e.store(e.number(0.0), e.at(part, i))
                    return nothing
                e.loop(0, self.cols, clear)
        self.lines = {number: e.at(self.scratch, e.mul(e.add(e.mul(unit, len(self.plan.scratch)), place), self.cols))
                      for place, number in enumerate(self.plan.scratch)}
        first = e.mul(unit, UNIT)
        e.loop(first, e.smaller(e.add(first, UNIT), self.count), self.row)
        return carried

    def row(self, row: ir.Value, carried: list) -> list:
        """One row: the values that are one for it, as soon as they are known, and the passes."""
        e, values = self.e, dict(self.scalars)
        pointers = {}
        for number, (base, step, offsets) in enumerate(self.arrays):
            place = self.offset(row, step, offsets)
            stored = self.program.inputs[number]
            if number not in self.numbers:
                continue
            if self.rows.kinds[number] == ALONG:
                pointers[self.numbers[number]] = self.moved(base, place, stored)
            else:
                values[self.numbers[number]] = self.steps.load(e, base, place, stored)
        self.known(0, values)
        for index, (each, functions) in enumerate(self.passes):
            self.run(index, each, functions, pointers, row, values)
            self.known(index + 1, values)
        for number, (value, kind) in enumerate(zip(self.plan.results, self.rows.results)):
            if kind == ROW:
                dtype = self.program.results[number - len(self.rows.results)]
                self.steps.store(e, self.steps.value(e, value, values), self.targets[number], row, dtype)
        return carried

    def offset(self, row: ir.Value, step: ir.Value, offsets: ir.Value) -> ir.Value:
        """Where a row of an array begins, in elements."""
        e = self.e
        is_regular = e.builder.icmp_unsigned("==", e.builder.ptrtoint(offsets, INDEX), e.index(0))
        return e.either(is_regular, lambda: [e.mul(row, step)], lambda: [e.load(e.at(offsets, row, INDEX), INDEX)])[0]

    def known(self, level: int, values: dict[int, ir.Value]) -> None:
        """Compute the values that are one for the row and known after so many passes."""
        plan = self.plan
        numbers = [number for number, step in enumerate(plan.steps)
                   if not plan.along[number] and plan.level[number] <= level and number not in values
                   and step.op not in ("input", "literal")]
        self.steps.compute(self.e, numbers, values)

    def run(self, index: int, each: Pass, functions: list[ir.Function], pointers: dict, row: ir.Value,
            values: dict[int, ir.Value]) -> None:
        """A pass over the row, block by block."""
        e, totals = self.e, self.totals[index]
        is_last = each is self.plan.passes[-1]
        kinds = [] if is_last else self.plan.kinds_of(index)
        for place, kind in enumerate(kinds):
            e.store(ir.Constant(DOUBLE, STARTS[kind]), e.at(totals, place, DOUBLE))
        results = self.result_lines(row) if is_last else []

        def block(first: ir.Value, carried: list) -> list:
            size = e.smaller(e.sub(self.cols, first), BLOCK)
            words = self.words(each, pointers, results, first, size, values) + [totals] * bool(kinds)
            if each.probe is None:
                e.builder.call(functions[0], words)
                return carried
            probe = self.words(each.probe, pointers, [], first, size, values)
            e.either(self.is_wide(each.probe, functions[2], probe), lambda: self.call(functions[0], words),
                     lambda: self.call(functions[1], words))
            return carried
        e.loop(0, self.cols, block, step=BLOCK)
        for place, number in enumerate(self.values_of(index) if not is_last else ()):
            total = e.load(e.at(totals, place, DOUBLE), DOUBLE)
            values[number] = total if e.element == DOUBLE else e.builder.fptrunc(total, e.element)

    def call(self, function: ir.Function, words: list[ir.Value]) -> Sequence[ir.Value]:
        """A call that gives nothing."""
        self.e.builder.call(function, words)
        return ()

    def words(self, each: Pass, pointers: dict, results: list, first: ir.Value, size: ir.Value,
              values: dict[int, ir.Value]) -> list[ir.Value]:
        """The arguments of a pass from column `first` on."""
        lines = [(pointers[number], self.program.inputs[self.program.steps[number].literal]) for number in each.loads]
        lines += [(self.lines[number], self.rows.compute) for number in (*each.reads, *each.writes)]
        return [*[self.moved(pointer, first, dtype) for pointer, dtype in (*lines, *results)], size,
                *[self.steps.value(self.e, number, values) for number in each.given]]

    def is_wide(self, probe: Pass, function: ir.Function, words: list[ir.Value]) -> ir.Value:
        """Is an argument of the block beyond what the moderate form is right for, or NaN, which hides the others?"""
        e, limit = self.e, min(LIMITS[step.op] for step in self.program.steps if step.op in LIMITS)
        for place in range(len(probe.roots)):
            e.store(ir.Constant(DOUBLE, 0), e.at(self.largest, place, DOUBLE))
        e.builder.call(function, [*words, self.largest])
        tests = [e.builder.fcmp_unordered(">", e.load(e.at(self.largest, place, DOUBLE), DOUBLE),
                                          ir.Constant(DOUBLE, limit)) for place in range(len(probe.roots))]
        return reduce(e.builder.or_, tests)

    def values_of(self, index: int) -> list[int]:
        """The numbers of the values that a pass leaves."""
        first = self.plan.first_value
        return [self.numbers[first + k] for k, level in enumerate(self.plan.reduction_levels) if level == index + 1]

    def result_lines(self, row: ir.Value) -> list[tuple[ir.Value, str]]:
        """Where the results of a row lie, but for those that are one number, and their dtypes."""
        e, found = self.e, []
        dtypes = self.program.results[-len(self.rows.results):]
        for number, (kind, dtype) in enumerate(zip(self.rows.results, dtypes)):
            if kind == COLUMNS:
                found.append((self.parts[number], self.rows.compute))
            elif kind == ALONG:
                found.append((self.moved(self.targets[number], e.mul(row, self.cols), dtype), dtype))
        return found

    def moved(self, pointer: ir.Value, offset: ir.Value, stored: str) -> ir.Value:
        """A pointer further on by elements of a dtype."""
        return self.e.at(pointer, offset, STORED[stored])
