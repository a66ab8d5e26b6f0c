"""Masks of undefined lanes, one i1 per lane: machine code propagates them and tests them where a value is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.memory_ops import is_plain_store
from ..analysis.lane_uses import as_choice, lane_number
from ..emit.collectives import is_collective
from ..emit.diagnostic_sites import DiagnosticSite
from ..emit.image_operands import image_of
from .init_shadow import emit_or
from .undefined_values import CHOSEN, PADDING, READ, VARIABLE, UndefinedValues, consumed_operands, sources_of_lane

if TYPE_CHECKING:
    from ..emit.region import RegionEmitter


class UndefMasks:
    """The masks in one region. A lane that cannot be undefined has the constant "false", which costs nothing."""

    def __init__(self, e: RegionEmitter, undefined: UndefinedValues):
        self.e = e
        self.undefined = undefined
        self.masks: dict[int, list[str]] = {}
        self._read_slots: dict[int, dict[int, str]] = {}

    # Parts

    def types(self, value: ir.Value) -> list[str]:
        return ["i1"] * llvm_types.lanes_of(value.type) if self.undefined.lanes(value) and isinstance(value, ir.Instr) else []

    def parts(self, value: ir.Value, like: ir.Value | None = None) -> list[str]:
        return self.lanes(value) if self.types(value if like is None else like) else []

    def bind(self, instr: ir.Instr, masks: Sequence[str]) -> None:
        if masks:
            self.masks[id(instr)] = list(masks)

    def forget(self, instr: ir.Instr) -> None:
        self.masks.pop(id(instr), None)

    def lanes(self, value: ir.Value) -> list[str]:
        """Returns one mask operand per lane."""
        maybe, count = self.undefined.lanes(value), llvm_types.lanes_of(value.type)
        if not maybe:
            return ["false"] * count
        if isinstance(value, ir.Const):
            return ["true" if lane in maybe else "false" for lane in range(count)]
        if id(value) not in self.masks:
            return self.e.load_slots(value)[1:]
        return self.masks[id(value)]

    # Reads whose lanes are looked at later

    def store_read_masks(self, instr: ir.Instr | None, flags: Mapping[int, str]) -> None:
        """Stores the masks of some lanes of a load, on the path where it is in bounds."""
        if instr is None or id(instr) not in self.undefined.deferred:
            return
        for lane, flag in flags.items():
            self.e.body.do(f"store i1 {flag}, ptr {self._read_slots[id(instr)][lane]}")

    def load_read_masks(self, instr: ir.Instr) -> None:
        """Loads the masks of a completed load."""
        if id(instr) in self._read_slots:
            slots = self._read_slots[id(instr)]
            self.masks[id(instr)] = [
                self.e.body.op(f"load i1, ptr {slots[lane]}") if lane in slots else "false"
                for lane in range(llvm_types.lanes_of(instr.type))
            ]

    def _clear_read_masks(self, instr: ir.Instr) -> None:
        lanes = self.undefined.lanes(instr)
        if id(instr) not in self._read_slots:
            self._read_slots[id(instr)] = {lane: self.e.prologue.op("alloca i1") for lane in lanes}
        for slot in self._read_slots[id(instr)].values():
            self.e.body.do(f"store i1 false, ptr {slot}")

    # Instructions

    def before_instr(self, instr: ir.Instr) -> None:
        """Reports undefined operands that `instr` consumes, and computes the masks of its result."""
        if instr.op == "phi":
            return
        if id(instr) in self.undefined.deferred:
            self._clear_read_masks(instr)
            return
        for operand in consumed_operands(instr, self.undefined):
            self._report(operand, self._used_lanes(instr, operand))
        if self.undefined.lanes(instr) and not is_collective(instr):  # whose masks come from where it is combined
            self.masks[id(instr)] = self._result(instr)

    def _used_lanes(self, instr: ir.Instr, operand: ir.Value) -> list[int]:
        """Returns the lanes of an operand that matter. Lanes that a store only copies to memory or an image do not."""
        maybe = self.undefined.lanes(operand)
        if is_plain_store(instr):
            return [lane for lane, why in maybe.items() if why & {VARIABLE, CHOSEN} and self._is_visible_store(instr)]
        if builtin_of(instr).image == "write" and operand is instr.operands[-1]:
            order = image_of(self.e, instr.operands[0], instr).format.order.lower().removeprefix("s")
            stored = {"rgba".index(c) for c in order if c in "rgba"} or {0}
            return [lane for lane in maybe if lane in stored]
        return [lane for lane, why in maybe.items() if why != {PADDING}]

    def _is_visible_store(self, store: ir.Instr) -> bool:
        """Returns whether a store makes its value visible outside the work-item."""
        object_id = self.e.provenance.object_id(store.operands[-1])
        if object_id is None:
            return False
        return object_id[0] == "param" and self.e.object(object_id).kind == "buffer"

    def _report(self, operand: ir.Value, lanes: list[int]) -> None:
        masks = self.lanes(operand)
        bad = emit_or(self.e.body, [masks[lane] for lane in lanes if masks[lane] != "false"])
        if bad == "false":
            return
        read = self.undefined.reads.get(id(operand))
        why = frozenset().union(*(self.undefined.lanes(operand)[lane] for lane in lanes))
        if read is not None and why <= {READ, CHOSEN}:
            self.e.report_if(bad, DiagnosticSite(Kind.UNINITIALIZED_READ, read.loc, text="reads memory that nobody has written"))
            return
        text = f"uses {self.undefined.describe(operand, lanes)}, to which nothing was assigned"
        self.e.report_if(bad, DiagnosticSite(Kind.UNINITIALIZED_READ, self.e.loc, text=text))

    def _result(self, instr: ir.Instr) -> list[str]:
        choice = as_choice(instr)
        if choice is not None:
            return self._select_masks(instr, *choice)
        if instr.op in ("and", "or"):
            return self._bitwise_masks(instr)
        if instr.op in ("insertelement", "extractelement"):
            index = instr.operands[-1]
            if lane_number(index, 1) is None:
                return self._at_variable_lane(instr, index)
        maybe = self.undefined.lanes(instr)
        return [self._lane(instr, lane) if lane in maybe else "false" for lane in range(llvm_types.lanes_of(instr.type))]

    def _lane(self, instr: ir.Instr, lane: int) -> str:
        flags = ["true" if source is None else self.lanes(source[0])[source[1]] for source in sources_of_lane(instr, lane)]
        return emit_or(self.e.body, [flag for flag in flags if flag != "false"])

    def _select_masks(self, instr: ir.Instr, condition: ir.Value, yes: ir.Value, no: ir.Value) -> list[str]:
        t, spelled = self.e.body, llvm_types.spell(condition.type)
        operand = self.e.value(condition)
        flag = operand
        if llvm_types.elem_of(condition.type) != ir.Int(1):  # the built-in: the top bit of a lane, any bit of a scalar
            word = "slt" if isinstance(condition.type, ir.Vector) else "ne"
            flag = t.op(f"icmp {word} {spelled} {operand}, {llvm_types.zero(condition.type)}")
        result = []
        by_lane = self.lanes(condition) if isinstance(condition.type, ir.Vector) else ["false"] * llvm_types.lanes_of(yes.type)
        for lane, (set_, clear, chosen_by) in enumerate(zip(self.lanes(yes), self.lanes(no), by_lane, strict=True)):
            if set_ == clear == "false":
                result.append(chosen_by)
                continue
            one = flag
            if isinstance(condition.type, ir.Vector):
                one = t.op(f"extractelement <{condition.type.count} x i1> {flag}, i32 {lane}")
            side = t.op(f"select i1 {one}, i1 {set_}, i1 {clear}")
            result.append(emit_or(t, [mask for mask in (side, chosen_by) if mask != "false"]))
        return result

    def _bitwise_masks(self, instr: ir.Instr) -> list[str]:
        """An undefined lane has no influence where the other operand decides the result: `and` with 0, `or` with all ones. clang
        makes `condition ? a : b` of vectors of these."""
        t, maybe = self.e.body, self.undefined.lanes(instr)
        assert isinstance(instr.type, ir.Vector)
        count, elem = instr.type.count, llvm_types.spell(instr.type.elem)
        spelled, deciding = llvm_types.spell(instr.type), "0" if instr.op == "and" else "-1"
        a, b = instr.operands

        def open_lane(value: ir.Value, lane: int) -> str:
            item = t.op(f"extractelement {spelled} {self.e.value(value)}, i32 {lane}")
            return t.op(f"icmp ne {elem} {item}, {deciding}")

        result = ["false"] * count
        for lane in maybe:
            mask_a, mask_b = self.lanes(a)[lane], self.lanes(b)[lane]
            parts = []
            for mask, other, other_mask in ((mask_a, b, mask_b), (mask_b, a, mask_a)):
                if mask != "false":
                    matters = emit_or(t, [flag for flag in (open_lane(other, lane), other_mask) if flag != "false"])
                    parts.append(t.op(f"and i1 {mask}, {matters}"))
            result[lane] = emit_or(t, parts)
        return result

    def _at_variable_lane(self, instr: ir.Instr, index: ir.Value) -> list[str]:
        t, spelled = self.e.body, llvm_types.spell(index.type)
        vector = self.lanes(instr.operands[0])
        hits = [t.op(f"icmp eq {spelled} {self.e.value(index)}, {lane}") for lane in range(len(vector))]
        if instr.op == "extractelement":
            return [
                emit_or(t, [t.op(f"and i1 {hit}, {mask}") for hit, mask in zip(hits, vector, strict=True) if mask != "false"])
            ]
        item = self.lanes(instr.operands[1])[0]
        return [t.op(f"select i1 {hit}, i1 {item}, i1 {mask}") for hit, mask in zip(hits, vector, strict=True)]
