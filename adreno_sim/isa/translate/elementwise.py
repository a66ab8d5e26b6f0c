"""Built-in functions that NIR has, or that are a few of its operations, lane by lane."""

from __future__ import annotations

import re
from collections.abc import Callable

from ...ir import ir
from ..program import Value
from .arithmetic import cast
from .translation import Translation, refuse

Function = Callable[..., Value]

_TYPE = re.compile(r"(u?)(char|short|int|long|half|float|double)(\d*)")
BITS = {"char": 8, "short": 16, "int": 32, "long": 64, "half": 16, "float": 32, "double": 64}


class Spelled:
    """A type as a built-in's argument spells it: element, sign and lanes."""

    def __init__(self, spelled: str):
        match = _TYPE.fullmatch(spelled)
        if match is None:
            raise refuse(f"an argument of type {spelled}")
        self.unsigned, self.bits, self.is_vector = bool(match[1]), BITS[match[2]], bool(match[3])
        self.is_real = match[2] in ("half", "float", "double")
        if match[2] == "double":
            raise refuse("double: these GPUs do not have it")


def find_function(translation: Translation, name: str, args: tuple[str, ...]) -> Function | None:
    """Returns a function of scalars that computes one lane of a built-in; None if NIR has none."""
    if not args or not _TYPE.fullmatch(args[0]):
        return None
    first = Spelled(args[0])
    if name in _TRUTHS:
        return _make_truth(translation, name, first)
    if name == "bitselect":
        op = translation.program.op
        return lambda a, b, c: op("ior", op("iand", a, op("inot", c)), op("iand", b, c))
    if name == "select":
        return _make_select(translation, Spelled(args[2]))
    table = _REAL if first.is_real else _INTEGER
    found = table.get(name)
    return None if found is None else lambda *values: found(translation, first, *values)


# Truths: 1 for a scalar that is so, all bits for a lane of a vector

_TRUTHS = frozenset(
    [
        "isnan",
        "isinf",
        "isfinite",
        "isequal",
        "isnotequal",
        "isgreater",
        "isless",
        "isgreaterequal",
        "islessequal",
        "signbit",
        "isnormal",
        "islessgreater",
        "isordered",
        "isunordered",
    ]
)


def _make_truth(translation: Translation, name: str, type: Spelled) -> Function:
    program = translation.program
    op, bits = program.op, type.bits
    infinite = 0x7C00 if bits == 16 else 0x7F800000
    smallest = 0x0400 if bits == 16 else 0x00800000
    limit = lambda: program.constant(infinite, bits)  # noqa: E731
    tests: dict[str, Function] = {
        "isnan": lambda x: op("fneu", x, x),
        "isinf": lambda x: op("feq", op("fabs", x), limit()),
        "isfinite": lambda x: op("flt", op("fabs", x), limit()),
        "isnormal": lambda x: op(
            "iand", op("flt", op("fabs", x), limit()), op("fge", op("fabs", x), program.constant(smallest, bits))
        ),
        "signbit": lambda x: op("ilt", x, program.constant(0, bits)),
        "isequal": lambda x, y: op("feq", x, y),
        "isnotequal": lambda x, y: op("fneu", x, y),
        "isless": lambda x, y: op("flt", x, y),
        "isgreater": lambda x, y: op("flt", y, x),
        "islessequal": lambda x, y: op("fge", y, x),
        "isgreaterequal": lambda x, y: op("fge", x, y),
        "islessgreater": lambda x, y: op("ior", op("flt", x, y), op("flt", y, x)),
        "isordered": lambda x, y: op("iand", op("feq", x, x), op("feq", y, y)),
        "isunordered": lambda x, y: op("ior", op("fneu", x, x), op("fneu", y, y)),
    }
    test = tests[name]
    return lambda *values: op("ineg", op(f"b2i{bits}", test(*values))) if type.is_vector else op("b2i32", test(*values))


def _make_select(translation: Translation, condition: Spelled) -> Function:
    """A vector is chosen by the sign of each lane, a scalar by whether it is 0."""
    program = translation.program
    comparison = "ilt" if condition.is_vector else "ine"

    def choose(no: Value, yes: Value, by: Value) -> Value:
        return program.op("bcsel", program.op(comparison, by, program.constant(0, condition.bits)), yes, no)

    return choose


# Floats

_Lane = Callable[..., Value]
"""A function of the translation, the type, and scalars."""


def _plain(name: str) -> _Lane:
    return lambda translation, type, *values: translation.program.op(name, *values)


def _clamp_real(translation: Translation, type: Spelled, x: Value, low: Value, high: Value) -> Value:
    return translation.program.op("fmin", translation.program.op("fmax", x, low), high)


def _round(translation: Translation, type: Spelled, x: Value) -> Value:
    program = translation.program
    sign = program.op("iand", x, program.constant(1 << (type.bits - 1), type.bits))
    half = program.op("ior", sign, program.real(0.49999997 if type.bits == 32 else 0.49976, type.bits))
    return program.op("ftrunc", program.op("fadd", x, half))


