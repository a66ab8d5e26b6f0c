"""What the analysis of indices says of random programs holds for every value that a run of them computes.

A small interpreter of kernel IR runs each program for every work-item: each integer must lie in the bounds that are claimed
where it is computed, and an operation that is called exact must not wrap.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.engine.abi.launch_facts import LaunchFacts
from adreno_sim.engine.abi.specialization import BufferArg, ScalarArg, Specialization
from adreno_sim.engine.analysis.affine import AffineForms, bits_of
from adreno_sim.engine.analysis.affine_rules import RULES
from adreno_sim.engine.analysis.bounds import Bounds
from adreno_sim.engine.analysis.intervals import Grid, Intervals
from adreno_sim.engine.analysis.linear import Linear, SymbolTable
from adreno_sim.engine.analysis.lp import dual_multipliers
from adreno_sim.engine.analysis.parallel_regions import RegionPlan
from adreno_sim.engine.analysis.segments import Graph
from adreno_sim.engine.emit.sync_points import Scopes
from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.ir import ir
from adreno_sim.ir.induction_variables import signed

LOCAL, GROUPS, STEPS = (4, 2, 1), (3, 2, 1), 4000
NUMBERS = {"n": 5, "m": -3}
MEMORY = (0, 1, -1, 7, 100, -(2**31), 2**31 - 1, 13)
"""What loads give, by element: nothing may be assumed of them."""

constants = st.sampled_from(
    ["0", "1", "2", "3", "5", "7", "8", "12", "16", "31", "64", "1000", "0x7fffffff", "-1", "-4", "1 << 20"]
)
leaves = st.sampled_from(["x", "y", "gx", "n", "m", "v[x & 7]", "i", "j", "k"]) | constants
TYPES = ["int", "uint", "short", "uchar", "long"]


def _binary(inner):
    operator = st.sampled_from(["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"])
    return st.tuples(inner, operator, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")


def _call(inner):
    two = st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}((int)({t[1]}), (int)({t[2]}))")
    three = st.tuples(inner, inner, inner).map(lambda t: f"clamp((int)({t[0]}), (int)({t[1]}), (int)({t[2]}))")
    cast = st.tuples(st.sampled_from(TYPES), inner).map(lambda t: f"({t[0]})({t[1]})")
    return two | three | cast


def _choice(inner):
    return st.tuples(inner, comparisons, inner, inner, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]} ? {t[3]} : {t[4]})")


comparisons = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
expressions = st.recursive(leaves, lambda inner: _binary(inner) | _binary(inner) | _call(inner) | _choice(inner), max_leaves=6)


def _condition(depth: int = 2):
    side = expressions | expressions.map(lambda e: f"(uint)({e})")
    plain = st.tuples(side, comparisons, side).map(" ".join)
    if depth == 0:
        return plain
    inner = _condition(depth - 1)
    joined = st.tuples(inner, st.sampled_from(["&&", "||", "&"]), inner).map(lambda t: f"(({t[0]}) {t[1]} ({t[2]}))")
    return plain | joined | inner.map(lambda c: f"!({c})")


def _statement(depth: int):
    assign = st.tuples(st.sampled_from(["i", "j", "k"]), st.sampled_from(["=", "+=", "-="]), expressions).map(
        lambda t: f"{t[0]} {t[1]} {t[2]};"
    )
    store = expressions.map(lambda e: f"a[{e}] = i + j;")
    if depth == 0:
        return assign | store
    inner = st.lists(_statement(depth - 1), min_size=1, max_size=3).map(" ".join)
    branch = st.tuples(_condition(), inner, inner).map(lambda t: f"if ({t[0]}) {{ {t[1]} }} else {{ {t[2]} }}")
    early = _condition().map(lambda c: f"if ({c}) return;")
    head = st.tuples(
        st.sampled_from(["i", "j"]),
        leaves,
        comparisons,
        leaves,
        st.sampled_from(["++{}", "--{}", "{} += 3", "{} >>= 1", "{} *= 2"]),
    )
    loop = st.tuples(head, inner).map(
        lambda t: f"for ({t[0][0]} = {t[0][1]}; {t[0][0]} {t[0][2]} {t[0][3]}; {t[0][4].format(t[0][0])}) {{ {t[1]} }}"
    )
    turn = st.tuples(inner, _condition()).map(lambda t: f"do {{ {t[0]} k++; }} while ({t[1]} && k < 9);")
    return assign | store | branch | loop | turn | early


programs = st.lists(_statement(2), min_size=1, max_size=4).map(" ".join)


class Stuck(Exception):
    """The run took too long."""


class Run:
    """One work-item's run; `seen` is called with every integer instruction and its value (signed)."""

    def __init__(self, function: ir.Function, group: tuple[int, ...], local: tuple[int, ...], seen):
        self._values: dict[int, object] = {}
        self._group, self._local, self._seen = group, local, seen
        self._steps = 0
        block, before = function.blocks[0], None
        while block is not None:
            block, before = self._block(block, before), block

    def _block(self, block: ir.Block, before: ir.Block | None) -> ir.Block | None:
        phis = [i for i in block.instrs if i.op == "phi"]
        now = [self._value(p.operands[next(n for n, b in enumerate(p.blocks) if b is before)]) for p in phis]
        for phi, value in zip(phis, now, strict=True):
            self._define(phi, value)
        for instr in block.instrs[len(phis) :]:
            self._steps += 1
            if self._steps > STEPS:
                raise Stuck
            if instr.op == "condbr":
                return instr.blocks[0 if self._value(instr.operands[0]) else 1]
            if instr.op in ("br", "ret"):
                return instr.blocks[0] if instr.op == "br" else None
            if instr.op != "store":
                self._define(instr, self._result(instr))
        raise AssertionError("a block without an end")

    def _define(self, instr: ir.Instr, value: object) -> None:
        if isinstance(instr.type, ir.Int):
            value = signed(value, instr.type.bits)  # type: ignore[arg-type]
            self._seen(
                instr, value, [self._value(o) if o is not instr else value for o in instr.operands] if instr.op in EXACT else []
            )
        self._values[id(instr)] = value

    def _value(self, value: ir.Value) -> int:
        if isinstance(value, ir.Const):
            return signed(value.value, bits_of(value.type)) if isinstance(value.value, int) else 0
        if isinstance(value, ir.Param):
            return NUMBERS.get(value.name, 0)
        return self._values[id(value)]  # type: ignore[return-value]

    def _result(self, instr: ir.Instr) -> int:
        if instr.op == "call":
            return self._call(instr)
        operands = [self._value(v) for v in instr.operands]
        if instr.op == "gep":
            return operands[-1]
        if instr.op == "load":
            return MEMORY[operands[0] % len(MEMORY)]
        if instr.op == "select":
            return operands[1] if operands[0] else operands[2]
        if instr.op in ("sext", "trunc", "freeze"):
            return operands[0]
        bits = bits_of(instr.operands[0].type)
        whole = [v % (1 << bits) for v in operands]
        if instr.op == "zext":
            return whole[0]
        if instr.op == "icmp":
            return -int(COMPARED[instr.pred[-2:]](*(whole if instr.pred[0] == "u" else operands)))
        return OPERATIONS[instr.op](*(whole if instr.op in ("udiv", "urem", "lshr", "shl") else operands), bits)

    def _call(self, instr: ir.Instr) -> int:
        assert instr.callee is not None
        name = instr.callee.name
        if name.startswith("get_"):
            axis = self._value(instr.operands[0])
            ids = {"get_local_id": self._local[axis], "get_group_id": self._group[axis]}
            return ids.get(name, self._group[axis] * LOCAL[axis] + self._local[axis])
        values = [self._value(v) for v in instr.operands]
        return {"min": min, "max": max, "clamp": lambda x, low, high: min(max(x, low), high)}[name](*values)


