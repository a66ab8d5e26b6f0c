"""Values that may be undefined: private variables that have no value on some path after promotion to SSA, and loads whose
result is only selected, or partly replaced, before it is used.

Each such value has an i1 per lane that is set if the lane is undefined. Copies, selects and elementwise vector operations
propagate these masks. Any other use of an undefined lane is a finding.
"""

from __future__ import annotations

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.memory_ops import is_plain_load
from .uses import ELEMENTWISE, Uses, as_choice, lane_number

VARIABLE, READ, CHOSEN, PADDING = "variable", "read", "chosen", "padding"
"""Why a lane may be undefined. VARIABLE: nothing was assigned. READ: loaded beside lanes that are replaced. CHOSEN: loaded,
then selected. PADDING: added to widen a vector."""

Origins = dict[int, frozenset[str]]
"""Maps a lane that may be undefined to the reasons why."""


class UndefinedValues:
    """The values of a function that may be undefined.

    `deferred`: ids of loads whose undefined lanes are reported at their use. `names`, `reads`: the variable, and the load, of
    a value (by id) if known.
    """

    def __init__(self, function: ir.Function, uses: Uses):
        self._lanes: dict[int, Origins] = {}
        self.deferred: set[int] = set()
        self.names: dict[int, str] = {}
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
            name = instr.name if instr.op == "phi" else self.names.get(id(source), "")
            if name:
                self.names.setdefault(id(instr), name)
            if id(source) in self.reads:
                self.reads.setdefault(id(instr), self.reads[id(source)])
        return True

    def _propagate(self, instr: ir.Instr) -> list[tuple[int, frozenset[str]]]:
        found: list[tuple[int, frozenset[str]]] = []
        for lane in range(llvm_types.lanes_of(instr.type)):
            for source in sources_of_lane(instr, lane):
                if source is None:
                    found.append((lane, frozenset({PADDING})))
                elif (origins := self.lanes(source[0]).get(source[1])) is not None:
                    found.append((lane, origins if as_choice(instr) is None else _through_choice(origins)))
        return found


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
    return len(instr.operands) if instr.op in ELEMENTWISE and isinstance(instr.type, ir.Vector) else 0


def consumed_operands(instr: ir.Instr, undefined: UndefinedValues) -> list[ir.Value]:
    """Returns the operands that may be undefined and that `instr` uses other than by copying or selecting."""
    choice = as_choice(instr)
    if choice is not None:
        operands = [choice[0]]
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
        return [(value, lane) for value in choice[1:]]
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
    return [(value, lane) for value in instr.operands[: copied_operands(instr)]]


def _of_constant(value: ir.Const) -> Origins:
    if not isinstance(value.type, (ir.Int, ir.Float, ir.Vector)):
        return {}
    if value.value is ir.UNDEF:
        return {lane: frozenset({VARIABLE}) for lane in range(llvm_types.lanes_of(value.type))}
    if isinstance(value.value, tuple):
        return {lane: frozenset({VARIABLE}) for lane, item in enumerate(value.value) if item.value is ir.UNDEF}
    return {}
