"""A module with several functions on TVM's llvm target, whose state lives on between calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.tvm_bridge.infinite_fills import broadcast_fills
from ..compiler.tvm_bridge.versions import import_tvm
from .errors import NoReferenceError, RefusedInputsError, last_line

if TYPE_CHECKING:
    from tvm import IRModule

NAME = "TVM llvm"
"""What reports call this reference."""


class SessionReference:
    """The functions of `module` as TVM runs them on the CPU. Raises NoReferenceError if it does not compile them."""

    name = NAME
    needs_every_call = True

    def __init__(self, module: IRModule):
        self._tvm = import_tvm()
        try:
            inference = self._tvm.relax.transform.DecomposeOpsForInference()(broadcast_fills()(module))
            executable = self._tvm.compile(inference, target=self._tvm.target.Target("llvm"))
            self._machine = self._tvm.relax.VirtualMachine(executable, self._tvm.cpu())
        except Exception as error:  # TVM raises whatever its C++ and Python layers raise
            raise NoReferenceError(f"{NAME}: it does not compile the module: {last_line(error)}") from error

    def __contains__(self, function: str) -> bool:
        return True

    def upload(self, array: np.ndarray) -> Any:
        """The array as TVM takes it."""
        return self._tvm.runtime.tensor(np.asarray(array, order="C"))

    def shape(self, dims: Sequence[int]) -> Any:
        return self._tvm_ffi().Shape(list(dims))

    def pack(self, items: Sequence[Any]) -> Any:
        """A tuple."""
        return self._tvm_ffi().convert(list(items))

    def call(self, function: str, args: Sequence[Any]) -> Any:
        """Call an entry, or a function of TVM's runtime. RefusedInputsError if it stops."""
        try:
            if function.startswith("vm.builtin."):
                return self._tvm.get_global_func(function)(*args)
            return self._machine[function](*args)
        except Exception as error:  # checks of shapes, and whatever the runtime asserts
            raise RefusedInputsError(f"{NAME}: {function}: {last_line(error)}") from error

    @staticmethod
    def _tvm_ffi() -> Any:
        import tvm_ffi

        return tvm_ffi

    def as_array(self, value: Any) -> np.ndarray | None:
        """A tensor of TVM as an array; None for anything else."""
        return np.asarray(value.numpy()) if hasattr(value, "numpy") else None

    def items_of(self, value: Any) -> list[Any] | None:
        """The items of a tuple of TVM; None for anything else."""
        if hasattr(value, "numpy") or isinstance(value, (int, float, str)) or not hasattr(value, "__len__"):
            return None
        return list(value)
