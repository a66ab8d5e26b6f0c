"""Which constants of a model its kernels only read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from ..artifact.model import CompiledModel
from ..artifact.vm_function import CallHost, ConstRef, Instruction
from ..artifact.vm_registers import find_operands, walk


def find_read_only(model: CompiledModel) -> frozenset[str]:
    """The keys of constants that are only arguments of kernels which do not write them."""
    instructions = [instruction for function in model.functions.values() for instruction in walk(function.body)]
    used = {operand.key for item in instructions for operand in find_operands(item) if isinstance(operand, ConstRef)}
    return frozenset(used.difference(key for instruction in instructions for key in _find_others(model, instruction)))


def _find_others(model: CompiledModel, instruction: Instruction) -> Iterator[str]:
    """Constants that an instruction hands to more than a kernel that reads them."""
    function = model.host_functions.get(instruction.function) if isinstance(instruction, CallHost) else None
    accesses = [] if function is None else [getattr(param, "access", "") for param in function.params]
    for operand, access in zip_longest(find_operands(instruction), accesses):
        if isinstance(operand, ConstRef) and access != "read":
            yield operand.key
