"""Names of the model's operators on the calls of a VM function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..artifact import vm_function as vm
from ..artifact.vm_registers import change_blocks, walk
from ..tvm_bridge.call_operators import Calls, match_calls


def with_operators(function: vm.VMFunction, calls: Calls) -> vm.VMFunction:
    """`function` whose calls name the operators that they do. calls: of the Relax function that it was made from."""
    called = [i.function for i in walk(function.body) if isinstance(i, vm.CallHost)]
    names = iter(match_calls(calls, called))
    return replace(function, body=tuple(_named(function.body, names)))


def _named(body: vm.Block, names: Iterator[tuple[str, ...]]) -> Iterator[vm.Instruction]:
    for instruction in body:
        if isinstance(instruction, vm.CallHost):
            yield replace(instruction, operators=next(names))
        else:
            yield change_blocks(instruction, lambda block: tuple(_named(block, names)))
