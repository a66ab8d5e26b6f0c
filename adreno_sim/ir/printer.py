"""Kernel IR as text for people: one instruction a line, in the manner of LLVM. Nothing reads it back.

A value has the name that it has in the source where one is known, else a number; names that occur more than once get a number
behind a dot. A block's label is followed by its predecessors, an instruction by its place in the source: line:column, and the
lines of the calls through which an inlined helper came. Arguments of built-in functions have their OpenCL spelling, because
the types of kernel IR lack signedness.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable

from . import ir
from .cfg import predecessors
from .queries import globals_of

_COMMENT = 64
"""The least column of comments."""
_FLOATS = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}
_SPACES = {ir.PRIVATE: "", ir.GLOBAL: "global ", ir.CONSTANT: "constant ", ir.LOCAL: "local ", ir.GENERIC: "generic "}
_MOST_ITEMS = 16
"""Items of a constant that are printed."""


class ValueNames:
    """The names of the values and blocks of one function, each unique, without sigils."""

    def __init__(self, function: ir.Function):
        self._names: dict[int, str] = {}
        self._taken: dict[str, int] = {}
        self._labels: dict[int, str] = {}
        labels: dict[str, int] = {}
        for param in function.params:
            self._names[id(param)] = _unique(param.name or f"arg{param.index}", self._taken)
        number = 0
        for block in function.blocks:
            self._labels[id(block)] = _unique(block.name or "block", labels)
            for instr in block.instrs:
                if instr.name and not instr.name.isdigit():
                    self._names[id(instr)] = _unique(instr.name, self._taken)
                elif not isinstance(instr.type, ir.Void):
                    self._names[id(instr)], number = str(number), number + 1

    def of(self, value: ir.Value) -> str:
        """Returns the name of a value, or the text of a constant."""
        if isinstance(value, ir.Const):
            return constant_text(value)
        return value.name if isinstance(value, ir.Global) else self._names.get(id(value), "?")

    def operand(self, value: ir.Value) -> str:
        """Returns a value as an operand: its name with a sigil, or the text of a constant."""
        if isinstance(value, ir.Const):
            return constant_text(value)
        return ("@" if isinstance(value, ir.Global) else "%") + self.of(value)

    def label(self, block: ir.Block) -> str:
        return self._labels.get(id(block), block.name)


def _unique(name: str, taken: dict[str, int]) -> str:
    """Returns `name`, or where that is taken the name with the next free number."""
    while name in taken:
        taken[name] += 1
        name = f"{name}.{taken[name]}"
    taken[name] = 0
    return name


def print_function(function: ir.Function, names: ValueNames | None = None) -> str:
    """Returns a function as text that ends with a newline: program-scope variables that it uses, signature, blocks."""
    names = names or ValueNames(function)
    lines = [_global_line(variable) for variable in globals_of(function)]
    lines += [""] if lines else []
    lines.append(_signature(function, names) + " {")
    incoming = predecessors(function.blocks)
    for number, block in enumerate(function.blocks):
        sources = dict.fromkeys(names.label(source) for source in incoming[block])
        lines += [""] if number else []
        lines.append(_with_comment(f"{names.label(block)}:", f"preds = {', '.join(sources)}" if sources else ""))
        lines += [_with_comment("  " + print_instruction(instr, names), place_text(instr.loc)) for instr in block.instrs]
    return "\n".join([*lines, "}"]) + "\n"


def place_text(loc: ir.SourceLoc) -> str:
    """Returns line:column with the file where it is not the kernel's own, and the lines of the callers; "" if unknown."""
    if not loc.line:
        return ""
    where = f"{loc.file}:" if loc.file else ""
    callers = f", called from {', '.join(map(str, loc.callers))}" if loc.callers else ""
    return f"{where}{loc.line}:{loc.column}{callers}"


def _with_comment(text: str, comment: str) -> str:
    return f"{text:<{_COMMENT}}  ; {comment}" if comment else text


