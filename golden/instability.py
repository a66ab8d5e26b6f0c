"""How far one unit in the last place of every weight and input moves a reference's own outputs.

A network that quantises, buckets or routes by a comparison has no output of its own: the least change of a number turns a
decision, and the outputs with it. What a reference does not settle itself, it cannot ask of a device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import AdrenoSimError
from ..compiler.tvm_bridge.tensors import constant_array, tensor_of
from ..compiler.tvm_bridge.versions import import_tvm
from ..results.comparison import largest_difference
from .model_reference import ModelReference, run_onnx
from .onnx_model import LargeArrays, OnnxModel

if TYPE_CHECKING:
    from tvm import IRModule

RUNS = 4
"""Runs that are compared with a first one; each has other last places."""

Outputs = Sequence[np.ndarray]


def measure_movement(run: Callable[[np.random.Generator], Outputs]) -> list[float]:
    """Returns the largest difference of each output between a run and RUNS others; inf where an element of one is not a number.

    run: computes the outputs with each number moved by `nudge`. Raises AdrenoSimError if it cannot.
    """
    first, *others = (run(np.random.default_rng(seed)) for seed in range(RUNS + 1))
    return [max(largest_difference(before, other[place]) for other in others) for place, before in enumerate(first)]


def nudge(array: np.ndarray, rng: np.random.Generator, dtype: str = "") -> np.ndarray:
    """Returns an array whose floats are each one unit in the last place larger or smaller; other types unchanged.

    dtype: the type whose units are meant, if that is narrower than the array's.
    """
    if array.dtype.kind != "f" or not array.size:
        return array
    narrow = np.dtype(dtype) if dtype and np.dtype(dtype).itemsize < array.dtype.itemsize else array.dtype
    with np.errstate(over="ignore", invalid="ignore"):
        step = np.spacing(array.astype(narrow)).astype(array.dtype)
        moved = array + np.where(rng.random(array.shape) < 0.5, -step, step)
    return np.where(np.isfinite(moved) & (array != 0), moved, array).astype(array.dtype)


def run_onnx_nudged(model: OnnxModel, inputs: Mapping[str, np.ndarray], rng: np.random.Generator, dtype: str = "") -> Outputs:
    """Returns the outputs of ONNX Runtime with every float of the graph's initialisers and inputs nudged."""
    from onnx import numpy_helper

    proto, arrays = type(model.proto)(), LargeArrays()
    proto.CopyFrom(model.proto)
    for tensor in proto.graph.initializer:
        array = model.arrays.array(tensor)
        if array.dtype.kind == "f":
            tensor.CopyFrom(numpy_helper.from_array(nudge(array, rng, dtype), tensor.name))
        elif (found := model.arrays.find(tensor)) is not None:
            arrays.attach(tensor, found)
    return run_onnx(OnnxModel(proto, arrays), {name: nudge(array, rng, dtype) for name, array in inputs.items()})


def run_torch_nudged(program: Any, arguments: Sequence[np.ndarray], rng: np.random.Generator, dtype: str = "") -> Outputs:
    """Returns the outputs of PyTorch with every float of the program's parameters, buffers and arguments nudged."""
    import torch

    from .torch_reference import flatten_outputs

    module = program.module()
    try:
        with torch.no_grad():
            for tensor in (*module.parameters(), *module.buffers()):
                if tensor.is_floating_point():
                    moved = nudge(tensor.detach().to(torch.float32).cpu().numpy(), rng, dtype)
                    tensor.copy_(torch.from_numpy(moved).to(tensor.dtype))
            return flatten_outputs(module(*(torch.from_numpy(np.array(nudge(array, rng, dtype))) for array in arguments)))
    except RuntimeError as error:
        raise AdrenoSimError(f"PyTorch: {str(error).splitlines()[0]}") from error


def run_llvm_nudged(module: IRModule, inputs: Sequence[np.ndarray], rng: np.random.Generator, dtype: str = "") -> Outputs:
    """Returns the outputs of TVM's llvm target with every float of the module's constants and of the inputs nudged."""
    return ModelReference(_nudge_constants(module, rng, dtype)).run([nudge(array, rng, dtype) for array in inputs])


def _nudge_constants(module: IRModule, rng: np.random.Generator, dtype: str) -> IRModule:
    tvm = import_tvm()
    relax = tvm.relax

    class Nudge(relax.PyExprMutator):  # type: ignore[name-defined]
        def visit_constant_(self, op: Any) -> Any:
            array = constant_array(op)
            if array is None or array.dtype.kind != "f":
                return op
            return relax.const(tensor_of(nudge(array, rng, dtype)))

        def visit_generic_const_(self, op: Any) -> Any:
            return self.visit_constant_(op)

    mutator = relax.expr_functor.mutator(Nudge)(module)
    functions = {
        var: mutator.visit_expr(function) if isinstance(function, relax.Function) else function
        for var, function in module.functions_items()
    }
    return tvm.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos)
