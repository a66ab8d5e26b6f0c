"""Rewrites kernels of halves as kernels of floats: the same text, `half` read as `float`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from ..artifact.host_function import AllocBuffer, AllocImage, BufferParam, HostFunction, ScalarParam
from ..artifact.model import CompiledModel, KernelCode
from ..artifact.serial import Node


class BitsMatter(Exception):
    """A kernel takes the bits of halves for something else, so that floats in their place would mean something else."""


_NAMES = re.compile(r"\bhalf(2|3|4|8|16)?\b")
_FUNCTIONS = re.compile(r"\b(convert|as)_half(2|3|4|8|16)?(_sat)?(_rt[ezpn])?\b|\b(read|write)_imageh\b")
_BITS = re.compile(r"\b(vloada?_half\w*|vstorea?_half\w*|as_u?short\w*)\b")
_LITERAL = re.compile(r"(?<![\w.])((?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)[hH]\b")
_CAST = re.compile(r"\(half\)\s*(-?\s*(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)[fF]?(?![\w.])")


def widen_source(source: str) -> str:
    """OpenCL C with floats in the place of halves; constants keep the value that a half has. Raises BitsMatter."""
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


def widen_dtype(dtype: str) -> str:
    return "float32" if dtype == "float16" else dtype


def widen_model(model: CompiledModel, function: str) -> CompiledModel:
    """One host function and its kernels with floats in the place of halves; nothing else of the model.

    Raises BitsMatter for a kernel that cannot be rewritten.
    """
    chosen = _widen_function_of(model.host_functions[function])
    kernels = {launch.kernel: _widen_kernel(model.kernels[launch.kernel]) for launch in chosen.launches()}
    nothing: dict[str, Any] = {"functions": {}, "constants": {}, "graphs": {}, "plan": None, "golden": None}
    return replace(model, kernels=kernels, host_functions={function: chosen}, **nothing)


def _widen_kernel(code: KernelCode) -> KernelCode:
    params = tuple(replace(param, dtype=widen_dtype(param.dtype)) for param in code.params)
    return replace(code, source=widen_source(code.source), params=params)


def _widen_function_of(function: HostFunction) -> HostFunction:
    params = tuple(_widen(param) for param in function.params)
    return replace(function, params=params, body=tuple(_widen(stmt) for stmt in function.body))


def _widen(node: Any) -> Any:
    """A part of a host function with the types of what it declares widened."""
    changes: dict[str, Any] = {}
    for name, value in vars(node).items():
        if isinstance(value, tuple):
            changes[name] = tuple(_widen(item) if isinstance(item, Node) else item for item in value)
        elif isinstance(value, Node):
            changes[name] = _widen(value)
    if isinstance(node, (AllocBuffer, AllocImage, BufferParam, ScalarParam)):
        changes["dtype"] = widen_dtype(node.dtype)
    return replace(node, **changes)
