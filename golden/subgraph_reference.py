"""What a subgraph for OpenCL ML should compute: its Relax function, operator by operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..results.comparison import compare
from ..results.expected import Expected
from .kernel_reference import Argument
from .truth.units import Units
from .truth.value import Unmodelled

if TYPE_CHECKING:
    from .subgraph import Subgraph


class SubgraphReference:
    """References of subgraphs by name; compiled at the first run. units: how the device rounds."""

    def __init__(self, subgraphs: Mapping[str, Subgraph], units: Units):
        self._subgraphs = subgraphs
        self._units = units

    def __contains__(self, name: str) -> bool:
        return name in self._subgraphs

    def expect(self, name: str, args: Sequence[Argument]) -> list[Expected | None]:
        """As KernelExpectations.expect: `args` are the inputs, then the outputs; outputs afterwards, inputs unchanged."""
        module = self._subgraphs[name].module
        inputs = [np.asarray(array) for array in args[: len(module["main"].params)]]
        return [*map(Expected, inputs), *self._outputs(module, inputs)]

    def _outputs(self, module: Any, inputs: Sequence[np.ndarray]) -> list[Expected]:
        """Without rounding where a truth is made of the module, else as TVM's llvm target computes it."""
        from .model_expectations import expect_outputs
        from .model_reference import ModelReference

        try:
            return expect_outputs(module, inputs, self._units)
        except Unmodelled:
            return [Expected(array) for array in ModelReference(module).run(inputs)]

    def first_wrong(self, name: str, values: Sequence[np.ndarray]) -> str:
        """The first operator that makes something else of what it is given than it should, in words; "" for none.

        values: of every node of the graph, each computed from those before it.
        """
        for operator in self._subgraphs[name].operators:
            given = [values[entry.node] for entry in operator.inputs]
            (expected,) = self._outputs(operator.module, given)
            result = compare(values[operator.node].reshape(expected.array.shape), expected)
            if not result.ok:
                return f"node {operator.node}: {result}"
        return ""
