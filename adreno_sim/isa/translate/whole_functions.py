"""Functions that do not go lane by lane: lengths of vectors, results through a pointer, copies by a whole group. Of the library's
the hardware's own functions stand here too."""

from __future__ import annotations

import re
from collections.abc import Callable

from ...ir import ir
from ..program import Value
from .groups import find_local_linear_id
from .memory import load, move, place_of, store
from .translation import Translation, Values, bits_of, lane_type, leaves_of

Function = Callable[[Translation, ir.Instr], Values]


def find_whole(name: str) -> Function | None:
    """Returns what translates a call of such a function; None for another function, and where nothing stands for it."""
    return _GEOMETRIC.get(name.removeprefix("fast_")) or _SECOND_RESULT.get(name)


# Lengths


def _dot_with_itself(translation: Translation, values: Values) -> Value:
    op = translation.program.op
    found = op("fmul", values[0], values[0])
    for value in values[1:]:
        found = op("ffma", value, value, found)
    return found


def _length(translation: Translation, instr: ir.Instr) -> Values:
    square = _dot_with_itself(translation, translation.value(instr.operands[0]))
    return (translation.program.op("fsqrt", square),)


def _distance(translation: Translation, instr: ir.Instr) -> Values:
    pairs = zip(*map(translation.value, instr.operands), strict=True)
    apart = tuple(translation.program.op("fsub", one, other) for one, other in pairs)
    return (translation.program.op("fsqrt", _dot_with_itself(translation, apart)),)


def _normalize(translation: Translation, instr: ir.Instr) -> Values:
    values = translation.value(instr.operands[0])
    factor = translation.program.op("frsq", _dot_with_itself(translation, values))
    return tuple(translation.program.op("fmul", value, factor) for value in values)


_GEOMETRIC: dict[str, Function] = {"length": _length, "distance": _distance, "normalize": _normalize}


# A second result through a pointer


def _hand_over(translation: Translation, instr: ir.Instr, values: Values, type: ir.Type) -> None:
    """Writes the second result: a lane of `type` for each lane of the first."""
    leaves = leaves_of(ir.Vector(type, len(values)) if len(values) > 1 else type)  # type: ignore[arg-type]
    store(translation, place_of(translation, instr.operands[-1]), leaves[: len(values)], values, bits_of(type) // 8)


def _by_lanes(function: Callable[[Translation, Value], tuple[Value, Value]], second: Callable[[ir.Type], ir.Type]) -> Function:
    def translate(translation: Translation, instr: ir.Instr) -> Values:
        pairs = [function(translation, value) for value in translation.value(instr.operands[0])]
        _hand_over(translation, instr, tuple(pair[1] for pair in pairs), second(lane_type(instr.type)))
        return tuple(pair[0] for pair in pairs)

    return translate


def _sincos(translation: Translation, x: Value) -> tuple[Value, Value]:
    return translation.program.op("fsin", x), translation.program.op("fcos", x)


def _fract(translation: Translation, x: Value) -> tuple[Value, Value]:
    program = translation.program
    floor = program.op("ffloor", x)
    below_one = program.real(0.99999994 if program.bits(x) == 32 else 0.9995, program.bits(x))
    return program.op("fmin", program.op("fsub", x, floor), below_one), floor


def _modf(translation: Translation, x: Value) -> tuple[Value, Value]:
    whole = translation.program.op("ftrunc", x)
    return translation.program.op("fsub", x, whole), whole


def _frexp(translation: Translation, x: Value) -> tuple[Value, Value]:
    """By the bits of a number that is normal, or 0."""
    program = translation.program
    op, bits = program.op, program.bits(x)
    mantissa, exponents = (10, 5) if bits == 16 else (23, 8)
    mask, middle = (1 << exponents) - 1, (1 << (exponents - 1)) - 2
    field = op("iand", op("ushr", x, program.constant(mantissa, 32)), program.constant(mask, bits))
    fraction = op("ior", op("iand", x, program.constant(~(mask << mantissa), bits)), program.constant(middle << mantissa, bits))
    exponent = op("isub", translation.resize(field, 32), program.constant(middle, 32))
    is_zero = op("feq", x, program.real(0.0, bits))
    return op("bcsel", is_zero, x, fraction), op("bcsel", is_zero, program.constant(0, 32), exponent)


_SECOND_RESULT: dict[str, Function] = {
    "sincos": _by_lanes(_sincos, lambda type: type),
    "fract": _by_lanes(_fract, lambda type: type),
    "modf": _by_lanes(_modf, lambda type: type),
    "frexp": _by_lanes(_frexp, lambda type: ir.Int(32)),
}


# Asynchronous copies

_POINTEE = re.compile(r"(?:.*\s)?u?(char|short|int|long|half|float)(\d*)\*")
_BITS = {"char": 8, "short": 16, "int": 32, "long": 64, "half": 16, "float": 32}


def copy_together(translation: Translation, instr: ir.Instr) -> Values | None:
    """async_work_group_copy, and with a stride: a loop in which the work-items take turns. None for a type that is not known."""
    assert instr.callee is not None
    match = _POINTEE.fullmatch(instr.callee.args[0])
    if match is None:
        return None
    program, bits, lanes = translation.program, _BITS[match[1]], int(match[2] or 1)
    op = program.op
    step = bits // 8 * (4 if lanes == 3 else lanes)
    target, source = (place_of(translation, pointer) for pointer in instr.operands[:2])
    count = translation.resize(translation.scalar(instr.operands[2]), 32)
    strided = "strided" in instr.callee.name
    stride = translation.resize(translation.scalar(instr.operands[3]), 32) if strided else program.constant(1, 32)
    to_local = getattr(target, "space", "") == "shared"
    sizes = [translation.load_uniform(translation.find_local_size() + 4 * number, 32) for number in range(3)]
    group = op("imul", op("imul", sizes[0], sizes[1]), sizes[2])
    number = program.variable(32)
    program.put(number, find_local_linear_id(translation))
    head, body, behind = program.block(), program.block(), program.block()
    program.go(head)
    program.start(head)
    at = program.get(number)
    program.go_if(op("ult", at, count), body, behind)
    program.start(body)
    far = op("imul", at, stride)
    leaves = leaves_of(ir.Vector(ir.Int(bits), lanes) if lanes > 1 else ir.Int(bits))
    moved = move(translation, source, [(far if to_local else at, step)], 0)
    found = load(translation, moved, leaves, bits // 8)
    store(translation, move(translation, target, [(at if to_local else far, step)], 0), leaves, found, bits // 8)
    program.put(number, op("iadd", at, group))
    program.go(head)
    program.start(behind)
    return (program.constant(0, 32),)
