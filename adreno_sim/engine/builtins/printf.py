"""printf: arguments are stored in a buffer, and the text is made after the launch.

A record consists of 64-bit words: number of the call, linear group, local id, then one word per scalar of the arguments.
"""

from __future__ import annotations

import re
import struct

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.provenance import is_pointer
from ...ir.unsupported import unsupported
from ..abi import context
from ..emit.access import emit_address_as_int
from ..emit.builtin_registry import builtin
from ..emit.diagnostic_sites import DiagnosticSite
from ..emit.emitter import Emitter
from ..emit.half_arithmetic import extend
from ..emit.unit import PrintCall
from ..llvm.constants import data_bytes

HEADER = 3


def find_string(value: ir.Value) -> str | None:
    """Returns the text that a constant string pointer points to; None for other pointers."""
    target, offset = value, 0
    if isinstance(value, ir.Const) and isinstance(value.value, ir.GlobalOffset):
        target, offset = value.value.target, value.value.offset
    if not isinstance(target, ir.Global) or target.initializer is None:
        return None
    data = data_bytes(target.initializer, target.type)[offset:]
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


@builtin("printf")
def _printf(e: Emitter, instr: ir.Instr) -> None:
    format = find_string(instr.operands[0])
    if format is None:
        raise unsupported("printf with a format that is no string literal", instr.loc)
    arguments = instr.operands[1:]
    _check_count(e, format, len(arguments))
    strings = tuple(find_string(v) if is_pointer(v) else None for v in arguments)
    e.unit.prints.append(PrintCall(format, tuple(v.type for v in arguments), strings))
    words = [str(len(e.unit.prints) - 1), *e.report_ids(e.body)]
    for value in arguments:
        words += _words(e, value)
    _append(e, words)
    e.define(instr, "0")


def _check_count(e: Emitter, format: str, given: int) -> None:
    """Emits a report of a printf whose format wants more arguments than there are (OpenCL C 6.15.14). More are allowed."""
    wanted = sum(match["kind"] != "%" for match in _SPEC.finditer(format))
    if wanted > given:
        follow = f"{given or 'no'} argument{' follows' if given == 1 else 's follow'}"
        text = f"printf: the format has {wanted} conversion{'s' if wanted > 1 else ''}, but {follow}"
        e.report_if("true", DiagnosticSite(Kind.WRONG_ARGUMENT, e.loc, text=text))


def _words(e: Emitter, value: ir.Value) -> list[str]:
    """Returns each scalar of an argument as an i64."""
    if is_pointer(value):
        return [emit_address_as_int(e, e.pointer(value))]
    elem, operand = llvm_types.elem_of(value.type), e.value(value)
    if not isinstance(value.type, ir.Vector):
        return [_word(e, elem, operand)]
    vector = llvm_types.spell(value.type)
    lanes = range(value.type.count)
    return [_word(e, elem, e.body.op(f"extractelement {vector} {operand}, i32 {lane}")) for lane in lanes]


def _word(e: Emitter, type: ir.Type, operand: str) -> str:
    t = e.body
    if isinstance(type, ir.Float):
        if type.bits == 16:
            operand, type = extend(e, type, operand), ir.Float(32)
        if type.bits == 32:
            operand = t.op(f"fpext float {operand} to double")
        return t.op(f"bitcast double {operand} to i64")
    assert isinstance(type, ir.Int)
    return operand if type.bits == 64 else t.op(f"sext {type} {operand} to i64")


def _append(e: Emitter, words: list[str]) -> None:
    t = e.body
    size = 8 * len(words)
    at = t.op(f"atomicrmw add ptr {context.field(t, context.PRINT_USED)}, i64 {size} monotonic")
    end = t.op(f"add i64 {at}, {size}")
    fits = t.op(f"icmp ule i64 {end}, {context.read(t, context.PRINT_CAPACITY)}")
    keep, on = t.fresh("print"), t.fresh("on")
    t.branch(fits, keep, on)
    t.block(keep)
    record = t.op(f"getelementptr i8, ptr {context.read(t, context.PRINT_BUFFER, 'ptr')}, i64 {at}")
    for number, word in enumerate(words):
        t.do(f"store i64 {word}, ptr {t.op(f'getelementptr i8, ptr {record}, i64 {8 * number}')}, align 8")
    t.jump(on)
    t.block(on)


_SPEC = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>\.\d*)?(?P<vector>v(?:2|3|4|8|16))?(?P<length>hh|hl|h|l)?"
    r"(?P<kind>[diouxXfFeEgGaAcsp%])"
)


def format_text(print_call: PrintCall, words: list[int]) -> str:
    """Returns the text of one printf, from its recorded words."""
    queue = list(words)
    arguments = []
    for type, string in zip(print_call.arguments, print_call.strings, strict=True):
        count = llvm_types.lanes_of(type)
        arguments.append((llvm_types.elem_of(type), string, queue[:count]))
        del queue[:count]
    pending = iter(arguments)

    def one(match: re.Match[str]) -> str:
        if match["kind"] == "%":
            return "%"
        argument = next(pending, None)
        if argument is None:
            return match[0]
        elem, string, values = argument
        return ",".join(_scalar(match, elem, string, value) for value in values)

    return _SPEC.sub(one, print_call.format)


def _scalar(match: re.Match[str], type: ir.Type, string: str | None, word: int) -> str:
    kind, spec = match["kind"], f"%{match['flags']}{match['width']}{match['precision'] or ''}"
    if kind == "s":
        return (spec + "s") % (string if string is not None else "(not a string literal)")
    if kind == "p":
        return f"0x{word:x}"
    if kind == "c":
        return chr(word & 0xFF)
    if kind in "aA":
        text = float.hex(_as_double(word))
        return text.upper() if kind == "A" else text
    if kind in "fFeEgG":
        return (spec + kind) % _as_double(word)
    bits = {"hh": 8, "h": 16, "hl": 32, "l": 64}.get(match["length"] or "", type.bits if isinstance(type, ir.Int) else 32)
    word &= (1 << bits) - 1
    if kind in "di" and word >> (bits - 1):
        word -= 1 << bits
    return (spec + ("d" if kind in "diu" else kind)) % word


def _as_double(word: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", word))[0])
