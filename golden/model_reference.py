"""What a whole model should compute: TVM's llvm target on the module as imported, and ONNX Runtime where it is installed."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import util
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import AdrenoSimError
from ..base.processes.beside import EndedError, doing_beside
from ..compiler.tvm_bridge.branch_storages import has_branches, split_branch_storages
from ..compiler.tvm_bridge.infinite_fills import broadcast_fills
from ..compiler.tvm_bridge.pass_pipelines import run_with_insertions
from ..compiler.tvm_bridge.tensors import array_of
from ..compiler.tvm_bridge.versions import import_tvm
from . import result_cache
from .errors import NoReferenceError, RefusedInputsError, last_line
from .onnx_model import OnnxModel
from .serial import without_threads
from .vector_loops import vectorize_sums

if TYPE_CHECKING:
    from tvm import IRModule


class ModelReference:
    """A module compiled by TVM for the CPU; `imported` is the module before any pass for the device.

    It is lowered for inference, as TVM's Adreno pipeline does and as the helper of TVM's own tests does with its reference: a
    batch_norm takes the moving statistics, whatever its `training` says. Results are cached on disk by module and inputs;
    the module is compiled only when one is missing.
    """

    def __init__(self, imported: IRModule):
        self._tvm = import_tvm()
        self._imported = without_threads(imported)

    @cached_property
    def _machine(self) -> Any:
        try:
            inference = self._tvm.relax.transform.DecomposeOpsForInference()(broadcast_fills()(self._imported))
            executable = self._compile(inference)
            # Memory that is free again goes back: what TVM's pool of the process keeps may be as large as a weight.
            return self._tvm.relax.VirtualMachine(executable, self._tvm.cpu(), memory_cfg="naive")
        except Exception as error:  # TVM raises whatever its C++ and Python layers raise
            threaded = _threaded(self._imported)
            why = f"{', '.join(threaded)} binds threads of a GPU" if threaded else last_line(error)
            raise NoReferenceError(f"TVM llvm: it does not compile the model: {why}") from error

    def _compile(self, module: Any) -> Any:
        target = self._tvm.target.Target({"kind": "llvm", "opt-level": 1})  # half the time of level 3, and the code is as fast
        with self._tvm.transform.PassContext(config=self._without_checks(module)):
            return self._compile_for(target, module)

    def _without_checks(self, module: Any) -> dict[str, Any]:
        """The options by which operators do not check the shapes and types of their arguments: the virtual machine has checked
        the model's inputs, and these checks are most of the code. A PrimFunc that somebody wrote keeps what it asserts."""
        written = any(isinstance(function, self._tvm.tirx.PrimFunc) for _, function in module.functions_items())
        options = () if written else self._tvm.transform.PassContext.list_configs()
        return {name: True for name in options if name.endswith(".disable_assert")}

    def _compile_for(self, target: Any, module: Any) -> Any:
        """The executable; with branches, without TVM's defect in the storages of those, which ends the process."""
        relax = self._tvm.relax
        written = [str(var.name_hint) for var, func in module.functions_items() if isinstance(func, self._tvm.tirx.PrimFunc)]
        insertions = {"RewriteDataflowReshape": vectorize_sums(written)}
        passes = relax.get_pipeline("default")
        if has_branches(module):
            insertions["LowerAllocTensor"] = split_branch_storages()
            with target:
                passes = relax.get_default_pipeline(target)
        whole = self._tvm.transform.module_pass(lambda mod, _: run_with_insertions(passes, mod, insertions), opt_level=0)
        return self._tvm.compile(module, target=target, relax_pipeline=whole)

    @cached_property
    def _content(self) -> str:
        """A digest of the module; "" if its text does not say all."""
        text = self._imported.script(show_meta=False)
        if set(_METADATA.findall(text)) - _CONSTANTS:
            return ""
        return result_cache.digest_of([text, *_constants(self._imported)])

    def run(self, inputs: Sequence[np.ndarray], function: str = "main") -> list[np.ndarray]:
        """Outputs of `function`, tuples flattened.

        Raises NoReferenceError if TVM does not compile the module for the CPU, RefusedInputsError if it stops on them.
        """
        maker = f"TVM {self._tvm.__version__} llvm"
        key = result_cache.key_of(maker, function, self._content, *inputs) if self._content else ""
        outputs: list[np.ndarray] | None = result_cache.load(key, list[np.ndarray])
        if outputs is None:
            passed = [self._tvm.runtime.tensor(np.asarray(array, order="C")) for array in inputs]
            outputs = _flatten(self._call(function, passed))
            result_cache.store(key, list[np.ndarray], outputs)
        return outputs

    def _call(self, function: str, passed: Sequence[Any]) -> Any:
        machine = self._machine
        try:
            return machine[function](*passed)
        except Exception as error:  # checks of shapes, and whatever a PrimFunc asserts
            raise RefusedInputsError(f"TVM llvm: {last_line(error)}") from error


def _threaded(module: Any) -> list[str]:
    """The functions that are scheduled for a GPU already."""
    texts = {var.name_hint: function.script(show_meta=False) for var, function in module.functions_items()}
    return [name for name, text in texts.items() if "T.thread_binding(" in text or "T.launch_thread(" in text]


