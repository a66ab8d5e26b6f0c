"""Shadows of values that may be undefined: computed beside the values (`propagation`), tested where it matters (`sinks`).

A load that reads something unwritten reports nothing by itself. It keeps what a report says of it; where its value matters, or
what was computed from it, that is reported, at the place of the load. A variable without a value is reported where that matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...findings import Kind, Note
from ...ir import ir, llvm_types
from ...records import dataclass
from ..emit.collectives import is_collective
from ..emit.diagnostic_sites import DiagnosticSite
from .access_info import AccessInfo
from .origins import OriginPlan, Origins, Use, emit_under
from .propagation import Propagation, shadow_of_constant, spell_shadow
from .sinks import find_sinks
from .undefined_values import VARIABLE, UndefinedValues

if TYPE_CHECKING:
    from ..emit.region import RegionEmitter
    from ..llvm.text import Text


@dataclass(frozen=True)
class _Use:
    """A use that matters, whose report is written when all loads of the region are known. failed: the label of the report's code,
    after: where it goes on. Others as of `ShadowValues.report`; loc: the place of the use."""

    operand: ir.Value
    lanes: tuple[int, ...]
    why: str
    target: int | None
    loc: ir.SourceLoc
    failed: str
    after: str


class ShadowValues:
    """The shadows in one region. A value that cannot be undefined has none, and costs nothing."""

    def __init__(self, e: RegionEmitter, undefined: UndefinedValues, plan: OriginPlan):
        self.e = e
        self.undefined = undefined
        self.rules = Propagation(e, undefined, self.shadow)
        self.origins = Origins(e, plan)
        self._shadows: dict[int, str] = {}
        self._loaded: dict[int, str] = {}  # the slots of the shadows of loads
        self._uses: list[_Use] = []

    # Parts

    def types(self, value: ir.Value) -> list[str]:
        return [spell_shadow(value.type)] if isinstance(value, ir.Instr) and self.undefined.lanes(value) else []

    def parts(self, value: ir.Value, like: ir.Value | None = None) -> list[str]:
        return [self.shadow(value)] if self.types(value if like is None else like) else []

    def bind(self, instr: ir.Instr, parts: Sequence[str]) -> None:
        if parts:
            self._shadows[id(instr)] = parts[0]

    def forget(self, instr: ir.Instr) -> None:
        self._shadows.pop(id(instr), None)

    def shadow(self, value: ir.Value) -> str:
        """Returns the operand of the shadow of a value."""
        lanes = self.undefined.lanes(value)
        if not lanes:
            return "zeroinitializer"
        if isinstance(value, ir.Const):
            return shadow_of_constant(value, lanes)
        if id(value) not in self._shadows:
            return self.e.load_slots(value)[-1]
        return self._shadows[id(value)]

    def undefined_flags(self, type: ir.Type) -> str:
        """Returns which lanes of the current instruction's result are undefined, if they are like those of `type`; else ""."""
        instr = self.e.current
        if instr is None or id(instr) not in self._shadows or not _are_alike(instr.type, type):
            return ""
        return self.rules.flags(instr)

    # Reads

    def note_unwritten(self, instr: ir.Instr, shadow: str, t: Text, what: AccessInfo, text: str) -> None:
        """Adds to the shadow of a load what one access of it has found, on the path where it found something unwritten."""
        slot, spelled = self._loaded[id(instr)], spell_shadow(instr.type)
        used = self.undefined.lanes(instr)
        if len(used) < llvm_types.lanes_of(instr.type):
            shadow = t.op(f"and {spelled} {shadow}, {shadow_of_constant(ir.Const(instr.type, ir.UNDEF), used)}")
        before = t.op(f"load {spelled}, ptr {slot}")
        t.do(f"store {spelled} {t.op(f'or {spelled} {shadow}, {before}')}, ptr {slot}")
        self.origins.note(t, self.undefined.origin(instr), self.rules.any_bit(instr.type, shadow, t), what, text)

    def end_load(self, instr: ir.Instr) -> None:
        """Takes the shadow of a completed load."""
        slot = self._loaded.get(id(instr))
        if slot is not None:
            self._shadows[id(instr)] = self.e.body.op(f"load {spell_shadow(instr.type)}, ptr {slot}")

    def _begin_load(self, instr: ir.Instr) -> None:
        spelled = spell_shadow(instr.type)
        if id(instr) not in self._loaded:
            self._loaded[id(instr)] = self.e.prologue.op(f"alloca {spelled}")
            self.origins.open(self.undefined.origin(instr))
        self.e.body.do(f"store {spelled} zeroinitializer, ptr {self._loaded[id(instr)]}")

    # Instructions

    def before_instr(self, instr: ir.Instr) -> None:
        """Reports undefined operands that matter to `instr`, and computes the shadow of its result."""
        if instr.op == "phi":
            return
        for operand, why in find_sinks(instr):
            if lanes := self.undefined.used_lanes(operand):
                self.report(operand, lanes, why)
        if self.undefined.is_deferred(instr):
            self._begin_load(instr)
        elif self.undefined.lanes(instr) and not is_collective(instr):  # whose shadows come from where it is combined
            self._shadows[id(instr)] = self.rules.result(instr)

    def report(self, operand: ir.Value, lanes: list[int], why: str, target: int | None = None) -> None:
        """Emits the report of an operand if one of these lanes of it is undefined. target: the argument that it is stored to."""
        bad = self.rules.flag_of_lanes(operand, lanes)
        if bad == "false":
            return
        t = self.e.body
        use = _Use(operand, tuple(lanes), why, target, self.e.loc, t.fresh("undefined"), t.fresh("on"))
        t.branch(bad, use.failed, use.after, unlikely=True)
        t.block(use.after)
        self._uses.append(use)

    def end(self) -> None:
        """Emits the reports."""
        for use in self._uses:
            cold = self.e.body.aside()
            cold.block(use.failed)
            self.e.loc = use.loc
            self._report(cold, use)
            cold.jump(use.after)
            self.e.body.put_aside(cold)

    def _report(self, t: Text, use: _Use) -> None:
        """Emits the reports of the statements by which the work-item read something unwritten; without one, of the variables."""
        origins = self.undefined.reads(use.operand)
        reasons = frozenset().union(*(self.undefined.lanes(use.operand)[lane] for lane in use.lanes))
        if len(origins) == 1 and self.origins.is_here(origins[0]) and VARIABLE not in reasons:
            self.origins.report(t, origins[0], _describe_use(use, origins[0].loc))
            return
        found = "false"
        for origin in origins:
            flag = self.origins.flag(t, origin)
            if flag != "false":
                found = flag if found == "false" else t.op(f"or i1 {found}, {flag}")
                with emit_under(t, flag):
                    self.origins.report(t, origin, _describe_use(use, origin.loc))
        with emit_under(t, "true" if found == "false" else t.op(f"xor i1 {found}, true")):
            self._report_unknown(t, use, origins, VARIABLE in reasons)

    def _report_unknown(self, t: Text, use: _Use, origins: tuple[ir.Instr, ...], of_variable: bool) -> None:
        """Emits the report of a value without a remembered read: it comes from a variable, from another work-item, or from
        more statements than are remembered."""
        if not of_variable and len(origins) == 1:
            self.origins.report_place(t, origins[0], _describe_use(use, origins[0].loc))
            return
        variable = self.undefined.describe(use.operand, use.lanes) if of_variable else ""
        text = f"uses a value that comes from memory which nobody has written: {use.why}"
        if of_variable:
            text = f"uses {variable}, to which nothing was assigned: {use.why}"
        site = DiagnosticSite(Kind.UNINITIALIZED_READ, use.loc, text=text, target=use.target, variable=variable)
        self.e.report(t, site)


def _describe_use(use: _Use, read: ir.SourceLoc) -> Use:
    """Returns why a value matters, and where, if it is not in the line of the read."""
    if not use.loc.line or (use.loc.file, use.loc.line) == (read.file, read.line):
        return Use(use.why, use.target)
    note = Note(f"{use.why} here", use.loc.line, use.loc.column, use.loc.file)
    return Use(f"line {use.loc.line}: {use.why}", use.target, (note,))


def _are_alike(a: ir.Type, b: ir.Type) -> bool:
    return (a.count if isinstance(a, ir.Vector) else 0) == (b.count if isinstance(b, ir.Vector) else 0)
