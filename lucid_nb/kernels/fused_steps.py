"""The steps of a fused program as LLVM IR: arithmetic inline, other entries of the vocabulary as calls of scalars."""

from collections.abc import Callable, Sequence

from llvmlite import ir

from ..program import Program, Step
from . import compiler, scalars
from .emission import BIT, BYTE, ELEMENTS, WORD, Emitter

FLAGS = ("contract",)
SHORT = ir.IntType(16)
STORED = {"bool": BYTE, "float16": SHORT, "bfloat16": SHORT, **ELEMENTS}
HALVES = {"float16": "half", "bfloat16": "bfloat16"}
Emit = Callable[..., ir.Value]


def _either(b: ir.IRBuilder, *conditions: ir.Value) -> ir.Value:
    found = conditions[0]
    for condition in conditions[1:]:
        found = b.or_(found, condition)
    return found


def _is(b: ir.IRBuilder, x: ir.Value, number: float) -> ir.Value:
    return b.fcmp_ordered("==", x, ir.Constant(x.type, number))


def absolute(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """The size of a float."""
    kind = ir.FunctionType(x.type, [x.type])
    return b.call(b.module.declare_intrinsic("llvm.fabs", [x.type], kind), [x])


def _sign(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    zero, one = ir.Constant(x.type, 0), ir.Constant(x.type, 1)
    up, down = (b.select(b.fcmp_ordered(relation, x, zero), one, zero) for relation in "><")
    return b.select(b.fcmp_unordered("uno", x, x), x, b.fsub(up, down))


def _extreme(relation: str) -> Emit:
    """Where both are equal the second, as NumPy's; NaN wins."""
    return lambda b, x, y: b.select(_either(b, b.fcmp_ordered(relation, x, y), b.fcmp_unordered("uno", x, x)), x, y)


def _absorbing_product(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    return b.select(_either(b, _is(b, x, 0), _is(b, y, 0)), ir.Constant(x.type, 0), b.fmul(x, y, flags=FLAGS))


def _absorbing_quotient(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    is_nothing = _either(b, _is(b, x, 0), _is(b, absolute(b, y), float("inf")))
    return b.select(is_nothing, ir.Constant(x.type, 0), b.fdiv(x, y, flags=FLAGS))


def _ordered(relation: str) -> Emit:
    return lambda b, x, y: b.fcmp_ordered(relation, x, y)


def _of_bits(relation: str) -> Emit:
    return lambda b, x, y: b.icmp_unsigned(relation, x, y)


RELATIONS = dict(greater=">", greater_equal=">=", less="<", less_equal="<=", equal="==")
OF_FLOATS: dict[str, Emit] = dict(
    add=lambda b, x, y: b.fadd(x, y, flags=FLAGS), subtract=lambda b, x, y: b.fsub(x, y, flags=FLAGS),
    multiply=lambda b, x, y: b.fmul(x, y, flags=FLAGS), divide=lambda b, x, y: b.fdiv(x, y, flags=FLAGS),
    negative=lambda b, x: b.fneg(x), where=lambda b, c, x, y: b.select(c, x, y), absolute=absolute, sign=_sign,
    maximum=_extreme(">"), minimum=_extreme("<"), absorbing_product=_absorbing_product,
    absorbing_quotient=_absorbing_quotient, reciprocal=lambda b, x: b.fdiv(ir.Constant(x.type, 1), x, flags=FLAGS),
    isfinite=lambda b, x: b.fcmp_ordered("<", absolute(b, x), ir.Constant(x.type, float("inf"))),
    isinf=lambda b, x: _is(b, absolute(b, x), float("inf")), not_equal=lambda b, x, y: b.fcmp_unordered("!=", x, y),
    **{name: _ordered(relation) for name, relation in RELATIONS.items()})
OF_BOOLS: dict[str, Emit] = dict(
    where=OF_FLOATS["where"], not_equal=_of_bits("!="), absolute=lambda b, x: x, invert=lambda b, x: b.not_(x),
    **dict.fromkeys(("add", "maximum", "bitwise_or"), lambda b, x, y: b.or_(x, y)),
    **dict.fromkeys(("multiply", "minimum", "bitwise_and"), lambda b, x, y: b.and_(x, y)),
    bitwise_xor=lambda b, x, y: b.xor(x, y),
    **{name: _of_bits(relation) for name, relation in RELATIONS.items()})
INLINE = frozenset(OF_FLOATS)                        # what native entries need no scalar function for


def ir_type(dtype: str) -> ir.Type:
    """The type of a value that is computed with."""
    return BIT if dtype == "bool" else ELEMENTS[dtype]


class Steps:
    """What emits the steps of one program into the functions of one module, and knows what must be linked in."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.libraries: dict[str, bytes] = {}
        self.is_exact = True                         # by the forms of functions that are right for every argument?

    def emit(self, e: Emitter, number: int, values: dict[int, ir.Value]) -> ir.Value:
        """Value number `number` of the program, from those of its arguments."""
        step, b = self.program.steps[number], e.builder
        if step.op == "literal":
            return ir.Constant(ir_type(step.dtype), step.literal)
        args = [values[i] for i in step.args]
        kind = step.dtype if step.op == "where" else self.program.steps[step.args[0]].dtype
        known = (OF_BOOLS if kind == "bool" else OF_FLOATS).get(step.op)
        return known(b, *args) if known else self.call(e, scalars.name_of(step.op, kind, self.is_exact), args,
                                                   self._signature(step))

    def compute(self, e: Emitter, numbers: Sequence[int], values: dict[int, ir.Value]) -> None:
        """Emit steps in order; literals where they are met."""
        for number in numbers:
            for argument in self.program.steps[number].args:
                self.value(e, argument, values)
            values[number] = self.emit(e, number, values)

    def value(self, e: Emitter, number: int, values: dict[int, ir.Value]) -> ir.Value:
        """A value that is there, or a literal."""
        if number not in values:
            values[number] = self.emit(e, number, values)
        return values[number]

    def _signature(self, step: Step) -> tuple[list[str], str]:
        return [self.program.steps[i].dtype for i in step.args], step.dtype

    def call(self, e: Emitter, name: str, args: list[ir.Value], signature: tuple[list[str], str]) -> ir.Value:
        """A call of a scalar function, which is linked in later."""
        arguments, result = signature
        if name not in self.libraries:
            self.libraries[name] = scalars.bitcode(name, arguments, result)
        function = e.module.globals.get(f"scalar_{name}")
        if function is None:
            kind = ir.FunctionType(_number_type(result), [value.type for value in args])
            function = ir.Function(e.module, kind, f"scalar_{name}")
        found = e.builder.call(function, args)
        return e.builder.trunc(found, BIT) if result == "bool" and found.type != BIT else found

    # ------------------------------------------------------------------------------------------------ memory
    def load(self, e: Emitter, pointer: ir.Value, index: ir.Value | int, stored: str) -> ir.Value:
        """Element `index` of memory of a dtype, as what is computed with."""
        value, b = e.load(e.at(pointer, index, STORED[stored]), STORED[stored]), e.builder
        if stored == "bool":
            return b.icmp_unsigned("!=", value, ir.Constant(BYTE, 0))
        if stored in HALVES:
            if stored == "float16" and compiler.has_half():
                return b.fpext(b.bitcast(value, ir.HalfType()), e.element)
            if stored == "bfloat16":
                return b.bitcast(b.shl(b.zext(value, WORD), ir.Constant(WORD, 16)), e.element)
            return self.call(e, "half_to_float", [value], (["uint16"], "float32"))
        return b.fpext(value, e.element) if value.type != e.element else value

    def store(self, e: Emitter, value: ir.Value, pointer: ir.Value, index: ir.Value | int, stored: str) -> None:
        """Write a value that is computed with as element `index` of memory of a dtype."""
        b = e.builder
        if stored in HALVES:
            if stored == "float16" and compiler.has_half():
                value = b.bitcast(b.fptrunc(value, ir.HalfType()), SHORT)
            else:
                value = self.call(e, f"float_to_{HALVES[stored]}", [value], (["float32"], "uint16"))
        elif value.type == BIT:
            value = b.zext(value, BYTE)
        e.store(value, e.at(pointer, index, STORED[stored]))


def _number_type(dtype: str) -> ir.Type:
    return SHORT if dtype == "uint16" else ir_type(dtype)
