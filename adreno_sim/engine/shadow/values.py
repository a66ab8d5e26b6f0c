"""Shadows of values that may be undefined: computed beside the values (`propagation`), tested where it matters (`sinks`).

A load that reads something unwritten reports nothing by itself. It keeps what a report says of it; where its value matters, or
what was computed from it, that is reported, at the place of the load. A variable without a value is reported where that matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.provenance import is_pointer
from ..emit.collectives import is_collective
from ..emit.diagnostic_sites import DiagnosticSite
from .access_info import AccessInfo, make_site
from .propagation import Propagation, shadow_of_constant, spell_shadow
from .sinks import find_sinks
from .undefined_values import VARIABLE, UndefinedValues

if TYPE_CHECKING:
    from ..emit.region import RegionEmitter
    from ..llvm.text import Text


@dataclass
class _Read:
    """A load in this region: the slots of its shadow, of whether the work-item read something unwritten by it, and of what a
    report says of the first time."""

    shadow: str
    unwritten: str
    site: DiagnosticSite | None
    values: list[str]


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

    def __init__(self, e: RegionEmitter, undefined: UndefinedValues):
        self.e = e
        self.undefined = undefined
        self.rules = Propagation(e, undefined, self.shadow)
        self._shadows: dict[int, str] = {}
        self._reads: dict[int, _Read] = {}
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
        read, spelled = self._reads[id(instr)], spell_shadow(instr.type)
        used = self.undefined.lanes(instr)
        if len(used) < llvm_types.lanes_of(instr.type):
            shadow = t.op(f"and {spelled} {shadow}, {shadow_of_constant(ir.Const(instr.type, ir.UNDEF), used)}")
        before = t.op(f"load {spelled}, ptr {read.shadow}")
        t.do(f"store {spelled} {t.op(f'or {spelled} {shadow}, {before}')}, ptr {read.shadow}")
        known = t.op(f"load i1, ptr {read.unwritten}")
        fresh = t.op(f"xor i1 {known}, true")
        with emit_under(t, t.op(f"and i1 {fresh}, {self.rules.any_bit(instr.type, shadow, t)}")):
            t.do(f"store i1 true, ptr {read.unwritten}")
            values = what.values(t)
            if read.site is None:
                read.site = make_site(self.e, Kind.UNINITIALIZED_READ, what, text)
                read.values = [self.e.prologue.op("alloca i64") for _ in values]
            for slot, value in zip(read.values, values, strict=True):
                t.do(f"store i64 {value}, ptr {slot}")

    def end_load(self, instr: ir.Instr) -> None:
        """Takes the shadow of a completed load."""
        read = self._reads.get(id(instr))
        if read is not None:
            self._shadows[id(instr)] = self.e.body.op(f"load {spell_shadow(instr.type)}, ptr {read.shadow}")

    def _begin_load(self, instr: ir.Instr) -> None:
        spelled = spell_shadow(instr.type)
        if id(instr) not in self._reads:
            slots = [self.e.prologue.op(f"alloca {type}") for type in (spelled, "i1")]
            self._reads[id(instr)] = _Read(slots[0], slots[1], None, [])
            self.e.opening.do(f"store i1 false, ptr {slots[1]}")
        read = self._reads[id(instr)]
        self.e.body.do(f"store {spelled} zeroinitializer, ptr {read.shadow}")

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
        """Emits the reports of the loads in which the work-item read something unwritten; without one, of the variables."""
        loads = self.undefined.reads(use.operand)
        reasons = frozenset().union(*(self.undefined.lanes(use.operand)[lane] for lane in use.lanes))
        reads = [self._reads[id(load)] for load in loads if id(load) in self._reads]
        reads = [read for read in reads if read.site is not None]
        if len(reads) == len(loads) == 1 and VARIABLE not in reasons:
            self._report_read(t, reads[0], use)
            return
        found = "false"
        for read in reads:
            flag = t.op(f"load i1, ptr {read.unwritten}")
            found = flag if found == "false" else t.op(f"or i1 {found}, {flag}")
            with emit_under(t, flag):
                self._report_read(t, read, use)
        if VARIABLE in reasons:
            text = f"uses {self.undefined.describe(use.operand, use.lanes)}, to which nothing was assigned: {use.why}"
            site = DiagnosticSite(Kind.UNINITIALIZED_READ, use.loc, text=text, target=use.target)
        else:
            site = self._site_elsewhere(next((load for load in loads if id(load) not in self._reads), loads[0]), use)
        with emit_under(t, "true" if found == "false" else t.op(f"xor i1 {found}, true")):
            self.e.report(t, site)

    def _site_elsewhere(self, load: ir.Instr, use: _Use) -> DiagnosticSite:
        """Returns the site of a load in another region, of which this one only knows where it stands."""
        view = self._view_of(load)
        text = f"reads {view or 'memory'}, some of which nobody has written; {_describe_use(use, load.loc)}"
        return DiagnosticSite(Kind.UNINITIALIZED_READ, load.loc, view=view, text=text, target=use.target)

    def _view_of(self, load: ir.Instr) -> str:
        """Returns the name of what a load reads; "" if only the run knows."""
        if isinstance(load.operands[0], ir.Param) and isinstance(load.operands[0].type, ir.Image):
            return load.operands[0].name
        object_id = self.e.provenance.object_id(next(filter(is_pointer, load.operands)))
        return "" if object_id is None else self.e.object(object_id).name

    def _report_read(self, t: Text, read: _Read, use: _Use) -> None:
        assert read.site is not None
        site = replace(read.site, text=f"{read.site.text}; {_describe_use(use, read.site.loc)}", target=use.target)
        self.e.report(t, site, *(t.op(f"load i64, ptr {slot}") for slot in read.values))


def _describe_use(use: _Use, read: ir.SourceLoc) -> str:
    """Returns where, if it is not in the line of the read, and why a value matters."""
    elsewhere = use.loc.line and (use.loc.file, use.loc.line) != (read.file, read.line)
    return f"line {use.loc.line}: {use.why}" if elsewhere else use.why


@contextmanager
def emit_under(t: Text, flag: str) -> Iterator[None]:
    """Emits what is emitted inside under the condition that the i1 `flag` is set."""
    told, on = t.fresh("told"), t.fresh("on")
    t.branch(flag, told, on)
    t.block(told)
    yield
    t.jump(on)
    t.block(on)


def _are_alike(a: ir.Type, b: ir.Type) -> bool:
    return (a.count if isinstance(a, ir.Vector) else 0) == (b.count if isinstance(b, ir.Vector) else 0)
