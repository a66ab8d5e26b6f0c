"""Vectors of 3 in memory.

clang accesses a vector of 3 as the vector of 4 whose space it takes, with a lane that nobody wrote. Kernel IR loads and
stores three components, so padding is neither read nor written, and does not count as uninitialised.
"""

from __future__ import annotations

from ..ir.ir import UNDEF, Const, Function, Instr, Value, Vector, type_of

_LOAD_NAME = "loadVec"
"""What clang calls such a load; a load of a real 4-vector, as for a source's `.xyz` of it, has another name."""


def drop_vec3_padding(function: Function) -> None:
    """Replaces 4-lane accesses of vectors of 3 by 3-lane ones."""
    padded_loads: set[Value] = set()
    for block in function.blocks:
        for instr in block.instrs:
            if instr.op == "store":
                instr.operands[0] = _without_padding(instr.operands[0])
            elif instr.op == "shufflevector" and _selects_three(instr):
                load = instr.operands[0]
                assert isinstance(load, Instr)
                padded_loads.add(load)
                instr.op, instr.operands, instr.mask = "load", list(load.operands), ()
                instr.align, instr.volatile, instr.loc = load.align, load.volatile, load.loc
    if not padded_loads:
        return
    for block in function.blocks:
        block.instrs = [instr for instr in block.instrs if instr not in padded_loads]


def _without_padding(value: Value) -> Value:
    """The three lanes of a value whose fourth is undefined; `v.xyzz` has the same lanes before it, and a fourth that counts."""
    if isinstance(value, Instr) and value.op == "shufflevector" and value.mask == (0, 1, 2, 3):
        source, other = value.operands
        if not isinstance(other, Const) or other.value is not UNDEF:
            return value
        type = type_of(source)
        if isinstance(type, Vector) and type.count == 3:
            return source
    return value


def _selects_three(shuffle: Instr) -> bool:
    source = shuffle.operands[0]
    if not isinstance(source, Instr) or source.op != "load" or shuffle.mask != (0, 1, 2):
        return False
    return source.name.startswith(_LOAD_NAME) and isinstance(source.type, Vector) and source.type.count == 4
