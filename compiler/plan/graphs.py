"""Memory of a model's subgraphs for OpenCL ML, which no planner of the model's own tensors places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...mlops import environment
from ...mlops.graph import Graph, parse
from ...mlops.kinds import kind_of
from ...mlops.onchip import BufferPool, OnChipPlan, TensorLocation, plan
from ...profiles.ml import MLCapabilities

if TYPE_CHECKING:
    from ..artifact.model import CompiledModel


@dataclass(frozen=True)
class GraphPlan:
    """A subgraph with the places of its tensors."""

    name: str
    graph: Graph
    plan: OnChipPlan

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
    return tuple(GraphPlan(name, graph, plan(graph, size, pool)) for name, graph in graphs.items())
