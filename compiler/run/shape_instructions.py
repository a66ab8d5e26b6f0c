"""The instructions that compute shapes: a run and the trace of a memory plan do the same at them."""

from __future__ import annotations

from functools import singledispatch
from typing import Protocol

import numpy as np

from ...base.errors import AdrenoSimError, UnsupportedError
from ..artifact import vm_function as vm
from .values import HeapValue, Shape, ShapeValue


class ShapeRegisters(Protocol):
    """The registers of a function while it is followed. Each method raises AdrenoSimError for a value of another kind."""

    def set(self, name: str, value: HeapValue | ShapeValue | int) -> None: ...
    def heap(self, name: str) -> np.ndarray: ...
    def scalar(self, operand: vm.Operand) -> int: ...
    def shape(self, operand: vm.Operand) -> Shape:
        """A shape operand, or the shape of a tensor operand."""


@singledispatch
def compute_shape(i: vm.Instruction, registers: ShapeRegisters) -> None:
    """Do instruction `i`. Raises AdrenoSimError if shapes are not as it says, UnsupportedError if it is of another kind."""
    raise UnsupportedError(f"unsupported: instruction {type(i).__name__}")


@compute_shape.register
def _alloc_heap(i: vm.AllocHeap, registers: ShapeRegisters) -> None:
    registers.set(i.dst, HeapValue(np.zeros(i.size, np.int64)))


@compute_shape.register
def _match_shape(i: vm.MatchShape, registers: ShapeRegisters) -> None:
    shape = registers.shape(i.value)
    if len(shape) != len(i.entries):
        raise AdrenoSimError(f"{i.context}: expected rank {len(i.entries)}, found shape {shape}")
    for axis, (entry, size) in enumerate(zip(i.entries, shape, strict=True)):
        _match(registers, i.heap, entry, size, f"{i.context}, dimension {axis} of {shape}")


@compute_shape.register
def _match_scalar(i: vm.MatchScalar, registers: ShapeRegisters) -> None:
    _match(registers, i.heap, i.entry, registers.scalar(i.value), i.context)


@compute_shape.register
def _make_shape(i: vm.MakeShape, registers: ShapeRegisters) -> None:
    registers.set(i.dst, ShapeValue(tuple(_evaluate(registers, i.heap, entry) for entry in i.entries)))


@compute_shape.register
def _make_scalar(i: vm.MakeScalar, registers: ShapeRegisters) -> None:
    registers.set(i.dst, _evaluate(registers, i.heap, i.entry))


@compute_shape.register
def _shape_of(i: vm.ShapeOf, registers: ShapeRegisters) -> None:
    registers.set(i.dst, ShapeValue(registers.shape(i.src)))


def _match(registers: ShapeRegisters, heap: str, entry: vm.ShapeEntry, size: int, context: str) -> None:
    if entry.match == "store":
        registers.heap(heap)[entry.value] = size
    elif entry.match != "any":
        expected = _evaluate(registers, heap, entry)
        if size != expected:
            raise AdrenoSimError(f"{context}: expected {expected}, found {size}")


def _evaluate(registers: ShapeRegisters, heap: str, entry: vm.ShapeEntry) -> int:
    return entry.value if entry.match == "const" else int(registers.heap(heap)[entry.value])
