"""What a model's steps depend on, and which tensors each of them needs: what an order of execution is judged by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....base.alignment import align_up
from ....records import dataclass
from ...artifact.model import ENTRY, CompiledModel
from ...artifact.vm_function import (
    AllocStorage,
    AllocTensor,
    Block,
    CallHost,
    Copy,
    CopyTensor,
    Defined,
    GetItem,
    Instruction,
    Kill,
    MakeTuple,
    Reg,
    Reshape,
    Return,
    ToDevice,
    Used,
)
from ...artifact.vm_function import Branch as VMBranch
from ...artifact.vm_registers import find_operands, find_registers, walk
from ..extract import input_shapes
from ..lifetimes import Lifetimes, trace
from ..rules import DeviceRules

MOVABLE = (CallHost, Copy, CopyTensor, GetItem, MakeTuple, Reshape, ToDevice, VMBranch)
"""Instructions whose effects are the registers and tensors that they name; all others keep their places between these."""


@dataclass(frozen=True)
class StepGraph:
    """The steps of a function: its instructions but those that make or end storages and tensors, in the given order.

    instructions: position of each step in the body. needs: steps that each depends on, all of them earlier. uses: tensors that
    each reads, writes or hands on, and that live from the first to the last step that uses them. sizes: bytes of each tensor.
    """

    instructions: tuple[int, ...]
    needs: tuple[frozenset[int], ...]
    uses: tuple[frozenset[int], ...]
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.instructions)

    def peak(self, order: Sequence[int]) -> int:
        """The most bytes of tensors that are live at one step of `order`."""
        left = [0] * len(self.sizes)
        for used in self.uses:
            for tensor in used:
                left[tensor] += 1
        made = [False] * len(self.sizes)
        live = most = 0
        for step in order:
            for tensor in self.uses[step]:
                if not made[tensor]:
                    made[tensor] = True
                    live += self.sizes[tensor]
            most = max(most, live)
            for tensor in self.uses[step]:
                left[tensor] -= 1
                live -= 0 if left[tensor] else self.sizes[tensor]
        return most


def is_step(instruction: Instruction) -> bool:
    """Whether an order places the instruction; the others go where the steps need them."""
    return not isinstance(instruction, (AllocStorage, AllocTensor, Kill))


def step_graph(model: CompiledModel, rules: DeviceRules) -> StepGraph:
    """The steps of `main`, which calls no function, with the sizes that tensors have on a device.

    One step depends on another where it uses a register that the other binds, or where both use a tensor and one of them writes
    it. An instruction that may do anything else stays behind all steps before it and before all after it.
    """
    body = model.functions[ENTRY].body
    lives = trace(model, input_shapes(model, {}))
    positions = [position for position, instruction in enumerate(body) if is_step(instruction)]
    spans = list(_spans(body))
    step_of = {index: step for step, position in enumerate(positions) for index in range(*spans[position])}
    uses, writes = _accesses(lives, step_of, len(positions))
    fixed = {step_of[index] for index in lives.effects}
    fixed |= {step for step, position in enumerate(positions) if not _is_movable(body[position], model)}
    needs = _needs([body[position] for position in positions], uses, writes, fixed)
    unit = min((rules.alignment(life.spec) for life in lives.tensors), default=1)
    sizes = tuple(align_up(rules.size(life.spec), unit) for life in lives.tensors)
    return StepGraph(tuple(positions), tuple(needs), tuple(map(frozenset, uses)), sizes)


def _is_movable(instruction: Instruction, model: CompiledModel) -> bool:
    """Whether registers and tensors say all that the instruction does."""
    return all(
        isinstance(inner, (*MOVABLE, AllocStorage, AllocTensor, Kill))
        and not (isinstance(inner, CallHost) and model.host_functions[inner.function].on_host)
        for inner in walk((instruction,))
    )


def _spans(body: Block) -> Iterator[tuple[int, int]]:
    """The numbers [first, end) of each instruction and of what is inside it, as `walk` counts."""
    first = 0
    for instruction in body:
        end = first + sum(1 for _ in walk((instruction,)))
        yield first, end
        first = end


def _accesses(lives: Lifetimes, step_of: dict[int, int], count: int) -> tuple[list[set[int]], list[set[int]]]:
    """The tensors that each step uses, and those that it writes."""
    uses: list[set[int]] = [set() for _ in range(count)]
    writes: list[set[int]] = [set() for _ in range(count)]
    for index, tensor, written in lives.accesses:
        uses[step_of[index]].add(tensor)
        if written:
            writes[step_of[index]].add(tensor)
    return uses, writes


def _needs(
    steps: Sequence[Instruction], uses: Sequence[set[int]], writes: Sequence[set[int]], fixed: set[int]
) -> Iterator[frozenset[int]]:
    bound: dict[str, int] = {}
    writer: dict[int, int] = {}
    readers: dict[int, set[int]] = {}
    last_fixed: int | None = None
    for step, instruction in enumerate(steps):
        if isinstance(instruction, Return) or step in fixed:
            found = set(range(step))
            last_fixed = step
        else:
            found = {bound[name] for name in _registers_used(instruction) if name in bound}
            found |= set() if last_fixed is None else {last_fixed}
        for tensor in uses[step]:
            if tensor in writer:
                found.add(writer[tensor])
            if tensor in writes[step]:
                found |= readers.pop(tensor, set())
                writer[tensor] = step
            else:
                readers.setdefault(tensor, set()).add(step)
        for name in find_registers(instruction, Defined):
            bound[name] = step
        yield frozenset(found - {step})


def _registers_used(instruction: Instruction) -> Iterator[str]:
    for inner in walk((instruction,)):
        yield from (operand.name for operand in find_operands(inner) if isinstance(operand, Reg))
        yield from find_registers(inner, Used)
