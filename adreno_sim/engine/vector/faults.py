"""What vector code does where a check fails: it only sets the fault flag, and the launch runs again in scalar code. Benign events
are counted here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir import ir
from ..emit.diagnostic_sites import DiagnosticSite
from ..emit.event_counters import count_event
from ..emit.region import RegionEmitter
from ..llvm import vector_text as vt
from ..llvm.text import Text
from .active import ActiveLanes
from .tile import Tile


class Faults:
    """Sets the fault flag of a region for the lanes that are at work."""

    def __init__(self, e: RegionEmitter, tile: Tile, active: ActiveLanes):
        self._e, self._tile, self._active = e, tile, active

    def raise_if(self, bad: str, t: Text | None = None) -> None:
        """Sets the fault flag if the i1 `bad` is true."""
        t = t or self._e.body
        self._e.unit.may_fail = True
        flag = t.op(f"zext i1 {bad} to i8")
        raised = t.op("load i8, ptr %sticky")
        t.do(f"store i8 {t.op(f'or i8 {raised}, {flag}')}, ptr %sticky")

    def raise_if_any(self, condition: str) -> None:
        """Sets the fault flag if a condition on lane 0's operands holds, and some lane is active."""
        if condition != "false":
            self.raise_if(self._active.emit_if_any(self._e.body, condition))

    def raise_lanes(self, bad: str, t: Text | None = None) -> None:
        """Sets the fault flag if any lane of `bad` is active."""
        t = t or self._e.body
        active = vt.emit_and_masks(t, bad, self._active.mask, self._active.count)
        assert active is not None
        self.raise_if(vt.any_of(t, active, self._active.count), t)

    def raise_accessing(self, bad: str, mask: str | None) -> None:
        """Sets the fault flag if any lane of `bad` makes the access that `mask` makes, as callbacks of checks receive it."""
        among = None if mask is self._active.mask else mask
        self.raise_lanes(vt.emit_and_masks(self._e.body, bad, among, self._active.count) or bad)

    def count_lanes(self, which: str, site: DiagnosticSite, values: Callable[[Text, str], Sequence[str | int]]) -> None:
        """Counts a benign event for the active lanes of `which`. `values` emits the reported values of one lane (an i32)."""
        t, count = self._e.body, self._active.count
        active = vt.emit_and_masks(t, which, self._active.mask, count)
        assert active is not None
        counted, on = t.fresh("told"), t.fresh("on")
        t.branch(vt.any_of(t, active, count), counted, on, unlikely=True)
        cold = t.aside()
        cold.block(counted)
        self.count(cold, site, active, lambda lane: values(cold, lane))
        cold.jump(on)
        t.put_aside(cold)
        t.block(on)

    def count(self, t: Text, site: DiagnosticSite, which: str | None, values: Callable[[str], Sequence[str | int]]) -> None:
        """Counts `site` for the lanes `which`. There is at least one. Lane numbers grow in work-item order."""
        e, lanes = self._e, self._active.count
        bits = vt.bits_of(t, which, lanes)
        population = e.unit.declare("llvm.ctpop.i32", "i32", "i32")
        times = t.op(f"zext i32 {t.op(f'call {population}(i32 {bits})')} to i64")

        def first() -> tuple[str, str, Sequence[str | int]]:
            lowest = e.unit.declare("llvm.cttz.i32", "i32", "i32, i1")
            lane = t.op(f"call {lowest}(i32 {bits}, i1 true)")
            group, local = e.report_ids(t)
            own = t.op(f"extractelement <{lanes} x i64> {vt.numbers(ir.Int(64), self._local_ids())}, i32 {lane}")
            return group, t.op(f"add i64 {local}, {own}"), values(lane)

        count_event(e, t, site, times, first)

    def _local_ids(self) -> list[int]:
        """Returns each lane's difference from lane 0's linear local id."""
        x, y, _ = self._e.unit.spec.local_size
        axes = zip(*(self._tile.lane_offsets(axis) for axis in range(3)), strict=True)
        return [a + x * (b + y * c) for a, b, c in axes]
