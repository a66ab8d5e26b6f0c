"""printf: arguments are stored in a buffer, and the text is made after the launch (`run/printed_text.py`)."""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.constant_data import data_bytes
from ...ir.provenance import is_pointer
from ...ir.unsupported import unsupported
from ..abi import context
from ..abi.print_format import Conversion, PrintCall, describe_defects, describe_misfit, fits, fits_size, parse_format
from ..emit.access import emit_address_as_int
from ..emit.builtin_registry import builtin
from ..emit.diagnostic_sites import DiagnosticSite
from ..emit.emitter import Emitter
from ..emit.half_arithmetic import extend


def find_string(value: ir.Value) -> str | None:
    """Returns the text that a constant string pointer points to; None for other pointers."""
    target, offset = value, 0
    if isinstance(value, ir.Const) and isinstance(value.value, ir.GlobalOffset):
        target, offset = value.value.target, value.value.offset
    if not isinstance(target, ir.Global) or target.initializer is None:
        return None
    data = data_bytes(target.initializer, target.type)[offset:]
    return data.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


@builtin("printf")
def _printf(e: Emitter, instr: ir.Instr) -> None:
    format = find_string(instr.operands[0])
    if format is None:
        raise unsupported("printf with a format that is not a string literal", instr.loc)
    arguments = instr.operands[1:]
    strings = tuple(find_string(v) if is_pointer(v) else None for v in arguments)
    call = PrintCall(format, tuple(ir.Pointer(ir.PRIVATE) if is_pointer(v) else v.type for v in arguments), strings)
    for kind, found in ((Kind.WRONG_ARGUMENT, list(_find_defects(call))), (Kind.PRINTED_SIZE, list(_find_sizes(call)))):
        if found:
            e.report_if("true", DiagnosticSite(kind, e.loc, text=f"printf: {'; '.join(found)}"))
    e.unit.prints.append(call)
    words = [str(len(e.unit.prints)), *e.report_ids(e.body)]
    for value in arguments:
        words += _words(e, value)
    _append(e, words)
    e.define(instr, "0")


def _find_defects(call: PrintCall) -> Iterator[str]:
    """Describes what is undefined in a call (OpenCL C 6.15.14). More arguments than conversions are allowed."""
    wanted = [part for part in parse_format(call.format) if isinstance(part, Conversion)]
    for conversion in wanted:
        yield from describe_defects(conversion)
    taking, given = sum(bool(conversion.kind) for conversion in wanted), len(call.arguments)
    if taking > given:
        follow = f"{given or 'no'} argument{' follows' if given == 1 else 's follow'}"
        yield f"the format has {taking} conversion{'s' if taking > 1 else ''}, but {follow}"
    for conversion, type, string in _match_arguments(call):
        if not (fits_size(conversion, type, string) or _differs_in_size(conversion, type, string)):
            yield describe_misfit(conversion, type)


def _find_sizes(call: PrintCall) -> Iterator[str]:
    """Describes integers of another size: undefined as well, and what many kernels do (%d of an id)."""
    for conversion, type, string in _match_arguments(call):
        if _differs_in_size(conversion, type, string):
            yield describe_misfit(conversion, type)


def _differs_in_size(conversion: Conversion, type: ir.Type, string: str | None) -> bool:
    """Returns True for one integer where the conversion takes one of another size."""
    return conversion.lanes == 1 and fits(conversion, type, string) and not fits_size(conversion, type, string)


def _match_arguments(call: PrintCall) -> Iterator[tuple[Conversion, ir.Type, str | None]]:
    taking = [part for part in parse_format(call.format) if isinstance(part, Conversion) and part.kind]
    return zip(taking, call.arguments, call.strings, strict=False)


def _words(e: Emitter, value: ir.Value) -> list[str]:
    """Returns each scalar of an argument as an i64."""
    if is_pointer(value):
        return [emit_address_as_int(e, e.pointer(value))]
    elem = llvm_types.elem_of(value.type)
    if not isinstance(elem, (ir.Int, ir.Float)):  # an event, a sampler, an image: no conversion takes one, which is a finding
        return ["0"]
    operand = e.value(value)
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
