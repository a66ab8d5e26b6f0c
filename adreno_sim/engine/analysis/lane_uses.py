"""Which lanes of a value are used. Loading a lane that is only moved or ignored is no defect."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of

Lanes = frozenset[int]


@dataclass(frozen=True)
class Demand:
    """`hard`: lanes that are used in any case. `soft`: lanes that are selected or replaced first, and may not be used."""

    hard: Lanes = frozenset()
    soft: Lanes = frozenset()

    def __or__(self, other: Demand) -> Demand:
        hard = self.hard | other.hard
        return Demand(hard, (self.soft | other.soft) - hard)

    @property
    def any(self) -> Lanes:
        return self.hard | self.soft


_ELEMENTWISE = {
    "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor",
    "shl", "lshr", "ashr", "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "icmp", "fcmp",
}  # fmt: skip


def is_elementwise(instr: ir.Instr) -> bool:
    """Returns whether each lane of a vector result depends on that lane of the operands (and on scalars) alone: to compute it
    is no use of other lanes."""
    if not isinstance(instr.type, ir.Vector):
        return False
    return instr.op in _ELEMENTWISE or (instr.op == "call" and builtin_of(instr).elementwise)


def as_choice(instr: ir.Instr) -> tuple[ir.Value, ir.Value, ir.Value] | None:
    """Returns (condition, value if true, value if false) of a select instruction or built-in; None for others. A condition that
    is a vector chooses lane by lane."""
    if instr.op == "select":
        condition, yes, no = instr.operands
        return condition, yes, no
    if instr.callee is not None and instr.callee.name == "select":
        no, yes, condition = instr.operands
        return condition, yes, no
    return None


def lane_number(index: ir.Value, count: int) -> int | None:
    """Returns the lane of a constant index; None if the index varies."""
    return index.value % count if isinstance(index, ir.Const) and isinstance(index.value, int) else None


class LaneUses:
    """The uses of each value of a function, and the lanes they demand."""

    def __init__(self, function: ir.Function):
        self._users: dict[int, list[tuple[ir.Instr, int]]] = {}
        self._known: dict[int, Demand] = {}
        for block in function.blocks:
            for instr in block.instrs:
                for position, operand in enumerate(instr.operands):
                    self._users.setdefault(id(operand), []).append((instr, position))

    def demand(self, value: ir.Value) -> Demand:
        """Returns the demand for the lanes of `value`."""
        known = self._known.get(id(value))
        if known is None:
            self._known[id(value)] = demand_all(value)  # what a cycle sees
            known = Demand()
            for user, position in self._users.get(id(value), ()):
                known |= self._demand_through(value, user, position)
            self._known[id(value)] = known
        return known

    def _demand_through(self, value: ir.Value, user: ir.Instr, position: int) -> Demand:
        count = llvm_types.lanes_of(value.type)
        choice = as_choice(user)
        if choice is not None and user.operands[position] is not choice[0]:
            return Demand(soft=self.demand(user).any)
        if user.op == "shufflevector":
            return _map_lanes(self.demand(user), _sources(user, position, count))
        if user.op == "extractelement" and position == 0:
            lane = lane_number(user.operands[1], count)
            return demand_all(value) if lane is None else _map_lanes(self.demand(user), {0: lane})
        if user.op == "insertelement" and position < 2:
            return self._demand_through_insert(user, position)
        if position in builtin_of(user).handed_over:  # perhaps another work-item's is taken
            return Demand(soft=self.demand(user).any)
        if user.op in ("freeze", "bitcast") or (is_elementwise(user) and isinstance(value.type, ir.Vector)):
            return self.demand(user) if llvm_types.lanes_of(user.type) == count else demand_all(value)
        return demand_all(value)

    def _demand_through_insert(self, user: ir.Instr, position: int) -> Demand:
        count = llvm_types.lanes_of(user.type)
        lane = lane_number(user.operands[2], count)
        whole = self.demand(user)
        if position == 1:
            return whole if lane is None else _map_lanes(whole, {lane: 0})
        return Demand(soft=whole.any - {lane})


def demand_all(value: ir.Value) -> Demand:
    """Returns a hard demand for all lanes."""
    return Demand(frozenset(range(llvm_types.lanes_of(value.type))))


def _sources(shuffle: ir.Instr, position: int, count: int) -> dict[int, int]:
    """Maps result lanes of a shuffle to the lanes of the operand at `position` they come from."""
    return {lane: source - position * count for lane, source in enumerate(shuffle.mask) if 0 <= source - position * count < count}


def _map_lanes(demand: Demand, sources: dict[int, int]) -> Demand:
    def of(lanes: Lanes) -> Lanes:
        return frozenset(sources[lane] for lane in lanes if lane in sources)

    hard = of(demand.hard)
    return Demand(hard, of(demand.soft) - hard)
