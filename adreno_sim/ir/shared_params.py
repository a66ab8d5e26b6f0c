"""Kernels that reach memory by other pointers than those to the start of their arguments.

A pointer of the IR leads to an object, which is a parameter. A pointer into the middle of an allocation is a parameter that
stands for the whole of it, and a byte offset. An allocation that only pointers in memory lead to is a parameter that nothing
names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields, replace

from . import ir


def add_shared_params(kernel: ir.Function, moved: Sequence[int], reached: int) -> ir.Function:
    """Returns the kernel with parameters behind its own: for each of `moved`, indices of pointers, the bytes by which it leads
    beyond the start of its argument; then `reached` pointers that its body does not name."""
    params = list(kernel.params)
    starts: dict[ir.Param, ir.Instr] = {}
    for index in moved:
        pointer = params[index]
        bytes = ir.Param(f"{pointer.name}: byte", ir.Int(64), len(params), "ulong")
        params.append(bytes)
        starts[pointer] = ir.Instr("gep", pointer.type, [pointer, bytes], kernel.loc, elem=ir.Int(8), name=pointer.name)
    for number in range(reached):
        params.append(ir.Param(f"shared memory {number}", ir.Pointer(ir.GLOBAL), len(params), "void*"))
    given = {field.name: getattr(kernel, field.name) for field in fields(ir.Function)}
    blocks = _copy_body(kernel.blocks, starts)
    text = f"{kernel.digest} {tuple(moved)} {reached}"
    digest = hashlib.sha256(text.encode()).hexdigest() if kernel.digest else ""
    return ir.Function(**given | {"params": params, "blocks": blocks, "digest": digest, "facts": {}})


def _copy_body(blocks: Sequence[ir.Block], starts: dict[ir.Param, ir.Instr]) -> list[ir.Block]:
    copies = {id(block): ir.Block(block.name) for block in blocks}
    values: dict[int, ir.Value] = {id(param): start for param, start in starts.items()}
    for block in blocks:
        for instr in block.instrs:
            values[id(instr)] = copy = replace(instr, blocks=[copies[id(target)] for target in instr.blocks])
            copies[id(block)].instrs.append(copy)
    for made in copies.values():
        for instr in made.instrs:
            instr.operands = [values.get(id(operand), operand) for operand in instr.operands]
    entry = copies[id(blocks[0])]
    entry.instrs[:0] = starts.values()
    return list(copies.values())
