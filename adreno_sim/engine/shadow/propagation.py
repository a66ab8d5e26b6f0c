"""Machine code that computes the shadow of a result from those of its operands.

A shadow has the shape of its value, integers in place of floats: a bit is set where the value's bit is undefined. Moves, bit
operations, shifts, extensions and comparisons for equality are exact. A sum or product is undefined from the lowest undefined bit
of its operands up, every other result in all bits if an operand is in any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...records import dataclass
from ..analysis.lane_uses import as_choice, lane_number
from ..llvm.text import any_of
from .undefined_values import PADDING, UndefinedValues, is_lane_by_lane

if TYPE_CHECKING:
    from ..emit.emitter import Emitter
    from ..llvm.text import Text

_FLAG = ir.Int(1)
_LINEAR = ("add", "sub", "mul")
_MOVES = ("freeze", "fneg", "xor")


@cache
def shadow_type(type: ir.Type) -> ir.Type:
    """Returns the type of the shadow of a value. A pointer has one bit."""
    if isinstance(type, ir.Vector):
        return ir.Vector(shadow_type(type.elem), type.count)  # type: ignore[arg-type]
    return ir.Int(type.bits) if isinstance(type, (ir.Int, ir.Float)) else _FLAG


def spell_shadow(type: ir.Type) -> str:
    """Returns LLVM's spelling of the type of the shadow of a value."""
    return llvm_types.spell(shadow_type(type))


def all_ones(type: ir.Type) -> str:
    """Returns the shadow of a value that is undefined throughout, as a constant."""
    shadow = shadow_type(type)
    one = "true" if llvm_types.elem_of(shadow) == _FLAG else "-1"
    return f"splat ({llvm_types.spell(shadow.elem)} {one})" if isinstance(shadow, ir.Vector) else one


def shadow_of_constant(value: ir.Const, lanes: dict[int, frozenset[str]]) -> str:
    """Returns the shadow of a constant whose `lanes` are undefined."""
    shadow = shadow_type(value.type)
    if not isinstance(shadow, ir.Vector):
        return all_ones(value.type) if lanes else "zeroinitializer"
    elem = llvm_types.spell(shadow.elem)
    ones = "true" if elem == "i1" else "-1"
    none = llvm_types.zero(shadow.elem)
    return "<" + ", ".join(f"{elem} {ones if lane in lanes else none}" for lane in range(shadow.count)) + ">"


