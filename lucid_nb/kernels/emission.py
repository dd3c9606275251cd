"""Building blocks of kernels that are stated in LLVM IR: vectors of one width, loops, masks, transposes.

A kernel is a Python function that says, on an Emitter, what the machine code does. For y = 2 x over count numbers::

    def double(e, count, x, y):
        def step(i, carried):
            inside = e.first(e.sub(count, i))                       # mask: the last vector may be a part of one
            value = e.load_vector(e.at(x, i), inside)
            e.store_vector(e.mul(value, e.splat(2)), e.at(y, i), inside)
            return carried
        e.loop(0, count, step, step=e.lanes)

    address = kernel("double", "float32", "ipp", double)            # compiled once, then loaded from the store

- `arguments` has a letter for each argument: "p" an address, "i" an int64, "x" a number of the kernel's dtype.
- The name is the kernel's content key with its dtype, so it must tell every parameter of the emitter ("tile 14x2").
  The sources of this folder and the vector width are in every key by themselves.
- An Emitter has one element type and one width: `e.lanes` numbers in a vector, 16 float32 where the CPU has AVX-512, 8
  with AVX2, 4 elsewhere, half as many float64. Write for any number of lanes; tests force each by config.vector_width.
- Pointers are opaque and count elements of the kernel's dtype: `e.at(pointer, offset)`. Plain Python numbers may stand
  for int64 operands of every method. No pointer argument may overlap another that is written, unless `aliases=True`.
- Values that a loop changes are carried: `step(index, carried)` takes and returns a list, `e.loop` gives the last one.
- A kernel of arguments "pii" (table, start, stop) is a range kernel: its address goes to threads.launch in the place of
  a RangeKernel, and `e.operands(table, "ppi")` reads the words of the table.
- A Numba driver calls a kernel by intrinsics.call_address(address, *arguments), addresses of memory as int64.
- Vectors stay in registers while there are no more than `registers()`: leave one or two for operands.
"""
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from llvmlite import ir

from . import compiler, store

INDEX, WORD, BIT, BYTE, ADDRESS = ir.IntType(64), ir.IntType(32), ir.IntType(1), ir.IntType(8), ir.PointerType()
ELEMENTS = {"float32": ir.FloatType(), "float64": ir.DoubleType(), "int8": BYTE, "int16": ir.IntType(16), "int32": WORD,
            "int64": INDEX, "pairs": ir.FloatType()}
SIZES = {"float32": 4, "float64": 8, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "pairs": 4}
Step = Callable[[ir.Value, list], Sequence]

Emit = Callable[..., None]


