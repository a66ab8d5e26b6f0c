"""Turns what machine code recorded into findings and store events."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...device.protocol import StoreEvent
from ...findings import VARIABLE, Access, Finding, Kind, WorkItem
from ...ir import ir
from ...ir.induction_variables import signed
from ..abi import context
from ..emit.diagnostic_sites import DiagnosticSite
from .finding_notes import NULL, explain_access, explain_divergence

if TYPE_CHECKING:
    from .compiled_kernel import CompiledKernel

_MEANING = {
    Kind.OUT_OF_BOUNDS_READ: "reads {size} bytes at offset {offset} of {view}, which has {extent} bytes",
    Kind.OUT_OF_BOUNDS_WRITE: "writes {size} bytes at offset {offset} of {view}, which has {extent} bytes",
    Kind.MISALIGNED_ACCESS: "accesses {size} bytes at offset {offset} of {view}, not aligned for the type",
    Kind.DIVISION_BY_ZERO: "integer division by zero; the result is taken as 0",
    Kind.DIVISION_OVERFLOW: "the smallest integer divided by -1; the quotient is taken as it again, remainder and constants as 0",
    Kind.OVERWIDE_SHIFT: "shift by the type's width or more; OpenCL C takes the amount modulo the width",
    Kind.UNDEFINED_CONVERSION: "converts a float outside the integer's range; the nearest end is taken, 0 for NaN and constants",
    Kind.WATCHDOG: "still running when the launch's time was over",
}

TARGET = "target"


def work_item(
    key_size: tuple[int, int, int], global_size: Sequence[int], offset: Sequence[int], group: int, local: int
) -> WorkItem:
    """Returns the ids of a work-item from its linear group number and its local id, flattened over the full local size."""
    counts = [-(-whole // part) for whole, part in zip(global_size, key_size, strict=True)]
    groups = (group % counts[0], group // counts[0] % counts[1], group // (counts[0] * counts[1]))
    locals_ = (local % key_size[0], local // key_size[0] % key_size[1], local // (key_size[0] * key_size[1]))
    ids = tuple(o + g * s + i for o, g, s, i in zip(offset, groups, key_size, locals_, strict=True))
    return WorkItem((ids[0], ids[1], ids[2]), locals_, groups)


def findings_of(
    compiled: CompiledKernel,
    records: np.ndarray,
    global_size: Sequence[int],
    args: Sequence[Any],
    offset: Sequence[int] = (0, 0, 0),
) -> list[Finding]:
    """Returns a finding for each site that fired, in source order. Of one about an undefined value in memory, the detail
    `target` is the argument."""
    found, read = [], set()
    fired = records[:, context.SITE_COUNT].any()
    for site, record in zip(compiled.module.sites, records.tolist() if fired else (), strict=False):
        if record[context.SITE_COUNT] and site.shape == "inside":
            read.add(site.view)
        elif record[context.SITE_COUNT]:
            group, local = record[context.SITE_GROUP], record[context.SITE_LOCAL]
            item = work_item(compiled.spec.local_size, global_size, offset, group, local)
            values = record[context.SITE_VALUES : context.SITE_VALUES + context.SITE_VALUE_COUNT]
            found.append(_finding(compiled, site, record[context.SITE_COUNT], item, values, args, (global_size, offset)))
    found += [_certain_finding(compiled, note) for note in compiled.module.static_findings]
    found += _unread_tensors(found, read)
    return sorted(found, key=lambda f: (f.line, f.column, f.kind.label))


def _unread_tensors(found: Sequence[Finding], read: Set[str]) -> list[Finding]:
    """Returns a finding for each argument that was read outside its tensor and nowhere in it. read: the others."""
    first: dict[str, Finding] = {}
    for finding in found:
        if finding.kind is Kind.WATCHDOG:  # not all of its work-items have read
            return []
        if finding.kind is Kind.OUTSIDE_EXTENT_READ and finding.access is not None and finding.access.view not in read:
            first.setdefault(finding.access.view, finding)
    text = "reads {}, but nothing of the tensor in it: all reads lie outside, the first at {}; is the offset of a view lost?"
    return [
        replace(finding, kind=Kind.TENSOR_NOT_READ, message=text.format(view, _place(finding.access)), count=1)
        for view, finding in first.items()
    ]


def _place(access: Access | None) -> str:
    return "" if access is None else f"offset {access.offset}" if access.coordinate is None else str(access.coordinate)


def split_left(found: Sequence[Finding]) -> tuple[list[Finding], list[tuple[int, Finding]]]:
    """Returns the findings of a launch, and those that are some only if somebody reads what it left in an argument."""
    left = [(finding.detail[TARGET], finding) for finding in found if TARGET in finding.detail]
    clean = [(index, replace(f, detail={k: v for k, v in f.detail.items() if k != TARGET})) for index, f in left]
    return [finding for finding in found if TARGET not in finding.detail], clean  # type: ignore[return-value]


def add_watchdog(compiled: CompiledKernel, found: list[Finding]) -> list[Finding]:
    """Adds the watchdog finding of a launch that ended before all its groups ran, so that it cannot pass for a complete one."""
    if any(finding.kind is Kind.WATCHDOG for finding in found):
        return found
    loc = compiled.kernel.loc
    text = f"{_MEANING[Kind.WATCHDOG]}; not all of its work-groups have run"
    return [*found, Finding(Kind.WATCHDOG, text, compiled.name, loc.line, loc.column, file=loc.file)]


def _certain_finding(compiled: CompiledKernel, site: DiagnosticSite) -> Finding:
    """Returns a finding that was certain when compiling: it has no work-item and counts once."""
    access = Access(site.view, site.size) if site.view else None
    return Finding(site.kind, site.text, compiled.name, site.loc.line, site.loc.column, None, access, file=site.loc.file)


def _finding(
    compiled: CompiledKernel,
    site: DiagnosticSite,
    count: int,
    item: WorkItem,
    values: list[int],
    args: Sequence[Any],
    sizes: Sequence[Sequence[int]],
) -> Finding:
    access = access_of(compiled, site, values, args)
    if site.kind is Kind.DIVERGENT_BARRIER:
        message = _divergence(compiled, values, _items_that_meet(compiled, item, sizes))
    else:
        message = _message(site, access, values)
    loc = site.loc
    detail: dict[str, object] = {"callers": list(loc.callers)} if loc.callers else {}
    if site.target is not None:
        detail[TARGET] = site.target
    if site.variable:
        detail[VARIABLE] = site.variable
    notes, help = site.notes, explain_access(site.kind, access)
    if site.kind is Kind.DIVERGENT_BARRIER:
        notes, help = explain_divergence(compiled.kernel, loc)
    return Finding(
        site.kind, message, compiled.name, loc.line, loc.column, item, access, count, file=loc.file, detail=detail, notes=notes,
        help=help,
    )  # fmt: skip


def access_of(compiled: CompiledKernel, site: DiagnosticSite, values: list[int], args: Sequence[Any]) -> Access | None:
    """Returns the access that a site's values describe, or None if its shape has none."""
    if site.shape == "offset":
        return _offset_access(compiled, site, values, args)
    if site.shape == "coordinate":
        coordinate = tuple(signed(v, 32) for v in values[: site.dimensions])
        return Access(site.view, site.size, None, coordinate, tuple(values[3 : 3 + site.dimensions]))
    return Access(site.view, site.size) if site.view else None