_METADATA = re.compile(r'metadata\["([^"]+)"\]')
_CONSTANTS = {"relax.expr.Constant", "ir.GenericConst"}
"""What the text of a module refers to by number, and `_constants` gives."""


def weights_nbytes(module: IRModule) -> int:
    """Bytes of all constants of a module."""
    return sum(array.nbytes for array in _constants(module))


def _constants(module: Any) -> Iterator[np.ndarray]:
    """The data of every constant, in the order of the functions and of their expressions."""
    relax = import_tvm().relax
    found: list[np.ndarray] = []
    finder = _constant_finder()(found)
    for _, function in sorted(module.functions_items(), key=lambda item: str(item[0].name_hint)):
        if isinstance(function, relax.Function):
            finder.visit_expr(function)
            yield from found
            found.clear()


@functools.cache  # TVM keeps the class of each visitor
def _constant_finder() -> Any:
    relax = import_tvm().relax

    class Finder(relax.PyExprVisitor):  # type: ignore[name-defined]
        def __init__(self, found: list[np.ndarray]) -> None:
            super().__init__()
            self.found = found

        def visit_constant_(self, op: Any) -> None:
            self.found.append(array_of(op.data if hasattr(op, "data") else op.value))

        def visit_generic_const_(self, op: Any) -> None:
            self.visit_constant_(op)

    return relax.expr_functor.visitor(Finder)


def _flatten(value: Any) -> list[np.ndarray]:
    if hasattr(value, "numpy"):
        return [value.numpy()]
    if isinstance(value, (int, float, str)):
        raise AdrenoSimError(f"the model returns {value!r}: expected tensors and tuples of tensors")
    return [array for item in value for array in _flatten(item)]


def has_onnxruntime() -> bool:
    """ONNX Runtime can be imported."""
    return util.find_spec("onnxruntime") is not None


def run_onnx(model: OnnxModel, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Outputs of an ONNX model under ONNX Runtime, in the graph's order.

    Products of bytes are exact on every processor (see `_open_session`). It runs in a child by fork, which shares the weights: it
    crashes on some models (1.31 on a MatMul of half behind a Transpose), and other references judge these.

    Raises NoReferenceError if it does not load the model or crashes on it, RefusedInputsError if it stops on these inputs.
    """
    import onnxruntime

    named = [part for name, array in sorted(inputs.items()) for part in (name, np.asarray(array))]
    key = result_cache.key_of(f"ONNX Runtime {onnxruntime.__version__}, exact bytes", *model.content(), *named)
    known: list[np.ndarray] | None = result_cache.load(key, list[np.ndarray])
    if known is not None:
        return known
    try:
        with doing_beside(lambda: _try_onnx(model, inputs), risky=True) as outputs:
            found = outputs()
    except EndedError as error:
        raise NoReferenceError(f"ONNX Runtime: {error} on this model, a crash in ONNX Runtime itself") from error
    if isinstance(found, AdrenoSimError):
        raise found
    result_cache.store(key, list[np.ndarray], found)
    return found


def _try_onnx(model: OnnxModel, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray] | AdrenoSimError:
    """The outputs, or the error to raise."""
    try:
        content, weights = model.with_weights_as_inputs()  # as initialisers it would hold them once more
        session = _open_readable(content)
    except Exception as error:  # its exception classes are not public
        return NoReferenceError(f"ONNX Runtime: {str(error).splitlines()[0]}")
    wanted = {node.name for node in session.get_inputs()}
    try:
        return list(session.run(None, {name: array for name, array in {**inputs, **weights}.items() if name in wanted}))
    except Exception as error:
        refused = NoReferenceError if type(error).__name__ == "NotImplemented" else RefusedInputsError
        return refused(f"ONNX Runtime: {str(error).splitlines()[0]}")


def _open_readable(content: bytes) -> Any:
    """A session of a model, also of one whose file format is newer than the installed runtime: operators have their own versions,
    and say themselves what they need."""
    try:
        return _open_session(content)
    except Exception as error:
        newest = re.search(r"max supported IR version: (\d+)", str(error))
        if newest is None:
            raise
        from onnx import ModelProto

        proto = ModelProto.FromString(content)
        proto.ir_version = int(newest[1])
        return _open_session(proto.SerializeToString())


def _open_session(content: bytes) -> Any:
    """A session in which products of bytes are exact.

    Processors without VNNI add pairs of products of uint8 and int8 in 16 bits, and their sums saturate (ONNX Runtime,
    "Quantize ONNX models"). "x64quantprecision" makes int8 weights uint8, whose products do not. Beside int8
    activations that leaves operators without a kernel; their products are exact without it.
    """
    import onnxruntime

    def open_with(precision: str) -> Any:
        options = onnxruntime.SessionOptions()
        # Without a number it takes all processors of the machine, whatever this process may use, and each thread spins.
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 4
        options.enable_cpu_mem_arena = False
        options.add_session_config_entry("session.x64quantprecision", precision)
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    try:
        return open_with("1")
    except Exception:  # what no option fixes fails again
        return open_with("0")
