"""A graph as the steps in which it runs: its inputs are copied in, its operators run in order, its results are copied out."""

from __future__ import annotations

from ..records import dataclass
from .graph import Graph
from .onchip import layouts


@dataclass(frozen=True)
class OperatorStep:
    """One step. reads, writes: nodes whose tensors it takes and makes, each once.

    operator: the node that runs; None at the first step, which fills the tensors of inputs in another layout than the program's,
    and at the last, which copies such results out. arguments: of those two, the positions among the graph's inputs, or results,
    that `writes`, or `reads`, stand for.
    """

    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    operator: int | None = None
    arguments: tuple[int, ...] = ()


@dataclass(frozen=True)
class Steps:
    """All steps of a graph. bound_inputs, bound_results: nodes in the plain layout whose tensors are the program's own buffers,
    with the position of that among the graph's inputs, or results."""

    all: tuple[OperatorStep, ...]
    bound_inputs: dict[int, int]
    bound_results: dict[int, int]

    @property
    def copies(self) -> int:
        """Copies between layouts in one run."""
        return len(self.all[0].arguments) + len(self.all[-1].arguments)

    @property
    def placed(self) -> frozenset[int]:
        """Nodes whose tensors take memory that the program does not have already."""
        return frozenset(node for step in self.all[:-1] for node in step.writes) - self.bound_results.keys()


def steps_of(graph: Graph) -> Steps:
    """The steps of a graph.

    A result in the plain layout that an operator makes is made in the program's buffer; of a node that is a result twice, or an
    input too, the others are copies.
    """
    layout = layouts(graph)
    inputs = {number: position for position, (number, _) in enumerate(graph.of("input"))}
    bound_inputs = {number: position for number, position in inputs.items() if layout[number] == "nchw"}
    bound_results: dict[int, int] = {}
    for position, head in enumerate(graph.heads):
        if layout[head.node] == "nchw" and graph.nodes[head.node].op == "kernel":
            bound_results.setdefault(head.node, position)
    copied_in = [number for number in inputs if number not in bound_inputs]
    copied_out = [n for n, head in enumerate(graph.heads) if bound_results.get(head.node) != n]
    constants = {number for number, _ in graph.of("const")}
    steps = [OperatorStep(writes=tuple(copied_in), arguments=tuple(inputs[number] for number in copied_in))]
    for number, node in graph.of("kernel"):
        reads = tuple(dict.fromkeys(entry.node for entry in node.inputs if entry.node not in constants))
        steps.append(OperatorStep(reads, (number,), number))
    steps.append(OperatorStep(reads=tuple(graph.heads[n].node for n in copied_out), arguments=tuple(copied_out)))
    return Steps(tuple(steps), bound_inputs, bound_results)
