"""Barrier-phase race analysis: proves which local arrays are free of races.

In each phase, from one barrier to the next, an array must either be read only, or be written at disjoint offsets by different
work-items; each of them reads only what it writes itself or what nobody writes. All work-items of a group pass the same
barriers, so two accesses are unordered only if both are reachable from the same barrier (or the start) without passing
another one, and without taking two ways at a uniform branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.memory_ops import address_operands, fence_flags, is_plain_load, touches_memory
from ...ir.provenance import ObjectId
from ...records import dataclass
from ..abi.kernel_shape import LOCAL_FLAG
from ..abi.specialization import LocalArg
from ..analysis.affine import AffineForms
from ..analysis.linear import Linear
from ..analysis.uniformity import Uniformity
from .disjoint import AccessRange, injective_symbols
from .in_range import AccessAnalysis
from .single_writer import Conflict, read_of, write_of

_MAX_PATHS = 64
"""The most combinations of uniform branches that are followed from one barrier; beyond it, a branch may go either way."""


@dataclass(frozen=True, eq=False)
class LocalAccess:
    """An access to a local array: a plain write, or a read (`reads`) whose range is known or None. Other accesses have
    neither."""

    instr: ir.Instr
    array: ObjectId
    write: AccessRange | None
    reads: bool
    read: AccessRange | None


def race_free_local_arrays(analysis: AccessAnalysis) -> frozenset[ObjectId]:
    """Returns the local arrays in which the launch cannot race."""
    return frozenset(array for array, conflict in find_local_conflicts(analysis) if conflict is None)


def find_local_conflicts(analysis: AccessAnalysis) -> Iterator[tuple[ObjectId, Conflict | None]]:
    """Yields each local array that is accessed with why work-items may race in it; None if they are proven not to. Yields
    nothing if a pointer may lead to any object."""
    accesses = find_local_accesses(analysis)
    return _find_races(analysis.forms, accesses) if accesses else iter(())


def find_local_accesses(analysis: AccessAnalysis) -> dict[int, list[LocalAccess]] | None:
    """Returns the accesses to local arrays by id of the instruction, or None if a pointer may lead to any object."""
    found: dict[int, list[LocalAccess]] = {}
    for block in analysis.forms.dominators.order:
        for instr in block.instrs:
            if not touches_memory(instr) or not analysis.forms.may_execute(instr):
                continue
            for target in address_operands(instr):
                if isinstance(ir.type_of(target), ir.Image):
                    continue
                place = analysis.object_of(target)
                if place is None:
                    return None
                if _is_local(place, analysis):
                    read, write = read_of(instr, analysis), write_of(instr, analysis)
                    read, write = _without_group_ids(read, analysis), _without_group_ids(write, analysis)
                    access = LocalAccess(instr, place, write, is_plain_load(instr), read)
                    found.setdefault(id(instr), []).append(access)
    return found


def _is_local(place: ObjectId, analysis: AccessAnalysis) -> bool:
    kind, which = place
    if kind == "param":
        assert isinstance(which, int)
        return isinstance(analysis.spec.args[which], LocalArg)
    return kind == "global" and analysis.global_named(which).space == ir.LOCAL


def _without_group_ids(write: AccessRange | None, analysis: AccessAnalysis) -> AccessRange | None:
    """Returns the range without the group ids in its offset: they are equal for all work-items that share the array."""
    if write is None:
        return None
    groups = {symbol for axis in range(3) for symbol in analysis.forms.group_id(axis).terms}
    terms = {symbol: coefficient for symbol, coefficient in write.offset.terms.items() if symbol not in groups}
    return AccessRange(write.instr, Linear(terms, write.offset.const), write.size)


@dataclass(frozen=True)
class Phase:
    """The accesses from one barrier to the next on one path.

    `sides` has, for each uniform induction variable, the ids of the instructions before and after its increment.
    """

    accesses: list[LocalAccess]
    sides: dict[int, tuple[frozenset[int], frozenset[int]]] = field(default_factory=dict)

    def shared_symbols(self, a: ir.Instr, b: ir.Instr) -> set[int]:
        """Returns the symbols that have the same value for a work-item that executes `a` and one that executes `b`."""
        return {n for n, sides in self.sides.items() if any(id(a) in s and id(b) in s for s in _only_on_one_side(*sides))}


def _only_on_one_side(before: frozenset[int], behind: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
    return before - behind, behind - before


def _find_races(forms: AffineForms, accesses: dict[int, list[LocalAccess]]) -> Iterator[tuple[ObjectId, Conflict | None]]:
    phases = list(Phases(forms, accesses).phases())
    ids = [forms.local_id(axis) for axis in range(3)]
    for array in {access.array for several in accesses.values() for access in several}:
        conflicts = (_conflict_in(forms, phase, array, ids) for phase in phases)
        yield array, next((conflict for conflict in conflicts if conflict is not None), None)


def _conflict_in(forms: AffineForms, phase: Phase, array: ObjectId, ids: list[Linear]) -> Conflict | None:
    """Returns None if the accesses to `array` in one phase cannot race: all are reads, or the writes of different work-items
    are disjoint and each read is of the work-item's own bytes or of bytes that nobody writes."""
    here = [access for access in phase.accesses if access.array == array]
    writes = [access.write for access in here if access.write is not None]
    others = [access for access in here if access.write is None]
    for access in others:
        if not access.reads:
            return Conflict("not proven in range, or no plain load or store", access.instr)
    if not writes:
        return None
    own: list[ir.Instr] = []
    for access in others:
        read = access.read
        if read is None:
            return Conflict("a read that is not proven in range, between the same barriers as a write", access.instr)
        if any(write.offset.same(read.offset) and write.size == read.size for write in writes):
            own.append(read.instr)
            continue
        for write in writes:
            shared = phase.shared_symbols(read.instr, write.instr)
            if not _are_ranges_disjoint(forms, read, write, shared) and injective_symbols(forms, [write, read], ids) is None:
                return Conflict("may read what another work-item writes between the same barriers", read.instr, write.instr)
    if injective_symbols(forms, writes, ids, own) is None:
        return Conflict("different work-items may write the same bytes between the same barriers", writes[0].instr)
    return None


