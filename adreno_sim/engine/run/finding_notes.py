"""What findings say besides their place: the other side of a race, barriers that order too little, copies that nobody waits for,
the branches that decide who reaches a barrier, how far outside an access lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...findings import Access, Kind, Note
from ...ir import ir
from ...ir.builtins import ASYNC_COPIES, builtin_of
from ...ir.cfg import reachable_from
from ...ir.dominators import Dominators
from ...ir.memory_ops import fence_flags
from ...records import dataclass
from ..abi.kernel_shape import GLOBAL_FLAG, IMAGE_FLAG, LOCAL_FLAG
from ..analysis.uniformity import Uniformity

_MEMORY = {LOCAL_FLAG: "local", GLOBAL_FLAG: "global", IMAGE_FLAG: "image"}
FENCES = {LOCAL_FLAG: "CLK_LOCAL_MEM_FENCE", GLOBAL_FLAG: "CLK_GLOBAL_MEM_FENCE", IMAGE_FLAG: "CLK_IMAGE_MEM_FENCE"}
"""The names of the flags of barriers."""
MOST = 3
"""Barriers and branches that a finding names."""


@dataclass(frozen=True)
class Sides:
    """The accesses of a race between work-items of one group, with the statements where they are known, and the flag of a barrier
    that would order them."""

    earlier: ir.SourceLoc
    later: ir.SourceLoc
    statements: tuple[int, int]
    flag: int


def note_at(label: str, loc: ir.SourceLoc) -> Note:
    """Returns a note at a source location."""
    return Note(label, loc.line, loc.column, loc.file)


def explain_race(kernel: ir.Function, sides: Sides) -> tuple[list[Note], str]:
    """Returns what stands between the accesses without ordering them, and what would order them."""
    calls = [i for block in kernel.blocks for i in block.instrs if i.op == "call" and i.callee is not None]
    if (copy := _find_copy(kernel, sides)) is not None:
        return _explain_copy(calls, copy, sides.later if copy.loc == sides.earlier else sides.earlier)
    low, high = sorted((sides.earlier.line, sides.later.line))
    met = [call for call in calls if builtin_of(call).sync and _is_between(call.loc, low, high)]
    weak = [note_at(said, call.loc) for call in met if (said := _describe_weakness(call, sides.flag))]
    fence = FENCES[sides.flag]
    if weak:
        return weak[:MOST], f"give the barrier in line {weak[0].line} the flag {fence}, so that it orders these accesses"
    if met:
        return [], f"put barrier({fence}) behind line {high}, before the loop comes back to line {low}"
    fences = [note_at("a fence makes no work-item wait for another", call.loc) for call in calls if _is_fence(call, low, high)]
    where = f"lines {low} and {high}" if low != high else f"the two accesses of line {low}"
    if sides.earlier == sides.later:
        where = f"the rounds of the loop around line {low}"
    help = f"put barrier({fence}) between {where}, where all work-items of the group pass"
    if low == high and sides.earlier != sides.later and sides.flag == GLOBAL_FLAG:
        help = f"write the results to another buffer; or, in a launch of one group, read into a variable and then {help}"
    return fences[:MOST], help


def _is_fence(call: ir.Instr, low: int, high: int) -> bool:
    """Whether a call is a fence without a barrier, between two lines."""
    builtin = builtin_of(call)
    return builtin.fence_flags and builtin.sync is None and _is_between(call.loc, low, high)


def _is_between(loc: ir.SourceLoc, low: int, high: int) -> bool:
    return low <= loc.line <= high


def _describe_weakness(call: ir.Instr, flag: int) -> str:
    """Returns why a barrier does not order accesses to the memory of `flag`; "" if it does, or only the run knows."""
    if builtin_of(call).sync == "wave":
        return "only the work-items of one sub-group meet here"
    flags = fence_flags(call)
    if not isinstance(flags, ir.Const) or not isinstance(flags.value, int) or flags.value & flag:
        return ""
    ordered = [name for bit, name in _MEMORY.items() if flags.value & bit]
    return f"this barrier orders {' and '.join(ordered)} memory only" if ordered else "this barrier orders no memory"


def _find_copy(kernel: ir.Function, sides: Sides) -> ir.Instr | None:
    """Returns the asynchronous copy that one of the accesses is."""
    instrs = [instr for block in kernel.blocks for instr in block.instrs]
    for number in sides.statements:
        instr = instrs[number - 1] if 0 < number <= len(instrs) else None
        if instr is not None and instr.callee is not None and instr.callee.name in ASYNC_COPIES:
            return instr
    return None


def _explain_copy(calls: Sequence[ir.Instr], copy: ir.Instr, other: ir.SourceLoc) -> tuple[list[Note], str]:
    waits = [call for call in calls if call.callee is not None and call.callee.name == "wait_group_events"]
    if not waits:
        return [], f"wait_group_events is missing: wait for the copy of line {copy.loc.line} before line {other.line}"
    notes = [note_at("the copy is complete only behind this wait", waits[0].loc)]
    return notes, f"wait for the copy of line {copy.loc.line} before line {other.line}, not in line {waits[0].loc.line}"


def explain_divergence(kernel: ir.Function, loc: ir.SourceLoc) -> tuple[tuple[Note, ...], str]:
    """Returns the branches by which work-items of a group part on their way to the barrier at `loc`, and what to do."""
    notes = [note_at("this decides which work-items get there", place) for place in _deciding_places(kernel, loc)][:MOST]
    all_pass = "every work-item of the group must reach the barrier, or none"
    if not notes:
        return (), f"{all_pass}: take it out of the condition or loop that only some of them run"
    lines = " and ".join(dict.fromkeys(f"line {note.line}" for note in notes))
    return tuple(notes), f"{all_pass}: put it behind what {lines} decides, and leave only the other work under it"


def _deciding_places(kernel: ir.Function, loc: ir.SourceLoc) -> Iterator[ir.SourceLoc]:
    """Yields the places of the branches that lead to the synchronisation point at `loc` on one side only, and that work-items of
    a group may leave on different ways; the last one first."""
    targets = {block for block in kernel.blocks for i in block.instrs if builtin_of(i).sync and i.loc == loc}
    dominators = Dominators(kernel)
    uniformity = Uniformity(dominators)
    seen: set[ir.SourceLoc] = set()
    for block in reversed(dominators.order):
        branch = block.terminator
        if len(set(block.successors)) < 2 or uniformity.is_uniform(branch.operands[0]) or not branch.loc.line:
            continue
        ways = [bool(targets & (reachable_from(way, block) | {way})) for way in block.successors]
        if any(ways) and not all(ways) and branch.loc not in seen:
            seen.add(branch.loc)
            yield branch.loc


def explain_access(kind: Kind, access: Access | None) -> str:
    """Returns what would keep an access inside; "" if its kind says all that is known."""
    if access is None or not access.extent:
        return ""
    if access.coordinate is not None:
        sizes = " x ".join(map(str, access.extent))
        below = any(part < 0 for part in access.coordinate)
        if kind in (Kind.IMAGE_READ_OUT_OF_RANGE, Kind.IMAGE_WRITE_OUT_OF_RANGE):
            what = "no coordinate is negative" if below else "coordinates begin at 0 and end before the extents"
            if access.is_turned:
                return f"{access.view} is {sizes}: are x and y mixed up? {access.coordinate[1::-1]} lies inside"
            return f"{access.view} is {sizes}: {what}; test them, or launch no more work-items than there are texels"
        return ""
    if kind not in (Kind.OUT_OF_BOUNDS_READ, Kind.OUT_OF_BOUNDS_WRITE) or access.offset is None or not access.size:
        return ""
    if access.view == NULL:
        return "test the pointer before it is used, or give the argument memory"
    if access.offset < 0:
        return f"the index is negative: {access.view} begins at 0; start later, or test the index"
    count = access.extent[0] // access.size
    if not count:
        return f"{access.view} has only {access.extent[0]} bytes: is its size right?"
    room = f"{access.view} has room for {count} elements of {access.size} bytes, 0 to {count - 1}"
    return f"{room}: test the index, or launch no more work-items than there are elements"


NULL = "a null pointer"
"""What is accessed where a pointer leads to no object."""
