"""What a whole model should compute: TVM's llvm target on the module as imported, and ONNX Runtime where it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import util
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.compat import import_tvm
from ..device import AdrenoSimError

if TYPE_CHECKING:
    import onnx
    from tvm import IRModule


class ModelReference:
    """A module compiled by TVM for the CPU; `imported` is the module before any pass for the device."""

    def __init__(self, imported: IRModule):
        self._tvm = import_tvm()
        executable = self._tvm.compile(imported, target=self._tvm.target.Target("llvm"))
        self._machine = self._tvm.relax.VirtualMachine(executable, self._tvm.cpu())

    def run(self, inputs: Sequence[np.ndarray], function: str = "main") -> list[np.ndarray]:
        """Outputs of `function`, tuples flattened."""
        passed = [self._tvm.runtime.tensor(np.asarray(array, order="C")) for array in inputs]
        return _flatten(self._machine[function](*passed))


def _flatten(value: Any) -> list[np.ndarray]:
    if hasattr(value, "numpy"):
        return [value.numpy()]
    if isinstance(value, (int, float, str)):
        raise AdrenoSimError(f"the model returns {value!r}: expected tensors and tuples of tensors")
    return [array for item in value for array in _flatten(item)]


def has_onnxruntime() -> bool:
    """ONNX Runtime can be imported."""
    return util.find_spec("onnxruntime") is not None


def run_onnx(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], threads: int = 0) -> list[np.ndarray]:
    """Outputs of an ONNX model under ONNX Runtime, in the graph's order; AdrenoSimError where it refuses the model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        wanted = {node.name for node in session.get_inputs()}
        return list(session.run(None, {name: array for name, array in inputs.items() if name in wanted}))
    except Exception as error:  # its exception classes are not public
        raise AdrenoSimError(f"ONNX Runtime: {str(error).splitlines()[0]}") from error
