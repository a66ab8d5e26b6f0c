"""Turns race records into findings: one for each pair of lines, however many statements and work-items clash there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...findings import Finding, Kind, Note, WorkItem
from ...ir import ir
from ...ir.cfg import reachable_from
from ...records import dataclass
from ..abi import context, race_cells
from ..abi.kernel_shape import GLOBAL_FLAG, IMAGE_FLAG, LOCAL_FLAG
from ..analysis.atomic_ordering import AtomicOrdering
from ..analysis.retries import Retries
from ..emit.diagnostic_sites import DiagnosticSite
from . import results
from .finding_notes import FENCES, Sides, explain_race, note_at

if TYPE_CHECKING:
    from .compiled_kernel import CompiledKernel


@dataclass(frozen=True)
class Clash:
    """A race record: two accesses, the work-item and values of the later one, and the work-item of the earlier one.

    waited: the group met somewhere in between. retried: one only reads what a compare-and-swap expects there.
    """

    how: int
    later: DiagnosticSite
    earlier: DiagnosticSite
    count: int
    same: int
    order: int
    item: WorkItem
    other: WorkItem
    values: list[int]
    waited: bool
    retried: bool

    @property
    def kind(self) -> Kind:
        """The kind of finding. A pair that ever leaves different values is an error."""
        if self.how == race_cells.OVERWRITTEN:
            return Kind.STORE_OVERWRITTEN
        return Kind.SAME_VALUE_RACE if self.same == self.count or self.retried else Kind.DATA_RACE


@dataclass(frozen=True)
class RaceRecords:
    """The race records of one worker, and its schedule: the first epoch and the group of each step."""

    records: np.ndarray
    group_epochs: np.ndarray
    group_order: np.ndarray


def merge_race_findings(found: list[Finding], races: list[Finding]) -> list[Finding]:
    """Returns all findings in source order. A read that races with the very write it lacked is reported once, as the race."""
    racing = {(race.access.view, line) for race in races if race.access is not None for line in _reading_lines(race)}
    kept = [
        f
        for f in found
        if f.kind is not Kind.UNINITIALIZED_READ or f.access is None or (f.access.view, (f.file, f.line)) not in racing
    ]
    return sorted(kept + races, key=lambda f: (f.line, f.column, f.kind.label))


def _reading_lines(race: Finding) -> list[tuple[str, int]]:
    """Returns file and line of the accesses of a race that read."""
    reads = race.detail["reads"]
    assert isinstance(reads, list)
    return [(file, line) for file, line in reads]


def race_findings(
    compiled: CompiledKernel,
    parts: Sequence[RaceRecords],
    global_size: Sequence[int],
    args: Sequence[Any],
    offset: Sequence[int],
) -> tuple[list[Finding], list[str]]:
    """Returns the findings of the race records of a launch, and sentences on pairs that atomics may order, which are none."""
    undecided: dict[str, None] = {}
    records = _merge_records(parts)
    if not records:
        return [], []
    retries = Retries(compiled.kernel)
    clashes = [_make_clash(compiled, record, part, global_size, offset, retries) for part, record in records]
    ordering = AtomicOrdering(compiled.kernel)
    groups: dict[object, list[Clash]] = {}
    for clash in clashes:
        same_group = clash.item.group_id == clash.other.group_id
        statements = clash.earlier.statement, clash.later.statement
        if clash.how != race_cells.OVERWRITTEN and ordering.may_order(*statements, same_group):
            undecided[_undecided(compiled, clash, args)] = None
        elif clash.how != race_cells.OVERWRITTEN:
            sides = frozenset((site.loc.file, site.loc.line) for site in (clash.later, clash.earlier))
            groups.setdefault((_view(compiled, clash, args), sides), []).append(clash)
        elif _is_dead_store(compiled, clash):
            loc = clash.later.loc
            groups.setdefault((_view(compiled, clash, args), loc.file, loc.line, loc.column), []).append(clash)
    return [_finding(compiled, group, args) for group in groups.values()], list(undecided)


def _undecided(compiled: CompiledKernel, clash: Clash, args: Sequence[Any]) -> str:
    lines = sorted({clash.earlier.loc.line, clash.later.loc.line})
    where = f"line {lines[0]}" if len(lines) == 1 else f"lines {lines[0]} and {lines[1]}"
    view = _view(compiled, clash, args)
    what = f"data races on {view} between {where} of kernel {compiled.name}"
    return f"{what}: atomics and fences may order them, which is not followed"


def _merge_records(parts: Sequence[RaceRecords]) -> list[tuple[RaceRecords, list[int]]]:
    """Returns one record for each pair of accesses over all workers: its first occurrence, and the total count."""
    merged: dict[int, tuple[RaceRecords, list[int]]] = {}
    for part in parts:
        for record in part.records.tolist():
            known = merged.get(record[context.RACE_KEY])
            if known is None:
                merged[record[context.RACE_KEY]] = part, record
                continue
            counts = [(word, record[word] + known[1][word]) for word in (context.RACE_HITS, context.RACE_SAME)]
            first = min(known, (part, record), key=lambda pair: pair[1][context.RACE_ORDER])
            for word, count in counts:
                first[1][word] = count
            merged[record[context.RACE_KEY]] = first
    return list(merged.values())


def _make_clash(
    compiled: CompiledKernel,
    record: list[int],
    part: RaceRecords,
    global_size: Sequence[int],
    offset: Sequence[int],
    retries: Retries,
) -> Clash:
    key, before, mine = record[context.RACE_KEY], record[context.RACE_BEFORE], record[context.RACE_MINE]
    sites = compiled.module.sites
    later, earlier = sites[key >> 16 & race_cells.ACCESS], sites[key & race_cells.ACCESS]
    sides = ((later, earlier), (earlier, later))
    position = int(np.searchsorted(part.group_epochs, before & ~0xFFFFFFFF, side="right")) - 1
    size = compiled.spec.local_size
    return Clash(
        key >> 32,
        later,
        earlier,
        record[context.RACE_HITS],
        record[context.RACE_SAME],
        record[context.RACE_ORDER],
        results.work_item(size, global_size, offset, record[context.RACE_GROUP], record[context.RACE_LOCAL]),
        results.work_item(size, global_size, offset, int(part.group_order[position]), before >> 16 & 0xFFFF),
        record[context.RACE_VALUES : context.RACE_VALUES + race_cells.VALUE_COUNT],
        before >> 32 != mine >> 32,
        any(one.text == "reads" and other.text == "updates" and retries.is_retried(one.statement) for one, other in sides),
    )


def _is_dead_store(compiled: CompiledKernel, clash: Clash) -> bool:
    """Returns True if the overwritten value had no purpose: the same statement wrote it again, or the kernel cannot read the
    texel in between and the second write always follows. An initial value that another statement may replace is ordinary
    style."""
    first, second = clash.earlier, clash.later
    if first.statement == second.statement:
        return True
    sites = compiled.module.sites
    return second.shape == "coordinate" and compiled.module.post_dominated.always_follows(sites.index(second), sites.index(first))


def _view(compiled: CompiledKernel, clash: Clash, args: Sequence[Any]) -> str:
    access = results.access_of(compiled, clash.later, clash.values, args)
    return access.view if access is not None else ""


def _finding(compiled: CompiledKernel, clashes: list[Clash], args: Sequence[Any]) -> Finding:
    """Returns one finding of clashes that differ only in columns and order."""
    kind = max((clash.kind for clash in clashes), key=lambda k: k.severity)
    first = min((clash for clash in clashes if clash.kind is kind), key=lambda clash: clash.order)
    access = results.access_of(compiled, first.later, first.values, args)
    assert access is not None
    where = f"at {access.coordinate}" if access.coordinate is not None else f"at offset {access.offset}"
    loc, earlier = first.later.loc, first.earlier.loc
    detail: dict[str, object] = {
        "earlier": {
            "line": earlier.line,
            "column": earlier.column,
            "file": earlier.file,
            "access": first.earlier.text,
            "global_id": list(first.other.global_id),
        }
    }
    sides = [site for clash in clashes for site in (clash.later, clash.earlier)]
    detail["reads"] = sorted({(site.loc.file, site.loc.line) for site in sides if site.text == "reads"})
    if loc.callers:
        detail["callers"] = list(loc.callers)
    notes, help = _explain(compiled.kernel, first, access.view)
    return Finding(
        kind,
        _message(compiled.kernel, first, access.view, where),
        compiled.name,
        loc.line,
        loc.column,
        first.item,
        access,
        sum(clash.count for clash in clashes),
        file=loc.file,
        detail=detail,
        notes=notes,
        help=help,
    )


_BETWEEN_GROUPS = (
    "within a launch nothing orders the work-items of different groups: use atomic functions, give each group a separate place, "
    "or launch twice"
)
_ONE_STORE = (
    "line {line} writes the same element from both work-items: use an index that differs between them, or an atomic function"
)
_UPDATE = (
    "line {line} reads the element, changes it and writes it back, and another work-item does so at the same time: use atomic "
    "functions, or give each work-item its own element"
)


def _is_update(kernel: ir.Function, clash: Clash) -> bool:
    """Whether both accesses belong to one update, such as `sum[0] += x`, which reads and writes at one place of the source."""
    if clash.earlier.loc != clash.later.loc or not {clash.earlier.text, clash.later.text} <= {"reads", "writes"}:
        return False
    return any(instr.op == "load" and instr.loc == clash.later.loc for block in kernel.blocks for instr in block.instrs)


def _is_one_store(kernel: ir.Function, clash: Clash, is_apart: bool) -> bool:
    """Whether both accesses are the same store, and no barrier can come between them: it is outside loops, or the work-items
    are of different groups (is_apart)."""
    if clash.earlier.loc != clash.later.loc or {clash.earlier.text, clash.later.text} != {"writes"}:
        return False
    stored = [block for block in kernel.blocks if any(instr.loc == clash.later.loc for instr in block.instrs)]
    return is_apart or not any(block in reachable_from(block) for block in stored)


def _explain(kernel: ir.Function, clash: Clash, view: str) -> tuple[tuple[Note, ...], str]:
    """Returns the notes of a finding, the other access first, and its help."""
    if clash.kind is Kind.STORE_OVERWRITTEN:
        return (note_at("what it wrote here is lost", clash.earlier.loc),), ""
    other = note_at(f"work-item {clash.other.global_id} {clash.earlier.text} it here", clash.earlier.loc)
    if clash.kind is Kind.SAME_VALUE_RACE:
        return (other,), ""
    if _is_update(kernel, clash):
        return (other,), _UPDATE.format(line=clash.later.loc.line)
    is_apart = clash.item.group_id != clash.other.group_id
    if _is_one_store(kernel, clash, is_apart):
        return (other,), _ONE_STORE.format(line=clash.later.loc.line)
    if is_apart:
        return (other,), _BETWEEN_GROUPS
    statements = clash.earlier.statement, clash.later.statement
    notes, help = explain_race(kernel, Sides(clash.earlier.loc, clash.later.loc, statements, _fence_flag(kernel, clash, view)))
    return (other, *notes), help


def _message(kernel: ir.Function, clash: Clash, view: str, where: str) -> str:
    line = clash.earlier.loc.line
    if clash.kind is Kind.STORE_OVERWRITTEN:
        return f"writes {view} {where} over another value that the same work-item wrote there in line {line} and nobody read"
    other = f"work-item {clash.other.global_id} {clash.earlier.text} in line {line}"
    apart = "they are of different groups"
    if clash.item.group_id == clash.other.group_id:
        apart = "no barrier orders them"
        if clash.waited:
            fence = FENCES[_fence_flag(kernel, clash, view)]
            apart = f"no barrier of the group with {fence} is between them, only weaker ones"
    same = "; the value stays the same" if clash.kind is Kind.SAME_VALUE_RACE else ""
    if clash.retried:
        same = "; the compare-and-swap tries again where the value read is old"
    return f"{clash.later.text} {view} {where}, which {other}: {apart}{same}"


def _fence_flag(kernel: ir.Function, clash: Clash, view: str) -> int:
    """Returns the flag of a barrier that orders accesses to a view."""
    if clash.later.shape == "coordinate":
        return IMAGE_FLAG
    type = next((param.type for param in kernel.params if param.name == view), ir.Pointer(ir.LOCAL))
    return LOCAL_FLAG if isinstance(type, ir.Pointer) and type.space == ir.LOCAL else GLOBAL_FLAG
