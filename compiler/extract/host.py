"""Host functions from the PrimFuncs that tirx.SplitHostDevice leaves on the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np

from ...base.errors import UnsupportedError
from ...base.specs import IMAGE_CHANNEL_TYPE
from ...records import dataclass
from ..artifact.host_function import (
    AllocBuffer,
    AllocImage,
    BufferParam,
    BufferRef,
    Check,
    Const,
    Expr,
    For,
    HostFunction,
    IfThen,
    Launch,
    Let,
    Param,
    ScalarParam,
    Stmt,
    Store,
)
from ..artifact.model import KernelCode
from ..tvm_bridge import read
from .expr import Names, expression

LAUNCH_CALLS = ("tirx.call_ffi_kernel", "tirx.tvm_call_packed")
TEXEL_CARRIER = {64: "float16", 128: "float32"}
"""Bits of a texel -> element type of the image functions TVM's code generation uses for it, whatever the data."""

_ONE = Const(1, "int32")


def host_function(
    name: str, function: Any, kernels: Mapping[str, KernelCode], extents: Mapping[str, list[str]], golden: str
) -> HostFunction:
    """The host side of PrimFunc `name`. `extents` maps a kernel to its `tirx.kernel_launch_params`.

    Raises UnsupportedError naming a statement or expression that the host IR does not have.
    """
    builder = _Builder(name, kernels, extents)
    params = tuple(builder.param(function, param) for param in function.params)
    body = (*builder.offsets(function), *builder.block(function.body))
    found = HostFunction(name, params, body, golden)
    launches = found.launches()
    if launches:
        return replace(found, params=tuple(_with_access(param, launches, kernels) for param in params))
    if read.function_target(function) == "opencl":
        raise UnsupportedError(f"unsupported: {name} launches no kernel although it is bound to the device")
    return replace(found, on_host=True, golden="")


def _with_access(param: Param, launches: list[Launch], kernels: Mapping[str, KernelCode]) -> Param:
    if not isinstance(param, BufferParam):
        return param
    used: set[str] = set()
    for launch in launches:
        for arg, declared in zip(launch.args, kernels[launch.kernel].params, strict=True):
            if arg == BufferRef(param.name):
                used |= {"read", "write"} if declared.access == "read_write" else {declared.access}
    used.discard("none")
    if used == {"read", "write"}:
        return replace(param, access="read_write")
    return replace(param, access="write" if "write" in used else "read" if used else "none")


