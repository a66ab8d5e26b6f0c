"""OpenCL C source to kernel IR: the front end's one entrance."""

from __future__ import annotations

import threading
from collections import OrderedDict

from . import ir
from .cfg import clean_up
from .dead import remove_dead
from .driver import FrontEndTarget, run_clang
from .inline import inline_all
from .options import parse_options
from .promote import promote
from .reader import read_module
from .spaces import narrow_generic_pointers
from .vec3 import narrow_vec3
from .verify import verify

__all__ = ["FrontEndTarget", "compile_functions", "compile_source"]

_CACHE_SIZE = 256
_cache: OrderedDict[tuple[str, str, FrontEndTarget], ir.Module] = OrderedDict()
_lock = threading.Lock()


def compile_source(source: str, options: str = "", *, target: FrontEndTarget) -> ir.Module:
    """Build a program. The module of a source seen before is the same object: treat it as read-only.

    Raises BuildError with clang's diagnostics, UnsupportedError naming what kernel IR cannot hold and where,
    DeviceError CL_INVALID_BUILD_OPTIONS for options no driver knows.
    """
    key = (source, options, target)
    with _lock:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
    module = _compile(source, options, target)
    with _lock:
        _cache[key] = module
        while len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)
    return module


def _compile(source: str, options: str, target: FrontEndTarget) -> ir.Module:
    output = run_clang(source, parse_options(options), target)
    read = read_module(inline_all(output.bitcode), kernels=True)
    for function in read.functions.values():
        _finish(function)
    return ir.Module(source, read.functions, read.globals, list(output.warnings))


def compile_functions(
    source: str, options: str = "", *, target: FrontEndTarget
) -> tuple[dict[str, ir.Function], dict[str, ir.Global]]:
    """Every function that `source` defines, by mangled name, and its program-scope data. Errors as `compile_source`."""
    output = run_clang(source, parse_options(options), target)
    read = read_module(inline_all(output.bitcode), kernels=False)
    for function in read.functions.values():
        _finish(function)
    return read.functions, read.globals


def _finish(function: ir.Function) -> None:
    """From clang's form to kernel IR: promote, and promote again what only generic pointers kept in memory."""
    clean_up(function)
    narrow_vec3(function)
    promote(function)
    if narrow_generic_pointers(function):
        promote(function)
    remove_dead(function)
    verify(function)
