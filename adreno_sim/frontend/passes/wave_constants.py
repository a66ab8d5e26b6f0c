"""Constant memory that a wave loads itself (cl_qcom_subgroup_constant_load).

`qcom_sub_group_constant_load8(to, from, to_at, from_at, count)` copies `count` elements of 16 bytes to constant memory of the
wave. A `__constant` parameter with the attribute max_constant_size points to it. All work-items of the wave give the same
operands and read the same bytes. So this pass gives each work-item a private array instead. Its values are the same, also if some
work-items of the wave have ended. A read of bytes that no load wrote is an uninitialised read of the array. The buffer that the
host passes is not accessed.

`qcom_sub_group_sync` waits for the copies, which are complete here. `qcom_get_physical_sub_group_id` gives different numbers to
waves that run at the same time, as get_sub_group_id does in a work-group.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from ...ir.ir import (
    CONSTANT,
    OF_WAVE,
    PRIVATE,
    UNDEF,
    Array,
    Callee,
    Const,
    Function,
    Instr,
    Int,
    Param,
    Pointer,
    Value,
    Void,
    type_of,
)

LOAD, SYNC, WAVE_NUMBER = "qcom_sub_group_constant_load8", "qcom_sub_group_sync", "qcom_get_physical_sub_group_id"
_ELEMENT = Array(Int(8), 16)
_WAITS_FOR_LOADS = 1
"""QCOM_CLK_CONST_LOAD_SYNC of the vendor header."""
_LARGEST = 64 << 10
"""Bytes of constant memory that any Adreno has (CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE)."""
_SUB_GROUP_ID = Callee("get_sub_group_id", "_Z16get_sub_group_idv", ())
_DERIVING = ("gep", "phi", "select", "freeze")
_KEEPING = ("ptrtoint", "insertvalue", "insertelement")
_SIZE = re.compile(r"max_constant_size\((\d+)\)")
_SHARED, _OWN = Pointer(CONSTANT), Pointer(PRIVATE)


def load_wave_constants(function: Function) -> None:
    """Replaces the functions of the extension if their memory is known. A call that remains is refused at the launch."""
    names = {instr.callee.name for instr in _instructions(function) if instr.callee is not None}
    if names.isdisjoint((LOAD, SYNC, WAVE_NUMBER)):
        return
    loads = [instr for instr in _instructions(function) if instr.callee is not None and instr.callee.name == LOAD]
    for param in dict.fromkeys(_root(load.operands[0]) for load in loads):
        if param is not None:
            _make_private(function, param)
    for block in function.blocks:
        block.instrs = [made for instr in block.instrs for made in _replace(instr)]


def _instructions(function: Function) -> Iterator[Instr]:
    return (instr for block in function.blocks for instr in block.instrs)


def _root(value: Value) -> Param | None:
    """Returns the parameter to which a chain of address computations adds; None for other pointers."""
    while isinstance(value, Instr) and value.op in ("gep", "freeze"):
        value = value.operands[0]
    return value if isinstance(value, Param) else None


def _read_size(param: Param) -> int:
    """Returns the bytes that max_constant_size gives a parameter, 0 without the attribute or for more than a device has."""
    sizes = [int(found[1]) for word in param.qualifiers if (found := _SIZE.fullmatch(word))]
    return sizes[0] if sizes and sizes[0] <= _LARGEST else 0


def _make_private(function: Function, param: Param) -> None:
    """Replaces a parameter by a private array. Leaves it if its address is stored, or joined with another one."""
    size, derived = _read_size(param), _find_derived(function, param)
    if not size or param.type != _SHARED or derived is None:
        return
    array = Instr("alloca", _OWN, [], function.loc, elem=Array(Int(8), size), align=128, pred=OF_WAVE, name=param.name)
    for instr in _instructions(function):
        instr.operands = [array if operand is param else operand for operand in instr.operands]
        if instr in derived:
            instr.type = _OWN
            instr.operands = [Const(_OWN, o.value) if isinstance(o, Const) and o.type == _SHARED else o for o in instr.operands]
    function.blocks[0].instrs.insert(0, array)


def _find_derived(function: Function, param: Param) -> set[Instr] | None:
    """Returns the pointers that come from a parameter alone; None if one may also come from elsewhere, or is stored."""
    users: dict[int, list[Instr]] = defaultdict(list)
    for instr in _instructions(function):
        if instr.op in _DERIVING and instr.type == _SHARED:
            for operand in instr.operands:
                users[id(operand)].append(instr)
    derived: set[Instr] = set()
    work: list[Value] = [param]
    while work:
        new = [user for user in users[id(work.pop())] if user not in derived]
        derived.update(new)
        work += new
    for instr in _instructions(function):
        own = [operand for operand in instr.operands if operand is param or operand in derived]
        if own and (instr.op in _KEEPING or (instr.op == "store" and instr.operands[0] in own)):
            return None
        if instr in derived and any(type_of(o) == _SHARED and o not in own and not _is_empty(o) for o in instr.operands):
            return None
    return derived


def _is_empty(value: Value) -> bool:
    """Whether a pointer points to no object."""
    return isinstance(value, Const) and value.value in (None, UNDEF)


def _replace(instr: Instr) -> list[Instr]:
    """Returns what an instruction becomes."""
    name = instr.callee.name if instr.callee is not None else ""
    if name == LOAD and type_of(instr.operands[0]) == _OWN:
        return _copy(instr)
    if name == SYNC and isinstance(instr.operands[0], Const) and instr.operands[0].value == _WAITS_FOR_LOADS:
        return []
    if name == WAVE_NUMBER:
        instr.callee = _SUB_GROUP_ID
    return [instr]


def _copy(load: Instr) -> list[Instr]:
    """Returns the instructions that do the copy of a load."""
    to, source, to_at, source_at, count = load.operands
    first = Instr("gep", _OWN, [to, to_at], load.loc, elem=_ELEMENT)
    second = Instr("gep", type_of(source), [source, source_at], load.loc, elem=_ELEMENT)
    if isinstance(count, Const) and isinstance(count.value, int) and not count.value >> 31:
        return [first, second, Instr("memcpy", Void(), [first, second, Const(Int(64), 16 * count.value)], load.loc)]
    wide = Instr("sext", Int(64), [count], load.loc)
    length = Instr("mul", Int(64), [wide, Const(Int(64), 16)], load.loc)
    return [first, second, wide, length, Instr("memcpy", Void(), [first, second, length], load.loc)]
