"""What a subgraph for OpenCL ML should compute: its Relax function, run on the CPU by TVM's llvm target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..results.comparison import compare
from ..results.expected import Expected
from .kernel_reference import Argument
from .model_reference import ModelReference

if TYPE_CHECKING:
    from .subgraph import Subgraph


class SubgraphReference:
    """References of subgraphs by name; compiled at the first run, results cached on disk."""

    def __init__(self, subgraphs: Mapping[str, Subgraph]):
        self._subgraphs = subgraphs
        self._wholes = {name: ModelReference(subgraph.module) for name, subgraph in subgraphs.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._subgraphs

    def expect(self, name: str, args: Sequence[Argument]) -> list[Expected | None]:
        """As KernelExpectations.expect: `args` are the inputs, then the outputs; outputs afterwards, inputs as they are."""
        count = len(self._subgraphs[name].module["main"].params)
        inputs = [np.asarray(array) for array in args[:count]]
        return [Expected(array) for array in [*inputs, *self._wholes[name].run(inputs)]]

    def first_wrong(self, name: str, values: Sequence[np.ndarray]) -> str:
        """The first operator that makes something else of what it is given than TVM does, in words; "" for none.

        values: of every node of the graph, each computed from those before it.
        """
        for operator in self._subgraphs[name].operators:
            given = [values[entry.node] for entry in operator.inputs]
            (expected,) = ModelReference(operator.module).run(given)
            result = compare(values[operator.node].reshape(expected.shape), expected)
            if not result.ok:
                return f"node {operator.node}: {result}"
        return ""
