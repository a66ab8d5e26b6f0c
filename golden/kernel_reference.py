"""What each kernel should compute: its PrimFunc before scheduling, run on the CPU by TVM's llvm target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.compat import import_tvm

if TYPE_CHECKING:
    from tvm import IRModule

Argument = np.ndarray | int | float

_DEVICE_ATTRIBUTES = ("target", "scoped")
"""Attributes that tie a PrimFunc to the Adreno target; storage scopes of parameters mean nothing to llvm code."""


class KernelReference:
    """The unscheduled PrimFuncs of a model as CPU functions, all in one module.

    `unavailable` maps a function that has no reference to the reason (it was written for a GPU, with thread bindings,
    or llvm cannot build it).
    """

    def __init__(self, unscheduled: IRModule):
        tvm = import_tvm()
        self._tvm = tvm
        self.unavailable: dict[str, str] = {}
        functions = {var.name_hint: _for_cpu(var.name_hint, func) for var, func in unscheduled.functions_items()}
        self._built: dict[str, Any] = {}
        try:
            self._build(functions)
        except Exception:  # one function that llvm refuses fails the whole module: build each alone
            for name, func in functions.items():
                try:
                    self._build({name: func})
                except Exception as error:
                    self.unavailable[name] = f"TVM's llvm target does not build it: {_first_line(error)}"

    def _build(self, functions: dict[str, Any]) -> None:
        if functions:
            module = self._tvm.compile(self._tvm.IRModule(functions), target=self._tvm.target.Target("llvm"))
            self._built.update((name, module[name]) for name in functions)

    def __contains__(self, name: str) -> bool:
        return name in self._built

    def run(self, name: str, args: Sequence[Argument]) -> list[np.ndarray | None]:
        """Call `name` with copies of `args` in its parameters' order; the arrays afterwards, None for scalars.

        Which of them are results is the function's business: it writes them in place. An argument keeps its dtype; its
        shape is that of the function's parameter.
        """
        passed: list[Any] = [self._tvm.runtime.tensor(np.asarray(a, order="C")) if isinstance(a, np.ndarray) else a for a in args]
        self._built[name](*passed)
        return [p.numpy() if isinstance(a, np.ndarray) else None for p, a in zip(passed, args, strict=True)]


def _for_cpu(name: str, func: Any) -> Any:
    func = func.with_attr("global_symbol", name)
    for attribute in _DEVICE_ATTRIBUTES:
        if func.attrs is not None and attribute in func.attrs:
            func = func.without_attr(attribute)
    return func


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
