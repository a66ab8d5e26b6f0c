"""Event counters: occurrences of benign events in code with deferred checks.

Each worker counts in its own arena and adds its counts to the launch's when it ends, so that frequent events such as reads
outside an image cost no call and no shared counter. Count, first occurrence and its values equal those of reporting code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ..abi import context
from ..llvm.text import Text
from .diagnostic_sites import DiagnosticSite

if TYPE_CHECKING:
    from .unit import Unit


class Reporter(Protocol):
    """An emitter that can report: its unit, and the group and local id (i64) of the current work-item."""

    @property
    def unit(self) -> Unit: ...
    def report_ids(self, t: Text) -> tuple[str, str]: ...


def count_event(
    e: Reporter, t: Text, site: DiagnosticSite, times: str | int, first: Callable[[], tuple[str, str, Sequence[str | int]]]
) -> None:
    """Emits into `t`, cold code of a region, that `site` occurs `times` (i64) for work-items not before `e.report_ids`.

    `first` emits into `t` the group, local id and values of the first of these work-items.
    """
    number = e.unit.table.add(site)
    count = t.op(f"getelementptr i8, ptr %arena, i64 {e.unit.counter_offset(number)}")
    before = t.op(f"load i64, ptr {count}, align 8")
    t.do(f"store i64 {t.op(f'add i64 {before}, {times}')}, ptr {count}, align 8")
    group, local = e.report_ids(t)
    least = t.op(f"add i64 {t.op(f'mul i64 {group}, {e.unit.spec.items}')}, {local}")
    order = t.op(f"load atomic i64, ptr {_word(t, number, context.SITE_ORDER)} monotonic, align 8")
    keep, on = t.fresh("keep"), t.fresh("on")
    t.branch(t.op(f"icmp ult i64 {least}, {order}"), keep, on, unlikely=True)
    t.block(keep)
    group, local, values = first()
    rest = ", ".join(f"i64 {v}" for v in [*values, *[0] * (6 - len(values))])
    t.do(f"call void @keep_first(ptr %ctx, i64 {number}, i64 {group}, i64 {local}, {rest})")
    t.jump(on)
    t.block(on)


def _word(t: Text, number: int, word: int) -> str:
    """Emits the address of a word of a site's record."""
    records = context.read(t, context.SITES, "ptr")
    return t.op(f"getelementptr i8, ptr {records}, i64 {(number * context.SITE_WORDS + word) * 8}")
