"""Tree reductions: each work-item hands one value over in local memory, and half of those that are left add another's to theirs.

    sums[l] = s; barrier(); if (l < 128) sums[l] += sums[l + 128]; barrier(); if (l < 64) sums[l] += sums[l + 64]; barrier(); ...

What is found are the first steps of such a tree, where work-items that take part in none but these have no other effect. Then
each of the others may do the work of several, and add up in registers what these would have handed over: in the tree's order, so
that the bits stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.llvm_types import store_size
from ...ir.memory_ops import address_operands, is_plain_load, touches_memory
from ...ir.provenance import ObjectId
from ...records import dataclass
from ..abi.launch_facts import LaunchFacts
from ..abi.specialization import Specialization
from ..analysis.active_items import is_side_effect_free
from ..analysis.segments import Graph, Segment, SyncPoint
from ..emit.sync_points import Scopes
from ..prove.in_range import AccessAnalysis
from .barriers import after, find_needless_barriers, reach
from .group_number import divisor_of

MOST_STEPS = 4
"""More save little: what is handed over is the sixteenth part then."""
LEAST_ITEMS = 4
"""Work-items that a group must still have."""
MOST_INSTRUCTIONS = 1600
"""Of what work-items do before they hand over, all copies together."""

_ANY_DIMENSION = frozenset(("get_local_linear_id", "get_work_dim"))
_QUERIES = _ANY_DIMENSION | {
    *("get_local_id", "get_group_id", "get_global_id", "get_local_size", "get_enqueued_local_size"),
    *("get_num_groups", "get_global_size", "get_global_offset"),
}
"""The work-item functions whose results `merge_items` knows."""
_OPERATIONS = frozenset(("add", "mul", "and", "or", "xor", "fadd", "fmul"))
_FUNCTIONS = frozenset(("min", "max", "fmin", "fmax"))


@dataclass(frozen=True)
class ReductionStep:
    """`if (l < bound) variable[l] = combine(variable[l], variable[l + bound])`, up to `barrier`. own, other: the loads."""

    own: ir.Instr
    other: ir.Instr
    combine: ir.Instr
    store: ir.Instr
    barrier: ir.Instr

    @property
    def instrs(self) -> tuple[ir.Instr, ...]:
        return self.own, self.other, self.combine, self.store, self.barrier


@dataclass(frozen=True)
class TreeReduction:
    """The first steps of a tree over `items` work-items along x, in their order. hand_over: the store of each work-item's own
    value, in block `last`. before: the blocks up to it. needless: barriers in them that order nothing."""

    variable: ir.Global
    items: int
    hand_over: ir.Instr
    last: ir.Block
    before: tuple[ir.Block, ...]
    needless: frozenset[int]
    steps: tuple[ReductionStep, ...]

    @property
    def copies(self) -> int:
        """The work-items whose work one does."""
        return 1 << len(self.steps)


def find_tree_reduction(kernel: ir.Function, spec: Specialization, facts: LaunchFacts) -> TreeReduction | None:
    """Returns the first steps of a kernel's tree reduction that may be taken in registers, of a launch with work-items along x
    alone; None if there are none. spec: without proofs."""
    items, *others = facts.local_size
    if others != [1, 1] or items < 2 * LEAST_ITEMS or items & (items - 1):
        return None
    return _Search(kernel, spec, facts).find()


@dataclass
class _Region:
    """What lies between two barriers, or the ends of a kernel; how it ends."""

    segments: list[Segment]
    syncs: list[SyncPoint]

    @property
    def end(self) -> SyncPoint | None:
        """The barrier that all work-items reach; None if there may be none."""
        leaves = any(not segment.successors for segment in self.segments if segment.sync is None)
        return self.syncs[0] if len(self.syncs) == 1 and not leaves else None

    @property
    def instrs(self) -> Iterator[ir.Instr]:
        return (instr for segment in self.segments for instr in segment.instrs)


class _NeededScopes(Scopes):
    """As `Scopes`, without the barriers that order nothing."""

    def __init__(self, needless: set[int]):
        self._needless = needless

    def __call__(self, instr: ir.Instr) -> str | None:
        return None if id(instr) in self._needless else super().__call__(instr)


class _Search:
    def __init__(self, kernel: ir.Function, spec: Specialization, facts: LaunchFacts):
        self._analysis = AccessAnalysis(kernel, spec, facts)
        self._kernel, self._items = kernel, facts.local_size[0]
        self._needless = find_needless_barriers(kernel)
        self._graph = Graph(kernel, _NeededScopes(self._needless))
        self._item = self._analysis.forms.local_id(0)
        self._users: dict[int, int] = {}
        for instr in _instrs(kernel.blocks):
            for operand in instr.operands:
                self._users[id(operand)] = self._users.get(id(operand), 0) + 1

    def find(self) -> TreeReduction | None:
        if any(self._asks_for_more(instr) for instr in _instrs(self._kernel.blocks)):
            return None
        before = self._region(self._graph.entry)
        hand_over = self._hand_over(before)
        if hand_over is None:
            return None
        named = self._analysis.object_of(hand_over.operands[1])
        assert named is not None
        steps = self._steps(before, hand_over, named)
        size = sum(len(segment.instrs) for segment in before.segments)
        while steps and (size << len(steps) > MOST_INSTRUCTIONS or not self._is_last_use(steps, named, hand_over)):
            steps.pop()
        if not steps:
            return None
        blocks = {id(segment.block): segment.block for segment in before.segments}
        return TreeReduction(
            self._analysis.global_named(named[1]),
            self._items,
            hand_over,
            self._analysis.forms.block_of[id(hand_over)],
            tuple(blocks.values()),
            frozenset(self._needless),
            tuple(step for step, _ in steps),
        )

    def _steps(self, before: _Region, hand_over: ir.Instr, named: ObjectId) -> list[tuple[ReductionStep, _Region]]:
        """Returns the steps that follow the hand-over to the array `named`, with their regions, as many as may be of use."""
        found: list[tuple[ReductionStep, _Region]] = []
        region = before
        for number in range(1, MOST_STEPS + 1):
            bound = self._items >> number
            following = self._after(region)
            step = self._step(following, hand_over, named, bound) if following is not None and bound >= LEAST_ITEMS else None
            if following is None or step is None:
                break
            found.append((step, following))
            region = following
        return found

    def _asks_for_more(self, instr: ir.Instr) -> bool:
        """Returns whether an instruction asks for what is not known where work-items are fewer."""
        if instr.callee is None or not builtin_of(instr).query or instr.callee.name.startswith("get_image"):
            return False
        known = instr.callee.name in _ANY_DIMENSION or isinstance(instr.operands[0], ir.Const)
        return instr.callee.name not in _QUERIES or not known

    def _region(self, first: Segment) -> _Region:
        """Returns what work-items do from `first` on until they wait for each other."""
        segments = list(reach(first, lambda segment: segment.successors if segment.sync is None else ()))
        return _Region(segments, [segment.sync for segment in segments if segment.sync is not None])

    def _after(self, region: _Region) -> _Region | None:
        """Returns the region behind the barrier at which one ends."""
        return None if region.end is None or region.end.resume is None else self._region(region.end.resume)

    def _hand_over(self, region: _Region) -> ir.Instr | None:
        """Returns the store with which every work-item ends the region before the tree; None if the region does anything else
        that others see."""
        end = region.end
        if end is None:
            return None
        last = next(segment for segment in region.segments if segment.sync is end)
        if end.resume is None or last in reach(end.resume, after):
            return None
        found = None
        for segment in region.segments:
            for instr in segment.instrs:
                objects = self._shared_objects(instr)
                reads = all(kind == "param" for kind, _ in objects) and not self._may_change(instr)
                if not objects or reads:
                    continue
                if found is not None or segment is not last or not self._is_own(instr, objects):
                    return None
                found = instr
        return found

    def _shared_objects(self, instr: ir.Instr) -> list[ObjectId]:
        """Returns what an instruction accesses of memory that work-items may share; local arguments are ("local", number)."""
        found: list[ObjectId] = []
        for value in address_operands(instr) if touches_memory(instr) else ():
            object_id = self._analysis.object_of(value) or ("any", 0)
            if object_id[0] == "param" and ir.type_of(value) == ir.Pointer(ir.LOCAL):
                object_id = ("local", object_id[1])
            if object_id[0] != "alloca" and not self._is_constant(object_id):
                found.append(object_id)
        return found

    def _is_constant(self, object_id: ObjectId) -> bool:
        return object_id[0] == "global" and self._analysis.global_named(object_id[1]).space != ir.LOCAL

    def _may_change(self, instr: ir.Instr) -> bool:
        return not (is_plain_load(instr) or builtin_of(instr).image == "read")

    def _is_own(self, instr: ir.Instr, objects: list[ObjectId]) -> bool:
        """Returns whether an instruction stores to the work-item's own element of an array in local memory."""
        if instr.op != "store" or [kind for kind, _ in objects] != ["global"]:
            return False
        type = self._analysis.global_named(objects[0][1]).type
        value, where = instr.operands
        is_array = isinstance(type, ir.Array) and type.elem == ir.type_of(value) and type.count >= self._items
        return is_array and self._analysis.forms.of(where).same(self._item.times(store_size(ir.type_of(value))))

    def _step(self, region: _Region, hand_over: ir.Instr, named: ObjectId, bound: int) -> ReductionStep | None:
        """Returns the step that a region is: each work-item below `bound` takes the value of the one `bound` further
        on."""
        end = region.end
        if end is None:
            return None
        moves = [instr for instr in region.instrs if touches_memory(instr)]
        if [instr.op for instr in moves] != ["load", "load", "store"]:
            return None
        first, second, store = moves
        value, where = store.operands
        if not isinstance(value, ir.Instr) or not self._combines(value, first, second):
            return None
        if not self._is_done_once(store, region.segments[0], bound):
            return None
        if any(self._analysis.object_of(address_operands(move)[0]) != named for move in moves):
            return None
        type = ir.type_of(hand_over.operands[0])
        form, size = self._analysis.forms.of, store_size(type)
        mine, others = self._item.times(size), self._item.times(size).plus_const(size * bound)
        own, other = (first, second) if form(first.operands[0]).same(mine) else (second, first)
        right = form(own.operands[0]).same(mine) and form(other.operands[0]).same(others) and form(where).same(mine)
        if not right or any(ir.type_of(v) != type for v in (own, other, value)):
            return None
        left = [instr for instr in region.instrs if instr is not value and not touches_memory(instr)]
        return ReductionStep(own, other, value, store, end.instr) if all(map(self._is_harmless, left)) else None

    def _combines(self, value: ir.Instr, first: ir.Instr, second: ir.Instr) -> bool:
        """Returns whether a value is an operation on two loads, which nothing else takes."""
        known = value.op in _OPERATIONS or (value.callee is not None and value.callee.name in _FUNCTIONS)
        alone = all(self._users.get(id(one)) == 1 for one in (value, first, second))
        return known and alone and {id(operand) for operand in value.operands} == {id(first), id(second)}

    def _is_done_once(self, store: ir.Instr, first: Segment, bound: int) -> bool:
        """Returns whether each work-item below `bound` executes a store once in the region that `first` begins, and no other."""
        forms, source = self._analysis.forms, first.block
        block, branch = forms.block_of[id(store)], source.terminator
        begins_with_test = first.sync is None and branch.op == "condbr" and branch.blocks[0] is block is not branch.blocks[1]
        if not begins_with_test or forms.dominators.taken_edge(block) is not source:
            return False
        edge = forms.conditions.bounds_on_edge
        below = edge(source, block).implies_within(self._item, 0, bound - 1)
        above = edge(source, branch.blocks[1]).implies_within(self._item, bound, self._items - 1)
        here = self._graph.first[id(block)]
        return below and above and not any(here in self._region(after).segments for after in here.successors)

    def _is_last_use(self, steps: list[tuple[ReductionStep, _Region]], named: ObjectId, hand_over: ir.Instr) -> bool:
        """Returns whether what follows the steps is done by those work-items alone whose values are left, and with no others."""
        left = self._items >> len(steps)
        size = store_size(ir.type_of(hand_over.operands[0]))
        region, seen = self._after(steps[-1][1]), set[Segment]()
        while region is not None:
            if region.segments[0] in seen or (region.end is None and region.syncs):  # some may wait where others do not
                return False
            seen.update(region.segments)
            if not all(self._is_of_those_left(instr, left, named, size) for instr in region.instrs):
                return False
            region = self._after(region)
        return True

    def _is_of_those_left(self, instr: ir.Instr, left: int, named: ObjectId, size: int) -> bool:
        """Returns whether the first `left` work-items alone execute an instruction, or it makes no difference, and whether it
        accesses no other elements of the array `named` than theirs, of `size` bytes each."""
        bounds = self._analysis.forms.bounds_at(instr)
        if not bounds.implies_within(self._item, 0, left - 1) and not self._is_harmless(instr):
            return False
        objects = self._shared_objects(instr)
        if named not in objects and all(kind != "any" for kind, _ in objects):
            return True
        where = self._analysis.forms.of(address_operands(instr)[0])
        return instr.op in ("load", "store") and bounds.implies_within(where, 0, size * (left - 1))

    def _is_harmless(self, instr: ir.Instr) -> bool:
        """Returns whether nothing except its value depends on whether a work-item executes an instruction."""
        if instr.op in ("br", "condbr", "switch", "ret") or id(instr) in self._needless:
            return True
        if instr.op in ("sdiv", "udiv", "srem", "urem"):
            return divisor_of(instr) is not None
        return is_side_effect_free(instr)


def _instrs(blocks: Iterable[ir.Block]) -> Iterator[ir.Instr]:
    return (instr for block in blocks for instr in block.instrs)
