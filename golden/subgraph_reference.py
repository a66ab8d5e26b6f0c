"""What a subgraph for OpenCL ML should compute: its Relax function, run on the CPU by TVM's llvm target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .kernel_reference import Argument
from .model_reference import ModelReference


class SubgraphReference:
    """Subgraphs by name, each a module with its function as `main`; compiled when first run, results kept on disk."""

    def __init__(self, modules: Mapping[str, Any]):
        self._functions = {name: ModelReference(module) for name, module in modules.items()}
        self._inputs = {name: len(module["main"].params) for name, module in modules.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def run(self, name: str, args: Sequence[Argument]) -> list[np.ndarray | None]:
        """As KernelReference.run: `args` are the inputs, then the outputs; outputs afterwards, inputs as they are."""
        count = self._inputs[name]
        inputs = [np.asarray(array) for array in args[:count]]
        return [*inputs, *self._functions[name].run(inputs)]