def _offset_access(compiled: CompiledKernel, site: DiagnosticSite, values: list[int], args: Sequence[Any]) -> Access:
    offset, length, base = signed(values[0], 64), *values[1:3]
    view = site.view or _object_name(compiled, base, offset, args)
    return Access(view, site.size or values[3], offset, None, (length,))


def _object_name(compiled: CompiledKernel, base: int, offset: int, args: Sequence[Any]) -> str:
    """Returns the name of the argument that is at `base`; what a pointer leads to that leads to no argument."""
    for param, arg in zip(compiled.kernel.params, args, strict=True):
        if base and getattr(arg, "address", None) == base:
            return param.name
    return "private or local memory" if base else NULL if 0 <= offset < _NEAR_NULL else "no object"


_NEAR_NULL = 1 << 16
"""Addresses below are an index away from a null pointer."""


def _message(site: DiagnosticSite, access: Access | None, values: list[int]) -> str:
    if site.shape == "index":
        return site.text.format(index=signed(values[0], 64))
    if site.text:
        return site.text if access is None else site.text.format(**_fields(access))
    if access is not None and access.view == NULL and site.kind in _THROUGH_NULL:
        return f"{_THROUGH_NULL[site.kind]} {access.size} bytes through a null pointer, at offset {access.offset}"
    return _MEANING[site.kind].format(**(_fields(access) if access else {}))


