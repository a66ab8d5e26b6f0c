"""Reading TVM's IR in one way for 0.25, 0.26 and 0.27: class names, buffers, types, launch calls.

Nodes are distinguished by class name, because modules moved between versions; variables are keyed by object handle,
because names repeat.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...base.errors import UnsupportedError
from ...records import dataclass


def kind(node: Any) -> str:
    """Class name of a node ("Add", "BufferStore", ...)."""
    return type(node).__name__


def key(node: Any) -> int:
    """Identity of the TVM object behind `node`; several Python objects may wrap one."""
    return int(node.__chandle__())


def dtype_of(node: Any) -> str:
    """Scalar type of an expression or variable, as "int64"."""
    for name in ("dtype", "ty"):
        value = getattr(node, name, None)
        text = str(getattr(value, "dtype", value)) if value is not None else ""
        if text and text != "handle":
            return text
    raise UnsupportedError(f"unsupported: {kind(node)} without a scalar type: {node}")


def type_of(expr: Any) -> Any:
    """Relax type of an expression (struct info in 0.25)."""
    found = getattr(expr, "struct_info", None) if hasattr(type(expr), "struct_info") else None
    return found if found is not None else getattr(expr, "ty", None)


def scalar_dtype(dtype: Any, where: str) -> tuple[str, int]:
    """Numpy name and lanes of a TVM dtype: "float32x4" -> ("float32", 4). UnsupportedError if numpy has no such type."""
    text = str(getattr(dtype, "dtype", dtype))
    found = re.fullmatch(r"(\w*?[a-z]\d*)(?:x(\d+))?", text)
    try:
        return np.dtype(found[1] if found else text).name, int(found[2] or 1) if found else 1
    except TypeError as error:
        raise UnsupportedError(f"unsupported: dtype {text} of {where}") from error


def return_type(function: Any) -> Any:
    """Relax type of a function's result."""
    found = getattr(function, "ret_struct_info", None)
    return found if found is not None else function.ret_ty


def memory_scope(ty: Any) -> str:
    """Storage scope of a Relax tensor type: that of its virtual device, or "global"."""
    device = getattr(ty, "vdevice", None)
    return str(device.memory_scope) if device is not None and device.memory_scope else "global"


def op_name(call: Any) -> str:
    """Name of a call's operator or external function; "" for anything else."""
    if kind(call.op) == "Op":
        return str(call.op.name)
    return str(call.op.global_symbol) if kind(call.op) == "ExternFunc" else ""


@dataclass(frozen=True)
class BufferInfo:
    """A buffer declaration: `key` of its data, name, dimensions (TIR expressions), dtype, storage scope."""

    key: int
    name: str
    shape: tuple[Any, ...]
    dtype: str
    scope: str


def buffer_info(buffer: Any) -> BufferInfo:
    """A Buffer (0.25) or a variable of BufferType (0.26 on)."""
    if kind(buffer) == "Buffer":
        scope = buffer.scope() if callable(getattr(buffer, "scope", None)) else "global"
        return BufferInfo(key(buffer.data), str(buffer.name), tuple(buffer.shape), str(buffer.dtype), str(scope) or "global")
    ty = buffer.ty
    return BufferInfo(key(buffer), var_name(buffer), tuple(ty.shape), str(ty.dtype), str(ty.storage_scope) or "global")


def buffer_key(buffer: Any) -> int:
    """The `key` of a declaration alone."""
    return key(buffer.data) if kind(buffer) == "Buffer" else key(buffer)


def loaded_buffer(load: Any) -> Any:
    """The buffer of a BufferLoad, or of a TensorLoad (0.27)."""
    return load.source if kind(load) == "TensorLoad" else load.buffer


def var_name(var: Any) -> str:
    for name in ("name_hint", "name"):
        if hasattr(var, name):
            return str(getattr(var, name))
    return str(var)


