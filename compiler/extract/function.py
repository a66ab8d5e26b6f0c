"""One lowered PrimFunc as a separate model: its tensors are the inputs, and those that it writes the outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...base.errors import AdrenoSimError, UncompiledError, UnsupportedError
from ..artifact.host_function import BufferParam, HostFunction
from ..artifact.model import ENTRY, CompiledModel, TensorInfo, TupleInfo
from ..artifact.validate import validate
from ..artifact.vm_function import CallHost, MakeTuple, Operand, Reg, Return, ScalarLiteral, VMFunction
from ..lower.pipeline import Lowered
from ..plan.extract import extract_plan
from ..tvm_bridge.versions import import_tvm
from .host import host_function
from .module import kernels_of, require_names, target_name

Argument = np.ndarray | bool | int | float


def host_side(lowered: Lowered, name: str) -> HostFunction:
    """The host side of PrimFunc `name`. UncompiledError naming what it cannot express, AdrenoSimError if it runs nothing."""
    kernels, extents = kernels_of(lowered)
    try:
        function = host_function(name, lowered.tir[name], kernels, extents, name)
    except UnsupportedError as error:
        raise UncompiledError(str(error)) from error
    if function.on_host:
        raise AdrenoSimError(f"{name} launches no kernel: expected a PrimFunc that computes on the device")
    return function


def extract_function(lowered: Lowered, function: HostFunction, args: Sequence[Argument]) -> CompiledModel:
    """The model whose main calls `function` once. args: in the order of its parameters; their shapes and scalars are the model's.

    Raises UncompiledError for a kernel that no driver compiles by its name.
    """
    kernels, _ = kernels_of(lowered)
    used = {launch.kernel for launch in function.launches()}
    require_names(used)
    tensors: list[TensorInfo] = []
    operands: list[Operand] = []
    for param, arg in zip(function.params, args, strict=True):
        if isinstance(param, BufferParam):
            assert isinstance(arg, np.ndarray)
            tensors.append(TensorInfo(param.name, arg.shape, param.dtype, param.scope))
            operands.append(Reg(param.name))
        else:
            assert not isinstance(arg, np.ndarray)
            operands.append(ScalarLiteral(arg, param.dtype))
    written = {param.name for param in function.params if isinstance(param, BufferParam) and "write" in param.access}
    results = tuple(tensor for tensor in tensors if tensor.name in written)
    taken = {tensor.name for tensor in tensors}
    result = next(name for name in ("results", *(f"results_{n}" for n in range(len(taken)))) if name not in taken)
    body = (
        CallHost(function.name, tuple(operands)),
        MakeTuple(result, tuple(Reg(tensor.name) for tensor in results)),
        Return(Reg(result)),
    )
    model = CompiledModel(
        name=function.name,
        target=target_name(lowered.target),
        tvm_version=str(import_tvm().__version__),
        pipeline=lowered.pipeline,
        fixes=lowered.fixes,
        inputs=tuple(tensors),
        results=TupleInfo(results),
        kernels={key: code for key, code in kernels.items() if key in used},
        host_functions={function.name: function},
        functions={ENTRY: VMFunction(ENTRY, tuple(tensor.name for tensor in tensors), body)},
        constants={},
    )
    validate(model)
    return replace(model, plan=extract_plan(model))
