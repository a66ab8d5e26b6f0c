"""What a work-item remembers of the statements by which it read something unwritten: whether it did, and what a report says of
the first time.

Copies of a statement, as an unrolled loop has, share what is remembered. It is kept on the stack, or in the arena for each
work-item, where the value may matter in another region than that of the read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING

from ...findings import Kind, Note
from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.provenance import is_pointer
from ...records import dataclass
from ..emit.diagnostic_sites import DiagnosticSite
from .access_info import AccessInfo, make_site
from .undefined_values import UndefinedValues

if TYPE_CHECKING:
    from ..emit.kernel_plan import KernelPlan
    from ..emit.region import RegionEmitter
    from ..llvm.text import Text


@dataclass(frozen=True)
class Use:
    """Where a value that was read matters: why, the argument to which it is stored, and the place, where that is another one."""

    why: str
    target: int | None
    notes: tuple[Note, ...] = ()


@dataclass
class OriginPlan:
    """What the regions share, by the id of a statement's first load. across: arena offsets of the flag and of the values, of the
    statements whose values are live across a synchronisation point; sites: what a report says, as far as it is emitted."""

    across: dict[int, list[int]] = field(default_factory=dict)
    sites: dict[int, DiagnosticSite] = field(default_factory=dict)

    @staticmethod
    def make(plan: KernelPlan, undefined: UndefinedValues) -> OriginPlan:
        made, items = OriginPlan(), plan.unit.spec.items
        for value in plan.regions.live_across_syncs() if undefined.any else ():
            for load in undefined.reads(value):
                if id(load) not in made.across:
                    sizes = [1] + [8] * _count_values(load)
                    made.across[id(load)] = [plan.unit.reserve_arena(size * items) for size in sizes]
        return made


class Origins:
    """The statements that one region remembers."""

    def __init__(self, e: RegionEmitter, plan: OriginPlan):
        self._e, self._plan = e, plan
        self._stacked: dict[int, list[str]] = {}

    def on_item(self) -> None:
        """Emits, where a work-item begins, that it has read nothing unwritten yet."""
        if self._e.region.number == 0:
            for offsets in self._plan.across.values():
                self._e.opening.do(f"store i1 false, ptr {self._e.arena_slot(self._e.opening, offsets[0], 'i1')}, align 1")

    def open(self, origin: ir.Instr) -> None:
        """Emits where the region remembers a statement."""
        if id(origin) in self._plan.across or id(origin) in self._stacked:
            return
        types = ["i1"] + ["i64"] * _count_values(origin)
        self._stacked[id(origin)] = [self._e.prologue.op(f"alloca {type}") for type in types]
        self._e.opening.do(f"store i1 false, ptr {self._stacked[id(origin)][0]}, align 1")

    def note(self, t: Text, origin: ir.Instr, some: str, what: AccessInfo, text: str) -> None:
        """Emits that the work-item read something unwritten, if the i1 `some` is set, and what a report says if it is the first
        time."""
        slots = self._slots(t, origin)
        known = t.op(f"load i1, ptr {slots[0]}, align 1")
        with emit_under(t, t.op(f"and i1 {t.op(f'xor i1 {known}, true')}, {some}")):
            t.do(f"store i1 true, ptr {slots[0]}, align 1")
            self._plan.sites.setdefault(id(origin), make_site(self._e, Kind.UNINITIALIZED_READ, what, text))
            for slot, value in zip(slots[1:], what.values(t), strict=True):
                t.do(f"store i64 {value}, ptr {slot}, align 1")

    def is_here(self, origin: ir.Instr) -> bool:
        """Returns whether the statement is in this region alone, as far as the remembered reads say."""
        return id(origin) in self._stacked

    def flag(self, t: Text, origin: ir.Instr) -> str:
        """Emits the i1 that is set if the work-item read something unwritten by a statement."""
        known = id(origin) in self._stacked or id(origin) in self._plan.across
        return t.op(f"load i1, ptr {self._slots(t, origin)[0]}, align 1") if known else "false"

    def report(self, t: Text, origin: ir.Instr, use: Use) -> None:
        """Emits the report of a statement by which the work-item read something unwritten."""
        site = self._plan.sites.get(id(origin))
        if site is None:
            self.report_place(t, origin, use)
            return
        values = [t.op(f"load i64, ptr {slot}, align 1") for slot in self._slots(t, origin)[1:]]
        told = replace(site, text=f"{site.text}; {use.why}", target=use.target, notes=use.notes)
        self._e.report(t, told, *values)

    def report_place(self, t: Text, origin: ir.Instr, use: Use) -> None:
        """Emits the report of a statement if nothing except its place is remembered."""
        view = self._view_of(origin)
        text = f"reads {view or 'memory'}, and nobody has written some of them; {use.why}"
        site = DiagnosticSite(Kind.UNINITIALIZED_READ, origin.loc, view=view, text=text, target=use.target, notes=use.notes)
        self._e.report(t, site)

    def _slots(self, t: Text, origin: ir.Instr) -> list[str]:
        """Emits the addresses of the flag and of the values."""
        if id(origin) in self._stacked:
            return self._stacked[id(origin)]
        flag, *values = self._plan.across[id(origin)]
        return [self._e.arena_slot(t, flag, "i1"), *(self._e.arena_slot(t, at, "i64") for at in values)]

    def _view_of(self, load: ir.Instr) -> str:
        """Returns the name of what a load reads; "" if only the run knows."""
        if isinstance(load.operands[0], ir.Param) and isinstance(load.operands[0].type, ir.Image):
            return load.operands[0].name
        object_id = self._e.provenance.object_id(next(filter(is_pointer, load.operands)))
        return "" if object_id is None else self._e.object(object_id).name


def _count_values(load: ir.Instr) -> int:
    """Returns how many numbers a report says of a load: of the coordinates and extents of an image, or of an offset."""
    return 6 if builtin_of(load).image else 3


@contextmanager
def emit_under(t: Text, flag: str) -> Iterator[None]:
    """Emits what is emitted inside under the condition that the i1 `flag` is set."""
    told, on = t.fresh("told"), t.fresh("on")
    t.branch(flag, told, on)
    t.block(told)
    yield
    t.jump(on)
    t.block(on)
