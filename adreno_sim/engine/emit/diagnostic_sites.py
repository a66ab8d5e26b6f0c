"""Diagnostic sites: the numbered program points that can report a finding, and the machine code that reports."""

from __future__ import annotations

from dataclasses import dataclass

from ...findings import Kind
from ...ir import ir
from ..abi import context
from ..llvm.text import UNLIKELY


@dataclass(frozen=True)
class DiagnosticSite:
    """One check in the source.

    `shape` says what the reported values are:

    "offset": byte offset, object length, object address. `size` is the size of the access, `view` the object if known.
    "coordinate": x, y, layer, width, height, layers (`dimensions` of each three count). `view` is the image.
    "index": the index. "line": nothing.
    "split": the synchronisation points that two work-items of a group reached. `size` is the number of this one.

    statement: where statements that share a place (a macro, one line) are told apart, the number of the instruction.
    """

    kind: Kind
    loc: ir.SourceLoc
    shape: str = "line"
    view: str = ""
    size: int = 0
    dimensions: int = 0
    text: str = ""
    statement: int = 0


IMMEDIATE_KINDS = (Kind.WATCHDOG, Kind.DIVERGENT_BARRIER)
"""Kinds that code with deferred checks still reports at once: they end the group, and no access causes them."""

BENIGN_KINDS = (Kind.CLAMPED_READ,)
"""Kinds of defined behaviour, which every launch may have. Code with deferred checks counts them (`emit.event_counters`)."""


class DiagnosticSiteTable:
    """Numbers the sites of a module. Equal sites share one number."""

    def __init__(self) -> None:
        self.sites: list[DiagnosticSite] = []
        self._number: dict[DiagnosticSite, int] = {}

    def add(self, site: DiagnosticSite) -> int:
        number = self._number.get(site)
        if number is None:
            number = self._number[site] = len(self.sites)
            self.sites.append(site)
        return number


def raise_function() -> str:
    """Returns `@raise(ctx, flag)`: if the i8 `flag` is set, it sets the fault flag of the launch and lets no further group
    start."""
    return f"""
define internal void @raise(ptr %ctx, i8 %flag) #3 {{
entry:
  %set = icmp ne i8 %flag, 0
  br i1 %set, label %mark, label %done{UNLIKELY}
mark:
  %sticky = getelementptr i8, ptr %ctx, i64 {context.FAULT_FLAG * 8}
  %stop = getelementptr i8, ptr %ctx, i64 {context.STOP * 8}
  store atomic i64 1, ptr %sticky monotonic, align 8
  store atomic i64 1, ptr %stop monotonic, align 8
  br label %done
done:
  ret void
}}
"""


_VALUES = ", ".join(f"i64 %v{i}" for i in range(6))


def report_function(items: int) -> str:
    """Returns `@report(ctx, site, group, local, six values)`, which counts an occurrence and keeps the first in work-item
    order, and `@first(...)` with the same arguments, which only keeps it.

    "First" compares (group, local) instead of time, so a report does not depend on thread scheduling.
    """

    def word(name: str, index: int) -> str:
        return f"  {name} = getelementptr i8, ptr %rec, i64 {index * 8}\n"

    stores = "".join(f"{word(f'%p{i}', context.SITE_VALUES + i)}  store i64 %v{i}, ptr %p{i}, align 8\n" for i in range(6))
    record = f"""  %where = getelementptr i8, ptr %ctx, i64 {context.SITES * 8}
  %sites = load ptr, ptr %where, align 8
  %at = mul i64 %site, {context.SITE_WORDS * 8}
  %rec = getelementptr i8, ptr %sites, i64 %at"""
    return f"""
define internal void @report(ptr %ctx, i64 %site, i64 %group, i64 %local, {_VALUES}) #1 {{
entry:
{record}
  %seen = atomicrmw add ptr %rec, i64 1 monotonic
  call void @first(ptr %ctx, i64 %site, i64 %group, i64 %local, {_VALUES})
  ret void
}}

define internal void @first(ptr %ctx, i64 %site, i64 %group, i64 %local, {_VALUES}) #1 {{
entry:
{record}
  %major = mul i64 %group, {items}
  %key = add i64 %major, %local
{word("%porder", context.SITE_ORDER)}{word("%plock", context.SITE_LOCK)}  %old = load atomic i64, ptr %porder monotonic, align 8
  %earlier = icmp ult i64 %key, %old
  br i1 %earlier, label %lock, label %done
lock:
  %got = cmpxchg ptr %plock, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %got, 1
  br i1 %mine, label %locked, label %lock
locked:
  %again = load atomic i64, ptr %porder monotonic, align 8
  %still = icmp ult i64 %key, %again
  br i1 %still, label %keep, label %unlock
keep:
  store atomic i64 %key, ptr %porder monotonic, align 8
{word("%pgroup", context.SITE_GROUP)}  store i64 %group, ptr %pgroup, align 8
{word("%plocal", context.SITE_LOCAL)}  store i64 %local, ptr %plocal, align 8
{stores}  br label %unlock
unlock:
  store atomic i64 0, ptr %plock release, align 8
  br label %done
done:
  ret void
}}
"""
