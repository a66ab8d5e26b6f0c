"""Declarations that give a variable no value, of the variables that stay in memory.

Only in a loop do they matter: there a variable loses in every iteration what it had in the one before (C11, 6.2.4p6). Elsewhere
it has no value yet, as every variable at the start of a work-item.
"""

from __future__ import annotations

from ...ir import layout
from ...ir.cfg import predecessors, reverse_postorder
from ...ir.ir import PRIVATE, Block, Const, Function, Instr, Int, Param, Pointer, Void


def separate_result(function: Function) -> None:
    """Gives the variable that a function returns separate memory.

    clang declares it where the caller needs the result. That may be a part of another variable, which does not lose its value as
    a whole, and a temporary one that nothing declares.
    """
    declared = [i for block in function.blocks for i in block.instrs if i.op == "undefine" and isinstance(i.operands[0], Param)]
    if not declared:
        return
    result, type = declared[0].operands[0], declared[0].elem
    assert type is not None
    variable = Instr("alloca", Pointer(PRIVATE), elem=type, name=f"{function.name}.result")
    for block in function.blocks:
        for instr in block.instrs:
            instr.operands = [variable if operand is result else operand for operand in instr.operands]
        if (last := block.instrs[-1]).op == "ret":
            block.instrs.insert(-1, Instr("memcpy", Void(), [result, variable, Const(Int(64), layout.size_of(type))], last.loc))
    function.blocks[0].instrs.insert(0, variable)


def drop_first_declarations(function: Function) -> None:
    """Removes each `undefine` that no work-item executes twice."""
    if not any(instr.op == "undefine" for block in function.blocks for instr in block.instrs):
        return
    repeated = _find_repeated(function)
    for block in function.blocks:
        if block not in repeated:
            block.instrs = [instr for instr in block.instrs if instr.op != "undefine"]


def _find_repeated(function: Function) -> set[Block]:
    """Returns the blocks on a cycle of the control flow: the strongly connected components with more than one block, or with an
    edge to itself (Kosaraju's algorithm)."""
    order, seen = reverse_postorder(function.blocks[0]), set[Block]()
    sources = predecessors(order)
    repeated = {block for block in order if block in block.successors}
    for root in order:
        if root in seen:
            continue
        component, pending = [], [root]
        seen.add(root)
        while pending:
            block = pending.pop()
            component.append(block)
            for source in sources[block]:
                if source not in seen:
                    seen.add(source)
                    pending.append(source)
        if len(component) > 1:
            repeated.update(component)
    return repeated