EXACT = ("add", "sub", "mul", "shl")
COMPARED = {
    "eq": int.__eq__, "ne": int.__ne__, "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__,
}  # fmt: skip


def _quotient(a: int, b: int, bits: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _rest(a: int, b: int, bits: int) -> int:
    return 0 if b == 0 else a - b * _quotient(a, b, bits)


OPERATIONS = {
    "add": lambda a, b, n: a + b, "sub": lambda a, b, n: a - b, "mul": lambda a, b, n: a * b,
    "udiv": _quotient, "sdiv": _quotient, "urem": _rest, "srem": _rest,
    "shl": lambda a, b, n: a << (b % n), "lshr": lambda a, b, n: a >> (b % n), "ashr": lambda a, b, n: a >> (b % n),
    "and": lambda a, b, n: a & b, "or": lambda a, b, n: a | b, "xor": lambda a, b, n: a ^ b,
}  # fmt: skip
PLAIN = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "shl": lambda a, b: a << b if b >= 0 else None,
}


def examine(program: str) -> int:
    """Run `program` for every work-item against what the analysis says of it; the number of values looked at."""
    source = (
        "__kernel void k(__global int *a, __global int *v, int n, int m) {\n"
        "  int x = get_local_id(0), y = get_group_id(1), gx = get_global_id(0), i = 0, j = 1, k = 0;\n"
        f"  {program}\n  a[i] = j + k; }}"
    )
    function = compile_source(source, "-w", target=FrontEndTarget()).kernels["k"]
    spec = Specialization(local_size=LOCAL, args=(BufferArg(), BufferArg(), ScalarArg(4), ScalarArg(4)))
    total = (LOCAL[0] * GROUPS[0], LOCAL[1] * GROUPS[1], 1)
    numbers = [NUMBERS[name].to_bytes(4, "little", signed=True) for name in ("n", "m")]
    facts = LaunchFacts(LOCAL, GROUPS, total, (0, 0, 0), True, 64, (32, 32, *numbers))
    forms = AffineForms(function, spec, facts, RULES)
    intervals = Intervals(RegionPlan(Graph(function, Scopes())).regions[0].order, Grid(LOCAL, GROUPS))
    bounds: dict[int, tuple[int, int]] = {}
    looked = 0

    def seen(instr: ir.Instr, value: int, operands: list[int]) -> None:
        nonlocal looked
        looked += 1
        if id(instr) not in bounds:
            bounds[id(instr)] = forms.bounds_at(instr).range_of(forms.of(instr))
        low, high = bounds[id(instr)]
        assert low <= value <= high, f"{instr.op} is {value}, said to be in {low}..{high}\n{source}"
        if instr.type != ir.Int(1):
            low, high = intervals.of(instr)
            assert low <= value <= high, f"{instr.op} is {value}, its interval {low}..{high}\n{source}"
        if (id(instr), 0) in forms.nsw or intervals.is_nsw(instr):
            assert PLAIN[instr.op](*operands) == value, f"{instr.op} wraps to {value}\n{source}"

    # Forms first, in another order than they are run: what is asked for first must not matter.
    for block in reversed(forms.dominators.order):
        for instr in block.instrs:
            if isinstance(instr.type, ir.Int):
                forms.of(instr)
    for group, local in itertools.product(itertools.product(*map(range, GROUPS)), itertools.product(*map(range, LOCAL))):
        try:
            Run(function, group, local, seen)
        except Stuck:
            return looked
    return looked