def _are_ranges_disjoint(forms: AffineForms, read: AccessRange, write: AccessRange, shared: set[int]) -> bool:
    """Returns True if all bytes read are below or above all bytes written, as they are or both without their shared symbols."""
    moves = [Linear({}, 0)]
    moves += [Linear({a: c for a, c in one.offset.terms.items() if a in shared}, 0) for one in (read, write)]
    for move in moves:
        low, high = forms.bounds_at(read.instr).range_of(read.offset.plus(move, -1))
        least, most = forms.bounds_at(write.instr).range_of(write.offset.plus(move, -1))
        if high + read.size <= least or most + write.size <= low:
            return True
    return False


Point = tuple[ir.Block, int]
"""A block, and the number of an instruction in it."""


class Phases:
    """The barrier phases of a kernel: what is reachable from its start, or from a barrier, without passing another barrier."""

    def __init__(self, forms: AffineForms, accesses: dict[int, list[LocalAccess]]):
        self._forms, self._accesses = forms, accesses
        self._order = forms.dominators.order
        self._uniformity = Uniformity(forms.dominators)
        branches = filter(self._uniformity.is_uniform_branch, self._order)
        self._uniform_branches = {id(b) for b in branches if not self._repeats_in_phase(b)}
        self._uniform_counters = dict(self._find_uniform_counters())

    def phases(self) -> Iterator[Phase]:
        starts: list[Point] = [(self._order[0], 0)]
        starts += [(b, n + 1) for b in self._order for n, instr in enumerate(b.instrs) if orders_local_memory(instr)]
        for start in starts:
            for choices in self._branch_choices(start) if self._uniformity.is_convergent(start[0]) else [{}]:
                yield self._phase(start, choices)

    def _phase(self, start: Point, choices: Mapping[int, ir.Block]) -> Phase:
        reached_instrs = self._reachable(start, choices)
        reached = [access for instr in reached_instrs for access in self._accesses.get(id(instr), ())]
        sides: dict[int, tuple[frozenset[int], frozenset[int]]] = {}
        for symbol, head in self._uniform_counters.items() if self._uniformity.is_convergent(start[0]) else ():
            before = self._reachable(start, choices, head)
            behind = self._reachable((head, 0), choices) if any(i is head.instrs[0] for i in reached_instrs) else []
            sides[symbol] = frozenset(map(id, before)), frozenset(map(id, behind))
        return Phase(list({id(access): access for access in reached}.values()), sides)

    def _branch_choices(self, start: Point) -> list[dict[int, ir.Block]]:
        """Returns the combinations of successors that all work-items may take together at uniform branches."""
        done: list[dict[int, ir.Block]] = []
        pending: list[dict[int, ir.Block]] = [{}]
        while pending:
            choices = pending.pop()
            open_branches = self._uniform_branches - choices.keys()
            branch = next((b for b in self._reachable_block_ends(start, choices) if id(b) in open_branches), None)
            if branch is None or len(done) + len(pending) >= _MAX_PATHS:
                done.append(choices)
            else:
                ways = {id(way): way for way in branch.instrs[-1].blocks}.values()
                pending += [{**choices, id(branch): way} for way in ways]
        return done

    def _find_uniform_counters(self) -> Iterator[tuple[int, ir.Block]]:
        """Yields the symbols of uniform induction variables, and the loop header of each, for loops with a barrier in each
        iteration."""
        for block in self._order:
            looped = any(self._forms.dominators.dominates(block, p) for p in self._forms.dominators.predecessors[id(block)])
            if not looped or self._repeats_in_phase(block):
                continue
            for phi in block.instrs:
                if phi.op != "phi":
                    break
                if isinstance(phi.type, ir.Int) and self._uniformity.is_uniform(phi):
                    form = self._forms.of(phi)
                    if len(form.terms) == 1:
                        yield next(iter(form.terms)), block

    def _repeats_in_phase(self, block: ir.Block) -> bool:
        """Returns True if control may reach `block` twice without passing a barrier."""
        reached_instrs = self._reachable((block, 0), {}, first=False)
        return any(instr is block.instrs[0] for instr in reached_instrs)

    def _reachable_block_ends(self, start: Point, choices: Mapping[int, ir.Block]) -> Iterator[ir.Block]:
        """Yields the blocks whose terminators are reachable in the phase."""
        for instr in self._reachable(start, choices):
            if instr is self._forms.block_of[id(instr)].instrs[-1]:
                yield self._forms.block_of[id(instr)]

    def _reachable(
        self, start: Point, choices: Mapping[int, ir.Block], stop: ir.Block | None = None, first: bool = True
    ) -> list[ir.Instr]:
        """Returns the instructions reachable from `start` up to barriers, along the chosen branches, without entering `stop`.
        `first`: include those of the first block from `start` on."""
        found: list[ir.Instr] = []
        seen: set[int] = set()
        pending = [(start, first)]
        while pending:
            (block, number), counted = pending.pop()
            for instr in block.instrs[number:]:
                if orders_local_memory(instr):
                    break
                if counted:
                    found.append(instr)
            else:
                ways = [choices[id(block)]] if id(block) in choices else block.instrs[-1].blocks
                for target in ways:
                    if id(target) not in seen and target is not stop:
                        seen.add(id(target))
                        pending.append(((target, 0), True))
        return found


def orders_local_memory(instr: ir.Instr) -> bool:
    """Returns True if `instr` is a barrier that orders accesses to local memory within a group (CLK_LOCAL_MEM_FENCE)."""
    flags = fence_flags(instr) if builtin_of(instr).sync == "group" else None
    return isinstance(flags, ir.Const) and isinstance(flags.value, int) and bool(flags.value & LOCAL_FLAG)
