"""Which lanes of a value are used. Loading a lane that is only moved or ignored is not a defect."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...records import dataclass

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


Through = Callable[[Demand], Demand]

_ELEMENTWISE = {
    "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor",
    "shl", "lshr", "ashr", "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "icmp", "fcmp",
}  # fmt: skip


def is_elementwise(instr: ir.Instr) -> bool:
    """Returns whether each lane of a vector result depends on that lane of the operands (and on scalars) alone: computing it does
    not use other lanes."""
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
                self._users.setdefault(id(instr), [])
                for position, operand in enumerate(instr.operands):
                    self._users.setdefault(id(operand), []).append((instr, position))

    def demand(self, value: ir.Value) -> Demand:
        """Returns the demand for the lanes of `value`: of one that is not in the function, all."""
        if id(value) not in self._users:
            return demand_all(value)
        walk = [] if id(value) in self._known else [self._begin(value)]
        while walk:  # no recursion: chains of uses are as long as kernels
            at = walk[-1]
            for user, position in at.users:
                through = _through(at.value, user, position)
                if through is None:
                    at.demand |= demand_all(at.value)
                elif id(user) in self._known:
                    at.demand |= through(self._known[id(user)])
                else:
                    at.through = through
                    walk.append(self._begin(user))
                    break
            else:
                self._known[id(at.value)] = at.demand
                walk.pop()
                if walk:
                    walk[-1].demand |= walk[-1].through(at.demand)
        return self._known[id(value)]

    def _begin(self, value: ir.Value) -> _Step:
        self._known[id(value)] = demand_all(value)  # what a cycle sees
        return _Step(value, iter(self._users.get(id(value), ())))


@dataclass
class _Step:
    """A value whose demand is being found. `through`: what the demand for the examined user asks of the value."""

    value: ir.Value
    users: Iterator[tuple[ir.Instr, int]]
    demand: Demand = Demand()
    through: Through = lambda demand: demand


def _through(value: ir.Value, user: ir.Instr, position: int) -> Through | None:
    """Returns what `user` asks of the lanes of `value`, its operand at `position`, by the demand for `user`; None: all, hard."""
    count = llvm_types.lanes_of(value.type)
    choice = as_choice(user)
    if choice is not None and user.operands[position] is not choice[0]:
        return _as_soft
    if user.op == "shufflevector":
        return _from_lanes(_sources(user, position, count))
    if user.op == "extractelement" and position == 0:
        lane = lane_number(user.operands[1], count)
        return None if lane is None else _from_lanes({0: lane})
    if user.op == "insertelement" and position < 2:
        lane = lane_number(user.operands[2], llvm_types.lanes_of(user.type))
        if position == 0:
            return lambda demand: Demand(soft=demand.any - {lane})
        return (lambda demand: demand) if lane is None else _from_lanes({lane: 0})
    if position in builtin_of(user).handed_over:  # perhaps another work-item's is taken
        return _as_soft
    if user.op in ("freeze", "bitcast") or (is_elementwise(user) and isinstance(value.type, ir.Vector)):
        return (lambda demand: demand) if llvm_types.lanes_of(user.type) == count else None
    return None


def _as_soft(demand: Demand) -> Demand:
    return Demand(soft=demand.any)


def demand_all(value: ir.Value) -> Demand:
    """Returns a hard demand for all lanes."""
    return _demand_first(llvm_types.lanes_of(value.type))


@functools.cache
def _demand_first(count: int) -> Demand:
    return Demand(frozenset(range(count)))


def _sources(shuffle: ir.Instr, position: int, count: int) -> dict[int, int]:
    """Maps result lanes of a shuffle to the lanes of the operand at `position` they come from."""
    return {lane: source - position * count for lane, source in enumerate(shuffle.mask) if 0 <= source - position * count < count}


def _from_lanes(sources: dict[int, int]) -> Through:
    """sources: lane of the user's result -> the lane of the operand that it comes from."""

    def of(lanes: Lanes) -> Lanes:
        return frozenset(sources[lane] for lane in lanes if lane in sources)

    def through(demand: Demand) -> Demand:
        hard = of(demand.hard)
        return Demand(hard, of(demand.soft) - hard)

    return through