_THROUGH_NULL = {Kind.OUT_OF_BOUNDS_READ: "reads", Kind.OUT_OF_BOUNDS_WRITE: "writes"}


def _fields(access: Access) -> dict[str, object]:
    extent: object = access.extent
    if access.coordinate is None and access.extent:
        extent = access.extent[0]
    return {"view": access.view, "size": access.size, "offset": access.offset, "coordinate": access.coordinate, "extent": extent}


def _divergence(compiled: CompiledKernel, values: Sequence[int], items: int) -> str:
    """Returns the message of work-items that parted. items: how many should meet. Where they are counted, the first value reached
    is the barrier, else the second is."""
    here, there, count, parted = values[:4]
    if not parted:
        places = [f"waits at line {line}" if (line := _sync_line(compiled, n)) else "has ended" for n in (here, there)]
        return f"work-items of one group part here: one {places[0]}, another {places[1]}; the group was ended"
    reached, other = (count, there) if here else (items - parted, here)
    line, rest = _sync_line(compiled, other), items - reached
    who, verbs = ("the others", ("wait", "have")) if rest > 1 else ("the other one", ("waits", "has"))
    told = f"{who} {verbs[0]} at line {line}" if line else f"{who} {verbs[1]} ended"
    if count != parted:
        told = "the others have ended, or wait elsewhere"
    return f"{reached} of {items} work-items of the group reached the barrier, {told}; the group was ended"


def _items_that_meet(compiled: CompiledKernel, item: WorkItem, sizes: Sequence[Sequence[int]]) -> int:
    """Returns how many work-items are in the group of one, or in its sub-group. sizes: of the grid, and its offset."""
    (global_size, offset), size = sizes, compiled.spec.local_size
    begins = [o + g * s for o, g, s in zip(offset, item.group_id, size, strict=True)]
    extents = [min(s, o + whole - b) for s, whole, o, b in zip(size, global_size, offset, begins, strict=True)]
    items = math.prod(extents)
    if not compiled.module.by_subgroup:
        return items
    wave = compiled.spec.wave_size
    x, y, z = item.local_id
    linear = x + extents[0] * (y + extents[1] * z)
    return min(wave, items - linear // wave * wave)


def _sync_line(compiled: CompiledKernel, number: int) -> int:
    """Returns the line of a synchronisation point; 0 for the end of the kernel."""
    if number == 0:
        return 0
    return next(site.loc.line for site in compiled.module.sites if site.shape == "split" and site.size == number)


def store_events(
    compiled: CompiledKernel, events: np.ndarray, count: int, global_size: Sequence[int], offset: Sequence[int]
) -> list[StoreEvent]:
    """Returns the stores into the watched range, in order. `value` is the watched bytes as an unsigned integer."""
    result = []
    for order, (site, group, local, bits) in enumerate(events[: min(count, len(events))].tolist()):
        loc: ir.SourceLoc = compiled.module.sites[site].loc
        item = work_item(compiled.spec.local_size, global_size, offset, group, local)
        result.append(StoreEvent(loc.line, loc.column, item, bits, order))
    return result
