"""Collective functions of sub-groups and work-groups.

Each work-item stores its operands in the arena. One loop over the lanes combines them and stores a result for each lane. Then
the next region starts. Calls that differ only in where their operands and results lie share one function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ...base.errors import UnsupportedError
from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ..llvm.constants import float_bits
from ..llvm.text import Text
from .kernel_plan import KernelPlan
from .region import value_bytes

_FOLD = re.compile(r"(?:sub|work)_group_(?P<how>reduce|scan_inclusive|scan_exclusive)_(?P<what>add|min|max)")


def is_collective(instr: ir.Instr) -> bool:
    """Returns whether a synchronisation point yields a value to its work-items."""
    row = builtin_of(instr)
    return row.sync is not None and row.has_result


class _Combiner:
    """Writes the function of one collective, `(arena, first, last, offset...)`.

    arrays: the arrays of the arena that it reads or writes, by their offsets.
    """

    def __init__(self, plan: KernelPlan, number: int):
        self.plan = plan
        self.instr = plan.regions.graph.sync_points[number - 1].instr
        self.slots = plan.collective[number]
        self.arrays: dict[int, str] = {}
        self.t = Text()

    def _slot(self, offset: int, type: str, lane: str) -> str:
        array = self.arrays.setdefault(offset, f"%array{len(self.arrays)}")
        return self.t.op(f"getelementptr [{value_bytes(type)} x i8], ptr {array}, i64 {lane}")

    def operand(self, which: int, lane: str) -> str:
        """Returns the value of an operand of work-item `lane`."""
        spelled = llvm_types.spell(self.instr.operands[which].type)
        return self.t.op(f"load {spelled}, ptr {self._slot(self.slots.operands[which][0], spelled, lane)}, align 1")

    def parts(self, which: int, lane: str) -> list[str]:
        """Returns value and masks of an operand that is handed over."""
        return [
            self.t.op(f"load {type}, ptr {self._slot(offset, type, lane)}, align 1")
            for type, offset in zip(self.slots.types, self.slots.operands[which], strict=True)
        ]

    def give(self, value: str, lane: str) -> None:
        """Emits the store of a result that is defined."""
        self.give_parts([value, *["zeroinitializer"] * (len(self.slots.types) - 1)], lane)

    def give_parts(self, parts: Sequence[str], lane: str) -> None:
        for part, type, offset in zip(parts, self.slots.types, self.slots.result, strict=True):
            self.t.do(f"store {type} {part}, ptr {self._slot(offset, type, lane)}, align 1")

    def loop(self, body: Callable[[str, str], str], start: str, type: str) -> str:
        """Emits `acc = body(lane, acc)` for every lane from %first to %last. Returns the final `acc`."""
        t = self.t
        head, before = t.fresh("lane"), t.label
        end = t.fresh("end")
        t.jump(head)
        t.block(head)
        lane, acc = t.open_phi("i64"), t.open_phi(type)
        result = body(lane.name, acc.name)
        following = t.op(f"add i64 {lane.name}, 1")
        more = t.op(f"icmp ult i64 {following}, %last")
        lane.add(("%first", before), (following, t.label))
        acc.add((start, before), (result, t.label))
        t.branch(more, head, end)
        t.block(end)
        return result


def combine_functions(plan: KernelPlan) -> list[str]:
    """Returns the functions of all collectives, and `@combine`, which the C runtime calls. Raises UnsupportedError for an
    unknown collective."""
    shared: dict[str, int] = {}
    lines = ["define internal void @combine(i64 %reached, ptr %arena, i64 %first, i64 %last) #0 {"]
    lines.append(f"  switch i64 %reached, label %done [ {' '.join(f'i64 {n}, label %c{n}' for n in plan.collective)} ]")
    for n in plan.collective:
        arrays, text = _combine_function(plan, n)
        which = shared.setdefault(text, len(shared))
        given = "".join(f", i64 {offset}" for offset in arrays)
        lines += [f"c{n}:", f"  call void @combine.{which}(ptr %arena, i64 %first, i64 %last{given})", "  br label %done"]
    return [
        *(f"define internal void @combine.{which}{text}" for text, which in shared.items()),
        "\n".join([*lines, "done:", "  ret void", "}"]),
    ]


def _combine_function(plan: KernelPlan, number: int) -> tuple[list[int], str]:
    """Returns the function of one collective: the offsets in the arena of the arrays that it takes, and its text behind the
    name."""
    c = _Combiner(plan, number)
    assert c.instr.callee is not None
    name = c.instr.callee.name
    fold = _FOLD.fullmatch(name)
    if fold is not None:
        _emit_fold(c, fold["how"], fold["what"])
    else:
        emit = _OTHERS.get(re.sub(r"^(sub|work)_group_", "", name))
        if emit is None:
            loc = c.instr.loc
            raise UnsupportedError(f"unsupported: {name} at {loc.line}:{loc.column}")
        emit(c)
    parameters = "".join(f", i64 {array}.offset" for array in c.arrays.values())
    head = f"(ptr noalias %arena, i64 %first, i64 %last{parameters}) noinline #0 {{"
    bases = [f"  {array} = getelementptr i8, ptr %arena, i64 {array}.offset" for array in c.arrays.values()]
    return list(c.arrays), "\n".join([head, "entry:", *bases, *c.t.lines, "  ret void", "}"])


def _identity(type: ir.Type, what: str, is_signed: bool) -> str:
    if isinstance(type, ir.Float):
        infinite = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF0000000000000}[type.bits]
        sign = 1 << (type.bits - 1)
        return float_bits(type.bits, {"add": 0, "min": infinite, "max": infinite | sign}[what])
    assert isinstance(type, ir.Int)
    least, most = (-(1 << (type.bits - 1)), (1 << (type.bits - 1)) - 1) if is_signed else (0, (1 << type.bits) - 1)
    return str({"add": 0, "min": most, "max": least}[what])


def _combine_two(c: _Combiner, type: ir.Type, what: str, is_signed: bool, a: str, b: str) -> str:
    t, spelled = c.t, llvm_types.spell(type)
    if isinstance(type, ir.Float):
        if type.bits == 16:
            a, b = (t.op(f"fpext half {v} to float") for v in (a, b))
            wide = _combine_two(c, ir.Float(32), what, is_signed, a, b)
            return t.op(f"fptrunc float {wide} to half")
        if what == "add":
            return t.op(f"fadd {spelled} {a}, {b}")
        better = t.op(f"fcmp {'olt' if what == 'min' else 'ogt'} {spelled} {b}, {a}")
    elif what == "add":
        return t.op(f"add {spelled} {a}, {b}")
    else:
        better = t.op(f"icmp {'s' if is_signed else 'u'}{'lt' if what == 'min' else 'gt'} {spelled} {b}, {a}")
    return t.op(f"select i1 {better}, {spelled} {b}, {spelled} {a}")


def _emit_fold(c: _Combiner, how: str, what: str) -> None:
    """Emits a reduction or scan in lane order, so that float results are reproducible."""
    assert c.instr.callee is not None
    type, is_signed = c.instr.type, not c.instr.callee.args[0].startswith("u")
    spelled = llvm_types.spell(type)

    def step(lane: str, acc: str) -> str:
        total = _combine_two(c, type, what, is_signed, acc, c.operand(0, lane))
        if how != "reduce":
            c.give(total if how == "scan_inclusive" else acc, lane)
        return total

    total = c.loop(step, _identity(type, what, is_signed), spelled)
    if how == "reduce":
        _store_all(c, total)


def _store_all(c: _Combiner, value: str) -> None:
    def step(lane: str, acc: str) -> str:
        c.give(value, lane)
        return acc

    c.loop(step, "0", "i64")


def _hand_to_all(c: _Combiner, source: str) -> None:
    """Emits that every work-item gets operand 0 of work-item `source`."""
    parts = c.parts(0, source)

    def step(lane: str, acc: str) -> str:
        c.give_parts(parts, lane)
        return acc

    c.loop(step, "0", "i64")


def _is_nonzero(c: _Combiner, lane: str) -> str:
    type = c.instr.operands[0].type
    return c.t.op(f"icmp ne {llvm_types.spell(type)} {c.operand(0, lane)}, {llvm_types.zero(type)}")


def _all(c: _Combiner) -> None:
    total = c.loop(lambda lane, acc: c.t.op(f"and i1 {acc}, {_is_nonzero(c, lane)}"), "true", "i1")
    _store_all(c, c.t.op(f"zext i1 {total} to {llvm_types.spell(c.instr.type)}"))


def _any(c: _Combiner) -> None:
    total = c.loop(lambda lane, acc: c.t.op(f"or i1 {acc}, {_is_nonzero(c, lane)}"), "false", "i1")
    _store_all(c, c.t.op(f"zext i1 {total} to {llvm_types.spell(c.instr.type)}"))


def _wrapped_lane(c: _Combiner, index: str) -> str:
    """Returns lane `index` of the sub-group, modulo its size."""
    t = c.t
    count = t.op("sub i64 %last, %first")
    return t.op(f"add i64 %first, {t.op(f'urem i64 {index}, {count}')}")


def _index(c: _Combiner, which: int, lane: str) -> str:
    type = c.instr.operands[which].type
    value = c.operand(which, lane)
    return value if type == ir.Int(64) else c.t.op(f"zext {llvm_types.spell(type)} {value} to i64")


def _broadcast(c: _Combiner) -> None:
    """Emits a broadcast. Operand 1 is the lane, also of a work-group: a region has made one of the local id that is named."""
    _hand_to_all(c, _wrapped_lane(c, _index(c, 1, "%first")))


def _broadcast_first(c: _Combiner) -> None:
    _hand_to_all(c, "%first")


def _shuffle_by(source: Callable[[_Combiner, str], str]) -> Callable[[_Combiner], None]:
    """Returns the emitter of a shuffle. `source` computes the source lane, relative to the first."""

    def emit(c: _Combiner) -> None:
        def step(lane: str, acc: str) -> str:
            c.give_parts(c.parts(0, _wrapped_lane(c, source(c, lane))), lane)
            return acc

        c.loop(step, "0", "i64")

    return emit


def _relative_lane(op: str) -> Callable[[_Combiner, str], str]:
    def source(c: _Combiner, lane: str) -> str:
        own = c.t.op(f"sub i64 {lane}, %first")
        return c.t.op(f"{op} i64 {own}, {_index(c, 1, lane)}")

    return source


def _shuffle_in_segments(op: str) -> Callable[[_Combiner], None]:
    """Returns the emitter of Qualcomm's shuffle. The sub-group is divided into segments of `width` lanes (operand 2; 0 means
    one segment). A lane whose source is outside its segment or absent gets operand 3."""

    def emit(c: _Combiner) -> None:
        t = c.t
        count = t.op("sub i64 %last, %first")

        def step(lane: str, acc: str) -> str:
            own = t.op(f"sub i64 {lane}, %first")
            source = t.op(f"{op} i64 {own}, {_index(c, 1, lane)}")
            given = _index(c, 2, lane)
            width = t.op(f"select i1 {t.op(f'icmp eq i64 {given}, 0')}, i64 {count}, i64 {given}")
            there = t.op(f"icmp eq i64 {t.op(f'udiv i64 {own}, {width}')}, {t.op(f'udiv i64 {source}, {width}')}")
            there = t.op(f"and i1 {there}, {t.op(f'icmp ult i64 {source}, {count}')}")
            moved, own_parts = c.parts(0, _wrapped_lane(c, source)), c.parts(3, lane)
            chosen = [
                t.op(f"select i1 {there}, {type} {part}, {type} {instead}")
                for type, part, instead in zip(c.slots.types, moved, own_parts, strict=True)
            ]
            c.give_parts(chosen, lane)
            return acc

        c.loop(step, "0", "i64")

    return emit


def _elect(c: _Combiner) -> None:
    def step(lane: str, acc: str) -> str:
        first = c.t.op(f"icmp eq i64 {lane}, %first")
        c.give(c.t.op(f"zext i1 {first} to {llvm_types.spell(c.instr.type)}"), lane)
        return acc

    c.loop(step, "0", "i64")


def _ballot(c: _Combiner) -> None:
    """Emits a uint4 with one bit per lane."""
    t = c.t

    def step(lane: str, acc: str) -> str:
        own = t.op(f"sub i64 {lane}, %first")
        bit = t.op(f"shl i128 {t.op(f'zext i1 {_is_nonzero(c, lane)} to i128')}, {t.op(f'zext i64 {own} to i128')}")
        return t.op(f"or i128 {acc}, {bit}")

    total = c.loop(step, "0", "i128")
    _store_all(c, t.op(f"bitcast i128 {total} to <4 x i32>"))


_OTHERS: dict[str, Callable[[_Combiner], None]] = {
    "all": _all,
    "any": _any,
    "broadcast": _broadcast,
    "broadcast_first": _broadcast_first,
    "elect": _elect,
    "ballot": _ballot,
    "non_uniform_broadcast": _shuffle_by(lambda c, lane: _index(c, 1, lane)),
    "shuffle": _shuffle_by(lambda c, lane: _index(c, 1, lane)),
    "shuffle_xor": _shuffle_by(_relative_lane("xor")),
    "shuffle_up": _shuffle_by(_relative_lane("sub")),
    "shuffle_down": _shuffle_by(_relative_lane("add")),
    "qcom_sub_group_shuffle_xor": _shuffle_in_segments("xor"),
    "qcom_sub_group_shuffle_up": _shuffle_in_segments("sub"),
    "qcom_sub_group_shuffle_down": _shuffle_in_segments("add"),
}