def _signature(function: ir.Function, names: ValueNames) -> str:
    params = ", ".join(f"{param.type} %{names.of(param)}" for param in function.params)
    text = f"{'kernel' if function.is_kernel else 'define'} {function.result} @{function.name}({params})"
    if function.required_work_group_size is not None:
        text += f" reqd_work_group_size({', '.join(map(str, function.required_work_group_size))})"
    if function.required_sub_group_size:
        text += f" qcom_reqd_sub_group_size({function.required_sub_group_size})"
    return text


def _global_line(variable: ir.Global) -> str:
    initial = f" {constant_text(variable.initializer)}" if variable.initializer is not None else ""
    return f"@{variable.name} = {_SPACES.get(variable.space, '')}{variable.type}{initial}, align {variable.align}"


def print_instruction(instr: ir.Instr, names: ValueNames) -> str:
    """Returns one instruction as text, with its result."""
    text = _PRINTERS.get(instr.op, _print_plain)(instr, names)
    return text if isinstance(instr.type, ir.Void) else f"%{names.of(instr)} = {text}"


def constant_text(value: ir.Const) -> str:
    """Returns the value of a constant: signed integers, floats in decimal where that is exact, else their bits."""
    if value.value is ir.UNDEF:
        return "undef"
    if value.value is None:
        return "null" if isinstance(value.type, ir.Pointer) else "zeroinitializer"
    if isinstance(value.value, ir.GlobalOffset):
        return f"@{value.value.target.name}" + (f"+{value.value.offset}" if value.value.offset else "")
    if isinstance(value.value, tuple):
        return _items_text(value.type, value.value)
    if isinstance(value.type, ir.Float) and isinstance(value.value, int):
        return _float_text(value.type.bits, value.value)
    if isinstance(value.type, ir.Int) and isinstance(value.value, int):
        bits = value.type.bits
        return ("true" if value.value else "false") if bits == 1 else str(value.value - (value.value >> (bits - 1) << bits))
    return str(value.value)


def _items_text(type: ir.Type, items: tuple[ir.Const, ...]) -> str:
    left, right = ("<", ">") if isinstance(type, ir.Vector) else ("{ ", " }") if isinstance(type, ir.Struct) else ("[", "]")
    shown = [constant_text(item) for item in items[:_MOST_ITEMS]]
    return left + ", ".join(shown + ([f"... {len(items)} items"] if len(items) > _MOST_ITEMS else [])) + right


def _float_text(bits: int, pattern: int) -> str:
    """Returns the shortest decimal number that has these bits; the bits themselves for infinities and NaNs."""
    whole, real = _FLOATS[bits]
    (number,) = struct.unpack(real, struct.pack(whole, pattern))
    if not math.isfinite(number):
        return f"0x{pattern:0{bits // 4}x}"
    digits = next(n for n in range(1, 18) if struct.pack(real, float(f"{number:.{n}g}")) == struct.pack(real, number))
    text = f"{number:.{digits}g}"
    return text if any(sign in text for sign in ".e") else text + ".0"


# One function for each form of instruction


def _typed(value: ir.Value, names: ValueNames) -> str:
    return f"{ir.type_of(value)} {names.operand(value)}"


def _list(values: Iterable[ir.Value], names: ValueNames) -> str:
    return ", ".join(_typed(value, names) for value in values)


def _print_plain(instr: ir.Instr, names: ValueNames) -> str:
    """The operation and its operands, each with its type: also what an operation without a form of its own becomes."""
    volatile = " volatile" if instr.volatile else ""
    return f"{instr.op}{volatile} {_list(instr.operands, names)}".rstrip()


def _print_alike(instr: ir.Instr, names: ValueNames) -> str:
    """Operands of one type, which is written once."""
    pred = f" {instr.pred}" if instr.pred else ""
    values = ", ".join(map(names.operand, instr.operands))
    return f"{instr.op}{pred} {ir.type_of(instr.operands[0])} {values}"


