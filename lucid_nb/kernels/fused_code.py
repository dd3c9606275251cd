"""The LLVM IR of a fused program over rows: a function of elements for each pass of fused_passes.py.

The loop over elements is a function of its own, so that LLVM knows that its pointers do not overlap; where rows are
reduced the last vector of a row is masked (tail folding), so that rows need not be multiples of vectors. Sums are taken
in the element type over a block of a row, in lanes that LLVM may choose, and totalled in float64.
"""

import re
from collections.abc import Callable, Sequence

from llvmlite import ir

from ..program import COLUMNS, ROW, RowProgram
from . import compiler, store
from .emission import ADDRESS, INDEX, Emitter
from .fused_driver import DOUBLE, STARTS, Driver
from .fused_passes import Analysis, Pass
from .fused_steps import Steps, absolute, ir_type

SUMS = ("contract", "reassoc", "nsz")
FOLDED = '!{{!{0}, !{1}}}\n!{1} = !{{!"llvm.loop.vectorize.predicate.enable", i1 true}}'


class Code:
    """The module of one program."""

    def __init__(self, program: RowProgram, symbol: str) -> None:
        self.rows, self.program, self.symbol = program, program.program, symbol
        self.plan, self.dtype = Analysis(program), program.compute
        self.steps = Steps(self.program)
        self.module = ir.Module(symbol)
        self.module.triple = compiler.host()[0]

    # ------------------------------------------------------------------------------------------------- passes
    def function(self, name: str, arguments: Sequence[ir.Type]) -> Emitter:
        """A function of the module without result, whose pointers do not overlap."""
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), list(arguments)), name)
        set.add(function.attributes, f'"prefer-vector-width"="{compiler.vector_width()}"')
        function.attributes.add("nounwind")
        for argument in function.args:
            if argument.type == ADDRESS:
                argument.add_attribute("noalias")
        return Emitter(function, self.dtype)

    def pass_function(self, index: int, is_exact: bool = True) -> ir.Function:
        """One pass over `count` elements: pointers to what is read and written, count, values of the row, totals.

        `is_exact`: with the forms of functions that hold for every argument.
        """
        each = self.plan.passes[index]
        targets = self.wide_results() if index == len(self.plan.passes) - 1 else []
        kinds = [] if targets else self.plan.kinds_of(index)
        self.steps.is_exact = is_exact
        return self.loop_function(f"pass{index}{'_exact' * is_exact}", each, targets, kinds,
                                  lambda e, value: value)

    def probe_function(self, index: int) -> ir.Function:
        """The largest size of an argument of a function that needs another form for large ones."""
        probe = self.plan.passes[index].probe
        assert probe is not None
        return self.loop_function(f"probe{index}", probe, [], ["max"] * len(probe.roots),
                                  lambda e, value: absolute(e.builder, value))

    def loop_function(self, name: str, each: Pass, targets: Sequence[tuple[str, str]], kinds: Sequence[str],
                      taken: Callable[[Emitter, ir.Value], ir.Value]) -> ir.Function:
        """A function of what a pass reads and writes: results go to `targets`, `taken` of roots is reduced."""
        pointers = len(each.loads) + len(each.reads) + len(each.writes) + len(targets)
        given = [ir_type(self.program.steps[number].dtype) for number in each.given]
        e = self.function(name, [ADDRESS] * pointers + [INDEX] + given + [ADDRESS] * bool(kinds))
        e.function.attributes.add("noinline")
        args = e.function.args
        places = list(zip((*each.loads, *each.reads, *each.writes), args))
        known = dict(zip(each.given, args[pointers + 1:]))

        def element(i: ir.Value, totals: list) -> list:
            values = self.element(e, each, places, i, dict(known))
            for root, (kind, dtype), target in zip(each.roots, targets, args[len(places):]):
                self.deliver(e, self.steps.value(e, root, values), kind, target, i, dtype)
            return [self.combine(e, kind, total, taken(e, self.steps.value(e, root, values)))
                    for kind, total, root in zip(kinds, totals, each.roots)]
        found = self.loop(e, args[pointers], element, [ir.Constant(e.element, STARTS[kind]) for kind in kinds])
        for place, (kind, total) in enumerate(zip(kinds, found)):
            self.add_total(e, kind, total, e.at(args[-1], place, DOUBLE))
        e.builder.ret_void()
        return e.function

    def wide_results(self) -> list[tuple[str, str]]:
        """The kind and dtype of each result that is not one number a row."""
        dtypes = self.program.results[len(self.rows.reductions):]
        return [(kind, dtype) for kind, dtype in zip(self.rows.results, dtypes) if kind != ROW]

    def element(self, e: Emitter, each: Pass, places: list, i: ir.Value, values: dict) -> dict:
        """All that a pass computes of one element; its dear steps go to their scratch rows."""
        for number, pointer in places[:len(each.loads) + len(each.reads)]:
            step = self.program.steps[number]
            stored = self.program.inputs[step.literal] if step.op == "input" else self.dtype
            values[number] = self.steps.load(e, pointer, i, stored)
        self.steps.compute(e, each.steps, values)
        for number, pointer in places[len(each.loads) + len(each.reads):]:
            self.steps.store(e, values[number], pointer, i, self.dtype)
        return values

    def deliver(self, e: Emitter, value: ir.Value, kind: str, target: ir.Value, i: ir.Value, dtype: str) -> None:
        """Write an element of a result, or add it to the sum of its column."""
        if kind == COLUMNS:
            place = e.at(target, i)
            e.store(e.builder.fadd(e.load(place), value), place)
        else:
            self.steps.store(e, value, target, i, dtype)

    def loop(self, e: Emitter, count: ir.Value, body: Callable, carried: list[ir.Value]) -> list[ir.Value]:
        """body(i, carried) for at least one i < count. Where rows are reduced, LLVM masks the last vector."""
        b, before = e.builder, e.builder.block
        head, after = e.function.append_basic_block("head"), e.function.append_basic_block("after")
        b.branch(head)
        b.position_at_end(head)
        index, inside = b.phi(INDEX), [b.phi(value.type) for value in carried]
        results = body(index, inside)
        following = b.add(index, e.index(1), flags=("nuw", "nsw"))
        for phi, first, result in zip((index, *inside), (e.index(0), *carried), (following, *results)):
            phi.add_incoming(first, before)
            phi.add_incoming(result, head)
        latch = b.cbranch(b.icmp_signed("<", following, count), head, after)
        if self.rows.reductions:
            latch.set_metadata("llvm.loop", self.module.add_metadata([f"fold {len(self.module.metadata)}"]))
        b.position_at_end(after)
        return results

    def combine(self, e: Emitter, kind: str, total: ir.Value, value: ir.Value) -> ir.Value:
        """A step of a reduction, in any order."""
        if kind == "sum":
            return e.builder.fadd(total, value, flags=SUMS)
        name = "llvm.maximum" if kind == "max" else "llvm.minimum"
        signature = ir.FunctionType(total.type, [total.type] * 2)
        return e.builder.call(self.module.declare_intrinsic(name, [total.type], signature), [total, value],
                              fastmath=("nsz", "reassoc"))

    def add_total(self, e: Emitter, kind: str, total: ir.Value, place: ir.Value) -> None:
        """Bring the total of a block into that of the row, in float64."""
        wide = total if total.type == DOUBLE else e.builder.fpext(total, DOUBLE)
        before = e.load(place, DOUBLE)
        if kind == "sum":
            e.store(e.builder.fadd(before, wide), place)
        else:
            name = "llvm.maximum" if kind == "max" else "llvm.minimum"
            signature = ir.FunctionType(DOUBLE, [DOUBLE] * 2)
            e.store(e.builder.call(self.module.declare_intrinsic(name, [DOUBLE], signature), [before, wide]), place)

    # ----------------------------------------------------------------------------------------------- the kernel
    def text(self) -> str:
        """The text of the module with the range kernel over units of rows."""
        passes = [(each, self.forms(index)) for index, each in enumerate(self.plan.passes) if each.roots]
        e = self.function(self.symbol, [ADDRESS, INDEX, INDEX])
        Driver(self.rows, self.plan, self.steps, e, passes).emit()
        e.builder.ret_void()
        return self.finished()

    def forms(self, index: int) -> list[ir.Function]:
        """The functions of a pass: one, or the exact one, that for moderate arguments, and what tells which to take."""
        if self.plan.passes[index].probe is None:
            return [self.pass_function(index)]
        return [self.pass_function(index), self.pass_function(index, False), self.probe_function(index)]

    def finished(self) -> str:
        """The module's text; llvmlite has no words for metadata of loops."""
        count = len(self.module.metadata)

        def distinct(found: re.Match) -> str:
            own = int(found[1])
            return f"!{own} = distinct " + FOLDED.format(own, count + own)
        return re.sub(r'^!(\d+) = !\{ !"fold \d+" \}$', distinct, str(self.module), flags=re.M)


def compile_rows(program: RowProgram, symbol: str) -> bytes:
    """The object file of the range kernel of a program: see `Driver`."""
    import llvmlite.binding as llvm
    code = Code(program, symbol)
    module = llvm.parse_assembly(code.text())
    link(module, code.steps.libraries)
    return store.module_object(module, symbol, interleaves=bool(program.reductions), quick=True)


def link(module, libraries) -> None:
    """Put the scalar functions into a module, to be inlined."""
    import llvmlite.binding as llvm
    for name, bitcode in libraries.items():
        module.link_in(llvm.parse_bitcode(bitcode))
        module.get_function(f"scalar_{name}").add_function_attribute("alwaysinline")
