"""Blocks, phis and jumps: a function becomes blocks of NIR that jump as its own do. Mesa makes loops and ifs of them."""

from __future__ import annotations

from ...ir import ir
from ...ir.cfg import reverse_postorder
from ...ir.dominators import DominatorTree
from ...ir.loops import natural_loops
from ..program import Variable
from .translation import ElementPointer, Translation, Values, bits_of, leaves_of, refuse


def translate_body(translation: Translation, function: ir.Function, leave: int, result: list[Variable]) -> None:
    """Adds the blocks of a function, from where the program stands. `ret` assigns to `result` and goes to block `leave`."""
    program = translation.program
    order = reverse_postorder(function.blocks[0])
    if natural_loops(DominatorTree(order)) is None:
        raise refuse("a loop with two ways in (a jump into a loop)")
    numbers = {id(block): program.block() for block in order}
    phis = {id(phi): _variables(translation, phi.type) for block in order for phi in block.phis}
    program.go(numbers[id(order[0])])
    for block in order:
        program.start(numbers[id(block)])
        count = len(block.phis)
        for phi in block.instrs[:count]:
            translation.values[id(phi)] = tuple(map(program.get, phis[id(phi)]))
        for instr in block.instrs[count:-1]:
            translate(translation, instr)
        last = block.terminator
        translation.stand_at(last)
        for target in dict.fromkeys(last.blocks):
            _assign_phis(translation, block, target, phis)
        _leave_block(translation, last, [numbers[id(target)] for target in last.blocks], leave, result)


def translate(translation: Translation, instr: ir.Instr) -> None:
    """Adds one instruction."""
    translation.stand_at(instr)
    handler = translation.handlers.get(instr.op)
    if handler is None:
        raise refuse(instr.op, instr)
    found = handler(translation, instr)
    if isinstance(found, ElementPointer):
        translation.elements[id(instr)] = found
    elif found is not None:
        translation.values[id(instr)] = found


def inline(translation: Translation, function: ir.Function, arguments: list[Values]) -> Values:
    """Adds a function of the built-in library instead of its call. All of it has the call's line."""
    translation.inlined += 1
    for parameter, argument in zip(function.params, arguments, strict=True):
        translation.values[id(parameter)] = argument
    behind = translation.program.block()
    result = _variables(translation, function.result)
    translate_body(translation, function, behind, result)
    translation.inlined -= 1
    translation.program.start(behind)
    return tuple(map(translation.program.get, result))


def _variables(translation: Translation, type: ir.Type) -> list[Variable]:
    return [translation.program.variable(bits_of(leaf)) for _, leaf in leaves_of(type)]


def _assign_phis(translation: Translation, block: ir.Block, target: ir.Block, phis: dict[int, list[Variable]]) -> None:
    """Assigns what the phis of a block become when control comes from `block`. Each has a separate variable, read once."""
    incoming = [(phis[id(phi)], translation.value(phi.incoming(block))) for phi in target.phis]
    for variables, values in incoming:
        for variable, value in zip(variables, values, strict=True):
            translation.program.put(variable, value)


def _leave_block(translation: Translation, last: ir.Instr, targets: list[int], leave: int, result: list[Variable]) -> None:
    program = translation.program
    if last.op == "br":
        program.go(targets[0])
    elif last.op == "condbr":
        program.go_if(translation.scalar(last.operands[0]), *targets)
    elif last.op == "switch":
        chosen = translation.scalar(last.operands[0])
        for case, target in zip(last.cases, targets[1:], strict=True):
            following = program.block()
            program.go_if(program.op("ieq", chosen, program.constant(case, program.bits(chosen))), target, following)
            program.start(following)
        program.go(targets[0])
    else:
        if last.op == "ret" and last.operands:
            for variable, value in zip(result, translation.value(last.operands[0]), strict=True):
                program.put(variable, value)
        program.go(leave)
