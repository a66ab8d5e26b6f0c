"""Gives a processor that flushes before it rounds the results of one that flushes after it.

Where denormals are flushed, a result below the least normal number becomes zero. Some processors ask that of the exact result,
others of the rounded one. They differ where the exact result is rounded up to the least normal: the simulated
devices keep that, on every processor.

A product, and a fused multiply-add, is computed once more, enlarged by a power of two: nothing is flushed there. If that is the
enlarged least normal, so is the result. What overflows when it is enlarged is far from the least normal, and so is any sum with
it: its last digit is worth more. A double that becomes a float is compared with the least one that is rounded up. Sums of two
numbers are exact below the least normal; a quotient and a square root are never that near to it.
"""

from __future__ import annotations

import re
import struct

from .text_operands import split_operands, suffix_of

FLUSHING = '"denormal-fp-math"="preserve-sign,preserve-sign"'
"""The attribute of functions that run where denormals are flushed."""
FLUSHING_FLOATS = FLUSHING.replace("fp-math", "fp-math-f32")
"""The same where only those of floats are: LLVM then takes halves and doubles for what they are."""
_FLUSHES = '="preserve-sign,preserve-sign"'

_ENLARGED = 64
"""Binary logarithm of the factor."""
_LEAST = {"float": -126, "double": -1022}
"""Binary logarithms of the least normal numbers."""

_TYPE = r"(<\d+ x (?:float|double)>|float|double)"
_PRODUCT = re.compile(rf"^( +%\S+ = )fmul {_TYPE} (.*)$")
_CONVERSION = re.compile(r"^( +%\S+ = )fptrunc (<\d+ x double>|double) (.*) to (<\d+ x float>|float)$")
_FUSED = re.compile(rf"call {_TYPE} @llvm\.fma\.\w+\(")
_CONSTANT = re.compile(r"(?:splat \((?:float|double) )?0x([0-9A-F]{16})\)?")


def flush_after_rounding(text: str) -> str:
    """Returns the module `text` with the operations replaced whose result may be rounded up to the least normal; itself if
    it flushes no denormals."""
    if not flushes(text):
        return text
    functions: dict[str, str] = {}
    lines = [
        _replace(line, functions) if "fmul" in line or "fptrunc" in line or "@llvm.fma." in line else line
        for line in text.splitlines()
    ]
    known = {found[1] for found in map(_DECLARED.match, lines) if found}
    declared = [line for name, line in _intrinsics(functions).items() if name not in known]
    return "\n".join([*lines, *declared, *functions.values(), ""])


def flushes(text: str) -> bool:
    """Returns whether functions of the module `text` run where denormals are flushed."""
    return _FLUSHES in text


def _replace(line: str, functions: dict[str, str]) -> str:
    """Returns a line that calls one of `functions`, to which it adds; itself if its result is never so near."""
    if product := _PRODUCT.match(line):
        result, type, operands = product.groups()
        a, b = split_operands(operands)
        if any(map(_keeps_size, (a, b))):
            return line
        return f"{result}call {type} {_add(functions, 'multiply', type)}({type} {a}, {type} {b})"
    if conversion := _CONVERSION.match(line):
        result, wide, operand, type = conversion.groups()
        return f"{result}call {type} {_add(functions, 'narrow', type)}({wide} {operand})"
    if not line.startswith("declare"):
        return _FUSED.sub(lambda found: f"call {found[1]} {_add(functions, 'multiply_add', found[1])}(", line)
    return line


def _keeps_size(operand: str) -> bool:
    """Returns whether no product with a constant is rounded up to the least normal: it is at least 1, or a power of two."""
    found = _CONSTANT.fullmatch(operand)
    if not found:
        return False
    bits = int(found[1], 16)
    return abs(struct.unpack(">d", bytes.fromhex(found[1]))[0]) >= 1 or not bits << 12 & (1 << 64) - 1