@dataclass
class Propagation:
    """The rules, for one region. shadow: gives the operand of the shadow of a value."""

    e: Emitter
    undefined: UndefinedValues
    shadow: Callable[[ir.Value], str]

    def result(self, instr: ir.Instr) -> str:
        """Emits the shadow of the result of an instruction."""
        choice = as_choice(instr)
        if choice is not None:
            return self._select(instr, *choice)
        rule = Propagation._pick if builtin_of(instr).picks_lanes else _RULES.get(instr.op)
        return rule(self, instr) if rule is not None else self._any_operand(instr)

    # Flags: one i1 a lane, whether any bit of the lane is undefined

    def flags(self, value: ir.Value) -> str:
        """Emits the flags of a value, like its lanes."""
        type, shadow = shadow_type(value.type), self.shadow(value)
        if llvm_types.elem_of(type) == _FLAG:
            return shadow
        return self.e.body.op(f"icmp ne {llvm_types.spell(type)} {shadow}, zeroinitializer")

    def flag(self, value: ir.Value) -> str:
        """Emits an i1: whether anything of a value but padding is undefined."""
        return self.flag_of_lanes(value, self.undefined.used_lanes(value))

    def flag_of_lanes(self, value: ir.Value, lanes: list[int]) -> str:
        """Emits an i1: whether one of these lanes of a value is undefined."""
        if not lanes:
            return "false"
        flags = self.flags(value)
        if not isinstance(value.type, ir.Vector):
            return flags
        count = value.type.count
        if len(lanes) < count:
            kept = ", ".join(f"i1 {'true' if lane in lanes else 'false'}" for lane in range(count))
            flags = self.e.body.op(f"and <{count} x i1> {flags}, <{kept}>")
        return any_of(self.e.body, flags, count)

    def any_bit(self, type: ir.Type, shadow: str, t: Text) -> str:
        """Emits an i1: whether any bit of the shadow of a value of `type` is set."""
        here = shadow_type(type)
        flags = shadow
        if llvm_types.elem_of(here) != _FLAG:
            flags = t.op(f"icmp ne {llvm_types.spell(here)} {shadow}, zeroinitializer")
        return any_of(t, flags, here.count) if isinstance(here, ir.Vector) else flags

    def spread(self, type: ir.Type, flags: str, t: Text | None = None) -> str:
        """Emits the shadow of a value of `type` whose lanes are undefined where the flags, as many, are set."""
        shadow = shadow_type(type)
        if llvm_types.elem_of(shadow) == _FLAG:
            return flags
        wide = llvm_types.spell(llvm_types.with_elem(shadow, _FLAG))
        return (t or self.e.body).op(f"sext {wide} {flags} to {llvm_types.spell(shadow)}")

    def spread_flag(self, type: ir.Type, flag: str, t: Text | None = None) -> str:
        """Emits the shadow of a value of `type` that is undefined throughout if the i1 `flag` is set."""
        spelled = spell_shadow(type)
        return (t or self.e.body).op(f"select i1 {flag}, {spelled} {all_ones(type)}, {spelled} zeroinitializer")

    def convert(self, source: ir.Type, target: ir.Type, shadow: str, t: Text | None = None) -> str:
        """Emits the shadow of a value that is converted lane by lane between memory's form and the register's."""
        here, there = shadow_type(source), shadow_type(target)
        if here == there:
            return shadow
        t = t or self.e.body
        if (here, there) == (ir.Int(8), _FLAG):
            return t.op(f"trunc i8 {shadow} to i1")
        if (here, there) == (_FLAG, ir.Int(8)):
            return t.op(f"zext i1 {shadow} to i8")
        flags = (
            shadow if llvm_types.elem_of(here) == _FLAG else t.op(f"icmp ne {llvm_types.spell(here)} {shadow}, zeroinitializer")
        )
        if llvm_types.lanes_of(here) == llvm_types.lanes_of(there):
            return self.spread(target, flags, t)
        return self.spread_flag(target, any_of(t, flags, here.count) if isinstance(here, ir.Vector) else flags, t)

    # Rules

    def _or(self, spelled: str, a: str, b: str) -> str:
        if a == "zeroinitializer" or b == "zeroinitializer":
            return b if a == "zeroinitializer" else a
        return self.e.body.op(f"or {spelled} {a}, {b}")

    def _any_operand(self, instr: ir.Instr) -> str:
        operands = [value for value in instr.operands if not isinstance(value, ir.Global)]
        maybe = [value for value in operands if self.undefined.lanes(value)]
        if builtin_of(instr).reinterprets and len(maybe) == 1:
            return self._reinterpret(instr)
        flags = llvm_types.spell(llvm_types.with_elem(shadow_type(instr.type), _FLAG))
        if not is_lane_by_lane(instr, operands):
            found = "false"
            for value in maybe:
                found = self._or("i1", found, self.flag(value)) if found != "false" else self.flag(value)
            return self.spread_flag(instr.type, found)
        found = "zeroinitializer"
        for value in maybe:
            found = self._or(flags, found, self._flags_like(instr.type, value))
        return self.spread(instr.type, found)

    def _flags_like(self, type: ir.Type, value: ir.Value) -> str:
        """Emits the flags of a value, a scalar's for each lane of `type`."""
        flags = self.flags(value)
        if not isinstance(type, ir.Vector) or isinstance(value.type, ir.Vector):
            return flags
        spelled = f"<{type.count} x i1>"
        return self.e.body.op(f"select i1 {flags}, {spelled} splat (i1 true), {spelled} zeroinitializer")

    def _union(self, instr: ir.Instr) -> str:
        spelled, found = spell_shadow(instr.type), "zeroinitializer"
        for value in instr.operands:
            if self.undefined.lanes(value):
                found = self._or(spelled, found, self.shadow(value))
        return found

    def _linear(self, instr: ir.Instr) -> str:
        union, spelled = self._union(instr), spell_shadow(instr.type)
        if spelled.endswith("i1") or spelled.endswith("i1>"):
            return union
        return self.e.body.op(f"or {spelled} {union}, {self.e.body.op(f'sub {spelled} zeroinitializer, {union}')}")

    def _bitwise(self, instr: ir.Instr) -> str:
        """Emits the shadow of `and` and `or`: a bit is decided where one operand is defined as 0, or 1."""
        t, spelled = self.e.body, spell_shadow(instr.type)
        (a, b), found = instr.operands, "zeroinitializer"
        for one, other in ((a, b), (b, a)):
            if self.undefined.lanes(one):
                open_bits = self.e.value(other)
                if instr.op == "or":
                    open_bits = t.op(f"xor {spelled} {open_bits}, {all_ones(instr.type)}")
                open_bits = self._or(spelled, open_bits, self.shadow(other) if self.undefined.lanes(other) else "zeroinitializer")
                found = self._or(spelled, found, t.op(f"and {spelled} {self.shadow(one)}, {open_bits}"))
        return found

    def _shift(self, instr: ir.Instr) -> str:
        t, spelled, (value, amount) = self.e.body, spell_shadow(instr.type), instr.operands
        found = "zeroinitializer"
        if self.undefined.lanes(value):
            elem = llvm_types.elem_of(instr.type)
            assert isinstance(elem, ir.Int)
            last = f"splat ({elem} {elem.bits - 1})" if isinstance(instr.type, ir.Vector) else str(elem.bits - 1)
            cut = t.op(f"and {spelled} {self.e.value(amount)}, {last}")
            found = t.op(f"{instr.op} {spelled} {self.shadow(value)}, {cut}")
        return self._or(spelled, found, self.spread(instr.type, self.flags(amount))) if self.undefined.lanes(amount) else found

    def _cast(self, instr: ir.Instr) -> str:
        source = instr.operands[0]
        if isinstance(source.type, ir.Pointer):
            return self.shadow(source)
        return self.e.body.op(f"{instr.op} {spell_shadow(source.type)} {self.shadow(source)} to {spell_shadow(instr.type)}")

    def _reinterpret(self, instr: ir.Instr) -> str:
        source = instr.operands[0]
        if llvm_types.store_size(source.type) == llvm_types.store_size(instr.type):
            return self._cast(_as_bitcast(instr))
        return self.spread_flag(instr.type, self.flag(source))

    def _compare(self, instr: ir.Instr) -> str:
        """Emits the shadow of a comparison. Two numbers are known to differ where defined bits of theirs do."""
        a, b = instr.operands
        if instr.pred not in ("eq", "ne") or isinstance(a.type, ir.Pointer):
            return self._any_operand(instr)
        undefined = self._union(replace(instr, type=a.type))
        differ = self.e.body.op(f"xor {spell_shadow(a.type)} {self.e.value(a)}, {self.e.value(b)}")
        return self._undecided(a.type, undefined, differ)

    def _undecided(self, type: ir.Type, undefined: str, bits: str) -> str:
        """Emits flags: whether undefined bits decide if `bits` of a value of `type` are 0. A defined one decides that they are
        not."""
        t, spelled = self.e.body, spell_shadow(type)
        defined = t.op(f"xor {spelled} {undefined}, {all_ones(type)}")
        same = t.op(f"icmp eq {spelled} {t.op(f'and {spelled} {bits}, {defined}')}, zeroinitializer")
        some = t.op(f"icmp ne {spelled} {undefined}, zeroinitializer")
        return t.op(f"and {llvm_types.spell(llvm_types.with_elem(shadow_type(type), _FLAG))} {some}, {same}")

    def _select(self, instr: ir.Instr, condition: ir.Value, yes: ir.Value, no: ir.Value) -> str:
        t, spelled, wide = self.e.body, spell_shadow(instr.type), llvm_types.spell(condition.type)
        chosen = self.e.value(condition)
        if llvm_types.elem_of(condition.type) != _FLAG:  # the built-in: the top bit of a lane, any bit of a scalar
            word = "slt" if isinstance(condition.type, ir.Vector) else "ne"
            chosen = t.op(f"icmp {word} {wide} {chosen}, {llvm_types.zero(condition.type)}")
        flags = llvm_types.spell(llvm_types.with_elem(condition.type, _FLAG))
        found = "zeroinitializer"
        if self.undefined.lanes(yes) or self.undefined.lanes(no):
            found = t.op(f"select {flags} {chosen}, {spelled} {self.shadow(yes)}, {spelled} {self.shadow(no)}")
        if not self.undefined.lanes(condition):
            return found
        if flags == "i1":
            shadow = self.shadow(condition)
            truth = shadow if condition.type == _FLAG else self._undecided(condition.type, shadow, self.e.value(condition))
            return self._or(spelled, found, self.spread_flag(instr.type, truth))
        unknown = self.flags(condition)
        if llvm_types.elem_of(condition.type) != _FLAG:
            unknown = t.op(f"icmp slt {wide} {self.shadow(condition)}, zeroinitializer")
        return self._or(spelled, found, self.spread(instr.type, unknown))

    def _index(self, instr: ir.Instr) -> tuple[str, str]:
        """Emits the number of a lane that the vector has, with its type, and the flag of the index."""
        index, count = instr.operands[-1], llvm_types.lanes_of(instr.operands[0].type)
        known = lane_number(index, count)
        if known is not None:
            return f"i32 {known}", "false"
        spelled = llvm_types.spell(index.type)
        lane = self.e.body.op(f"urem {spelled} {self.e.value(index)}, {count}")
        return f"{spelled} {lane}", self.flag(index) if self.undefined.lanes(index) else "false"

    def _extract(self, instr: ir.Instr) -> str:
        vector, (lane, unknown) = instr.operands[0], self._index(instr)
        found = self.e.body.op(f"extractelement {spell_shadow(vector.type)} {self.shadow(vector)}, {lane}")
        return found if unknown == "false" else self._or(spell_shadow(instr.type), found, self.spread_flag(instr.type, unknown))

    def _insert(self, instr: ir.Instr) -> str:
        vector, item, _ = instr.operands
        lane, unknown = self._index(instr)
        spelled = spell_shadow(instr.type)
        element = f"{spell_shadow(item.type)} {self.shadow(item)}"
        found = self.e.body.op(f"insertelement {spelled} {self.shadow(vector)}, {element}, {lane}")
        return found if unknown == "false" else self._or(spelled, found, self.spread_flag(instr.type, unknown))

    def _shuffle(self, instr: ir.Instr) -> str:
        t, (a, b), spelled = self.e.body, instr.operands, spell_shadow(instr.operands[0].type)
        order = ", ".join(f"i32 {max(lane, 0)}" for lane in instr.mask)
        both = f"{spelled} {self.shadow(a)}, {spelled} {self.shadow(b)}"
        found = t.op(f"shufflevector {both}, <{len(instr.mask)} x i32> <{order}>")
        if min(instr.mask) >= 0:
            return found
        added = shadow_of_constant(
            ir.Const(instr.type, ir.UNDEF), {lane: frozenset({PADDING}) for lane, source in enumerate(instr.mask) if source < 0}
        )
        return t.op(f"or {spell_shadow(instr.type)} {found}, {added}")

    def _pick(self, instr: ir.Instr) -> str:
        """Emits the shadow of shuffle and shuffle2, whose mask varies: of the lanes that it picks, or of all bits where it is
        undefined in those that say which."""
        t, (*sources, mask), elem = self.e.body, instr.operands, llvm_types.spell(llvm_types.elem_of(shadow_type(instr.type)))
        spelled, index = spell_shadow(sources[0].type), llvm_types.spell(llvm_types.elem_of(mask.type))
        count = llvm_types.lanes_of(sources[0].type)
        total, found = count * len(sources), "zeroinitializer"
        order = ", ".join(f"i32 {lane}" for lane in range(total))
        both = ", ".join(f"{spelled} {self.shadow(source)}" for source in (sources[0], sources[-1]))
        lanes = t.op(f"shufflevector {both}, <{total} x i32> <{order}>")
        for lane in range(llvm_types.lanes_of(instr.type)):
            numbers = [self.e.value(mask), *([self.shadow(mask)] if self.undefined.lanes(mask) else [])]
            low = [
                t.op(f"and {index} {t.op(f'extractelement {spell_shadow(mask.type)} {number}, i32 {lane}')}, {total - 1}")
                for number in numbers
            ]
            item = t.op(f"extractelement <{total} x {elem}> {lanes}, {index} {low[0]}")
            if len(low) > 1:
                item = t.op(f"select i1 {t.op(f'icmp eq {index} {low[1]}, 0')}, {elem} {item}, {elem} -1")
            found = t.op(f"insertelement {spell_shadow(instr.type)} {found}, {elem} {item}, i32 {lane}")
        return found


def _as_bitcast(instr: ir.Instr) -> ir.Instr:
    return ir.Instr("bitcast", instr.type, instr.operands, instr.loc)


_RULES: dict[str, Callable[[Propagation, ir.Instr], str]] = {
    **dict.fromkeys(_MOVES, Propagation._union),
    **dict.fromkeys(_LINEAR, Propagation._linear),
    **dict.fromkeys(("and", "or"), Propagation._bitwise),
    **dict.fromkeys(("shl", "lshr", "ashr"), Propagation._shift),
    **dict.fromkeys(("trunc", "zext", "sext", "bitcast", "addrspacecast"), Propagation._cast),
    "icmp": Propagation._compare,
    "extractelement": Propagation._extract,
    "insertelement": Propagation._insert,
    "shufflevector": Propagation._shuffle,
}
