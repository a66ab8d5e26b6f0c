"""Registers let go right after their last use, as a plan counts lives."""

from __future__ import annotations

from ..artifact.vm_function import Block, Branch, Defined, Instruction, Kill, Operand, Reg, Return, Used
from ..artifact.vm_registers import change_blocks, find_operands, find_registers, walk


def kill_after_last_use(body: Block, result: Operand | None = None) -> Block:
    """`body` with each register that it binds ended after the instruction that uses it last; `result` is used after the body.

    Bytes of a placed tensor are given away when it is used no more, so that no register may hold it longer.
    """
    rebuilt = tuple(_inside(i) for i in body if not isinstance(i, Kill))
    last: dict[str, int] = {}
    for point, instruction in enumerate(rebuilt):
        for name in find_registers(instruction, Defined):
            last[name] = point
    for point, instruction in enumerate(rebuilt):
        for inner in walk((instruction,)):
            operands = [operand.name for operand in find_operands(inner) if isinstance(operand, Reg)]
            for name in (*operands, *find_registers(inner, Used)):
                if name in last:
                    last[name] = point
    ends: dict[int, list[Kill]] = {}
    kept = {result.name} if isinstance(result, Reg) else set()
    kept |= {operand.name for i in rebuilt if isinstance(i, Return) for operand in find_operands(i) if isinstance(operand, Reg)}
    for name, point in last.items():
        if name not in kept:
            ends.setdefault(point, []).append(Kill(name))
    out: list[Instruction] = []
    for point, instruction in enumerate(rebuilt):
        out += [instruction, *ends.get(point, [])]
    return tuple(out)


def _inside(instruction: Instruction) -> Instruction:
    if not isinstance(instruction, Branch):
        return instruction
    results = iter((instruction.then_result, instruction.otherwise_result))
    return change_blocks(instruction, lambda block: kill_after_last_use(block, next(results)))
