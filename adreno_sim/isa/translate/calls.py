"""Calls of built-in functions: which file translates which."""

from __future__ import annotations

import re

from ...frontend import builtin_library
from ...ir import ir
from ...ir.builtins import builtin_of, is_intrinsic
from ..program import Value
from .arithmetic import pick
from .atomics import call_atomic
from .blocks import inline
from .elementwise import Spelled, find_conversion, find_function
from .exact_functions import find_exact
from .groups import QUERIES, add_barrier, ask_place, call_sub_group
from .hardware_functions import find_native, find_stand_in
from .images import ask_image, make_sampler, read_image, write_image
from .intrinsics import call_intrinsic
from .memory import access_vector
from .translation import Handler, Translation, Values, all_of, lane_type, leaves_of, refuse
from .whole_functions import copy_together, find_whole

_PACKED = re.compile(r"dot_(acc_sat_)?4x8packed_(uu|ss|us|su)_u?int")
_PACKED_OPERATIONS = {"uu": "udot_4x8_uadd", "ss": "sdot_4x8_iadd"}
_DOT_OPERATIONS = frozenset(("qcom_dot8_acc", "qcom_udot8_acc"))
_FENCES = ("mem_fence", "read_mem_fence", "write_mem_fence", "atomic_work_item_fence")


def _call(translation: Translation, instr: ir.Instr) -> Values | None:
    callee = instr.callee
    assert callee is not None
    name, row = callee.name, builtin_of(instr)
    if is_intrinsic(instr):
        return call_intrinsic(translation, instr)
    if name in QUERIES:
        return ask_place(translation, instr)
    if row.vector is not None:
        return access_vector(translation, instr)
    if row.image:
        if row.image == "read":
            return read_image(translation, instr)
        write_image(translation, instr)
        return None
    if name.startswith("get_image"):
        return ask_image(translation, instr)
    if name == "__translate_sampler_initializer":
        return make_sampler(translation, instr)
    if row.atomic:
        return call_atomic(translation, instr)
    if name in ("barrier", "work_group_barrier"):
        add_barrier(translation.program)
        return None
    if name in _FENCES:
        add_barrier(translation.program, waits=False)
        return None
    if name.startswith("async_work_group"):
        copied = copy_together(translation, instr)
        if copied is None:
            raise refuse(f"{name} of {callee.args[0]}", instr)
        return copied
    if name == "wait_group_events":
        add_barrier(translation.program)
        return None
    if "sub_group" in name:
        return call_sub_group(translation, instr)
    if name == "prefetch":
        return None
    if name == "printf":
        translation.omitted.add("printf")
        return (translation.program.constant(0, 32),)
    return _compute(translation, instr, name)


def _compute(translation: Translation, instr: ir.Instr, name: str) -> Values:
    """A function of its operands alone."""
    assert instr.callee is not None
    args = instr.callee.args
    if name.startswith("convert_"):
        return translation.map_lanes(instr, find_conversion(translation, name, args[0]))
    if name.startswith("as_"):
        return translation.handlers["bitcast"](translation, instr)  # type: ignore[return-value]
    if name in ("any", "all"):
        return (_fold_truths(translation, instr, name),)
    if name in ("shuffle", "shuffle2"):
        return _shuffle(translation, instr)
    if _PACKED.fullmatch(name) or name in _DOT_OPERATIONS:
        return (_dot_packed(translation, instr, name),)
    if name.startswith(("native_", "half_")):
        function = find_native(translation, name.partition("_")[2], Spelled(args[0]).bits)
    else:
        function = find_function(translation, name, args)
    if function is not None:
        return translation.map_lanes(instr, function)
    return _call_library(translation, instr, name)


def _fold_truths(translation: Translation, instr: ir.Instr, name: str) -> Value:
    program = translation.program
    signs = [program.op("ilt", value, program.constant(0, program.bits(value))) for value in translation.value(instr.operands[0])]
    found = signs[0]
    for sign in signs[1:]:
        found = program.op("ior" if name == "any" else "iand", found, sign)
    return program.op("b2i32", found)


def _shuffle(translation: Translation, instr: ir.Instr) -> Values:
    program = translation.program
    *sources, mask = map(translation.value, instr.operands)
    values = all_of(sources)
    found = []
    for lane in mask:
        index = translation.resize(lane, 32)
        found.append(pick(translation, values, program.op("iand", index, program.constant(len(values) - 1, 32))))
    return tuple(found)


def _dot_packed(translation: Translation, instr: ir.Instr, name: str) -> Value:
    """Four products of bytes, added: a separate instruction since the 640."""
    match, program = _PACKED.fullmatch(name), translation.program
    values = [translation.scalar(operand) for operand in instr.operands]
    kind = match[2] if match else "uu" if "udot" in name else "su"
    if kind == "us":
        values[:2] = values[1::-1]
    operation = _PACKED_OPERATIONS.get(kind, "sudot_4x8_iadd") + ("_sat" if match and match[1] else "")
    return program.op(operation, *(values if len(values) == 3 else [*values, program.constant(0, 32)]))


def _call_library(translation: Translation, instr: ir.Instr, name: str) -> Values:
    """A function of the project's library, in its place; where that computes in double, what the hardware has for it."""
    callee = instr.callee
    assert callee is not None
    found = builtin_library.scalar_of(callee)
    if found is None:
        raise refuse(f"{name}({', '.join(callee.args)})", instr)
    function = builtin_library.functions([found])[found]
    if function.fact("isa: double", _uses_double):
        whole = find_whole(name)
        if whole is not None:
            translation.stand_ins.add(name)
            return whole(translation, instr)
        bits = Spelled(callee.args[0]).bits
        exact = None if translation.function.relaxed_math else find_exact(translation, name, bits)
        if exact is not None:
            return translation.map_lanes(instr, exact)
        stand_in = find_stand_in(translation, name, bits)
        if stand_in is None:
            raise refuse(f"{name}({', '.join(callee.args)}), which the project's library computes in double", instr)
        translation.stand_ins.add(name)
        return translation.map_lanes(instr, stand_in)
    arguments = [translation.value(operand) for operand in instr.operands]
    count = len(leaves_of(instr.type))
    if found == callee.mangled or (count == 1 and all(len(argument) == 1 for argument in arguments)):
        return inline(translation, function, arguments)
    lanes: list[list[Values]] = [[(one[lane if len(one) > 1 else 0],) for one in arguments] for lane in range(count)]
    return all_of([inline(translation, function, lane) for lane in lanes])


def _uses_double(function: ir.Function) -> bool:
    return any(lane_type(instr.type) == ir.Float(64) for block in function.blocks for instr in block.instrs)


def _remainder(translation: Translation, instr: ir.Instr) -> Values:
    """The remainder of floats, which is the library's fmod."""
    type = lane_type(instr.type)
    assert isinstance(type, ir.Float)
    stand_in = find_stand_in(translation, "fmod", type.bits)
    assert stand_in is not None
    translation.stand_ins.add("fmod")
    return translation.map_lanes(instr, stand_in)


def _fence(translation: Translation, instr: ir.Instr) -> None:
    add_barrier(translation.program, waits=False)


HANDLERS: dict[str, Handler] = {"call": _call, "frem": _remainder, "fence": _fence}
"""By the name of the instruction."""