@dataclass
class _Builder:
    """Translates one function. `names` gives each buffer and variable, identified by its handle, a name of its own."""

    function: str
    kernels: Mapping[str, KernelCode]
    extents: Mapping[str, list[str]]
    names: Names = field(default_factory=Names)

    def param(self, function: Any, param: Any) -> Param:
        info = read.buffer_param(function, param)
        if info is None:
            return ScalarParam(self.names.of(read.key(param), read.var_name(param)), read.dtype_of(param))
        name = self.names.new(info.key, info.name)
        dtype, _ = read.scalar_dtype(info.dtype, f"{self.function}, {name}")
        return BufferParam(name, tuple(expression(dim, self.names) for dim in info.shape), dtype, info.scope)

    def offsets(self, function: Any) -> list[Stmt]:
        """Every tensor is a separate view and begins at 0: what TVM takes of the tensor's byte offset."""
        found = [offset for param in function.params if (offset := read.elem_offset(function, param)) is not None]
        return [Let(self.names.of(read.key(var), read.var_name(var)), Const(0, read.dtype_of(var))) for var in found]

    def block(self, node: Any) -> list[Stmt]:
        """Statements of `node` as a flat list."""
        kind = read.kind(node)
        if kind == "SeqStmt":
            return [stmt for child in node.seq for stmt in self.block(child)]
        method = getattr(self, f"visit_{kind}", None)
        if method is None:
            raise UnsupportedError(f"unsupported: {kind} in the host code of {self.function}: {_short(node)}")
        found: list[Stmt] = method(node)
        body = getattr(node, "body", None) if kind not in ("For",) else None
        return found + (self.block(body) if body is not None else [])

    def visit_Bind(self, node: Any) -> list[Stmt]:
        if _allocates_texture(node.value):
            dtype, _ = read.scalar_dtype(read.pointer_type(node.var).element_type, f"{self.function}, {read.var_name(node.var)}")
            return [self._image(read.key(node.var), read.var_name(node.var), dtype, node.value)]
        value = expression(node.value, self.names)
        return [Let(self.names.of(read.key(node.var), read.var_name(node.var)), value)]

    visit_LetStmt = visit_Bind

    def visit_DeclBuffer(self, node: Any) -> list[Stmt]:
        data = getattr(node, "data", None)
        if data is None:
            return []
        info = read.buffer_info(node.buffer)
        if _allocates_texture(data):
            return [self._image(info.key, info.name, read.scalar_dtype(info.dtype, f"{self.function}, {info.name}")[0], data)]
        source = read.data_key(data)
        if source is not None:
            self.names.alias(info.key, source)
        return []

    def visit_AllocBuffer(self, node: Any) -> list[Stmt]:
        info = read.buffer_info(node.buffer)
        return [self._workspace(info.key, info.name, info.dtype, info.shape, info.scope)]

    def visit_Allocate(self, node: Any) -> list[Stmt]:
        scope = str(read.pointer_type(node.buffer_var).storage_scope) or "global"
        return [self._workspace(read.key(node.buffer_var), read.var_name(node.buffer_var), str(node.dtype), node.extents, scope)]

    def _workspace(self, handle: int, hint: str, dtype: str, shape: Any, scope: str) -> Stmt:
        if scope != "global":
            raise UnsupportedError(f"unsupported: {self.function} allocates {hint!r} in storage scope {scope!r}")
        scalar, lanes = read.scalar_dtype(dtype, f"{self.function}, {hint}")
        dims = [expression(dim, self.names) for dim in shape] + ([Const(lanes, "int32")] if lanes > 1 else [])
        return AllocBuffer(self.names.new(handle, hint), scalar, tuple(dims))

    def _image(self, handle: int, hint: str, dtype: str, call: Any) -> Stmt:
        """nd_mem_alloc_with_scope(scope, ndim, shape, bits of a texel): shape is width, height, layers.

        A texel of more than four small elements is an image of the float type that kernels move its bits with.
        """
        extents, bits = self._image_extents(call), int(call.args[3].value)
        plain = dtype in IMAGE_CHANNEL_TYPE and bits == 32 * np.dtype(dtype).itemsize
        if not (plain or bits in TEXEL_CARRIER) or not 2 <= len(extents) <= 3:
            what = f"{len(extents)} extents, {bits} bits a texel"
            raise UnsupportedError(f"unsupported: {self.function} allocates a texture {hint!r} of {dtype} with {what}")
        if not plain:
            dtype = TEXEL_CARRIER[bits]
        layers = extents[2] if len(extents) == 3 else _ONE
        return AllocImage(self.names.new(handle, hint), dtype, extents[0], extents[1], layers, str(call.args[0].value))

    def _image_extents(self, call: Any) -> list[Expr]:
        shape = call.args[2]
        if read.kind(shape) == "Call" and read.op_name(shape) == "tirx.tvm_stack_make_shape":
            return [expression(dim, self.names) for dim in shape.args]
        raise UnsupportedError(f"unsupported: {self.function} allocates a texture with shape {_short(shape)}")

    def visit_For(self, node: Any) -> list[Stmt]:
        var = self.names.of(read.key(node.loop_var), read.var_name(node.loop_var))
        start, extent = expression(node.min, self.names), expression(node.extent, self.names)
        return [For(var, start, extent, tuple(self.block(node.body)))]

    def visit_IfThenElse(self, node: Any) -> list[Stmt]:
        otherwise = self.block(node.else_case) if node.else_case is not None else []
        return [IfThen(expression(node.condition, self.names), tuple(self.block(node.then_case)), tuple(otherwise))]

    def visit_AttrStmt(self, node: Any) -> list[Stmt]:
        return []

    def visit_AssertStmt(self, node: Any) -> list[Stmt]:
        message = getattr(node, "message", None)
        text = str(getattr(message, "value", message)) if message is not None else str(node.condition)
        return [Check(expression(node.condition, self.names), text)]

    def visit_BufferStore(self, node: Any) -> list[Stmt]:
        if len(node.indices) != 1:
            raise UnsupportedError(f"unsupported: host store with {len(node.indices)} indices in {self.function}")
        info = read.buffer_info(node.buffer)
        index, value = expression(node.indices[0], self.names), expression(node.value, self.names)
        return [Store(self.names.of(info.key, info.name), index, value)]

    def visit_Evaluate(self, node: Any) -> list[Stmt]:
        call = node.value
        if read.kind(call) == "IntImm":
            return []
        if read.kind(call) == "Call" and read.op_name(call) in LAUNCH_CALLS and _text(call.args[0]) in self.kernels:
            return [self._launch(call)]
        raise UnsupportedError(f"unsupported: call in the host code of {self.function}: {_short(call)}")

    def _launch(self, call: Any) -> Launch:
        name = _text(call.args[0])
        params = self.kernels[name].params
        given = list(call.args[1:])
        args = tuple(self._argument(arg) for arg in given[: len(params)])
        tags, sizes = self.extents[name], given[len(params) :]
        known = {f"{part}Idx.{axis}" for part in ("block", "thread") for axis in "xyz"}
        if len(tags) != len(sizes) or not set(tags) <= known:
            raise UnsupportedError(f"unsupported: launch parameters {tags} of kernel {name} with {len(sizes)} extents")
        extent = {tag: expression(size, self.names) for tag, size in zip(tags, sizes, strict=True)}
        x, y, z = (extent.get(f"blockIdx.{axis}", _ONE) for axis in "xyz")
        i, j, k = (extent.get(f"threadIdx.{axis}", _ONE) for axis in "xyz")
        return Launch(name, args, (x, y, z), (i, j, k))

    def _argument(self, arg: Any) -> Any:
        handle = read.data_key(arg)
        if handle is None:
            return expression(arg, self.names)
        name = self.names.get(handle)
        if name is None:
            raise UnsupportedError(f"unsupported: {self.function} passes {_short(arg)}, which it neither takes nor allocates")
        return BufferRef(name)


def _allocates_texture(value: Any) -> bool:
    return read.kind(value) == "Call" and read.op_name(value) == "tirx.nd_mem_alloc_with_scope"


def _text(node: Any) -> str:
    return str(node.value) if read.kind(node) == "StringImm" else str(getattr(node, "name_hint", node))


def _short(node: Any) -> str:
    text = " ".join(str(node).split())
    return text if len(text) <= 120 else text[:117] + "..."