def _copy_sign(translation: Translation, type: Spelled, x: Value, y: Value) -> Value:
    program = translation.program
    sign = 1 << (type.bits - 1)
    return program.op(
        "ior", program.op("iand", x, program.constant(~sign, type.bits)), program.op("iand", y, program.constant(sign, type.bits))
    )


def _mix(translation: Translation, type: Spelled, x: Value, y: Value, a: Value) -> Value:
    return translation.program.op("ffma", a, translation.program.op("fsub", y, x), x)


def _step(translation: Translation, type: Spelled, edge: Value, x: Value) -> Value:
    program = translation.program
    return program.op("bcsel", program.op("flt", x, edge), program.real(0.0, type.bits), program.real(1.0, type.bits))


_REAL: dict[str, _Lane] = {
    "fabs": _plain("fabs"), "floor": _plain("ffloor"), "ceil": _plain("fceil"), "trunc": _plain("ftrunc"),
    "rint": _plain("fround_even"), "round": _round, "fmin": _plain("fmin"), "fmax": _plain("fmax"), "min": _plain("fmin"),
    "max": _plain("fmax"), "clamp": _clamp_real, "fma": _plain("ffma"), "mad": _plain("ffma"), "mix": _mix,
    "sqrt": _plain("fsqrt"), "rsqrt": _plain("frsq"), "copysign": _copy_sign, "sign": _plain("fsign"), "step": _step,
}  # fmt: skip


# Integers


def _letter(type: Spelled) -> str:
    return "u" if type.unsigned else "i"


def _signed_pair(name: str) -> _Lane:
    """An operation that NIR has for signed and for unsigned integers."""
    return lambda translation, type, *values: translation.program.op(f"{_letter(type)}{name}", *values)


def _abs(translation: Translation, type: Spelled, x: Value) -> Value:
    return x if type.unsigned else translation.program.op("iabs", x)


def _clamp(translation: Translation, type: Spelled, x: Value, low: Value, high: Value) -> Value:
    letter, op = _letter(type), translation.program.op
    return op(f"{letter}min", op(f"{letter}max", x, low), high)


def _abs_diff(translation: Translation, type: Spelled, x: Value, y: Value) -> Value:
    letter, op = _letter(type), translation.program.op
    return op("isub", op(f"{letter}max", x, y), op(f"{letter}min", x, y))


def _mul24(translation: Translation, type: Spelled, x: Value, y: Value) -> Value:
    return translation.program.op(f"{_letter(type)}mul24", x, y)


def _mad24(translation: Translation, type: Spelled, x: Value, y: Value, z: Value) -> Value:
    return translation.program.op("iadd", _mul24(translation, type, x, y), z)


def _mul_hi(translation: Translation, type: Spelled, x: Value, y: Value) -> Value:
    program, bits = translation.program, type.bits
    if bits >= 32:
        return program.op(f"{_letter(type)}mul_high", x, y)
    wide = [translation.resize(value, 32, not type.unsigned) for value in (x, y)]
    return translation.resize(program.op("ushr", program.op("imul", *wide), program.constant(bits, 32)), bits)


def _mad_hi(translation: Translation, type: Spelled, x: Value, y: Value, z: Value) -> Value:
    return translation.program.op("iadd", _mul_hi(translation, type, x, y), z)


def _mad_sat(translation: Translation, type: Spelled, x: Value, y: Value, z: Value) -> Value:
    program = translation.program
    if type.bits == 64:
        raise refuse("mad_sat of 64 bits")
    wide = [translation.resize(value, 64, not type.unsigned) for value in (x, y, z)]
    total = program.op("iadd", program.op("imul", wide[0], wide[1]), wide[2])
    low, high = _limits(type)  # a sum of unsigned ones is below 2**64, and so is not taken for a negative one
    letter = _letter(type)
    total = program.op(f"{letter}max", total, program.constant(low, 64))
    return translation.resize(program.op(f"{letter}min", total, program.constant(high, 64)), type.bits)


def _popcount(translation: Translation, type: Spelled, x: Value) -> Value:
    return count_bits(translation, x)


def count_bits(translation: Translation, x: Value) -> Value:
    """Returns how many bits are set, in the operand's own type."""
    bits = translation.program.bits(x)
    narrow = x if bits >= 32 else translation.resize(x, 32)
    return translation.resize(translation.program.op("bit_count", narrow), bits)


def _clz(translation: Translation, type: Spelled, x: Value) -> Value:
    return count_leading_zeros(translation, x)


def count_leading_zeros(translation: Translation, x: Value) -> Value:
    """Returns the zeros before the highest bit that is set; all bits for 0."""
    program = translation.program
    op, bits = program.op, program.bits(x)
    if bits == 64:
        high, low = op("unpack_64_2x32_split_y", x), op("unpack_64_2x32_split_x", x)
        return _count_in_halves(translation, count_leading_zeros, high, low)
    wide = translation.resize(x, 32)
    found = op("isub", program.constant(bits - 1, 32), op("ufind_msb", wide))
    return translation.resize(found, bits)


def _ctz(translation: Translation, type: Spelled, x: Value) -> Value:
    return count_trailing_zeros(translation, x)