@settings(max_examples=25, deadline=None)  # each one starts clang
@given(programs)
def test_bounds_hold_for_every_value_of_a_random_program(program):
    examine(program)


@pytest.mark.parametrize(
    "program",
    [
        "for (i = 0; i < 10; ++i) { if (i > 3) { a[i] = 1; } j += i; }",
        "do { i += j; k++; } while (i < 100 && k < 9);",
        "j = x; for (i = 0; i < 5; ++i) { if (j < 10) { a[j] = 1; } j = j * 2 + 1; }",
        "for (i = 16; i > 0; i >>= 1) { j = i; k += 2; }",
        "for (i = m; i < n; i += 3) for (j = i; j >= m; --j) a[i - j] = 2;",
        "i = (gx % 12) / 4 * 4 + gx % 4; j = gx / 3 - gx / 6 * 2;",
        "if ((uint)(x - 1) < 2u && gx < 9) { i = x + gx; } else { i = -1; }",
        "for (i = 0; i < 9; ++i) { if (i == 5) j = 100; k = i + j; } j = i;",
        "for (i = 9; i >= 0; i -= 2) k += i; for (j = x; j < 9; j += 3) k -= j;",
        "i = (x - 2) / (y + 2); j = (gx - 5) % (x + 3); k = (x - 2) * (gx - 4) + ((x - 3) << 2) - ((gx - 6) >> (x & 1));",
        "i = (x - 1) & (gx - 1); j = x | gx; k = (x ^ gx) + (uchar)(x * 100) + (char)(gx * 40) + (short)(x - 2);",
        "for (i = 0x7ffffff0; i > 0; i += 3) { k++; } j = i;",
        "for (uint u = x; u < 9u; u += 2) i += u; for (uint u = 9; u > 2u; u -= 3) j += u;",
        "i = x; i = x; for (i = x; i < x; ++i) { if (!(0 < 0)) return; }",  # no path reaches ++i
    ],
)
def test_bounds_hold_for_programs_of_known_trouble(program):
    assert examine(program) > 100


