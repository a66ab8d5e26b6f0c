"""Rewrites kernels for wider types: the same text, `half` read as `float`, and `float` as `double`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np

from ...records import dataclass
from ..artifact.host_function import AllocBuffer, AllocImage, BufferParam, BufferRef, HostFunction, Launch, ScalarParam
from ..artifact.model import CompiledModel, KernelCode
from ..artifact.serial import Node
from .wide_functions import define_functions


class BitsMatter(Exception):
    """A kernel takes the bits of its floats for something else, or needs their very type: wider ones mean something else."""


@dataclass(frozen=True)
class Width:
    """Which types become wider. halves: float16 becomes what float32 becomes. doubles: float32 becomes float64, but not in
    texels, which hold no doubles: there the arithmetic alone is wider."""

    halves: bool
    doubles: bool

    def dtype_of(self, dtype: str, scope: str = "global") -> str:
        """What a tensor in a scope holds, as a numpy type."""
        if dtype == "float16" and not self.halves:
            return dtype
        if dtype in ("float16", "float32"):
            return "float64" if self.doubles and not scope.startswith("global.texture") else "float32"
        return dtype

    def __str__(self) -> str:
        return "float64" if self.doubles else "float32"


_NUMBER = r"(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?"
_NAMES = re.compile(r"\bhalf(2|3|4|8|16)?\b")
_FUNCTIONS = re.compile(r"\b(convert|as)_half(2|3|4|8|16)?(_sat)?(_rt[ezpn])?\b|\b(read|write)_imageh\b")
_BITS = re.compile(r"\b(vloada?_half\w*|vstorea?_half\w*|as_u?short\w*)\b")
_LITERAL = re.compile(rf"(?<![\w.])({_NUMBER})[hH]\b")
_CAST = re.compile(rf"\(half\)\s*(-?\s*{_NUMBER})[fF]?(?![\w.])")

_FLOAT_NAMES = re.compile(r"\b(convert_|as_)?float(2|3|4|8|16)?(?:_sat)?(_rt[ezpn])?\b")
_FLOAT_LITERAL = re.compile(rf"(?<![\w.])(?:({_NUMBER})[fF]|((?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+))(?![\w.])")
_FLOAT_BITS = re.compile(
    r"\b(as_(?!float)\w+|vloada?_half\w*|vstorea?_half\w*|atomic_float|union)\b"
    r"|(\(\s*(?:\w+\s+)*u?(?:char|short|int|long)(?:2|3|4|8|16)?\s*(?:\w+\s*)*\*\s*\))"
)
"""as_float is none of them: of a float it takes nothing for anything else, and of another type no double has its size."""

_FLOATS_ONLY = re.compile(r"\b((?:native|half)_\w+|double(?:2|3|4|8|16)?)\b")
_DOUBLES = """#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define read_imagef(...) convert_double4(read_imagef(__VA_ARGS__))
#define write_imagef(image, place, ...) write_imagef(image, place, convert_float4(__VA_ARGS__))
"""

_PLAIN_DIGITS = 3
"""Digits of a constant that is meant as it is written, as whole numbers are. One of more may be the rounded text of another:
TVM prints 7."""


def widen_source(source: str) -> str:
    """OpenCL C with floats instead of halves; constants keep the value that a half has. Raises BitsMatter."""
    if found := _BITS.search(source):
        raise BitsMatter(f"{found[0]} takes the bits of halves")
    text = _CAST.sub(lambda match: f"(float)({_constant(match[1])})", source)
    text = _LITERAL.sub(lambda match: _constant(match[1]), text)
    text = _FUNCTIONS.sub(_widen_function, text)
    return _NAMES.sub(lambda match: f"float{match[1] or ''}", text)


def _constant(digits: str) -> str:
    with np.errstate(over="ignore"):
        value = float(np.float16(float(digits.replace(" ", ""))))
    return "INFINITY" if value == np.inf else "-INFINITY" if value == -np.inf else f"{value!r}f"


def _widen_function(match: re.Match[str]) -> str:
    if match[5]:
        return f"{match[5]}_imagef"
    return f"{match[1]}_float{match[2] or ''}{match[4] or ''}"


def widen_floats(source: str, nudge: bool = False) -> str:
    """OpenCL C with doubles instead of floats; constants keep the value that a float has. Raises BitsMatter.

    nudge: constants are moved, by turns up and down, by as much as their printed digits leave open.
    """
    if found := _FLOAT_BITS.search(source):
        raise BitsMatter(f"{found[0]} takes the bits of floats")
    if found := _FLOATS_ONLY.search(source):
        raise BitsMatter(f"{found[0]} has no wider type")
    signs = cycle((1, -1, -1)) if nudge else cycle((0,))
    text = _FLOAT_LITERAL.sub(lambda match: _wide_constant(match[1] or match[2], next(signs)), source)
    text = _FLOAT_NAMES.sub(lambda match: f"{match[1] or ''}double{match[2] or ''}{match[3] or ''}", text)
    functions, _ = define_functions(text)
    return _DOUBLES + functions + text


def _wide_constant(digits: str, sign: int) -> str:
    with np.errstate(over="ignore"):
        value = float(np.float32(float(digits)))
    if np.isinf(value):
        return "INFINITY"
    mantissa, _, exponent = digits.lower().partition("e")
    if sign and not value.is_integer() and len(mantissa.replace(".", "").strip("0")) > _PLAIN_DIGITS:
        last = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
        value += sign * max(last / 2, 2.0**-24 * abs(value))
    return f"{value!r}" if "." in repr(value) or "e" in repr(value) else f"{value!r}.0"


def widen_model(
    model: CompiledModel, function: str, width: Width, nudge: bool = False, large: Collection[str] = ()
) -> tuple[CompiledModel, frozenset[str]]:
    """One host function and its kernels with wider types; nothing else of the model. nudge: as `widen_floats`.

    large: names of tensors that the function only reads. Those which can keep their types, as their elements are widened where
    they are read, are the second result. Raises BitsMatter for a kernel that cannot be rewritten.
    """
    launches = model.host_functions[function].launches()
    kept = frozenset(name for name in large if all(_keep_narrow(model, launch, name) is not None for launch in launches))
    chosen = _widen_host(model.host_functions[function], width, kept)
    kernels: dict[str, KernelCode] = {}
    for launch in launches:
        code = model.kernels[launch.kernel]
        pointers = [pointer for name in kept for pointer in _pointers(code, launch, name)]
        kernels[launch.kernel] = _widen_kernel(code, width, nudge, pointers)
    nothing: dict[str, Any] = {"functions": {}, "constants": {}, "graphs": {}, "plan": None, "golden": None}
    return replace(model, kernels=kernels, host_functions={function: chosen}, **nothing), kept


_NARROW = "narrow_elements_of_"
"""Before names that are to stay unchanged."""


def _pointers(code: KernelCode, launch: Launch, tensor: str) -> list[str]:
    """The parameters of a kernel that are given a tensor of the host function."""
    pairs = zip(code.params, launch.args, strict=True)
    return [param.name for param, arg in pairs if isinstance(arg, BufferRef) and arg.name == tensor]


def _keep_narrow(model: CompiledModel, launch: Launch, tensor: str) -> str | None:
    """The text of a kernel that widens a tensor's elements as it reads them; None if it cannot."""
    code = model.kernels[launch.kernel]
    source: str | None = code.source
    for pointer in _pointers(code, launch, tensor):
        source = source and widen_where_read(source, pointer)
    return source


