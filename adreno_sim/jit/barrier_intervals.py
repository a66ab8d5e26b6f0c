"""Local arrays in which no two work-items can race: what happens to one between two barriers is either reading alone, or
writing by work-items that keep apart, each of which reads only what it writes itself or what nobody writes.

All work-items of a group pass the same barriers, so that accesses of different ones are unordered only where both can be
reached from one barrier (or the start) without passing another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..clc import ir
from .accesses import targets, touches_memory
from .exclusive import Write, items_apart, write_of
from .index_forms import IndexForms
from .launch_facts import LaunchFacts
from .linear import Linear
from .proofs import Analysis
from .provenance import Key
from .specialisation import LocalArg, Specialisation

_LOCAL_FENCE = 1  # CLK_LOCAL_MEM_FENCE


@dataclass(frozen=True, eq=False)
class Access:
    """Of a local array: a plain write, or a read of which the offset is known or not; an access of another kind has neither."""

    array: Key
    write: Write | None
    reads: bool
    read: Write | None


def arrays_kept_apart(function: ir.Function, key: Specialisation, facts: LaunchFacts) -> frozenset[Key]:
    """The local arrays of a launch of `facts` in which there can be no race; none if the kernel is too deep to be looked at."""
    try:
        analysis = Analysis(function, key, facts)
        accesses = _accesses(analysis, key)
        return frozenset(_found(analysis.forms, accesses)) if accesses else frozenset()
    except RecursionError:
        return frozenset()


def _accesses(analysis: Analysis, key: Specialisation) -> dict[int, list[Access]] | None:
    """Accesses to local arrays by instruction. None where there may be others: through a pointer that may lead anywhere."""
    found: dict[int, list[Access]] = {}
    for block in analysis.forms.dominators.order:
        for instr in block.instrs:
            if not touches_memory(instr):
                continue
            for target in targets(instr):
                if isinstance(ir.type_of(target), ir.Image):
                    continue
                place = analysis.key_of(target)
                if place is None:
                    return None
                if _is_local(place, key, analysis):
                    reads = instr.op == "load" or (instr.callee is not None and instr.callee.name.startswith("vload"))
                    read = _read_of(instr, analysis) if reads else None
                    access = Access(place, _moved(write_of(instr, analysis), analysis), reads, _moved(read, analysis))
                    found.setdefault(id(instr), []).append(access)
    return found


def _is_local(place: Key, key: Specialisation, analysis: Analysis) -> bool:
    kind, which = place
    if kind == "param":
        assert isinstance(which, int)
        return isinstance(key.args[which], LocalArg)
    return kind == "global" and analysis.global_named(which).space == ir.LOCAL


def _read_of(instr: ir.Instr, analysis: Analysis) -> Write | None:
    """What a read that is certain to be in range reads."""
    spans = list(analysis.spans(instr)) if analysis.in_range(instr) else []
    return Write(instr, spans[0].offset, spans[0].size) if len(spans) == 1 and spans[0] is not None else None


def _moved(write: Write | None, analysis: Analysis) -> Write | None:
    """The write without the ids of the group in its offset: they are the same for all that share the array."""
    if write is None:
        return None
    groups = {atom for axis in range(3) for atom in analysis.forms.group_id(axis).terms}
    terms = {atom: coefficient for atom, coefficient in write.offset.terms.items() if atom not in groups}
    return Write(write.instr, Linear(terms, write.offset.const), write.size)


def _found(forms: IndexForms, accesses: dict[int, list[Access]]) -> Iterator[Key]:
    intervals = list(_intervals(forms, accesses))
    ids = [forms.local_id(axis) for axis in range(3)]
    for array in {access.array for several in accesses.values() for access in several}:
        if all(_quiet(forms, [access for access in interval if access.array == array], ids) for interval in intervals):
            yield array


def _quiet(forms: IndexForms, interval: list[Access], ids: list[Linear]) -> bool:
    """Whether the accesses to one array between two barriers cannot race: they all read, or work-items write apart, and read
    what they write themselves or what nobody writes."""
    writes = [access.write for access in interval if access.write is not None]
    others = [access for access in interval if access.write is None]
    if not all(access.reads for access in others):
        return False
    if not writes:
        return True
    own: list[ir.Instr] = []
    for read in (access.read for access in others):
        if read is None:
            return False
        if any(write.offset.same(read.offset) and write.size == read.size for write in writes):
            own.append(read.instr)
        elif not all(_elsewhere(forms, read, write) for write in writes):
            return False
    return items_apart(forms, writes, ids, own)


def _elsewhere(forms: IndexForms, read: Write, write: Write) -> bool:
    """Whether whatever is read lies below or above whatever is written."""
    low, high = forms.context(read.instr).tight(read.offset)
    least, most = forms.context(write.instr).tight(write.offset)
    return high + read.size <= least or most + write.size <= low


def _intervals(forms: IndexForms, accesses: dict[int, list[Access]]) -> Iterator[list[Access]]:
    """For the start of the kernel and for each barrier: the accesses before any other barrier."""
    order = forms.dominators.order
    starts = [(order[0], 0)]
    starts += [(block, n + 1) for block in order for n, instr in enumerate(block.instrs) if _is_barrier(instr)]
    for start in starts:
        seen: set[int] = set()
        reached: list[Access] = []
        pending = [start]
        while pending:
            block, first = pending.pop()
            for instr in block.instrs[first:]:
                if _is_barrier(instr):
                    break
                reached += accesses.get(id(instr), ())
            else:
                fresh = [target for target in block.instrs[-1].blocks if id(target) not in seen]
                seen.update(map(id, fresh))
                pending += [(target, 0) for target in fresh]
        yield list({id(access): access for access in reached}.values())


def _is_barrier(instr: ir.Instr) -> bool:
    """Whether an instruction orders accesses to local memory of all work-items of a group."""
    if instr.callee is None or instr.callee.name not in ("barrier", "work_group_barrier"):
        return False
    flags = instr.operands[0]
    return isinstance(flags, ir.Const) and isinstance(flags.value, int) and bool(flags.value & _LOCAL_FENCE)
