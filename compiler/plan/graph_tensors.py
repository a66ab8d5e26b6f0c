"""Tensors of OpenCL ML subgraphs as tensors of the program, so that one plan has the memory of subgraphs and of kernels.

A subgraph's call becomes its steps; each step names the tensors that it reads and writes. They lie where TVM's runtime puts
them (`mlops.onchip`): each device buffer of its plan is a storage, its on-chip memory another. A planner then moves what is in
device memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import UnsupportedError
from ...mlops.kinds import kind_of
from ...mlops.steps import steps_of
from ...records import dataclass
from ..artifact.host_function import RunGraph
from ..artifact.memory_plan import ON_CHIP
from ..artifact.model import ENTRY, CompiledModel
from ..artifact.vm_function import (
    AllocStorage,
    AllocTensor,
    Block,
    CallHost,
    Instruction,
    Kill,
    Operand,
    Reg,
    RunStep,
    ShapeLiteral,
)
from ..artifact.vm_registers import change_blocks, find_registers, walk
from .chip.recordings import with_recordings
from .graphs import GraphPlan, graph_plans
from .inline import inline_calls

if TYPE_CHECKING:
    from ...profiles.ml import MLCapabilities


def with_graph_tensors(model: CompiledModel, device: MLCapabilities | None) -> CompiledModel:
    """`model` whose `main` runs each subgraph step by step, on tensors where TVM's runtime puts them on a device; itself where it
    calls no subgraph. Functions that `main` calls are inlined. device: None = one without on-chip memory.

    Raises UnsupportedError for a subgraph with a constant for a result, and for a function that calls itself.
    """
    if not any(model.host_functions[call.function].graphs() for call in _calls(model)):
        return model
    whole = inline_calls(model)
    expanding = _Expanding(whole, {plan.name: plan for plan in graph_plans(model, device)})
    main = whole.functions[ENTRY]
    body = _with_storages(expanding.block(main.body), expanding.storages())
    return with_recordings(replace(whole, functions={**whole.functions, ENTRY: replace(main, body=body)}, plan=None))


def _calls(model: CompiledModel) -> Iterator[CallHost]:
    for function in model.functions.values():
        yield from (i for i in walk(function.body) if isinstance(i, CallHost))


@dataclass
class _Expanding:
    """plans: of the graphs by name. taken: names that no new register may have."""

    model: CompiledModel
    plans: dict[str, GraphPlan]
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.taken |= {name for i in walk(self.model.functions[ENTRY].body) for name in find_registers(i)}
        self.buffer = self.fresh("clml_buffer")
        self.chip = self.fresh("on_chip")

    def fresh(self, name: str) -> str:
        """A name that no register has, nor one that begins with it."""
        found, number = name, 1
        while any(other.startswith(found) for other in self.taken):
            number += 1
            found = f"{name}_{number}_"
        self.taken.add(found)
        return found

    def storages(self) -> dict[str, AllocStorage]:
        """Every storage of the graphs' plans by name."""
        found: dict[str, AllocStorage] = {}
        most = 0
        for plan in self.plans.values():
            for number, nbytes in plan.plan.buffers.items():
                name = f"{self.buffer}_{number}"
                found[name] = AllocStorage(name, ShapeLiteral((nbytes,)), "global", "uint8")
            most = max([most, *(p.at + p.nbytes for p in plan.plan.locations if p.memory == "on-chip")])
        if most:
            found[self.chip] = AllocStorage(self.chip, ShapeLiteral((most,)), ON_CHIP, "uint8")
        return found

    def block(self, body: Block) -> Block:
        out: list[Instruction] = []
        for instruction in body:
            graphs = self.model.host_functions[instruction.function].graphs() if isinstance(instruction, CallHost) else []
            if isinstance(instruction, CallHost) and graphs:
                out += self.call(instruction, graphs[0])
            else:
                out.append(change_blocks(instruction, self.block))
        return tuple(out)

    def call(self, call: CallHost, run: RunGraph) -> Iterator[Instruction]:
        """The steps of one call, each tensor made before the step that fills it and ended after its last reader."""
        found, prefix = self.plans[run.graph], self.fresh(run.graph)
        graph, steps = found.graph, steps_of(found.graph)
        if any(graph.nodes[head.node].op == "const" for head in graph.heads):
            raise UnsupportedError(f"unsupported: a memory plan with graph {run.graph}: one of its results is a constant")
        params = [param.name for param in self.model.host_functions[call.function].params]
        given = dict(zip(params, call.args, strict=True))
        inputs, results = ([given[ref.name] for ref in refs] for refs in (run.inputs, run.outputs))
        places = {location.node: location for location in found.plan.locations if location.node in steps.placed}
        operands: dict[int, Operand] = {node: Reg(f"{prefix}_{node}") for node in places}
        operands |= {node: inputs[position] for node, position in steps.bound_inputs.items()}
        operands |= {node: results[position] for node, position in steps.bound_results.items()}
        last = {node: number for number, step in enumerate(steps.all) for node in (*step.writes, *step.reads)}
        for number, step in enumerate(steps.all):
            for node in step.writes:
                if node in places:
                    place, dtype = places[node], graph.nodes[node].dtype
                    storage = self.chip if place.memory == "on-chip" else f"{self.buffer}_{place.at}"
                    shape = ShapeLiteral((place.nbytes // np.dtype(dtype).itemsize,))
                    offset = place.at if place.memory == "on-chip" else 0
                    yield AllocTensor(f"{prefix}_{node}", storage, offset, shape, dtype, "global")
            reads, writes = ([operands[node] for node in nodes] for nodes in (step.reads, step.writes))
            if step.operator is not None:
                does = f"{kind_of(graph.nodes[step.operator].name)} of {run.graph}"
                yield RunStep(call.function, number, tuple(reads), tuple(writes), operators=(does,))
            else:
                there = [(inputs if number == 0 else results)[position] for position in step.arguments]
                reads, writes = (there, writes) if number == 0 else (reads, there)
                yield RunStep(call.function, number, tuple(reads), tuple(writes), call.args)
            yield from (Kill(f"{prefix}_{node}") for node in places if last[node] == number)


def _with_storages(body: Block, storages: dict[str, AllocStorage]) -> Block:
    """The body with each storage made before the first instruction with a tensor in it; like those of TVM's runtime, none is
    given back before the end. One without tensors, since the program's own buffer is used, comes first."""
    used = {i.storage for i in walk(body) if isinstance(i, AllocTensor)}
    out: list[Instruction] = [made for name, made in storages.items() if name not in used]
    left = dict(storages)
    for instruction in body:
        inside = [i.storage for i in walk((instruction,)) if isinstance(i, AllocTensor)]
        out += [left.pop(name) for name in dict.fromkeys(inside) if name in left and name in used]
        out.append(instruction)
    return tuple(out)
