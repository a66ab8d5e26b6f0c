"""Which constants a program has on the device: all of them from its load on, as TVM's virtual machine has."""

from __future__ import annotations

from ..artifact.model import CompiledModel
from ..artifact.vm_function import ConstRef
from ..artifact.vm_registers import find_operands, walk


def find_uploads(model: CompiledModel) -> list[tuple[str, str]]:
    """The constants that an instruction of any function names, each once for each memory scope: (key, scope), in order."""
    found: dict[tuple[str, str], None] = {}
    for function in model.functions.values():
        for instruction in walk(function.body):
            for operand in find_operands(instruction):
                if isinstance(operand, ConstRef):
                    found[operand.key, operand.scope] = None
    return list(found)
