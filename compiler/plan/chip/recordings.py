"""Recordings of a program: runs of launches that can be one enqueue, for which on-chip memory keeps its contents.

The rules and their sources are in `device.on_chip`: kernels are recorded, without printf; TVM's runtime records the operators of
a subgraph. No public text puts both into one recording, so that a subgraph is one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....records import dataclass
from ...artifact.host_function import AllocBuffer, AllocImage, For, HostFunction, IfThen, Stmt
from ...artifact.memory_plan import ON_CHIP
from ...artifact.model import ENTRY, CompiledModel
from ...artifact.vm_function import (
    AllocStorage,
    AllocTensor,
    BeginRecording,
    Block,
    CallHost,
    CheckTensor,
    Copy,
    EndRecording,
    GetItem,
    Instruction,
    Kill,
    MakeScalar,
    MakeShape,
    MakeTuple,
    Reg,
    Reshape,
    RunStep,
    ShapeOf,
)
from ...artifact.vm_registers import change_blocks, find_operands, walk

_ON_THE_HOST = (
    AllocStorage, AllocTensor, BeginRecording, CheckTensor, Copy, EndRecording, GetItem, Kill, MakeScalar, MakeShape, MakeTuple,
    Reshape, ShapeOf,
)  # fmt: skip
"""Instructions that enqueue nothing, and read nothing that a kernel computes."""


@dataclass(frozen=True)
class Recording:
    """Positions [first, last] in a block of the launches of one recording, and their numbers [begin, end] as `walk` counts."""

    first: int
    last: int
    begin: int
    end: int


def find_recordings(model: CompiledModel) -> list[Recording]:
    """The longest recordings that the instructions of `main` allow, those inside branches left out."""
    return _recordings(model.functions[ENTRY].body, model)


def _recordings(body: Block, model: CompiledModel) -> list[Recording]:
    found: list[Recording] = []
    open_kind = ""
    index = 0
    for position, instruction in enumerate(body):
        kind = _kind(instruction, model)
        if kind and kind == open_kind:
            found[-1] = replace(found[-1], last=position, end=index)
        elif kind:
            found.append(Recording(position, position, index, index))
        if kind or not isinstance(instruction, _ON_THE_HOST):
            open_kind = kind
        index += sum(1 for _ in walk((instruction,)))
    return found


def _kind(instruction: Instruction, model: CompiledModel) -> str:
    """What an instruction adds to a recording: kernels of the program, operators of a subgraph, or "" for nothing."""
    if isinstance(instruction, RunStep):
        return "" if instruction.args else instruction.function
    if not isinstance(instruction, CallHost):
        return ""
    function = model.host_functions[instruction.function]
    return "kernels" if function.launches() and not why_not_recorded(function, model) else ""


def why_not_recorded(function: HostFunction, model: CompiledModel) -> str:
    """Why no recording takes the launches of a host function, in words; "" if one does."""
    if any(
        isinstance(stmt, AllocImage) or (isinstance(stmt, AllocBuffer) and not stmt.host) for stmt in _statements(function.body)
    ):
        return "it makes memory for itself, and whether a recording keeps that is in no public text"
    if any("printf" in model.kernels[launch.kernel].source for launch in function.launches()):
        return "a kernel with printf cannot be recorded (80-NB295-11, 9.1.3)"
    return ""


def _statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    for stmt in body:
        yield stmt
        if isinstance(stmt, For):
            yield from _statements(stmt.body)
        elif isinstance(stmt, IfThen):
            yield from _statements((*stmt.then, *stmt.otherwise))


def with_recordings(model: CompiledModel) -> CompiledModel:
    """`model` with each recording of `main` begun and ended in which a tensor in on-chip memory lives; others go."""
    main = model.functions[ENTRY]
    chips = {i.dst for i in walk(main.body) if isinstance(i, AllocStorage) and i.scope == ON_CHIP}
    inside = {i.dst for i in walk(main.body) if isinstance(i, AllocTensor) and i.storage in chips}
    body = _recorded(main.body, model, inside)
    return replace(model, functions={**model.functions, ENTRY: replace(main, body=body)})


def _recorded(body: Block, model: CompiledModel, inside: set[str]) -> Block:
    """inside: tensors in on-chip memory."""
    bare = tuple(i for i in body if not isinstance(i, (BeginRecording, EndRecording)))
    bare = tuple(change_blocks(i, lambda block: _recorded(block, model, inside)) for i in bare)
    begins: dict[int, Instruction] = {}
    ends: dict[int, Instruction] = {}
    for recording in _recordings(bare, model) if inside else ():
        if any(_names(i) & inside for i in bare[recording.first : recording.last + 1]):
            begins[recording.first], ends[recording.last] = BeginRecording(), EndRecording()
    out: list[Instruction] = []
    for position, instruction in enumerate(bare):
        around = (begins.get(position), instruction, ends.get(position))
        out += [each for each in around if each is not None]
    return tuple(out)


def _names(instruction: Instruction) -> set[str]:
    return {operand.name for operand in find_operands(instruction) if isinstance(operand, Reg)}
