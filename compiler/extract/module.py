"""A lowered module to a CompiledModel: the last step that touches TVM objects."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError, BuildError, UncompiledError, UnsupportedError
from ...base.specs import ELEMENT_TYPES
from ..artifact.host_function import HostFunction
from ..artifact.interface import EntryParam, PackedInfo, ResultInfo, ScalarInfo, ShapeInfo, StateInfo, TensorInfo, TupleInfo
from ..artifact.model import ENTRY, CompiledModel, KernelCode
from ..artifact.validate import validate
from ..artifact.vm_function import CallHost, FunctionRef, VMFunction
from ..artifact.vm_registers import find_operands, walk
from ..lower.targets import BOTH, TAGS
from ..memory_scopes.lift import SUFFIX
from ..plan.extract import extract_plan
from ..tvm_bridge import read
from ..tvm_bridge.versions import import_tvm
from .constants import ConstantPool
from .graph import graph_functions
from .host import host_function
from .kernel import kernel_code
from .operators import with_operators
from .packed_weights import find_lifted, functions_of, with_packing
from .vm import vm_function

if TYPE_CHECKING:
    from ..lower.pipeline import Lowered


def extract(lowered: Lowered, name: str = "model") -> CompiledModel:
    """The CompiledModel of a lowered module, its plan included where all input shapes are known.

    Raises UncompiledError naming a construct that the host program cannot express, AdrenoSimError if the module
    has no function `main`.
    """
    try:
        return _extract(lowered, name)
    except UnsupportedError as error:
        raise UncompiledError(str(error)) from error


def _extract(lowered: Lowered, name: str) -> CompiledModel:
    main = _main(lowered)
    called = find_lifted(lowered).get(ENTRY, main)
    inputs = tuple(_tensor_info(read.var_name(p), read.type_of(p)) for p in called.params)
    model = _assemble(lowered, name, inputs=inputs, results=_result_info("output", read.return_type(main)))
    symbolic = any(isinstance(dim, str) for info in model.inputs for dim in info.shape)
    return model if symbolic else replace(model, plan=extract_plan(model))


def extract_entries(lowered: Lowered, name: str = "model") -> CompiledModel:
    """The CompiledModel of a lowered module whose public functions are the entries of a session. Errors as `extract`."""
    relax, lifted = functions_of(lowered.relax), find_lifted(lowered)
    packing = {name + SUFFIX for name in lifted}
    try:
        entries = {
            key: tuple(entry_param(read.var_name(p), read.type_of(p)) for p in lifted.get(key, function).params)
            for key, function in sorted(relax.items())
            if function.attrs and "global_symbol" in function.attrs and key not in packing
        }
        if not entries:
            raise AdrenoSimError("the module has no Relax function that could be called")
        return _assemble(lowered, name, inputs=(), results=TupleInfo(()), entries=entries)
    except UnsupportedError as error:
        raise UncompiledError(str(error)) from error


def _assemble(lowered: Lowered, name: str, **interface: Any) -> CompiledModel:
    """A model of everything in the module. interface: the fields that say how it is called."""
    pool = ConstantPool()
    functions = _vm_functions(lowered, pool)
    kernels, extents = kernels_of(lowered)
    graphs, runners = graph_functions(lowered, pool)
    hosts = _host_functions(lowered, functions, kernels, extents, runners)
    used = {launch.kernel for host in hosts.values() for launch in host.launches()}
    require_names(used)
    model = CompiledModel(
        name=name,
        target=target_name(lowered.target),
        tvm_version=str(import_tvm().__version__),
        pipeline=lowered.pipeline,
        fixes=lowered.fixes,
        kernels={key: code for key, code in kernels.items() if key in used},
        host_functions=hosts,
        functions=functions,
        constants=pool.arrays,
        graphs=graphs,
        offload=lowered.offload,
        **interface,
    )
    validate(model)
    return model


def require_names(kernels: set[str]) -> None:
    """Raise BuildError for a kernel whose name is not an identifier: no driver compiles it."""
    for name in sorted(kernels):
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise BuildError(
                f"kernel {name}: its name is not valid in OpenCL C, so that no driver compiles it: rename the PrimFunc"
            )


def target_name(target: Any) -> str:
    """The target's tag; TVM drops it when a target is rebuilt, so the keys decide."""
    if str(target.tag):
        return str(target.tag)
    keys = [str(key) for key in target.keys]
    if "clml" in keys and "texture" in keys:
        return BOTH
    return (
        TAGS["clml" if "clml" in keys else "texture" if "texture" in keys else "buffer"] if "adreno" in keys else str(target.kind)
    )


