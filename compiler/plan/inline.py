"""The entry function with the bodies of the functions it calls in their place, so that one plan covers all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...base.errors import UnsupportedError
from ..artifact.model import ENTRY, CompiledModel
from ..artifact.vm_function import Block, CallVM, Copy, Defined, Ended, Instruction, Kill, Reg, Return
from ..artifact.vm_registers import change_blocks, find_operands, find_registers, rename_registers, walk


def inline_calls(model: CompiledModel) -> CompiledModel:
    """`model` with a main that calls no function; itself where that is so already.

    Registers of a callee get its name in front, and a number from its second call on. What a callee holds ends with the
    call. Values that enter or leave it are copies that say so, since TVM's planner leaves their storages alone.
    Raises UnsupportedError for a function that calls itself: how often is known to the run only.
    """
    return inline_with_calls(model)[0]


def inline_with_calls(model: CompiledModel) -> tuple[CompiledModel, dict[str, tuple[int, int]]]:
    """As `inline_calls`; and of each call, by the first part of its registers' names, the instructions [first, last] it became.

    Instructions are counted as `walk` goes.
    """
    main = model.functions[ENTRY]
    if not any(isinstance(instruction, CallVM) for instruction in walk(main.body)):
        return model, {}
    inliner = _Inliner(model)
    body = tuple(inliner.block(main.body, (ENTRY,)))
    spans: dict[str, tuple[int, int]] = {}
    for index, instruction in enumerate(walk(body)):
        operands = (operand.name for operand in find_operands(instruction) if isinstance(operand, Reg))
        for name in (*find_registers(instruction), *operands):
            if (call := name.partition(".")[0]) in inliner.calls and "." in name:
                spans[call] = (spans.get(call, (index, index))[0], index)
    return replace(model, functions={ENTRY: replace(main, body=body)}), spans


class _Inliner:
    def __init__(self, model: CompiledModel):
        self.model = model
        self.calls: set[str] = set()
        self.taken = {name.partition(".")[0] for i in walk(model.functions[ENTRY].body) for name in find_registers(i)}

    def block(self, body: Block, stack: tuple[str, ...]) -> Iterator[Instruction]:
        """The instructions of `body`, which functions `stack` led to, without calls."""
        for instruction in body:
            if isinstance(instruction, CallVM):
                yield from self.call(instruction, stack)
            else:
                yield change_blocks(instruction, lambda block: tuple(self.block(block, stack)))

    def call(self, call: CallVM, stack: tuple[str, ...]) -> Iterator[Instruction]:
        name = call.function
        if name in stack:
            raise UnsupportedError(
                f"unsupported: {' calls '.join((*stack, name))}: a function that calls itself has no memory plan"
            )
        callee, prefix = self.model.functions[name], self.prefix(name)
        params = [f"{prefix}.{param}" for param in callee.params]
        for param, argument in zip(params, call.args, strict=True):
            yield Copy(param, argument, f"passed to {name}")
        *body, last = rename_registers(callee.body, lambda register: f"{prefix}.{register}")
        assert isinstance(last, Return)
        yield from self.block(tuple(body), (*stack, name))
        yield Copy(call.dst, last.value, f"result of {name}")
        gone = {register for i in walk(tuple(body)) for register in find_registers(i, Ended)}
        made = dict.fromkeys((*params, *(register for i in body for register in find_registers(i, Defined))))
        yield from (Kill(register) for register in made if register not in gone)

    def prefix(self, name: str) -> str:
        number, found = 0, name
        while found in self.taken:
            number += 1
            found = f"{name}_{number}"
        self.taken.add(found)
        self.calls.add(found)
        return found
