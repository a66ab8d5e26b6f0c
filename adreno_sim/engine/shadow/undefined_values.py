"""Values that may be undefined: private variables that have no value on some path after promotion to SSA, and loads whose
result is only selected, or partly replaced, before it is used.

Each such value has an i1 per lane that is set if the lane is undefined. Copies, selects and elementwise vector operations
propagate these masks. Any other use of an undefined lane is a finding.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.memory_ops import is_plain_load
from ..analysis.lane_uses import LaneUses, as_choice, is_elementwise, lane_number

VARIABLE, READ, CHOSEN, PADDING = "variable", "read", "chosen", "padding"
"""Why a lane may be undefined. VARIABLE: nothing was assigned. READ: loaded beside lanes that are replaced. CHOSEN: loaded,
then selected. PADDING: added to widen a vector."""

Origins = dict[int, frozenset[str]]
"""Maps a lane that may be undefined to the reasons why."""


class UndefinedValues:
    """The values of a function that may be undefined.

    `deferred`: ids of loads whose undefined lanes are reported at their use. `reads`: the load of a value (by id) if known.
    """

    def __init__(self, function: ir.Function, uses: LaneUses):
        self._lanes: dict[int, Origins] = {}
        self.deferred: set[int] = set()
        self._origins: dict[tuple[int, int], tuple[str, int, int]] = {}
        self.reads: dict[int, ir.Instr] = {}
        instrs = [i for block in function.blocks for i in block.instrs]
        for instr in instrs:
            soft = uses.demand(instr).soft if reads_memory(instr) else ()
            if soft:
                self.deferred.add(id(instr))
                self._lanes[id(instr)] = {lane: frozenset({READ}) for lane in soft}
                self.reads[id(instr)] = instr
        changed = True
        while changed:
            changed = False
            for instr in instrs:
                changed = self._visit(instr) or changed
        self._any = bool(self._lanes) or any(self.lanes(operand) for instr in instrs for operand in instr.operands)

    @property
    def any(self) -> bool:
        """Whether some instruction uses, or results in, a value that may be undefined."""
        return self._any

    def lanes(self, value: ir.Value) -> Origins:
        """Returns the lanes of `value` that may be undefined."""
        return _of_constant(value) if isinstance(value, ir.Const) else self._lanes.get(id(value), {})

    def _visit(self, instr: ir.Instr) -> bool:
        """Propagates from the operands to `instr`. Returns whether anything changed."""
        if isinstance(instr.type, ir.Pointer):
            return False
        found = dict(self._lanes.get(id(instr), {}))
        for lane, origins in self._propagate(instr):
            found[lane] = found.get(lane, frozenset()) | origins
        if not found or found == self._lanes.get(id(instr)):
            return False
        self._lanes[id(instr)] = found
        for source in instr.operands:
            if id(source) in self.reads:
                self.reads.setdefault(id(instr), self.reads[id(source)])
        return True

    def _propagate(self, instr: ir.Instr) -> list[tuple[int, frozenset[str]]]:
        found: list[tuple[int, frozenset[str]]] = []
        choice, handed_over = as_choice(instr), builtin_of(instr).handed_over
        for lane in range(llvm_types.lanes_of(instr.type)):
            for source in sources_of_lane(instr, lane):
                if source is None:
                    found.append((lane, frozenset({PADDING})))
                elif (origins := self.lanes(source[0]).get(source[1])) is not None:
                    chosen = bool(handed_over) or (choice is not None and source[0] is not choice[0])
                    found.append((lane, _through_choice(origins) if chosen else origins))
                    self._note_origin(instr, lane, *source)
        return found

    def _note_origin(self, instr: ir.Instr, lane: int, source: ir.Value, at: int) -> None:
        origin = self._origin(source, at)
        if origin is not None:
            self._origins.setdefault((id(instr), lane), origin)

    def _origin(self, value: ir.Value, lane: int) -> tuple[str, int, int] | None:
        """Returns the variable that is undefined where `lane` of a value is, its lane there, and how many lanes it has."""
        if isinstance(value, ir.Const):
            return (value.name, lane, llvm_types.lanes_of(value.type)) if value.name else None
        return self._origins.get((id(value), lane))

    def describe(self, value: ir.Value, lanes: Sequence[int]) -> str:
        """Returns the variables, and which of their components, that are undefined where these lanes of a value are."""
        components: dict[tuple[str, int], set[int]] = {}
        for lane in lanes:
            origin = self._origin(value, lane)
            if origin is not None:
                components.setdefault((origin[0], origin[2]), set()).add(origin[1])
        described = [name + _component_suffix(at, count) for (name, count), at in components.items()]
        return " and ".join(described) or "a private variable"


def _component_suffix(lanes: set[int], count: int) -> str:
    """Returns how OpenCL C selects these lanes of a vector, as ".xw" or ".s04f"; "" for a scalar."""
    if count == 1:
        return ""
    if count <= 4:
        return "." + "".join("xyzw"[lane] for lane in sorted(lanes))
    return ".s" + "".join(f"{lane:x}" for lane in sorted(lanes))


def _through_choice(origins: frozenset[str]) -> frozenset[str]:
    return frozenset(CHOSEN if origin == READ else origin for origin in origins)


def reads_memory(instr: ir.Instr) -> bool:
    """Returns whether the result is loaded from memory or from an image, lane by lane."""
    if isinstance(instr.type, ir.Pointer):
        return False
    return is_plain_load(instr) or builtin_of(instr).image == "read"


def copied_operands(instr: ir.Instr) -> int:
    """Returns how many leading operands `instr` only copies."""
    if instr.op == "phi":
        return len(instr.operands)
    if instr.op in ("insertelement", "shufflevector"):
        return 2
    if instr.op in ("extractelement", "freeze"):
        return 1
    if instr.op == "bitcast":
        return int(llvm_types.lanes_of(instr.type) == llvm_types.lanes_of(instr.operands[0].type))
    return len(instr.operands) if is_elementwise(instr) and _keep_lanes(instr) else 0


def _keep_lanes(instr: ir.Instr) -> bool:
    """Returns whether all operands have as many lanes as the result, or one."""
    count = llvm_types.lanes_of(instr.type)
    return all(llvm_types.lanes_of(operand.type) in (1, count) for operand in instr.operands)


def consumed_operands(instr: ir.Instr, undefined: UndefinedValues) -> list[ir.Value]:
    """Returns the operands that may be undefined and that `instr` uses other than by copying or selecting."""
    choice = as_choice(instr)
    handed_over = builtin_of(instr).handed_over
    if handed_over:
        operands = [v for position, v in enumerate(instr.operands) if position not in handed_over]
    elif choice is not None:
        operands = [] if isinstance(choice[0].type, ir.Vector) else [choice[0]]
    elif instr.op in ("insertvalue", "extractvalue"):
        operands = []
    else:
        operands = instr.operands[copied_operands(instr) :]
    return [v for v in dict.fromkeys(operands) if undefined.lanes(v)]


Source = tuple[ir.Value, int]


def sources_of_lane(instr: ir.Instr, lane: int) -> list[Source | None]:
    """Returns (operand, lane) pairs that make `lane` of the result undefined if they are; None stands for padding."""
    choice = as_choice(instr)
    if choice is not None:
        return [(value, lane) for value in (choice if isinstance(choice[0].type, ir.Vector) else choice[1:])]
    if instr.op == "insertelement":
        vector, item, index = instr.operands
        at = lane_number(index, llvm_types.lanes_of(instr.type))
        if at is None:
            return [(vector, lane), (item, 0)]
        return [(item, 0)] if at == lane else [(vector, lane)]
    if instr.op == "extractelement":
        vector, index = instr.operands
        at = lane_number(index, llvm_types.lanes_of(vector.type))
        return [(vector, at)] if at is not None else [(vector, n) for n in range(llvm_types.lanes_of(vector.type))]
    if instr.op == "shufflevector":
        a, b = instr.operands
        source, count = instr.mask[lane], llvm_types.lanes_of(a.type)
        return [None] if source < 0 else [(a, source) if source < count else (b, source - count)]
    handed_over = builtin_of(instr).handed_over
    operands = [instr.operands[position] for position in handed_over] or instr.operands[: copied_operands(instr)]
    return [(value, lane if isinstance(value.type, ir.Vector) else 0) for value in operands]


def _of_constant(value: ir.Const) -> Origins:
    if not isinstance(value.type, (ir.Int, ir.Float, ir.Vector)):
        return {}
    if value.value is ir.UNDEF:
        return {lane: frozenset({VARIABLE}) for lane in range(llvm_types.lanes_of(value.type))}
    if isinstance(value.value, tuple):
        return {lane: frozenset({VARIABLE}) for lane, item in enumerate(value.value) if item.value is ir.UNDEF}
    return {}
