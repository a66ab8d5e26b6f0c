"""Memory of a model's subgraphs for OpenCL ML as TVM's runtime plans it, apart from the model's own tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...mlops import environment
from ...mlops.graph import Graph, parse
from ...mlops.kinds import kind_of
from ...mlops.onchip import BufferPool, OnChipPlan, TensorLocation, layouts, plan, spec_of
from ...profiles.ml import MLCapabilities
from ...records import dataclass
from ..artifact.model import ENTRY
from ..artifact.vm_function import CallHost, RunStep
from ..artifact.vm_registers import walk
from .inline import inline_calls

if TYPE_CHECKING:
    from ..artifact.model import CompiledModel


@dataclass(frozen=True)
class GraphPlan:
    """A subgraph with the places of its tensors. first: the instruction of the entry function that first runs it."""

    name: str
    graph: Graph
    plan: OnChipPlan
    first: int = 0

    @property
    def weights(self) -> list[int]:
        """Bytes of each of its constants in a tensor of OpenCL ML."""
        layout = layouts(self.graph)
        floats = [n for n, node in self.graph.of("const") if node.dtype in ("float32", "float16")]
        return [spec_of(self.graph, number, layout[number]).nbytes for number in floats]

    def tensor(self, location: TensorLocation) -> str:
        """What makes a tensor: an operator, or the graph's input of that name."""
        node = self.graph.nodes[location.node]
        return node.name if node.op == "input" else kind_of(node.name)

    def as_json(self) -> dict[str, Any]:
        locations = [
            {"node": p.node, "tensor": self.tensor(p), "nbytes": p.nbytes, "memory": p.memory, "at": p.at}
            | {"first": p.first, "last": p.last}
            for p in self.plan.locations
        ]
        found = self.plan
        return {
            "name": self.name,
            "on_chip_size": found.on_chip_size,
            "on_chip": found.on_chip,
            "on_chip_peak": found.on_chip_peak,
            "fragmented": found.fragmented,
            "rejected": found.rejected,
            "buffers": found.device,
            "places": locations,
        }


def graph_plans(model: CompiledModel, device: MLCapabilities | None) -> tuple[GraphPlan, ...]:
    """The plans of all subgraphs, in the order in which the model names them. device: None = one without on-chip memory.

    As when they run, CLML_DISABLE_RECORDABLE_QUEUE leaves on-chip memory alone, and the graphs share device buffers.
    """
    size = 0 if device is None or environment.read().direct else device.onchip_bytes
    pool = BufferPool()
    graphs = {name: parse(code.source) for name, code in model.graphs.items()}
    first = first_runs(model)
    return tuple(GraphPlan(name, graph, plan(graph, size, pool), first.get(name, 0)) for name, graph in graphs.items())


def first_runs(model: CompiledModel) -> dict[str, int]:
    """Graph -> the instruction that first runs it, counted as lifetimes are."""
    found: dict[str, int] = {}
    for index, instruction in enumerate(walk(inline_calls(model).functions[ENTRY].body) if model.graphs else ()):
        if isinstance(instruction, (CallHost, RunStep)):
            for run in model.host_functions[instruction.function].graphs():
                found.setdefault(run.graph, index)
    return found