linears = st.lists(st.integers(-4, 4), min_size=3, max_size=3).flatmap(
    lambda factors: st.integers(-12, 8).map(lambda const: (factors, const))
)


def linear(symbols: list[Linear], spelled: tuple[list[int], int]) -> Linear:
    result = Linear.number(spelled[1])
    for factor, atom in zip(spelled[0], symbols, strict=False):
        result = result.plus(atom, factor)
    return result


def value_of(form: Linear, point: dict[int, int]) -> int:
    return form.const + sum(c * point[a] for a, c in form.terms.items())


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 4), st.integers(0, 7)), min_size=1, max_size=3),
    st.lists(linears, max_size=3),
    st.lists(st.tuples(linears, st.sampled_from([1, 2, 3, 4, 6, 9])), max_size=3),
    st.lists(st.integers(-4, 4), min_size=6, max_size=6),
)
def test_bounds_under_constraints_hold_at_every_point(boxes, constraints, quotients, factors):
    """Boxes, floors, digits, cuts and multipliers against all points of a small box."""
    symbols = SymbolTable()
    basic = [symbols.new(low, low + width) for low, width in boxes]
    floors = [(linear(basic, spelled), divisor) for spelled, divisor in quotients]
    named = [(value, divisor, symbols.floor(value, divisor)) for value, divisor in floors]
    bounds = Bounds(symbols, Bounds(symbols), [linear(basic, spelled) for spelled in constraints])
    goal = linear([*basic, *(form for _, _, form in named)], (factors, 0))
    low, high = bounds.range_of(goal)
    for numbers in itertools.product(*(range(low, low + width + 1) for low, width in boxes)):
        point = dict(enumerate(numbers))
        for number in range(len(basic), len(symbols)):
            floor = symbols[number].floor
            assert floor is not None
            point[number] = value_of(floor[0], point) // floor[1]
        for value, divisor, form in named:
            assert value_of(form, point) == value_of(value, point) // divisor
        for number in point:
            assert all(value_of(c, point) <= 0 for c in symbols[number].constraints)
        if all(value_of(c, point) <= 0 for c in bounds.constraints):
            assert low <= value_of(goal, point) <= high
            assert all(bounds.symbol_range(n)[0] <= v <= bounds.symbol_range(n)[1] for n, v in point.items())


def test_multipliers_of_a_small_programme():
    """x + y <= 4 and x <= 3 at most of 3x + 2y: 1 * x from the box, 2 of the row."""
    assert dual_multipliers([3, 2], [([1, 1], 4)], [(0, 3), (0, 9)]) == [Fraction(2)]
    assert dual_multipliers([1, -1], [([1, 1], 4)], [(0, 3), (0, 9)]) == [Fraction(0)]
