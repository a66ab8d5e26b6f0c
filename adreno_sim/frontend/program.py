"""Compiles OpenCL C source to kernel IR. This is the entry point of the front end."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from ..base import disk_cache
from ..base.gc_pause import gc_paused
from ..ir import ir
from . import program_cache
from .diagnostics import Diagnostic
from .driver import FrontEndTarget, run_clang
from .link import Linker
from .llvm_reader.reader import ModuleReader
from .options import parse_options

__all__ = ["FrontEndTarget", "compile_functions", "compile_source", "open_source"]

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
    return _remember(key, _compile(source, options, target))


def open_source(
    source: str, options: str = "", *, target: FrontEndTarget, analyse: Callable[[ir.Function], None] | None = None
) -> ir.Module:
    """As `compile_source`, but a program that is on disk has kernels without bodies until these are asked for.

    `analyse` gives a kernel the facts that are to be kept with it. What a body needs beyond its build (program-scope data
    by name) is not in the module.
    """
    key = (source, options, target)
    with _lock:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
    name = program_cache.entry_name(source, options, target) if disk_cache.is_enabled() else ""
    module = program_cache.load(name, source, lambda: _compile(source, options, target)) if name else None
    if module is None:
        module = compile_source(source, options, target=target)
        for number, function in enumerate(module.kernels.values()):
            function.digest = name and f"{name}.{number}"
            if analyse is not None:
                analyse(function)
        if name:
            program_cache.store(name, module)
        return module
    return _remember(key, module)


def _remember(key: tuple[str, str, FrontEndTarget], module: ir.Module) -> ir.Module:
    with _lock:
        module = _cache.setdefault(key, module)
        while len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)
        return module


@gc_paused()
def _compile(source: str, options: str, target: FrontEndTarget) -> ir.Module:
    linker, warnings = _front_end(source, options, target)
    kernels = {name: linker.finish(name) for name in linker.reader.kernels}
    return ir.Module(source, kernels, linker.reader.globals, list(warnings))


def compile_functions(
    source: str, options: str = "", *, target: FrontEndTarget
) -> tuple[dict[str, ir.Function], dict[str, ir.Global]]:
    """Every function that `source` defines, by mangled name, and its program-scope data. Errors as `compile_source`."""
    linker, _ = _front_end(source, options, target)
    return {name: linker.finish(name) for name in linker.reader.helpers}, linker.reader.globals


def _front_end(source: str, options: str, target: FrontEndTarget) -> tuple[Linker, tuple[Diagnostic, ...]]:
    output = run_clang(source, parse_options(options), target, as_text=True)
    return Linker(ModuleReader(output.text)), output.warnings
