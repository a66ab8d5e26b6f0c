"""Which half values hold no denormal where a launch flushes them: results of arithmetic, and what only moves these."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of

_ARITHMETIC = {"fadd", "fsub", "fmul", "fdiv"}
_MOVES = {"phi", "select", "shufflevector", "insertelement", "extractelement", "freeze", "fneg"}
_EXPONENT = 0x7C00


class NormalHalves:
    """The values of a function that are zero, normal, infinite or NaN in every lane, if each result of arithmetic is flushed.

    A value that goes round a loop, or is in a private variable, is one if all that gets there is: each is taken for one until
    something that it is made from is none. The value of a variable that nobody wrote is undefined, and is not considered.
    """

    def __init__(self, function: ir.Function):
        instrs = [instr for block in function.blocks for instr in block.instrs]
        sources = {id(instr): [v for v in instr.operands if _is_half(v)] for instr in instrs if _is_move(instr)}
        sources |= _loads_of_variables(instrs)
        self._found = {id(instr) for instr in instrs if id(instr) in sources or _is_arithmetic(instr)}
        dependents: dict[int, list[int]] = {}
        for made, values in sources.items():
            for value in values:
                dependents.setdefault(id(value), []).append(made)
        work = list(sources)
        while work:
            made = work.pop()
            if made in self._found and not all(map(self.holds, sources[made])):
                self._found.discard(made)
                work += dependents.get(made, ())

    def holds(self, value: ir.Value) -> bool:
        """Returns whether `value` has no denormal in any lane."""
        if isinstance(value, ir.Const):
            lanes = value.value if isinstance(value.value, tuple) else (value,)
            return all(_is_normal(lane) for lane in lanes)
        return id(value) in self._found


def _loads_of_variables(instrs: Sequence[ir.Instr]) -> dict[int, list[ir.Value]]:
    """Maps each load from a private variable, by id, to all values that are stored to the variable. Loads of variables whose
    address goes elsewhere, or that hold other bits than halves, are left out."""
    users: dict[int, list[ir.Instr]] = {}
    for instr in instrs:
        for operand in instr.operands:
            users.setdefault(id(operand), []).append(instr)
    found: dict[int, list[ir.Value]] = {}
    for variable in (instr for instr in instrs if instr.op == "alloca"):
        loads, values, known = [], [], True
        addresses: list[ir.Value] = [variable]
        while addresses and known:
            address = addresses.pop()
            for user in users.get(id(address), ()):
                if user.op == "gep" and user.operands[0] is address:
                    addresses.append(user)
                elif user.op == "undefine":
                    continue
                elif _reads(user, address):
                    loads.append(user)
                elif (value := _written(user, address)) is not None and _is_half(value):
                    values.append(value)
                else:
                    known = False
        if known:
            found |= {id(load): values for load in loads if _is_half(load)}
    return found


def _reads(user: ir.Instr, address: ir.Value) -> bool:
    row = builtin_of(user).vector
    return user.op == "load" or (row is not None and not row.stores and not row.half and user.operands[1] is address)


def _written(user: ir.Instr, address: ir.Value) -> ir.Value | None:
    """Returns what a store writes to `address`; None for other instructions, and where the address itself is written."""
    row = builtin_of(user).vector
    is_vector = row is not None and row.stores and not row.half
    if user.op != "store" and not is_vector:
        return None
    value, place = user.operands[0], user.operands[2 if is_vector else 1]
    return value if place is address and value is not address else None


def _is_half(value: ir.Value) -> bool:
    return llvm_types.elem_of(value.type) == ir.Float(16)


def _is_move(instr: ir.Instr) -> bool:
    return instr.op in _MOVES and _is_half(instr)


def _is_arithmetic(instr: ir.Instr) -> bool:
    fused = instr.callee is not None and instr.callee.name.split(".")[:2] == ["llvm", "fmuladd"]  # what a * b + c becomes
    return _is_half(instr) and (instr.op in _ARITHMETIC or fused)


def _is_normal(constant: ir.Const) -> bool:
    pattern = constant.value
    if pattern is None:  # all zero
        return True
    return isinstance(pattern, int) and (pattern & _EXPONENT != 0 or pattern & 0x7FFF == 0)