def data_key(expr: Any) -> int | None:
    """Key of the buffer that a pointer expression names: a data variable, or buffer_data(buffer). None for others."""
    if kind(expr) == "Call" and op_name(expr) == "tirx.buffer_data":
        return key(expr.args[0])
    return key(expr) if kind(expr) == "Var" and is_pointer(expr) else None


def is_pointer(var: Any) -> bool:
    ty = pointer_type(var)
    return ty is not None and kind(ty) in ("PointerType", "BufferType")


def pointer_type(var: Any) -> Any:
    """Declared type of a TIR variable."""
    ty = getattr(var, "type_annotation", None)
    return ty if ty is not None else getattr(var, "ty", None)


def buffer_param(function: Any, param: Any) -> BufferInfo | None:
    """The buffer behind a PrimFunc parameter; None for a scalar or a bare pointer."""
    table = getattr(function, "buffer_map", None)
    if table is not None and param in table:
        return buffer_info(table[param])
    return buffer_info(param) if kind(getattr(param, "ty", None)) == "BufferType" else None


def elem_offset(function: Any, param: Any) -> Any:
    """The variable that stands for where in its memory a parameter's buffer begins, in elements; None if that is known."""
    table = getattr(function, "buffer_map", None)
    buffer = table[param] if table is not None and param in table else getattr(param, "ty", None)
    offset = getattr(buffer, "elem_offset", None)
    return offset if offset is not None and kind(offset) == "Var" else None


def children(node: Any) -> tuple[Any, ...]:
    """Fields of a TIR node that are nodes or arrays of nodes."""
    found: list[Any] = []
    for field in _FIELDS.get(kind(node), ()):
        value = getattr(node, field, None)
        if value is None:
            continue
        if kind(value) in ("Array", "list", "tuple", "List"):
            found.extend(value)
        else:
            found.append(value)
    return tuple(found)


_OPERATORS = (
    "Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max", "EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or",
    "LShift", "RShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
)  # fmt: skip

_FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_OPERATORS, ("a", "b")),
    "Not": ("a",), "BitwiseNot": ("a",), "Cast": ("value",), "Select": ("condition", "true_value", "false_value"),
    "Call": ("args",), "Let": ("value", "body"), "Ramp": ("base", "stride"), "Broadcast": ("value",),
    "Shuffle": ("vectors", "indices"), "BufferLoad": ("indices",), "TensorLoad": ("indices",),
    "BufferStore": ("value", "indices"),
    "SeqStmt": ("seq",), "Evaluate": ("value",), "Bind": ("value",), "LetStmt": ("value", "body"),
    "For": ("min", "extent", "body"), "While": ("condition", "body"),
    "IfThenElse": ("condition", "then_case", "else_case"), "AttrStmt": ("value", "body"),
    "AllocBuffer": ("body",), "Allocate": ("extents", "condition", "body"), "AllocateConst": ("body",), "DeclBuffer": ("body",),
    "BufferRealize": ("body",), "AssertStmt": ("condition", "body"),
    **dict.fromkeys(("SBlockRealize", "BlockRealize"), ("iter_values", "predicate", "block")),
    **dict.fromkeys(("SBlock", "Block"), ("init", "body")),
}  # fmt: skip


def walk(node: Any) -> Iterator[Any]:
    """Every node below `node`, itself first."""
    left = [node]
    while left:
        node = left.pop()
        yield node
        left.extend(reversed(children(node)))


def structure(node: Any) -> int:
    """A number that expressions alike share; variables are alike only if they are the same."""
    from tvm_ffi import structural_hash

    return int(structural_hash(node))


def function_target(function: Any) -> str:
    """Kind of the target that a PrimFunc is bound to ("opencl", "llvm"); "" if none."""
    target = function.attrs["target"] if function.attrs and "target" in function.attrs else None
    return str(target.kind.name) if target is not None else ""


def is_kernel(function: Any) -> bool:
    """Whether a PrimFunc is a device kernel (after tirx.SplitHostDevice)."""
    return bool(function.attrs) and "tirx.kernel_launch_params" in function.attrs
