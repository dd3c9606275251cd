"""The text of a fused program over rows: a row is some lanes of a block, whose threads merge in shared memory.

There is a pass over the row for each depth of reductions, and one for the results. A thread that can holds its
elements in registers from pass to pass (`turns` accesses of `width` neighbours); otherwise it walks along the row, and
each pass reads and computes again what it needs. What is one for a row is computed by all threads between the passes.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..printing import literal_text
from ..program import ALONG, COLUMNS, ROW, RowProgram
from .elementwise import indented, lane_text, load_text, step_text, store_text

START = {"sum": 0.0, "max": float("-inf"), "min": float("inf")}


class Form(NamedTuple):
    """What a compiled kernel is made for."""

    width: int                   # neighbours that an access moves
    turns: int                   # accesses of a thread in a row, whose values it keeps; 0: as many as there are
    ndim: int                    # merged axes of the grid of rows


class Passes:
    """Which values each pass over a row computes."""

    def __init__(self, rows: RowProgram) -> None:
        self.rows, self.program, self.steps = rows, rows.program, rows.program.steps
        self.first_value = len(rows.kinds) + rows.scalars        # the number of the first reduction's input
        self.along: list[bool] = []                              # has a value elements along the row?
        self.level: list[int] = []                               # after how many passes is it known?
        outputs, taken = self.program.outputs, len(rows.reductions)
        self.operands, self.results = outputs[:taken], outputs[taken:]
        for step in self.steps:
            number = step.literal if step.op == "input" else -1
            self.along.append(rows.kinds[number] == ALONG if 0 <= number < len(rows.kinds)
                              else any(self.along[i] for i in step.args))
            self.level.append(self.level[self.operands[number - self.first_value]] + 1 if number >= self.first_value
                              else max((self.level[i] for i in step.args), default=0))
        self.depth = max(self.level, default=0)
        self.taken = [[place for place, operand in enumerate(self.operands) if self.level[operand] == depth]
                      for depth in range(self.depth)]            # the reductions that each pass but the last computes
        wide = [value for value, kind in zip(self.results, rows.results) if kind != ROW]
        self.needed = [self._needed(roots) for roots in (
            *[[self.operands[place] for place in places] for places in self.taken], wide)]

    def _needed(self, roots: Sequence[int]) -> list[int]:
        """The values along the row of which these are made, in order."""
        found, waiting = set(), [root for root in roots if self.along[root]]
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += [i for i in self.steps[number].args if self.along[i]]
        return sorted(found)

    @property
    def held(self) -> int:
        """The most values that live from one pass to a later one, and sums of columns."""
        counts, done = [0], set[int]()
        for index, needed in enumerate(self.needed[:-1]):
            done |= {*needed}
            later = {number for numbers in self.needed[index + 1:] for number in numbers if number not in done}
            read = {i for number in later for i in self.steps[number].args}
            ends = {self.operands[place] for places in self.taken[index + 1:] for place in places}
            counts.append(len(done & (read | ends | {*self.results})))
        return max(counts) + self.rows.results.count(COLUMNS)

    def known(self, depth: int) -> list[int]:
        """The values that are one for the row and known after so many passes, but not before."""
        return [number for number, level in enumerate(self.level) if level == depth and not self.along[number]]


class Source:
    """The kernel of a program in a form."""

    def __init__(self, passes: Passes, form: Form) -> None:
        self.passes, self.rows, self.program, self.form = passes, passes.rows, passes.program, form
        self.dtype, self.is_held = passes.rows.compute, form.turns > 0
        self.zero = literal_text(0.0, self.dtype)
        self.stored = self.program.results[len(self.rows.reductions):]
        self.done: set[int] = set()

    def text(self) -> str:
        """The whole kernel."""
        row = [*self._place(), *self._known(0)]
        for depth, places in enumerate(self.passes.taken):
            row += [*self._pass(depth, places), *self._merge(places), *self._known(depth + 1)]
        row += [*self._pass(self.passes.depth, ()), *self._row_results(), "first += cuda.gridDim.x * cuda.blockDim.y"]
        lines = ["lanes, lane, side = cuda.blockDim.x, cuda.threadIdx.x, cuda.threadIdx.y",
                 "slot = side * lanes + lane", *self._preparations(), "first = cuda.blockIdx.x * cuda.blockDim.y",
                 "while first < count:", *indented(row), *self._columns()]
        return "\n".join([f"def fused_rows({', '.join(self._arguments())}):", *indented(lines)])

    def _arguments(self) -> Iterator[str]:
        yield from ("count", "cols", *[f"n{axis}" for axis in range(1, self.form.ndim)])
        for number, kind in enumerate(self.rows.kinds):
            yield from (f"x{number}", f"x{number}_start", *[f"x{number}_{axis}" for axis in range(self.form.ndim)])
            if kind == ALONG and self.form.width == 1:
                yield f"x{number}_step"
        yield from (f"y{number}" for number in range(len(self.rows.results)))
        yield from (f"s{number}" for number in range(self.rows.scalars))

    # ------------------------------------------------------------------------------------------- around the passes
    def _preparations(self) -> Iterator[str]:
        """Shared memory, the places of what a thread holds, sums of columns."""
        for place in range(max(map(len, self.passes.taken), default=0)):
            yield f"shared{place} = memory{place}()"
        for turn in range(self.form.turns):
            yield f"at{turn} = (lane + {turn} * lanes) * {self.form.width}"
        for number in self._sums() if self.is_held else ():
            yield from (f"c{number}_{k} = {self.zero}" for k in range(self.form.turns * self.form.width))

    def _sums(self) -> list[int]:
        """The results that are summed over rows."""
        return [number for number, kind in enumerate(self.rows.results) if kind == COLUMNS]

    def _place(self) -> Iterator[str]:
        """The row of a thread, the last one beyond the end, and where it lies in each array."""
        yield "is_inside = first + side < count"
        yield "row = min(first + side, count - 1)"
        last = self.form.ndim - 1
        yield "rest = row"
        for axis in range(last, 0, -1):
            yield f"q{axis} = rest // n{axis}"
            yield f"i{axis} = rest - q{axis} * n{axis}"
            yield f"rest = q{axis}"
        for number in range(len(self.rows.kinds)):
            steps = " + ".join([f"rest * x{number}_0", *[f"i{axis} * x{number}_{axis}" for axis in range(1, last + 1)]])
            yield f"x{number}_at = x{number}_start + {steps}"

    def _known(self, depth: int) -> Iterator[str]:
        """What is one for the row and known after so many passes."""
        arrays = len(self.rows.kinds)
        for number in self.passes.known(depth):
            step = self.program.steps[number]
            if step.op != "input":
                text = step_text(step, self.program)
            elif step.literal < arrays:
                text = load_text(self.program.inputs[step.literal], step,
                                 f"load_1(x{step.literal}, x{step.literal}_at)[0]")
            elif step.literal < self.passes.first_value:
                text = f"s{step.literal - arrays}"
            else:
                text = f"t{step.literal - self.passes.first_value}"
            yield f"v{number} = {text}"

    def _merge(self, places: Sequence[int]) -> Iterator[str]:
        """The totals of all lanes of a row, halves added to halves."""
        shared = list(enumerate(places))
        yield from (f"shared{own}[slot] = t{place}" for own, place in shared)
        yield from ("cuda.syncthreads()", "half = lanes // 2", "while half > 0:", "    if lane < half:")
        for own, place in shared:
            kind, _ = self.rows.reductions[place]
            yield f"        shared{own}[slot] = {kind}_of(shared{own}[slot], shared{own}[slot + half])"
        yield from ("    cuda.syncthreads()", "    half = half // 2")
        yield from (f"t{place} = shared{own}[side * lanes]" for own, place in shared)
        yield "cuda.syncthreads()"                        # the memory is used again

    def _row_results(self) -> Iterator[str]:
        """One number a row, written by its first lane."""
        numbers = [number for number, kind in enumerate(self.rows.results) if kind == ROW]
        if numbers:
            yield "if lane == 0 and is_inside:"
        for number in numbers:
            yield f"    store_1(y{number}, row, ({self._stored(number, 0)},))"

    def _stored(self, number: int, k: int) -> str:
        """Neighbour k of a result as memory."""
        value = self.passes.results[number]
        stored = self.dtype if self.rows.results[number] == COLUMNS else self.stored[number]
        return store_text(lane_text(f"v{value}", self.passes.along, k), self.program.steps[value].dtype, stored)

    def _columns(self) -> Iterator[str]:
        """The sums of the rows that a thread has seen, for another launch to add."""
        if self._sums() and self.is_held:
            yield "row = cuda.blockIdx.x * cuda.blockDim.y + side"
        for number in self._sums() if self.is_held else ():
            for turn in range(self.form.turns):
                values = [f"c{number}_{turn * self.form.width + k}" for k in range(self.form.width)]
                yield f"if at{turn} < cols:"
                yield f"    store_{self.form.width}(y{number}, row * cols + at{turn}, ({', '.join(values)},))"

    # ------------------------------------------------------------------------------------------------- the passes
    def _pass(self, depth: int, places: Sequence[int]) -> Iterator[str]:
        """A walk along the row: totals of `places`, or the results."""
        for place in places:
            yield f"t{place} = {literal_text(START[self.rows.reductions[place][0]], self.dtype)}"
        needed = [number for number in self.passes.needed[depth] if not self.is_held or number not in self.done]
        self.done |= {*needed}
        for turn in range(self.form.turns):
            lines = list(self._elements(needed, places, turn))
            yield from (f"if at{turn} < cols:", *indented(lines)) if lines else ()
        lines = [] if self.is_held else list(self._elements(needed, places, 0))
        if lines:
            step = f"at0 += lanes * {self.form.width}"
            yield from (f"at0 = lane * {self.form.width}", "while at0 < cols:", *indented([*lines, step]))

    def _elements(self, needed: Sequence[int], places: Sequence[int], turn: int) -> Iterator[str]:
        """What a pass does with some neighbours."""
        along, first, width = self.passes.along, turn * self.form.width, self.form.width
        for number in needed:
            step = self.program.steps[number]
            if step.op == "input":
                way = f" * x{step.literal}_step" if width == 1 else ""
                yield f"loaded = load_{width}(x{step.literal}, x{step.literal}_at + at{turn}{way})"
            for k in range(width):
                text = load_text(self.program.inputs[step.literal], step, f"loaded[{k}]") if step.op == "input" \
                    else lane_text(step_text(step, self.program), along, first + k)
                yield f"v{number}_{first + k} = {text}"
        for place in places:
            kind, output = self.rows.reductions[place]
            for k in range(first, first + width):
                value = lane_text(f"v{self.program.outputs[output]}", along, k)
                yield f"t{place} = {kind}_of(t{place}, {value})"
        if not places:
            yield from self._results(turn)

    def _results(self, turn: int) -> Iterator[str]:
        """Neighbours of each result written, or added to what is summed over rows."""
        first, width = turn * self.form.width, self.form.width
        for number, kind in enumerate(self.rows.results):
            values = [self._stored(number, first + k) for k in range(width)]
            if kind == ALONG:
                yield "if is_inside:"
                yield f"    store_{width}(y{number}, row * cols + at{turn}, ({', '.join(values)},))"
            elif kind == COLUMNS and self.is_held:
                yield "if is_inside:"
                yield from (f"    c{number}_{first + k} += {value}" for k, value in enumerate(values))
            elif kind == COLUMNS:
                for k, value in enumerate(values):
                    place = f"cuda.blockIdx.x * cols + at{turn} + {k}"
                    yield f"before = {self.zero} if row == cuda.blockIdx.x else y{number}[{place}]"
                    yield f"y{number}[{place}] = before + {value}"