def _add(functions: dict[str, str], kind: str, type: str) -> str:
    """Returns the name of the function for an operation on `type`, and adds it to `functions`."""
    name = f"@{kind}.{suffix_of(type)}"
    if name not in functions:
        functions[name] = _DEFINE[kind](name, type)
    return name


def _number(type: str, value: float) -> str:
    word = f"0x{struct.pack('>d', value).hex().upper()}"
    return f"splat ({_elem(type)} {word})" if type.startswith("<") else word


def _elem(type: str) -> str:
    return "float" if "float" in type else "double"


def _flags(type: str) -> str:
    return type.replace(_elem(type), "i1")


def _function(name: str, type: str, parameters: str, lines: list[str]) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"define internal {type} {name}({parameters}) alwaysinline nounwind {FLUSHING} {{\n{body}\n}}"


def _choose(type: str) -> list[str]:
    """Lines that return %plain, or what %enlarged says where it is the enlarged least normal."""
    return [
        f"%size = call {type} @llvm.fabs.{suffix_of(type)}({type} %enlarged)",
        f"%least = fcmp oeq {type} %size, {_number(type, 2.0 ** (_LEAST[_elem(type)] + _ENLARGED))}",
        f"%reduced = fmul {type} %enlarged, {_number(type, 2.0**-_ENLARGED)}",
        f"%result = select {_flags(type)} %least, {type} %reduced, {type} %plain",
        f"ret {type} %result",
    ]


def _define_multiply(name: str, type: str) -> str:
    lines = [
        f"%plain = fmul {type} %a, %b",
        f"%large = fmul {type} %a, {_number(type, 2.0**_ENLARGED)}",
        f"%enlarged = fmul {type} %large, %b",
    ]
    return _function(name, type, f"{type} %a, {type} %b", lines + _choose(type))


def _define_multiply_add(name: str, type: str) -> str:
    fma = f"call {type} @llvm.fma.{suffix_of(type)}"
    lines = [
        f"%plain = {fma}({type} %a, {type} %b, {type} %c)",
        f"%large = fmul {type} %a, {_number(type, 2.0**_ENLARGED)}",
        f"%term = fmul {type} %c, {_number(type, 2.0**_ENLARGED)}",
        f"%enlarged = {fma}({type} %large, {type} %b, {type} %term)",
    ]
    return _function(name, type, f"{type} %a, {type} %b, {type} %c", lines + _choose(type))


def _define_narrow(name: str, type: str) -> str:
    """Makes doubles that are rounded up to the least normal float that number before they are converted."""
    wide, least = type.replace("float", "double"), 2.0 ** _LEAST["float"]
    suffix, flags = suffix_of(wide), _flags(wide)
    lines = [
        f"%size = call {wide} @llvm.fabs.{suffix}({wide} %a)",
        f"%near = fcmp oge {wide} %size, {_number(wide, least - 2.0**-151)}",
        f"%below = fcmp olt {wide} %size, {_number(wide, least)}",
        f"%up = and {flags} %near, %below",
        f"%least = call {wide} @llvm.copysign.{suffix}({wide} {_number(wide, least)}, {wide} %a)",
        f"%chosen = select {flags} %up, {wide} %least, {wide} %a",
        f"%result = fptrunc {wide} %chosen to {type}",
        f"ret {type} %result",
    ]
    return _function(name, type, f"{wide} %a", lines)


_DEFINE = {"multiply": _define_multiply, "multiply_add": _define_multiply_add, "narrow": _define_narrow}
_DECLARED = re.compile(r"declare [^@]*@(llvm\.[\w.]+)\(")
_CALLED = re.compile(r"call (\S+|<[^>]*>) @(llvm\.\w+\.\w+)\((.*)\)$", re.MULTILINE)


def _intrinsics(functions: dict[str, str]) -> dict[str, str]:
    """Declarations of the intrinsics that `functions` call, by name."""
    found = {}
    for text in functions.values():
        for type, name, operands in _CALLED.findall(text):
            parameters = ", ".join([type] * len(split_operands(operands)))
            found[name] = f"declare {type} @{name}({parameters})"
    return found