class BFloat(ir.Type):
    """LLVM's bfloat, which llvmlite has no name for."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BFloat)

    def __hash__(self) -> int:
        return hash(BFloat)


def _size(kind: ir.Type) -> int:
    """Bytes of a number."""
    return SIZES[next(name for name, known in ELEMENTS.items() if known == kind)]


def lanes(dtype: str) -> int:
    """How many numbers a vector register holds."""
    return compiler.vector_width() // 8 // SIZES[dtype]


def registers() -> int:
    """How many vector registers the CPU has."""
    wide = compiler.vector_width() == 512 or compiler.host()[0].startswith(compiler.ARM)
    return 32 if wide else 16


def kernel(name: str, dtype: str, arguments: str, emit: Emit, aliases: bool = False, optimise: bool = True) -> int:
    """The address of the C function that `emit(emitter, *arguments)` states; `name` and dtype are its content key.

    `optimise`: whether LLVM improves the text, by taking what is constant out of loops and the like, before it makes
    machine code.
    """
    def compile_kernel(symbol: str) -> bytes:
        return store.module_object(text(symbol, dtype, arguments, emit, aliases), symbol, optimise, as_written=True)
    return store.load(f"emitted {name} {dtype} {arguments} {aliases}", compile_kernel)


def text(symbol: str, dtype: str, arguments: str, emit: Emit, aliases: bool = False) -> str:
    """The LLVM module with the kernel as `symbol`."""
    module = ir.Module(symbol)
    module.triple = compiler.host()[0]
    kinds = {"p": ADDRESS, "i": INDEX, "x": ELEMENTS[dtype]}
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [kinds[letter] for letter in arguments]), symbol)
    function.attributes.add("nounwind")
    # Without it LLVM halves vectors of 512 bits on the CPUs that lower their clock for them.
    set.add(function.attributes, f'"prefer-vector-width"="{compiler.vector_width()}"')
    for argument, letter in zip(function.args, arguments):
        if letter == "p" and not aliases:
            argument.add_attribute("noalias")
    emitter = Emitter(function, dtype)
    emit(emitter, *function.args)
    emitter.builder.ret_void()
    return str(module)


class Emitter:
    """The body of a kernel as it is written: numbers, memory, loops and vectors of one element type."""

    def __init__(self, function: ir.Function, dtype: str) -> None:
        self.function, self.module, self.dtype = function, function.module, dtype
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.element, self.size, self.lanes = ELEMENTS[dtype], SIZES[dtype], lanes(dtype)
        self.vector = ir.VectorType(self.element, self.lanes)
        self.is_float = isinstance(self.element, (ir.FloatType, ir.DoubleType))

    # ------------------------------------------------------------------------------------------ numbers
    def index(self, value: ir.Value | int) -> ir.Value:
        """An int64; Python's become constants."""
        return value if isinstance(value, ir.Value) else ir.Constant(INDEX, value)

    def number(self, value: ir.Value | float) -> ir.Value:
        """A number of the kernel's dtype."""
        return value if isinstance(value, ir.Value) else ir.Constant(self.element, value)

    def _both(self, a: ir.Value | float, b: ir.Value | float) -> tuple[ir.Value, ir.Value, bool]:
        """Two operands, int64 where neither says otherwise, and whether they are floats."""
        kind = next((x.type for x in (a, b) if isinstance(x, ir.Value)), INDEX)
        a, b = (x if isinstance(x, ir.Value) else ir.Constant(kind, x) for x in (a, b))
        return a, b, isinstance(getattr(kind, "element", kind), (ir.FloatType, ir.DoubleType))

    def add(self, a: ir.Value | float, b: ir.Value | float) -> ir.Value:
        """a + b."""
        a, b, is_float = self._both(a, b)
        return self.builder.fadd(a, b) if is_float else self.builder.add(a, b)

    def sub(self, a: ir.Value | float, b: ir.Value | float) -> ir.Value:
        """a - b."""
        a, b, is_float = self._both(a, b)
        return self.builder.fsub(a, b) if is_float else self.builder.sub(a, b)

    def mul(self, a: ir.Value | float, b: ir.Value | float) -> ir.Value:
        """a * b."""
        a, b, is_float = self._both(a, b)
        return self.builder.fmul(a, b) if is_float else self.builder.mul(a, b)

    def quotient(self, a: ir.Value | int, b: int) -> ir.Value:
        """a // b of int64, a >= 0."""
        return self.builder.udiv(self.index(a), self.index(b))

    def remainder(self, a: ir.Value | int, b: int) -> ir.Value:
        """a % b of int64, a >= 0."""
        return self.builder.urem(self.index(a), self.index(b))

    def compare(self, a: ir.Value | float, relation: str, b: ir.Value | float) -> ir.Value:
        """A bit, or one for each lane: a `relation` b, signed; comparisons with NaN are false, != is true."""
        a, b, is_float = self._both(a, b)
        if not is_float:
            return self.builder.icmp_signed(relation, a, b)
        return (self.builder.fcmp_unordered if relation == "!=" else self.builder.fcmp_ordered)(relation, a, b)

    def choose(self, condition: ir.Value, a: ir.Value | float, b: ir.Value | float) -> ir.Value:
        """a where the condition holds, else b."""
        a, b, _ = self._both(a, b)
        return self.builder.select(condition, a, b)

    def smaller(self, a: ir.Value | int, b: ir.Value | int) -> ir.Value:
        """The smaller of two int64."""
        return self.choose(self.compare(a, "<", b), a, b)

    def larger(self, a: ir.Value | float, b: ir.Value | float) -> ir.Value:
        """The larger of two numbers or vectors, a where b is NaN, b where a is."""
        return self.choose(self.compare(a, ">", b), a, b)

    def multiply_add(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """a * b + c, rounded once where the CPU can (llvm.fma itself would call libm elsewhere); integers wrap.

        In kernels of "pairs" the vectors a and b hold two bfloat16 in each lane, whose products are both added.
        """
        if self.dtype == "pairs":
            return self.add_pairs(a, b, c)
        if not isinstance(getattr(a.type, "element", a.type), (ir.FloatType, ir.DoubleType)):
            return self.builder.add(self.builder.mul(a, b), c)
        return self.intrinsic("llvm.fmuladd", a.type, [a, b, c])

    def intrinsic(self, name: str, kind: ir.Type, values: Sequence[ir.Value]) -> ir.Value:
        """LLVM's `name` for a type, on values of that type, giving one of it: llvm.sqrt, llvm.fabs ..."""
        suffix = kind.intrinsic_name if hasattr(kind, "intrinsic_name") else str(kind)
        if isinstance(kind, ir.VectorType):
            suffix = f"v{kind.count}{kind.element.intrinsic_name}"
        return self._call(f"{name}.{suffix}", kind, values)

    def _call(self, name: str, kind: ir.Type, values: Sequence[ir.Value]) -> ir.Value:
        """A call of a function that the module declares once."""
        function = self.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(kind, [value.type for value in values]), name)
        return self.builder.call(function, values)

    # ------------------------------------------------------------------------------------------- memory
    def at(self, pointer: ir.Value, offset: ir.Value | int, kind: ir.Type | None = None) -> ir.Value:
        """The pointer `offset` elements further on; of `kind` where they are not of the kernel's dtype."""
        return self.builder.gep(pointer, [self.index(offset)], source_etype=kind or self.element)

    def load(self, pointer: ir.Value, kind: ir.Type | None = None) -> ir.Value:
        """A number from memory (INDEX for an int64, ADDRESS for a pointer)."""
        return self.builder.load(pointer, typ=kind or self.element)

    def store(self, value: ir.Value, pointer: ir.Value) -> None:
        """A number into memory."""
        self.builder.store(value, pointer)

    def load_vector(self, pointer: ir.Value, mask: ir.Value | None = None, otherwise: ir.Value | None = None,
                    kind: ir.Type | None = None) -> ir.Value:
        """A vector from memory of any alignment; lanes outside the mask are not read and are 0, or `otherwise`'s.

        Of numbers of `kind` where they are not of the kernel's dtype, as many as a vector has lanes.
        """
        vector = self.vector if kind is None else ir.VectorType(kind, self.lanes)
        size = self.size if kind is None else _size(kind)
        if mask is None:
            return self.builder.load(pointer, align=size, typ=vector)
        rest = ir.Constant(vector, [0] * self.lanes) if otherwise is None else otherwise
        name = f"llvm.masked.load.v{self.lanes}{vector.element.intrinsic_name}.p0"
        return self._call(name, vector, [pointer, ir.Constant(WORD, size), mask, rest])

    def store_vector(self, value: ir.Value, pointer: ir.Value, mask: ir.Value | None = None) -> None:
        """A vector into memory of any alignment; lanes outside the mask are not written."""
        size = self.size if value.type.element == self.element else _size(value.type.element)
        if mask is None:
            self.builder.store(value, pointer, align=size)
            return
        name = f"llvm.masked.store.v{self.lanes}{value.type.element.intrinsic_name}.p0"
        self._call(name, ir.VoidType(), [value, pointer, ir.Constant(WORD, size), mask])

    def add_pairs(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """c plus the products of the two bfloat16 that each float32 lane of a and b holds (AVX512-BF16)."""
        pairs = ir.VectorType(BFloat(), 2 * self.lanes)
        values = [c, self.builder.bitcast(a, pairs), self.builder.bitcast(b, pairs)]
        return self._call("llvm.x86.avx512bf16.dpbf16ps.512", self.vector, values)

    def prefetch(self, pointer: ir.Value, is_written: bool = False) -> None:
        """Ask for the cache line of a pointer, which may lie outside of any array."""
        how = [ir.Constant(WORD, number) for number in (int(is_written), 3, 1)]      # locality 3: into every cache
        self._call("llvm.prefetch.p0", ir.VoidType(), [pointer, *how])

    def local(self, count: int) -> ir.Value:
        """Room for `count` numbers on the stack, at a multiple of 64 bytes. Not inside a loop."""
        memory = self.builder.alloca(self.element, size=self.index(count))
        memory.align, memory.type = 64, ADDRESS                  # llvmlite knows it as one of single numbers
        # Behind what LLVM cannot see through it stays memory: as registers that are spilled it takes more moves.
        return self.builder.asm(ir.FunctionType(ADDRESS, [ADDRESS]), "", "=r,0", [memory], False)

    def operands(self, table: ir.Value, letters: str) -> list[ir.Value]:
        """The words of a range kernel's table: "p" an address, "i" an int64, "x" a float from a float64's bits."""
        found = []
        for number, letter in enumerate(letters):
            place = self.at(table, number, INDEX)
            value = self.load(place, {"p": ADDRESS, "i": INDEX, "x": ELEMENTS["float64"]}[letter])
            found.append(self.builder.fptrunc(value, self.element) if letter == "x" and self.size < 8 else value)
        return found

    # ------------------------------------------------------------------------------------------ vectors
    def zero(self) -> ir.Value:
        """A vector of zeros."""
        return ir.Constant(self.vector, [0] * self.lanes)

    def splat(self, value: ir.Value | float) -> ir.Value:
        """A vector of one number."""
        value = self.number(value)
        one = self.builder.insert_element(ir.Constant(self.vector, ir.Undefined), value, ir.Constant(WORD, 0))
        return self.shuffle(one, one, [0] * self.lanes)

    def shuffle(self, a: ir.Value, b: ir.Value, places: Sequence[int]) -> ir.Value:
        """The lanes at `places` of a and b in a row: those of b from `lanes` on."""
        return self.builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(WORD, len(places)), list(places)))

    def first(self, count: ir.Value | int) -> ir.Value:
        """The mask of the first `count` lanes; none where it is negative, all from `lanes` on."""
        if isinstance(count, int):
            return ir.Constant(ir.VectorType(BIT, self.lanes), [int(lane < count) for lane in range(self.lanes)])
        # In 32 bits, which compare as many lanes at once as the vector has; clamped first, so that nothing is cut off.
        count = self.builder.trunc(self.smaller(self.choose(self.compare(count, "<", 0), 0, count), self.lanes), WORD)
        kind = ir.VectorType(WORD, self.lanes)
        one = self.builder.insert_element(ir.Constant(kind, ir.Undefined), count, ir.Constant(WORD, 0))
        counts = self.shuffle(one, one, [0] * self.lanes)
        return self.builder.icmp_signed("<", ir.Constant(kind, list(range(self.lanes))), counts)

    def between(self, start: int, stop: int) -> ir.Value:
        """The mask of the lanes from start up to stop."""
        kind = ir.VectorType(BIT, self.lanes)
        return ir.Constant(kind, [int(start <= lane < stop) for lane in range(self.lanes)])

    def transpose(self, rows: Sequence[ir.Value]) -> list[ir.Value]:
        """`lanes` vectors of which vector i holds lane i of each row; of fewer rows the last lanes are undefined.

        A butterfly: at each distance 1, 2, 4 ... pairs of rows exchange the lanes that differ in that bit.
        """
        rows = [*rows, *[ir.Constant(self.vector, ir.Undefined)] * (self.lanes - len(rows))]
        distance = 1
        while distance < self.lanes:
            low = [self.lanes + (i ^ distance) if i & distance else i for i in range(self.lanes)]
            high = [self.lanes + i if i & distance else i | distance for i in range(self.lanes)]
            for i in range(self.lanes):
                if not i & distance:
                    a, b = rows[i], rows[i | distance]
                    rows[i], rows[i | distance] = self.shuffle(a, b, low), self.shuffle(a, b, high)
            distance *= 2
        return rows

    def halves(self, value: ir.Value, combine: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
        """All lanes combined to one number: upper half with lower half, again and again, in this fixed order."""
        count = self.lanes
        while count > 1:
            count //= 2
            low, high = range(count), range(count, 2 * count)
            value = combine(self.shuffle(value, value, low), self.shuffle(value, value, high))
        return self.builder.extract_element(value, ir.Constant(WORD, 0))

    def total(self, value: ir.Value) -> ir.Value:
        """The sum of the lanes, always in the same order."""
        return self.halves(value, self.add)

    def totals(self, values: Sequence[ir.Value]) -> ir.Value:
        """One vector whose lane i is the sum of the lanes of values[i], of at most `lanes` vectors.

        Neighbours are folded into each other: at each distance two vectors give one, so that each sum is added in the
        same order, whatever its place.
        """
        folded = [*values, *[self.zero()] * (self.lanes - len(values))]
        distance = self.lanes // 2
        while distance:
            low = [lane if not lane & distance else self.lanes + (lane ^ distance) for lane in range(self.lanes)]
            high = [lane ^ distance if not lane & distance else self.lanes + lane for lane in range(self.lanes)]
            folded = [self.add(self.shuffle(a, b, low), self.shuffle(a, b, high))
                      for a, b in zip(folded[:distance], folded[distance:])]
            distance //= 2
        return folded[0]

    def greatest(self, value: ir.Value) -> ir.Value:
        """The largest lane."""
        return self.halves(value, self.larger)

    # ---------------------------------------------------------------------------------------- branches
    def loop(self, start: ir.Value | int, stop: ir.Value | int, body: Step, carried: Sequence[ir.Value] = (),
             step: int = 1) -> list[ir.Value]:
        """body(index, carried) for index in range(start, stop, step), step > 0; the values carried out of the last.

        body gives the next carried values. Where the range is empty, `carried` comes out as it went in.
        """
        start, stop, carried = self.index(start), self.index(stop), list(carried)
        before = self.builder.block
        head, after = self.function.append_basic_block("loop"), self.function.append_basic_block("after")
        self.builder.cbranch(self.compare(start, "<", stop), head, after)
        self.builder.position_at_end(head)
        index, inside = self.builder.phi(INDEX), [self.builder.phi(value.type) for value in carried]
        results = list(body(index, list(inside)))
        following = self.add(index, step)
        last = self.builder.block
        for phi, first, result in zip((index, *inside), (start, *carried), (following, *results)):
            phi.add_incoming(first, before)
            phi.add_incoming(result, last)
        self.builder.cbranch(self.compare(following, "<", stop), head, after)
        self.builder.position_at_end(after)
        return [self._joined((value, before), (result, last)) for value, result in zip(carried, results)]

    def unrolled(self, count: ir.Value | int, body: Step, carried: Sequence[ir.Value], times: int) -> list[ir.Value]:
        """body(index, carried) for index in range(count), `times` of them in each turn of the loop, then the rest."""
        def turn(index: ir.Value, values: list) -> Sequence:
            for number in range(times):
                values = list(body(self.add(index, number), values))
            return values
        whole = self.sub(count, self.remainder(count, times))
        return self.loop(whole, count, body, self.loop(0, whole, turn, carried, times))

    def either(self, condition: ir.Value, yes: Callable[[], Sequence], no: Callable[[], Sequence]) -> list[ir.Value]:
        """The values of yes() where the bit is set, otherwise those of no(), as many; only one of them is done."""
        blocks = [self.function.append_basic_block(name) for name in ("yes", "no", "joined")]
        self.builder.cbranch(condition, *blocks[:2])
        ends = []
        for block, branch in zip(blocks, (yes, no)):
            self.builder.position_at_end(block)
            values = branch() or ()
            ends.append([(value, self.builder.block) for value in values])
            self.builder.branch(blocks[2])
        self.builder.position_at_end(blocks[2])
        return [self._joined(*pair) for pair in zip(*ends)]

    @contextmanager
    def when(self, condition: ir.Value) -> Iterator[None]:
        """What is emitted inside is done where the bit is set."""
        inside, after = self.function.append_basic_block("when"), self.function.append_basic_block("after")
        self.builder.cbranch(condition, inside, after)
        self.builder.position_at_end(inside)
        yield
        self.builder.branch(after)
        self.builder.position_at_end(after)

    def _joined(self, *ends: tuple[ir.Value, ir.Block]) -> ir.Value:
        """The value that comes from the block which was left."""
        phi = self.builder.phi(ends[0][0].type)
        for value, block in ends:
            phi.add_incoming(value, block)
        return phi
