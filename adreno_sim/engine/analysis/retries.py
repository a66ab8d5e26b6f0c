"""Reads whose value only decides what a compare-and-swap at the same address tries: one that is old makes it try again."""

from __future__ import annotations

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.memory_ops import is_plain_load, is_plain_store
from .lane_uses import is_elementwise

_MOVES = {
    "phi", "bitcast", "freeze", "select", "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp",
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor", "shl", "lshr", "ashr",
    "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "icmp", "fcmp", "extractelement", "insertelement", "extractvalue",
}  # fmt: skip
"""Operations that compute a result, and do nothing else."""


class Retries:
    """The instructions of a kernel by number, and their users."""

    def __init__(self, kernel: ir.Function):
        self._instrs = [instr for block in kernel.blocks for instr in block.instrs]
        self._places = {id(instr): (block, at) for block in kernel.blocks for at, instr in enumerate(block.instrs)}
        self._users: dict[int, list[ir.Instr]] = {}
        for instr in self._instrs:
            for operand in instr.operands:
                self._users.setdefault(id(operand), []).append(instr)

    def is_retried(self, number: int) -> bool:
        """Returns whether nothing depends on the value of a load, given as `Unit.instr_number` counts, but what a
        compare-and-swap at its address expects and stores, and whether it is to be done again."""
        load = self._instrs[number - 1] if number else None
        if load is None or not is_plain_load(load) or isinstance(load.type, ir.Vector):
            return False
        variables = self._find_expected(load)
        reached, results = self._reached([load], variables), set[int]()
        exchanges = [i for v in reached for i in self._users.get(id(v), ()) if _expects(i, v) and _is_same(i, load)]
        for exchange in exchanges:
            results.update(map(id, self._reached([exchange], [])))
        known = {id(value) for value in reached}
        swapped = bool(exchanges) or any(self._keep(value, variables) for value in reached)
        return swapped and all(
            self._is_harmless(user, value, load, known, results, variables)
            for value in reached
            for user in self._users.get(id(value), ())
        )

    def _find_expected(self, load: ir.Instr) -> list[ir.Instr]:
        """Returns the private variables that hold what an exchange at the address of a load expects, and nothing else."""
        exchanges = [instr for instr in self._instrs if builtin_of(instr).expects_behind and _is_same(instr, load)]
        pointed = {id(value): value for value in (_uncast(exchange.operands[1]) for exchange in exchanges)}
        variables = [value for value in pointed.values() if isinstance(value, ir.Instr) and value.op == "alloca"]
        return [variable for variable in variables if self._serves_alone(variable, variable, exchanges)]

    def _serves_alone(self, pointer: ir.Instr, variable: ir.Instr, exchanges: list[ir.Instr]) -> bool:
        """Returns whether a variable is only read, written, and compared with by these exchanges."""
        users = self._users.get(id(pointer), ())
        return all(
            self._serves_alone(user, variable, exchanges)
            if _uncast(user) is variable
            else user.op == "undefine" or user in exchanges or _is_access_at(user, pointer)
            for user in users
        )

    def _keep(self, value: ir.Instr, variables: list[ir.Instr]) -> list[ir.Instr]:
        """Returns the stores of a value to one of these variables."""
        users = self._users.get(id(value), ())
        return [user for user in users if is_plain_store(user) and any(_uncast(user.operands[1]) is v for v in variables)]

    def _reads_before_exchange(self, store: ir.Instr) -> list[ir.Instr]:
        """Returns the loads that give what a store to such a variable left there: what is read behind an exchange is what that
        found in memory."""
        variable, found, seen = _uncast(store.operands[1]), list[ir.Instr](), set[ir.Block]()
        block, at = self._places[id(store)]
        pending = [(block, at + 1)]
        while pending:
            block, at = pending.pop()
            for instr in block.instrs[at:]:
                if builtin_of(instr).expects_behind and _uncast(instr.operands[1]) is variable:
                    break
                if is_plain_load(instr) and _uncast(instr.operands[0]) is variable:
                    found.append(instr)
            else:
                fresh = [successor for successor in block.successors if successor not in seen]
                seen.update(fresh)
                pending += [(successor, 0) for successor in fresh]
        return found

    def _is_harmless(
        self,
        user: ir.Instr,
        value: ir.Instr,
        load: ir.Instr,
        known: set[int],
        results: set[int],
        variables: list[ir.Instr],
    ) -> bool:
        if _is_exchange(user):
            return _is_same(user, load) and value is not user.operands[0]
        if user.op in ("condbr", "switch"):  # a comparison with what the exchange found says whether it is done again
            return value.op == "icmp" and any(id(operand) in results for operand in value.operands)
        return id(user) in known or user in self._keep(value, variables)

    def _reached(self, start: list[ir.Instr], variables: list[ir.Instr]) -> list[ir.Instr]:
        """Returns what is computed from values, themselves included, also by way of these variables."""
        found = {id(value): value for value in start}
        pending = list(start)
        while pending:
            value = pending.pop()
            computed = [user for user in self._users.get(id(value), ()) if _computes(user)]
            read = [load for store in self._keep(value, variables) for load in self._reads_before_exchange(store)]
            for user in (*computed, *read):
                if id(user) not in found:
                    found[id(user)] = user
                    pending.append(user)
        return list(found.values())


