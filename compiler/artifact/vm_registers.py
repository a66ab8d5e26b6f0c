"""What the instructions of a VMFunction use, bind and contain, found by the types of their fields."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from .vm_function import Block, Defined, Ended, Instruction, Operand, Reg, Used

ROLES = (Defined, Used, Ended)
"""Types of fields that are names of registers."""

_TYPES = {kind: typing.get_type_hints(kind, include_extras=True) for kind in typing.get_args(Instruction)}
"""The fields of each kind of instruction, with their types."""

I = TypeVar("I", bound=Instruction)  # noqa: E741


def walk(body: Block) -> Iterator[Instruction]:
    """Every instruction of a body, branches included, in order."""
    for instruction in body:
        yield instruction
        for block in find_blocks(instruction):
            yield from walk(block)


def find_blocks(instruction: Instruction) -> Iterator[Block]:
    """The blocks inside one instruction."""
    return _find_values(instruction, Block)


def find_operands(instruction: Instruction) -> Iterator[Operand]:
    """The operands of one instruction (not those inside a branch's blocks)."""
    yield from _find_values(instruction, Operand)
    for several in _find_values(instruction, tuple[Operand, ...]):
        yield from several


def find_registers(instruction: Instruction, *roles: Any) -> Iterator[str]:
    """The registers that one instruction names in these roles, in any without one; not those that are operands."""
    return _find_values(instruction, *roles or ROLES)


def change_blocks(instruction: I, change: Callable[[Block], Block]) -> I:
    """The instruction with its blocks, if it has any, changed in their order."""
    blocks: dict[str, Any] = {name: change(value) for name, kind, value in _fields(instruction) if kind == Block}
    return replace(instruction, **blocks) if blocks else instruction


def rename_registers(body: Block, rename: Callable[[str], str]) -> Block:
    """The body with another name for each register."""

    def rename_operand(operand: Operand) -> Operand:
        return Reg(rename(operand.name)) if isinstance(operand, Reg) else operand

    def renamed(kind: Any, value: Any) -> Any:
        if kind in ROLES:
            return rename(value)
        if kind == Operand:
            return rename_operand(value)
        if kind == tuple[Operand, ...]:
            return tuple(map(rename_operand, value))
        return rename_registers(value, rename) if kind == Block else value

    def renamed_instruction(instruction: I) -> I:
        changed: dict[str, Any] = {name: renamed(kind, value) for name, kind, value in _fields(instruction)}
        return replace(instruction, **changed)

    return tuple(map(renamed_instruction, body))


def _find_values(instruction: Instruction, *wanted: Any) -> Iterator[Any]:
    """What is in the fields of these types."""
    return (value for _, kind, value in _fields(instruction) if kind in wanted)


def _fields(instruction: Instruction) -> Iterator[tuple[str, Any, Any]]:
    """The fields of an instruction: name, type, value."""
    return ((name, kind, getattr(instruction, name)) for name, kind in _TYPES[type(instruction)].items())
