"""A module as TVMScript that parses back to the same module.

TVM's printer and parser disagree in three places, which are corrected in the text: the parser knows no type arguments of
operators, in which DefineVDevice keeps the scope of a result until LegalizeOps; it makes index maps of int64, where ConvertLayout
made some of int32; and where a fused function is called with a constant, it requires one and the same virtual device on both
sides, but makes another for each.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from ..memory_scopes.demand import bindings, op_name
from ..tvm_bridge.read import buffer_param, dtype_of, kind
from ..tvm_bridge.tensors import constant_array
from ..tvm_bridge.versions import import_tvm, tvm_series

TYPE_ARGUMENTS = re.compile(r", (?:ty|sinfo)_args=\(")
"""What stands before the type arguments of a call."""

TAKES_THEM = ("R.call_packed", "R.call_pure_packed", "R.call_builtin_with_ctx", "R.call_inplace_packed")
"""Calls whose type arguments the parser knows."""

METADATA = re.compile(r'metadata = tvm\.ir\.load_json\((""".*?""")\)', re.DOTALL)

LARGE = 2**20
"""Bytes of constants in all from which a listing leaves them out: as text they are some 4/3 as many."""


def script(module: Any, constants: bool | None = None) -> str:
    """The module as TVMScript, and above it what every PrimFunc takes, as comments.

    constants: whether their values are in the text, without which no parser makes the module of it; None = if they are small.
    """
    nbytes = constant_nbytes(module)
    whole = nbytes < LARGE if constants is None else constants
    text = _with_type_arguments(_with_index_types(str(module.script(show_meta=whole)), module))
    if whole and _calls_functions(module):
        text = _with_devices_of_constants(text, module)
    notes = [] if whole else [f"# left out: {nbytes:,} bytes of constants; with --constants they are here, and this parses back"]
    return "\n".join([*notes, *_signatures(module), "", text.rstrip()])


def constant_nbytes(module: Any) -> int:
    """Bytes of the constants in the module's Relax functions, each counted where it is used."""
    found = 0
    for function in _relax_functions(module).values():
        for binding in bindings(function):
            for arg in getattr(getattr(binding, "value", None), "args", []):
                for one in getattr(arg, "fields", [arg]):
                    array = constant_array(one)
                    found += 0 if array is None else array.nbytes
    return found


def _relax_functions(module: Any) -> dict[str, Any]:
    relax = import_tvm().relax
    return {str(var.name_hint): f for var, f in module.functions_items() if isinstance(f, relax.Function)}


def _signatures(module: Any) -> list[str]:
    """A comment for each PrimFunc: its buffers with their scopes, and its pattern."""
    found = []
    for var, function in sorted(module.functions_items(), key=lambda item: str(item[0].name_hint)):
        if not hasattr(function, "buffer_map") and kind(function) != "PrimFunc":
            continue
        infos = [info for param in function.params if (info := buffer_param(function, param)) is not None]
        pattern = function.attrs["op_pattern"] if function.attrs and "op_pattern" in function.attrs else None
        shown = ", ".join(f"{info.name}: {info.dtype}{_extents(info.shape)} {info.scope}" for info in infos)
        found.append(f"# {var.name_hint}({shown})" + ("" if pattern is None else f", op_pattern {pattern}"))
    return found


def _extents(shape: Any) -> str:
    return "(" + ", ".join(str(int(size)) if kind(size) == "IntImm" else str(size) for size in shape) + ")"


def _with_type_arguments(text: str) -> str:
    """Type arguments of operators as a call made of the same call: `(lambda call: tvm.relax.Call(...))(R.op(...))`."""
    return "\n".join(_typed_call(line) if TYPE_ARGUMENTS.search(line) else line for line in text.split("\n"))


def _typed_call(line: str) -> str:
    head, equals, call = line.partition(" = ")
    found = TYPE_ARGUMENTS.search(call)
    if not equals or found is None or call.startswith(tuple(f"{name}(" for name in TAKES_THEM)):
        return line
    start, end = found.end() - 1, _closing(call, found.end() - 1)
    plain = call[: found.start()] + call[end + 1 :]
    return f"{head} = (lambda call: tvm.relax.Call(call.op, call.args, call.attrs, {call[start : end + 1]}))({plain})"


def _with_index_types(text: str, module: Any) -> str:
    """The type of an index map's variables where it is not int64."""
    for name, function in _relax_functions(module).items():
        calls = [value for binding in bindings(function) if kind(value := getattr(binding, "value", None)) == "Call"]
        types = [_index_type(call) for call in calls if op_name(call) == "relax.layout_transform"]
        at = text.find(f"    def {name}(")
        for dtype in types:
            at = text.find("T.index_map(", at + 1)
            end = _closing(text, at + len("T.index_map"))
            if dtype != "int64":
                text = f'{text[:end]}, index_dtype="{dtype}"{text[end:]}'
    return text


def _index_type(call: Any) -> str:
    return dtype_of(call.attrs.index_map.initial_indices[0])


def _calls_functions(module: Any) -> bool:
    """Whether a Relax function calls another one: the only calls whose operands' virtual devices are compared."""
    found: Any = (getattr(b, "value", None) for function in _relax_functions(module).values() for b in bindings(function))
    return any(kind(value) == "Call" and kind(value.op) == "GlobalVar" for value in found)


def _with_devices_of_constants(text: str, module: Any) -> str:
    """The module's virtual devices, taken from constants where they are on one."""
    from tvm_ffi import structural_equal

    found = METADATA.search(text)
    if found is None:
        return text
    metadata = import_tvm().ir.load_json(ast.literal_eval(found[1]))
    at = text.find("I.module_global_infos(")
    for device in module.global_infos.get("vdevice", []):
        at = text.find("I.vdevice(", at)
        end = _closing(text, at + len("I.vdevice")) + 1
        same = next((where for where, other in _devices(metadata) if structural_equal(other, device)), None)
        if same is not None:
            text, end = text[:at] + same + text[end:], at + len(same)
        at = end
    return text


def _devices(metadata: Any) -> Iterator[tuple[str, Any]]:
    """(how to write it, virtual device) of every constant that is on one."""
    name = "struct_info" if tvm_series() == "0.25" else "ty"
    for key, nodes in metadata.items():
        for number, node in enumerate(nodes):
            device = getattr(getattr(node, name, None), "vdevice", None)
            if device is not None:
                yield f'metadata["{key}"][{number}].{name}.vdevice', device


def _closing(text: str, opening: int) -> int:
    """Where the bracket that opens at `opening` closes."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    raise ValueError(f"no bracket closes the one at {opening}")
