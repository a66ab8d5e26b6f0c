"""Another order of execution written into a compiled model, whose tensors must then be placed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....base.errors import AdrenoSimError
from ...artifact.model import ENTRY, CompiledModel
from ...artifact.vm_function import AllocStorage, AllocTensor, Block, Defined, Instruction, Reg, Used
from ...artifact.vm_registers import find_operands, find_registers, walk
from ..inline import inline_calls
from ..kills import kill_after_last_use
from ..rules import DeviceRules
from .graph import StepGraph, is_step, step_graph
from .search import Order, lowest_order


def find_order(model: CompiledModel, rules: DeviceRules) -> tuple[CompiledModel, StepGraph, Order]:
    """`model` with its calls inlined, the steps of its `main`, and their order with the lowest peak of live bytes."""
    whole = inline_calls(model)
    graph = step_graph(whole, rules)
    return whole, graph, lowest_order(graph)


def reorder(model: CompiledModel, order: Sequence[int]) -> CompiledModel:
    """`model` with the steps of `main` in `order`, each behind what makes the storages and tensors that it first uses.

    Storages stay as they were planned for the order before: the model only runs once its tensors are placed again (`apply`).
    Raises AdrenoSimError if `order` is none of the steps, or a step would use what is not there yet.
    """
    whole = inline_calls(model)
    body = whole.functions[ENTRY].body
    steps = [instruction for instruction in body if is_step(instruction)]
    if sorted(order) != list(range(len(steps))):
        raise AdrenoSimError(f"an order of {len(order)} steps: expected each of the {len(steps)} steps of {model.name} once")
    makers = {i.dst: i for i in body if isinstance(i, (AllocStorage, AllocTensor))}
    function = replace(whole.functions[ENTRY], body=kill_after_last_use(_arrange([steps[n] for n in order], makers)))
    _require_bound(function.body, function.params, model.name)
    return replace(whole, functions={**whole.functions, ENTRY: function}, plan=None)


def _arrange(steps: Sequence[Instruction], makers: dict[str, AllocStorage | AllocTensor]) -> Block:
    """The steps with each maker before the first step that names what it makes."""
    left = dict(makers)
    out: list[Instruction] = []
    for step in steps:
        for name in _names(step):
            _make(name, left, out)
        out.append(step)
    return tuple(out)


def _make(name: str, left: dict[str, AllocStorage | AllocTensor], out: list[Instruction]) -> None:
    maker = left.pop(name, None)
    if maker is None:
        return
    if isinstance(maker, AllocTensor):
        _make(maker.storage, left, out)
    out.append(maker)


def _names(instruction: Instruction) -> list[str]:
    """The registers that an instruction uses, also inside its blocks."""
    found: list[str] = []
    for inner in walk((instruction,)):
        found += [operand.name for operand in find_operands(inner) if isinstance(operand, Reg)]
        found += find_registers(inner, Used)
    return found


def _require_bound(body: Block, params: Sequence[str], name: str) -> None:
    """Raise AdrenoSimError for an instruction before the one that binds what it uses."""
    bound = set(params)
    for instruction in body:
        inner = {register for i in walk((instruction,)) for register in find_registers(i, Defined)}
        for register in _names(instruction):
            if register not in bound and register not in inner:
                raise AdrenoSimError(f"the order is for another model: in {name} a step comes before what gives it {register}")
        bound |= inner