def count_trailing_zeros(translation: Translation, x: Value) -> Value:
    """Returns the zeros behind the lowest bit that is set; all bits for 0."""
    program = translation.program
    op, bits = program.op, program.bits(x)
    if bits == 64:
        high, low = op("unpack_64_2x32_split_y", x), op("unpack_64_2x32_split_x", x)
        return _count_in_halves(translation, count_trailing_zeros, low, high)
    wide = translation.resize(x, 32)
    found = op("umin", op("find_lsb", wide), program.constant(bits, 32))  # -1 where there is none
    return translation.resize(found, bits)


def _count_in_halves(translation: Translation, count: Callable[[Translation, Value], Value], first: Value, then: Value) -> Value:
    """Returns the zeros of 64 bits as those of `first`, and where it has no bit set those of `then` as well."""
    program = translation.program
    behind = program.op("iadd", count(translation, then), program.constant(32, 32))
    none = program.op("ieq", first, program.constant(0, 32))
    return translation.resize(program.op("bcsel", none, behind, count(translation, first)), 64)


def rotate(translation: Translation, type: Spelled, x: Value, by: Value) -> Value:
    """Rotates to the left."""
    program = translation.program
    count = program.op("iand", translation.resize(by, 32), program.constant(type.bits - 1, 32))
    rest = program.op("iand", program.op("ineg", count), program.constant(type.bits - 1, 32))
    return program.op("ior", program.op("ishl", x, count), program.op("ushr", x, rest))


def _upsample(translation: Translation, type: Spelled, high: Value, low: Value) -> Value:
    program, bits = translation.program, 2 * type.bits
    upper = program.op("ishl", translation.resize(high, bits), program.constant(type.bits, 32))
    return program.op("ior", upper, translation.resize(low, bits))


_INTEGER: dict[str, _Lane] = {
    "abs": _abs, "min": _signed_pair("min"), "max": _signed_pair("max"), "clamp": _clamp, "abs_diff": _abs_diff, "mul24": _mul24,
    "mad24": _mad24, "mul_hi": _mul_hi, "mad_hi": _mad_hi, "mad_sat": _mad_sat, "popcount": _popcount, "clz": _clz, "ctz": _ctz,
    "add_sat": _signed_pair("add_sat"), "sub_sat": _signed_pair("sub_sat"), "hadd": _signed_pair("hadd"),
    "rhadd": _signed_pair("rhadd"), "rotate": rotate, "upsample": _upsample,
}  # fmt: skip


# Conversions

_CONVERSION = re.compile(r"convert_(u?)(char|short|int|long|half|float|double)(\d*)(_sat)?(_rt[ezpn])?")
_ROUNDINGS = {"_rte": "fround_even", "_rtp": "fceil", "_rtn": "ffloor"}


def find_conversion(translation: Translation, name: str, source: str) -> Function:
    """Returns the function of a lane that converts as convert_TYPE does."""
    match, given = _CONVERSION.fullmatch(name), Spelled(source)
    if match is None or match[2] == "double":
        raise refuse(name)
    target, saturates, rounding = Spelled(match[1] + match[2]), bool(match[4]), match[5] or ""
    program = translation.program

    def convert(value: Value) -> Value:
        if given.is_real and target.is_real:
            if target.bits < given.bits:
                return program.op("f2f16_rtz" if rounding == "_rtz" else "f2f16_rtne", value)
            return value if target.bits == given.bits else program.op(f"f2f{target.bits}", value)
        if target.is_real:
            return cast(translation, "uitofp" if given.unsigned else "sitofp", value, ir.Float(target.bits))
        if given.is_real:
            return _to_integer(translation, value, given, target, saturates, rounding)
        if saturates:
            value = _saturate(translation, value, given, target)
        return translation.resize(value, target.bits, not given.unsigned)

    return convert


def _limits(type: Spelled) -> tuple[int, int]:
    return (0, (1 << type.bits) - 1) if type.unsigned else (-(1 << (type.bits - 1)), (1 << (type.bits - 1)) - 1)


def _to_integer(translation: Translation, value: Value, given: Spelled, target: Spelled, saturates: bool, rounding: str) -> Value:
    program = translation.program
    if rounding in _ROUNDINGS:
        value = program.op(_ROUNDINGS[rounding], value)
    if saturates and target.bits < 32:
        low, high = _limits(target)
        wide = program.op("f2f32", value) if given.bits == 16 else value
        value = program.op("fmin", program.op("fmax", wide, program.real(float(low), 32)), program.real(float(high), 32))
    return cast(translation, "fptoui" if target.unsigned else "fptosi", value, ir.Int(target.bits))


def _saturate(translation: Translation, value: Value, given: Spelled, target: Spelled) -> Value:
    program = translation.program
    low, high = _limits(target)
    least, most = _limits(given)
    letter = _letter(given)
    if least < low:
        value = program.op(f"{letter}max", value, program.constant(low, given.bits))
    if most > high:
        value = program.op(f"{letter}min", value, program.constant(high, given.bits))
    return value
