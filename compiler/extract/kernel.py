"""Kernel parameters from the device PrimFuncs that tirx.SplitHostDevice makes."""

from __future__ import annotations

from typing import Any, Literal

from ...base.errors import UnsupportedError
from ..artifact.model import KernelCode, KernelParamInfo
from ..tvm_bridge import read

Access = Literal["none", "read", "write", "read_write"]


def kernel_code(name: str, function: Any, source: str) -> KernelCode:
    """The kernel `function` with its OpenCL C; parameters in call order."""
    touched = _accesses(function)
    params = tuple(_param(name, param, touched.get(read.key(param), "none")) for param in function.params)
    return KernelCode(name, source, params)


def _param(kernel: str, param: Any, access: Access) -> KernelParamInfo:
    name = read.var_name(param)
    ty = read.pointer_type(param)
    if read.kind(ty) == "PointerType":
        scope = str(ty.storage_scope) or "global"
        if not scope.startswith("global"):
            raise UnsupportedError(f"unsupported: kernel {kernel} takes {name!r} in storage scope {scope!r}")
        dtype, _ = read.scalar_dtype(ty.element_type, f"{kernel}, {name}")
        return KernelParamInfo(name, "image" if scope.startswith("global.texture") else "buffer", dtype, access, scope)
    return KernelParamInfo(name, "scalar", read.scalar_dtype(read.dtype_of(param), f"{kernel}, {name}")[0])


def _accesses(function: Any) -> dict[int, Access]:
    """How the body touches each pointer parameter, by the parameter's key."""
    roots = {read.key(param): read.key(param) for param in function.params}
    reads: set[int] = set()
    writes: set[int] = set()
    for node in read.walk(function.body):
        kind = read.kind(node)
        if kind == "DeclBuffer":
            _alias(node, roots)
        elif kind == "BufferStore":
            writes.add(_root(read.buffer_key(node.buffer), roots))
        elif kind in ("BufferLoad", "TensorLoad"):
            reads.add(_root(read.buffer_key(read.loaded_buffer(node)), roots))
        elif kind == "Call":
            _call_access(node, roots, reads, writes)
    keys = reads | writes
    return {key: "read_write" if key in reads & writes else "write" if key in writes else "read" for key in keys}


def _call_access(call: Any, roots: dict[int, int], reads: set[int], writes: set[int]) -> None:
    """A pointer given to an intrinsic: textures are loaded or stored, anything else (atomics) may do both."""
    name = read.op_name(call)
    if name == "tirx.buffer_data":
        return
    passed = {_root(found, roots) for arg in call.args if (found := read.data_key(arg)) is not None}
    if name != "tirx.texture2d_store":
        reads |= passed
    if name != "tirx.texture2d_load":
        writes |= passed


def _alias(declaration: Any, roots: dict[int, int]) -> None:
    data = getattr(declaration, "data", None)
    found = read.data_key(data) if data is not None else None
    if found is not None:
        roots[read.buffer_key(declaration.buffer)] = _root(found, roots)


def _root(found: int, roots: dict[int, int]) -> int:
    return roots.get(found, found)
