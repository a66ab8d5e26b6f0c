"""Values that may be undefined: what is computed from variables that have no value on some path, and from memory that may be
unwritten.

Computing with such a value, or storing it, is not a defect: it matters only where it decides something (`sinks`). Each
value that may be undefined has a shadow while the kernel runs (`values`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import heappop, heappush

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.memory_ops import is_atomic, is_plain_load
from ..analysis.lane_uses import as_choice, lane_number

VARIABLE, READ, PADDING = "variable", "read", "padding"
"""Why a lane may be undefined. VARIABLE: nothing was assigned. READ: loaded from memory that may be unwritten. PADDING: added to
widen a vector; that such a lane reaches something says nothing."""

Reasons = dict[int, frozenset[str]]
"""Maps a lane that may be undefined to the reasons why."""

MOST_READS = 8
"""Statements that are remembered of a value as those that may have read it unwritten; a report names no other."""


class UndefinedValues:
    """The values of a function that may be undefined.

    find_lacking: gives the lanes of a load that may be read unwritten and are used. statement_of: the same for the copies of one
    statement.
    """

    def __init__(
        self,
        function: ir.Function,
        find_lacking: Callable[[ir.Instr], Iterable[int]] = lambda load: (),
        statement_of: Callable[[ir.Instr], Hashable] = id,
    ):
        self._lanes: dict[int, Reasons] = {}
        self._variables: dict[tuple[int, int], tuple[str, int, int]] = {}
        self._reads: dict[int, tuple[ir.Instr, ...]] = {}
        self._origins: dict[int, ir.Instr] = {}
        first: dict[Hashable, ir.Instr] = {}
        instrs = [i for block in function.blocks for i in block.instrs]
        for instr in instrs:
            lacking = {lane: frozenset({READ}) for lane in find_lacking(instr)} if reads_memory(instr) else {}
            if lacking:
                self._lanes[id(instr)] = lacking
                self._origins[id(instr)] = first.setdefault(statement_of(instr), instr)
                self._reads[id(instr)] = (self._origins[id(instr)],)
        self._spread([instr for instr in instrs if _spreads(instr)])
        self._any = bool(self._lanes) or any(self.lanes(operand) for instr in instrs for operand in instr.operands)

    @property
    def any(self) -> bool:
        """Whether some instruction uses, or results in, a value that may be undefined."""
        return self._any

    def lanes(self, value: ir.Value) -> Reasons:
        """Returns the lanes of `value` that may be undefined."""
        return _of_constant(value) if isinstance(value, ir.Const) else self._lanes.get(id(value), {})

    def used_lanes(self, value: ir.Value) -> list[int]:
        """Returns the lanes of `value` that may be undefined and are not mere padding."""
        return [lane for lane, why in self.lanes(value).items() if why != {PADDING}]

    def is_deferred(self, load: ir.Instr) -> bool:
        """Returns whether it is at the uses of a load that what it reads unwritten is reported."""
        return id(load) in self._origins

    def origin(self, load: ir.Instr) -> ir.Instr:
        """Returns the first load of the statement that a load with a shadow belongs to."""
        return self._origins[id(load)]

    def reads(self, value: ir.Value) -> tuple[ir.Instr, ...]:
        """Returns the statements that may have read unwritten what makes a value undefined, as the first load of each."""
        return self._reads.get(id(value), ())

    def _spread(self, instrs: list[ir.Instr]) -> None:
        """Visits each instruction in order. If one changes, its users are visited again, in the same order as if all were visited
        until nothing changes."""
        users: dict[int, list[int]] = {}
        for place, instr in enumerate(instrs):
            for operand in instr.operands:
                users.setdefault(id(operand), []).append(place)
        due = [(0, place) for place in range(len(instrs))]
        waiting = set(due)
        while due:
            at = heappop(due)
            waiting.discard(at)
            if self._visit(instrs[at[1]]):
                for place in users.get(id(instrs[at[1]]), ()):
                    later = (at[0] + (place <= at[1]), place)
                    if later not in waiting:
                        waiting.add(later)
                        heappush(due, later)

    def _visit(self, instr: ir.Instr) -> bool:
        """Propagates from the operands to `instr`. Returns whether anything changed."""
        if not any(map(self.lanes, instr.operands)) and instr.op != "shufflevector":
            return False
        before, noted = self._lanes.get(id(instr), {}), len(self._variables)
        found = dict(before)
        for lane in range(llvm_types.lanes_of(instr.type)):
            for source in sources_of_lane(instr, lane):
                why = frozenset({PADDING}) if source is None else self.lanes(source[0]).get(source[1])
                if why is not None:
                    found[lane] = found.get(lane, frozenset()) | why
                    self._note_variable(instr, lane, source)
        changed = found != before or len(self._variables) > noted
        if found:
            self._lanes[id(instr)] = found
            changed = self._note_reads(instr) or changed
        return changed

    def _note_reads(self, instr: ir.Instr) -> bool:
        known = self._reads.get(id(instr), ())
        found = dict.fromkeys((*known, *(read for operand in instr.operands for read in self.reads(operand))))
        if len(found) == len(known) or len(known) == MOST_READS:
            return False
        self._reads[id(instr)] = tuple(found)[:MOST_READS]
        return True

    def _note_variable(self, instr: ir.Instr, lane: int, source: Source | None) -> None:
        variable = None if source is None else self._variable(*source)
        if variable is not None:
            self._variables.setdefault((id(instr), lane), variable)

    def _variable(self, value: ir.Value, lane: int) -> tuple[str, int, int] | None:
        """Returns the variable that is undefined where `lane` of a value is, its lane there, and how many lanes it has."""
        if isinstance(value, ir.Const):
            return (value.name, lane, llvm_types.lanes_of(value.type)) if value.name else None
        return self._variables.get((id(value), lane))

    def describe(self, value: ir.Value, lanes: Iterable[int]) -> str:
        """Returns the variables, and which of their components, that are undefined where these lanes of a value are."""
        components: dict[tuple[str, int], set[int]] = {}
        for lane in lanes:
            variable = self._variable(value, lane)
            if variable is not None:
                components.setdefault((variable[0], variable[2]), set()).add(variable[1])
        described = [name + _component_suffix(at, count) for (name, count), at in components.items()]
        return " and ".join(described) or "a private variable"


def _component_suffix(lanes: set[int], count: int) -> str:
    """Returns how OpenCL C selects these lanes of a vector, as ".xw" or ".s04f"; "" for a scalar."""
    if count == 1:
        return ""
    if count <= 4:
        return "." + "".join("xyzw"[lane] for lane in sorted(lanes))
    return ".s" + "".join(f"{lane:x}" for lane in sorted(lanes))


def reads_memory(instr: ir.Instr) -> bool:
    """Returns whether the result is loaded from memory or from an image, lane by lane."""
    if isinstance(instr.type, ir.Pointer):
        return False
    return is_plain_load(instr) or builtin_of(instr).image == "read"


def _spreads(instr: ir.Instr) -> bool:
    """Returns whether the result of an instruction is computed from its operands, and has a shadow."""
    if not isinstance(instr.type, (ir.Int, ir.Float, ir.Vector, ir.Pointer)) or instr.op in ("alloca", "extractvalue"):
        return False
    row = builtin_of(instr)
    if is_atomic(instr) or reads_memory(instr) or instr.op == "load" or row.image:
        return False
    return row.sync is None or bool(row.handed_over)


Source = tuple[ir.Value, int]


def sources_of_lane(instr: ir.Instr, lane: int) -> list[Source | None]:
    """Returns (operand, lane) pairs that may make `lane` of the result undefined if they are; None stands for padding."""
    if instr.op == "insertelement":
        return _sources_of_insertion(instr, lane)
    if instr.op == "extractelement":
        vector, index = instr.operands
        at = lane_number(index, llvm_types.lanes_of(vector.type))
        return [(vector, at)] if at is not None else [*_all_lanes(vector), (index, 0)]
    if instr.op == "shufflevector":
        a, b = instr.operands
        source, count = instr.mask[lane], llvm_types.lanes_of(a.type)
        return [None] if source < 0 else [(a, source) if source < count else (b, source - count)]
    handed_over = builtin_of(instr).handed_over
    operands = [instr.operands[position] for position in handed_over] or instr.operands
    if is_lane_by_lane(instr, operands):
        return [
            (value, lane if isinstance(value.type, ir.Vector) else 0) for value in operands if not isinstance(value, ir.Global)
        ]
    return [source for value in operands if not isinstance(value, ir.Global) for source in _all_lanes(value)]


def _sources_of_insertion(instr: ir.Instr, lane: int) -> list[Source | None]:
    vector, item, index = instr.operands
    at = lane_number(index, llvm_types.lanes_of(instr.type))
    if at is None:
        return [(vector, lane), (item, 0), (index, 0)]
    return [(item, 0)] if at == lane else [(vector, lane)]


def _all_lanes(value: ir.Value) -> list[Source]:
    return [(value, lane) for lane in range(llvm_types.lanes_of(ir.type_of(value)))]


def is_lane_by_lane(instr: ir.Instr, operands: Sequence[ir.Value]) -> bool:
    """Returns whether each lane of the result depends on that lane of vector operands, and on scalars, alone."""
    if instr.op == "call" and not (builtin_of(instr).elementwise or builtin_of(instr).handed_over or as_choice(instr)):
        return not isinstance(instr.type, ir.Vector) and all(llvm_types.lanes_of(ir.type_of(value)) == 1 for value in operands)
    count = llvm_types.lanes_of(instr.type)
    return all(llvm_types.lanes_of(ir.type_of(value)) in (1, count) for value in operands)


def _of_constant(value: ir.Const) -> Reasons:
    if not isinstance(value.type, (ir.Int, ir.Float, ir.Vector, ir.Pointer)):
        return {}
    if value.value is ir.UNDEF:
        return {lane: frozenset({VARIABLE}) for lane in range(llvm_types.lanes_of(value.type))}
    if isinstance(value.value, tuple):
        return {lane: frozenset({VARIABLE}) for lane, item in enumerate(value.value) if item.value is ir.UNDEF}
    return {}
