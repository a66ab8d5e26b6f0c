"""What the body of a function says about memory: the program-scope variables it uses, sizes of private variables, elements of
vectors."""

from __future__ import annotations

from . import ir, llvm_types
from .unsupported import unsupported


def private_bytes(instr: ir.Instr) -> int:
    """Returns the size of a private variable in bytes."""
    count = 1
    if instr.operands:
        number = instr.operands[0]
        if not (isinstance(number, ir.Const) and isinstance(number.value, int)):
            raise unsupported("private array of variable length", instr.loc)
        count = number.value
    assert instr.elem is not None
    return max(1, llvm_types.size_of(instr.elem) * count)


def may_leave_vector(instr: ir.Instr) -> bool:
    """Returns True if `instr` accesses one element of a vector and its index may be beyond the vector. It is then no plain move:
    it can be reported."""
    if instr.op not in ("extractelement", "insertelement"):
        return False
    index, count = instr.operands[-1], llvm_types.lanes_of(instr.operands[0].type)
    assert isinstance(index.type, ir.Int)
    if isinstance(index, ir.Const):
        return isinstance(index.value, int) and index.value >= count
    return 1 << index.type.bits > count


def object_align(nbytes: int) -> int:
    """Returns an alignment for every type that fits in `nbytes`."""
    return min(128, 1 << (nbytes - 1).bit_length())


def globals_of(function: ir.Function) -> list[ir.Global]:
    """Returns the program-scope variables that a function uses, in order of first use."""
    found: dict[str, ir.Global] = {}

    def visit(value: ir.Value) -> None:
        if isinstance(value, ir.Global):
            found.setdefault(value.name, value)
        elif isinstance(value, ir.Const) and isinstance(value.value, ir.GlobalOffset):
            visit(value.value.target)
        elif isinstance(value, ir.Const) and isinstance(value.value, tuple):
            for item in value.value:
                visit(item)

    for block in function.blocks:
        for instr in block.instrs:
            for operand in instr.operands:
                if isinstance(operand, ir.Global) or (isinstance(operand, ir.Const) and not isinstance(operand.value, int)):
                    visit(operand)
    return list(found.values())


def type_of_variable(pointer: ir.Value) -> ir.Type | None:
    """Returns the type of the variable at whose start `pointer` is, if it is the variable itself."""
    if isinstance(pointer, ir.Instr):
        return pointer.elem if pointer.op == "alloca" else None
    if isinstance(pointer, ir.Const) and isinstance(pointer.value, ir.GlobalOffset):
        return pointer.value.target.type if pointer.value.offset == 0 else None
    return pointer.type if isinstance(pointer, ir.Global) else None