def _main(lowered: Lowered) -> Any:
    for var, function in lowered.relax.functions_items():
        if var.name_hint == ENTRY and read.kind(function) == "Function":
            return function
    names = ", ".join(sorted(var.name_hint for var, f in lowered.relax.functions_items() if read.kind(f) == "Function"))
    raise AdrenoSimError(f"the module has no Relax function {ENTRY!r} (it has {names or 'none'})")


def _vm_functions(lowered: Lowered, pool: ConstantPool) -> dict[str, VMFunction]:
    mod = lowered.relax
    devices = mod.global_infos.get("vdevice", [])
    scopes = [str(device.memory_scope) or "global" for device in devices]
    relax, lifted = functions_of(mod), find_lifted(lowered)
    graphs = frozenset(lowered.subgraphs)
    found = {name: vm_function(name, function, mod, scopes, pool, graphs) for name, function in sorted(relax.items())}
    source = {name: name for name in found} | {name + SUFFIX: name for name in lifted}
    named = {name: with_operators(function, lowered.operators.get(source[name], [])) for name, function in found.items()}
    return with_packing(named, lifted)


def kernels_of(lowered: Lowered) -> tuple[dict[str, KernelCode], dict[str, list[str]]]:
    """Every kernel, and the order of its launch extents."""
    kernels: dict[str, KernelCode] = {}
    extents: dict[str, list[str]] = {}
    for var, function in lowered.tir.functions_items():
        if not read.is_kernel(function):
            continue
        name = var.name_hint
        if name not in lowered.sources:
            raise UnsupportedError(f"unsupported: kernel {name} has no OpenCL C (target {read.function_target(function)})")
        kernels[name] = kernel_code(name, function, lowered.sources[name])
        extents[name] = [str(tag) for tag in function.attrs["tirx.kernel_launch_params"]]
    return kernels, extents


def _host_functions(
    lowered: Lowered,
    functions: dict[str, VMFunction],
    kernels: dict[str, KernelCode],
    extents: dict[str, list[str]],
    runners: dict[str, HostFunction],
) -> dict[str, HostFunction]:
    """The PrimFuncs that the VM functions call, and the functions that run graphs."""
    instructions = [i for f in functions.values() for i in walk(f.body)]
    called = {i.function for i in instructions if isinstance(i, CallHost)}
    called |= {operand.name for i in instructions for operand in find_operands(i) if isinstance(operand, FunctionRef)}
    golden = {var.name_hint for var, _ in lowered.unscheduled.functions_items()}
    return {
        name: runners[name]
        if name in runners
        else host_function(name, lowered.tir[name], kernels, extents, name if name in golden else "")
        for name in sorted(called)
    }


def _tensor_info(name: str, ty: Any) -> TensorInfo:
    rank = int(getattr(ty, "ndim", -1))
    if rank < 0 or not hasattr(ty, "dtype"):
        raise UnsupportedError(f"unsupported: {name!r} of type {ty}: expected a tensor of known rank")
    values = getattr(ty.shape, "values", None)
    if values is None:  # sizes that only the run knows
        dims: tuple[int | str, ...] = tuple(f"{name}.{axis}" for axis in range(rank))
    else:
        dims = tuple(int(dim.value) if read.kind(dim) == "IntImm" else _symbol(dim) for dim in values)
    dtype = read.scalar_dtype(ty.dtype, name)[0]
    if dtype not in ELEMENT_TYPES:
        raise UnsupportedError(f"unsupported: {name} is {dtype}: adreno-sim has no such elements; make it float16 or float32")
    return TensorInfo(name, dims, dtype, read.memory_scope(ty))


def entry_param(name: str, ty: Any) -> EntryParam:
    """A parameter of an entry by its Relax type. UnsupportedError for one of another kind."""
    if hasattr(ty, "fields"):
        return PackedInfo(name, tuple(entry_param(f"{name}_{i}", item) for i, item in enumerate(ty.fields)))
    kind = read.kind(ty).removesuffix("StructInfo").removesuffix("Type")
    if kind == "Tensor":
        return _tensor_info(name, ty)
    if kind == "Shape":
        return ShapeInfo(name, int(ty.ndim))
    if kind == "Prim":
        return ScalarInfo(name, read.scalar_dtype(ty.dtype, name)[0])
    if kind in ("Any", "Object"):
        return StateInfo(name)
    raise UnsupportedError(
        f"unsupported: parameter {name!r} of type {ty}: expected a tensor, a tuple, a shape, a number or an object"
    )


def _symbol(dim: Any) -> str:
    """A symbolic extent as users write it: "n * 4" for n * T.int64(4)."""
    return re.sub(r"T\.int\d+\((-?\d+)\)", r"\1", str(dim))


def _result_info(name: str, ty: Any) -> ResultInfo:
    if hasattr(ty, "fields"):
        return TupleInfo(tuple(_result_info(f"{name}_{i}", item) for i, item in enumerate(ty.fields)))
    return _tensor_info(name, ty)