def widen_where_read(source: str, pointer: str) -> str | None:
    """OpenCL C in which the elements of one parameter, a pointer to floats or halves, keep their type until they are read; None
    if it does anything else than index it. `widen_source` and `widen_floats` leave its declaration alone."""
    name = re.escape(pointer)
    declared = re.compile(rf"\b(float|half)(\s*\*\s*(?:restrict\s+|const\s+)*)({name}\s*[,)])")
    types = {match[1] for match in declared.finditer(source)}
    if len(types) != 1:
        return None
    text = declared.sub(rf"{_NARROW}\1\2{_NARROW}\3", source)
    for use in reversed(list(re.finditer(rf"\b{name}\b", text))):
        end = _find_bracket(text, use.end())
        if end is None or text[: use.start()].rstrip()[-1:] == "&":
            return None
        text = f"{text[: use.start()]}(({next(iter(types))}){text[use.start() : end]}){text[end:]}"
    return text


def _find_bracket(text: str, start: int) -> int | None:
    """The place after the bracket that opens at `start` and is closed again; None if none opens."""
    if text[start : start + 1] != "[":
        return None
    depth = 0
    for place in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return None


def rounds_as_floats(model: CompiledModel, function: str) -> bool:
    """Whether a host function's kernels round to floats also where their floats are doubles: in texels and in some functions."""
    sources = [model.kernels[launch.kernel].source for launch in model.host_functions[function].launches()]
    return has_images(model, function) or not all(define_functions(source)[1] for source in sources)


def has_images(model: CompiledModel, function: str) -> bool:
    """Whether a kernel of a host function is given an image."""
    launches = model.host_functions[function].launches()
    return any(param.kind == "image" for launch in launches for param in model.kernels[launch.kernel].params)


def _widen_kernel(code: KernelCode, width: Width, nudge: bool, narrow: Sequence[str]) -> KernelCode:
    """narrow: pointers whose elements are widened as they are read."""
    source = code.source
    for pointer in narrow:
        source = widen_where_read(source, pointer) or source
    source = widen_source(source) if width.halves else source
    if width.doubles:
        source = widen_floats(source, nudge)
    source = source.replace(_NARROW, "")
    scopes = {param.name: "global.texture" if param.kind == "image" else "global" for param in code.params}
    params = tuple(
        param if param.name in narrow else replace(param, dtype=width.dtype_of(param.dtype, scopes[param.name]))
        for param in code.params
    )
    return replace(code, source=source, params=params)


def _widen_host(function: HostFunction, width: Width, kept: Collection[str]) -> HostFunction:
    params = tuple(param if param.name in kept else _widen(param, width) for param in function.params)
    return replace(function, params=params, body=tuple(_widen(stmt, width) for stmt in function.body))


def _widen(node: Any, width: Width) -> Any:
    """A part of a host function with the types of what it declares widened."""
    changes: dict[str, Any] = {}
    for name, value in vars(node).items():
        if isinstance(value, tuple):
            changes[name] = tuple(_widen(item, width) if isinstance(item, Node) else item for item in value)
        elif isinstance(value, Node):
            changes[name] = _widen(value, width)
    if isinstance(node, AllocImage):
        changes["dtype"] = width.dtype_of(node.dtype, "global.texture")
    elif isinstance(node, (AllocBuffer, BufferParam, ScalarParam)):
        changes["dtype"] = width.dtype_of(node.dtype, getattr(node, "scope", "global"))
    return replace(node, **changes)