def _print_cast(instr: ir.Instr, names: ValueNames) -> str:
    return f"{instr.op} {_typed(instr.operands[0], names)} to {instr.type}"


def _print_lanes(instr: ir.Instr, names: ValueNames) -> str:
    lanes = ", ".join(str(lane) if lane >= 0 else "undef" for lane in instr.mask)
    return f"{instr.op} {_list(instr.operands, names)}, <{lanes}>"


def _print_fields(instr: ir.Instr, names: ValueNames) -> str:
    return f"{instr.op} {_list(instr.operands, names)}, {', '.join(map(str, instr.indices))}"


def _print_alloca(instr: ir.Instr, names: ValueNames) -> str:
    count = f", {_list(instr.operands, names)}" if instr.operands else ""
    return f"alloca {instr.elem}{count}, align {instr.align}"


def _print_access(instr: ir.Instr, names: ValueNames) -> str:
    volatile, result = " volatile" if instr.volatile else "", f" {instr.type}," if instr.op == "load" else ""
    return f"{instr.op}{volatile}{result} {_list(instr.operands, names)}, align {instr.align}"


def _print_gep(instr: ir.Instr, names: ValueNames) -> str:
    return f"gep {instr.elem}, {_list(instr.operands, names)}"


def _print_atomic(instr: ir.Instr, names: ValueNames) -> str:
    return f"{instr.op} {instr.pred} {_list(instr.operands, names)}"


def _print_call(instr: ir.Instr, names: ValueNames) -> str:
    assert instr.callee is not None
    spelled = instr.callee.args
    types = spelled if len(spelled) == len(instr.operands) else tuple(str(ir.type_of(v)) for v in instr.operands)
    args = ", ".join(f"{type} {names.operand(v)}" for type, v in zip(types, instr.operands, strict=True))
    return f"call {instr.type} @{instr.callee.name}({args})"


def _print_phi(instr: ir.Instr, names: ValueNames) -> str:
    arms = (f"[ {names.operand(v)}, %{names.label(b)} ]" for v, b in zip(instr.operands, instr.blocks, strict=True))
    return f"phi {instr.type} {', '.join(arms)}"


def _print_branch(instr: ir.Instr, names: ValueNames) -> str:
    condition = [_typed(value, names) for value in instr.operands]
    return f"{instr.op} {', '.join([*condition, *(f'label %{names.label(block)}' for block in instr.blocks)])}"


def _print_switch(instr: ir.Instr, names: ValueNames) -> str:
    (value,), (default, *targets) = instr.operands, instr.blocks
    cases = (f"{case}: label %{names.label(target)}" for case, target in zip(instr.cases, targets, strict=True))
    return f"switch {_typed(value, names)}, label %{names.label(default)} [ {', '.join(cases)} ]"


def _print_return(instr: ir.Instr, names: ValueNames) -> str:
    return f"ret {_list(instr.operands, names) or 'void'}"


_ALIKE = (
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor",
    "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "icmp", "fcmp", "freeze",
)  # fmt: skip
_CASTS = (
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "inttoptr", "bitcast",
    "addrspacecast",
)  # fmt: skip
_PRINTERS: dict[str, Callable[[ir.Instr, ValueNames], str]] = {
    **dict.fromkeys(_ALIKE, _print_alike), **dict.fromkeys(_CASTS, _print_cast),
    "shufflevector": _print_lanes, "extractvalue": _print_fields, "insertvalue": _print_fields,
    "alloca": _print_alloca, "undefine": _print_alike, "load": _print_access, "store": _print_access, "gep": _print_gep,
    "atomicrmw": _print_atomic, "call": _print_call, "phi": _print_phi, "br": _print_branch, "condbr": _print_branch,
    "switch": _print_switch, "ret": _print_return,
}  # fmt: skip
