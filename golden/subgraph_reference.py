"""What a subgraph for OpenCL ML should compute: its Relax function, run on the CPU by TVM's llvm target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..compiler.compat import import_tvm
from .kernel_reference import Argument
from .model_reference import ModelReference


class SubgraphReference:
    """Relax functions by name, each a module of its own; compiled when first run, results kept on disk."""

    def __init__(self, functions: Mapping[str, Any]):
        tvm = import_tvm()
        self._functions = {name: ModelReference(tvm.IRModule({"main": _public(f)})) for name, f in functions.items()}
        self._inputs = {name: len(function.params) for name, function in functions.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def run(self, name: str, args: Sequence[Argument]) -> list[np.ndarray | None]:
        """As KernelReference.run: `args` are the inputs, then the outputs; outputs afterwards, inputs as they are."""
        count = self._inputs[name]
        inputs = [np.asarray(array) for array in args[:count]]
        return [*inputs, *self._functions[name].run(inputs)]


def _public(function: Any) -> Any:
    return function.with_attr("global_symbol", "main")