def _computes(instr: ir.Instr) -> bool:
    return instr.op in _MOVES or is_elementwise(instr) or (instr.op == "call" and builtin_of(instr).elementwise)


def _is_exchange(instr: ir.Instr) -> bool:
    return instr.op == "cmpxchg" or builtin_of(instr).compares or builtin_of(instr).expects_behind


def _is_access_at(instr: ir.Instr, pointer: ir.Value) -> bool:
    """Returns whether an instruction loads or stores there, and keeps no pointer."""
    return is_plain_load(instr) or (is_plain_store(instr) and instr.operands[0] is not pointer)


def _expects(instr: ir.Instr, value: ir.Value) -> bool:
    return _is_exchange(instr) and instr.operands[1] is value


def _is_same(exchange: ir.Instr, load: ir.Instr) -> bool:
    """Returns whether an exchange has the address of a load."""
    return _is_same_address(exchange.operands[0], load.operands[0])


def _is_same_address(a: ir.Value, b: ir.Value) -> bool:
    a, b = _uncast(a), _uncast(b)
    if a is b:
        return True
    if not (isinstance(a, ir.Instr) and isinstance(b, ir.Instr) and a.op == b.op == "gep" and a.elem == b.elem):
        return False
    pairs = list(zip(a.operands, b.operands, strict=False))
    same = all(x is y or _is_same_address(x, y) or _is_same_index(x, y) for x, y in pairs)
    return len(a.operands) == len(b.operands) and same


def _is_same_index(a: ir.Value, b: ir.Value) -> bool:
    if isinstance(a, ir.Const) and isinstance(b, ir.Const):
        return isinstance(a.value, int) and a.value == b.value
    both = isinstance(a, ir.Instr) and isinstance(b, ir.Instr) and a.op == b.op and a.op in ("sext", "zext", "trunc")
    return both and _is_same_index_operand(a, b)


def _is_same_index_operand(a: ir.Value, b: ir.Value) -> bool:
    assert isinstance(a, ir.Instr)
    assert isinstance(b, ir.Instr)
    return a.operands[0] is b.operands[0] or _is_same_index(a.operands[0], b.operands[0])


def _uncast(value: ir.Value) -> ir.Value:
    while isinstance(value, ir.Instr) and (value.op in ("bitcast", "addrspacecast", "freeze") or _stays(value)):
        value = value.operands[0]
    return value


def _stays(gep: ir.Instr) -> bool:
    return gep.op == "gep" and all(isinstance(index, ir.Const) and index.value == 0 for index in gep.operands[1:])
