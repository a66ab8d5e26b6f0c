"""The entry function with the bodies of the functions it calls in their place, so that one plan covers all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from ...base.errors import UnsupportedError
from ..artifact.model import ENTRY, CompiledModel
from ..artifact.validate import walk
from ..artifact.vm_function import Branch, CallVM, Copy, Instruction, Kill, Reg, Return, VMFunction

NAMING = ("dst", "storage", "heap", "name")
"""Fields of instructions that are names of registers."""

T = TypeVar("T")


def inline_calls(model: CompiledModel) -> CompiledModel:
    """`model` with a main that calls no function; itself where that is so already.

    Registers of a callee get its name in front, and a number from its second call on. What a callee holds ends with the
    call. Values that enter or leave it are copies that say so, since TVM's planner leaves their storages alone.
    Raises UnsupportedError for a function that calls itself: how often is known to the run only.
    """
    main = model.functions[ENTRY]
    if not any(isinstance(instruction, CallVM) for instruction in walk(main.body)):
        return model
    body = tuple(_Inliner(model).block(main.body, (ENTRY,)))
    return replace(model, functions={ENTRY: replace(main, body=body)})


class _Inliner:
    def __init__(self, model: CompiledModel):
        self.model = model
        self.taken = {name.partition(".")[0] for name in _names(model.functions[ENTRY].body)}

    def block(self, body: tuple[Instruction, ...], stack: tuple[str, ...]) -> Iterator[Instruction]:
        """The instructions of `body`, which functions `stack` led to, without calls."""
        for instruction in body:
            if isinstance(instruction, CallVM):
                yield from self.call(instruction, stack)
            elif isinstance(instruction, Branch):
                then, otherwise = (tuple(self.block(side, stack)) for side in (instruction.then, instruction.otherwise))
                yield replace(instruction, then=then, otherwise=otherwise)
            else:
                yield instruction

    def call(self, call: CallVM, stack: tuple[str, ...]) -> Iterator[Instruction]:
        name = call.function
        if name in stack:
            raise UnsupportedError(
                f"unsupported: {' calls '.join((*stack, name))}: a function that calls itself has no memory plan"
            )
        callee = _rename_registers(self.model.functions[name], self.prefix(name))
        for param, argument in zip(callee.params, call.args, strict=True):
            yield Copy(param, argument, f"passed to {name}")
        *body, last = callee.body
        assert isinstance(last, Return)
        yield from self.block(tuple(body), (*stack, name))
        yield Copy(call.dst, last.value, f"result of {name}")
        ended = {i.name for i in walk(tuple(body)) if isinstance(i, Kill)}
        made = dict.fromkeys((*callee.params, *(str(getattr(i, "dst")) for i in body if hasattr(i, "dst"))))  # noqa: B009
        yield from (Kill(register) for register in made if register not in ended)

    def prefix(self, name: str) -> str:
        number, found = 0, name
        while found in self.taken:
            number += 1
            found = f"{name}_{number}"
        self.taken.add(found)
        return found


def _names(body: tuple[Instruction, ...]) -> Iterator[str]:
    for instruction in walk(body):
        yield from (str(getattr(instruction, field)) for field in NAMING if hasattr(instruction, field))


def _rename_registers(function: VMFunction, prefix: str) -> VMFunction:
    params = tuple(f"{prefix}.{param}" for param in function.params)
    return VMFunction(function.name, params, _add_prefix(function.body, prefix))


def _add_prefix(value: T, prefix: str) -> T:
    """Instructions, blocks or operands with `prefix` in front of every register."""
    changed: Any = value
    if isinstance(value, tuple):
        changed = tuple(_add_prefix(item, prefix) for item in value)
    elif isinstance(value, Reg):
        changed = Reg(f"{prefix}.{value.name}")
    elif is_dataclass(value) and not isinstance(value, type):
        of: dict[str, Any] = {field.name: getattr(value, field.name) for field in fields(value)}
        named = {name: f"{prefix}.{item}" if name in NAMING else _add_prefix(item, prefix) for name, item in of.items()}
        changed = replace(value, **named)
    return changed
