"""Compiles OpenCL C source to kernel IR. This is the entry point of the front end.

A program that may read files is compiled each time: what it is only clang's output tells, and an equal one is the same module.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..base import disk_cache
from ..base.errors import BuildError
from ..base.garbage import gc_paused
from ..ir import ir
from . import program_cache
from .diagnostics import Diagnostic, summary
from .driver import ClangOutput, FrontEndTarget, run_clang
from .file_references import may_read_files
from .options import parse_options

if TYPE_CHECKING:
    from .link import Linker

__all__ = ["FrontEndTarget", "compile_functions", "compile_source", "open_source"]

Key = tuple[str, str, FrontEndTarget, str]
"""A source, its options and target, and the digest of clang's output for a program that may read files, else ""."""

_CACHE_SIZE = 256
_cache: OrderedDict[Key, ir.Module] = OrderedDict()
_lock = threading.Lock()


def compile_source(source: str, options: str = "", *, target: FrontEndTarget) -> ir.Module:
    """Build a program. The module of a program seen before is the same object: treat it as read-only.

    Raises BuildError with clang's diagnostics, UnsupportedError naming what kernel IR cannot hold and where,
    DeviceError CL_INVALID_BUILD_OPTIONS for options no driver knows.
    """
    output, digest = None, ""
    if may_read_files(source, parse_options(options, target.extensions)):
        output = _run_clang(source, options, target)
        digest = hashlib.sha256(repr((output.text, output.warnings)).encode("utf-8", "surrogateescape")).hexdigest()
    key = source, options, target, digest
    return _recall(key) or _remember(key, _compile(source, options, target, output))


def open_source(
    source: str, options: str = "", *, target: FrontEndTarget, analyse: Callable[[ir.Function], None] | None = None
) -> ir.Module:
    """As `compile_source`, but a program that is on disk has kernels without bodies until these are asked for.

    `analyse` gives a kernel the facts that are to be kept with it. What a body needs beyond its build (program-scope data
    by name) is not in the module.
    """
    key = source, options, target, ""
    known = _recall(key)
    if known is not None:
        return known
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


def _recall(key: Key) -> ir.Module | None:
    with _lock:
        if key in _cache:
            _cache.move_to_end(key)
        return _cache.get(key)


def _remember(key: Key, module: ir.Module) -> ir.Module:
    with _lock:
        module = _cache.setdefault(key, module)
        while len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)
        return module


@gc_paused()
def _compile(source: str, options: str, target: FrontEndTarget, output: ClangOutput | None = None) -> ir.Module:
    """Returns the module of a program; `output` is what clang made of it, if it has run."""
    output = output or _run_clang(source, options, target)
    given = parse_options(options, target.extensions)
    linker = _link(output, target.folds_finite_math and given.finite_math, given.relaxed_math)
    kernels = {name: linker.finish(name) for name in linker.reader.kernels}
    return ir.Module(source, kernels, linker.reader.globals, list(output.warnings))


def compile_with_text(source: str, options: str = "", *, target: FrontEndTarget) -> tuple[ir.Module, str]:
    """Builds a program that no cache keeps. Returns its module, and the LLVM text of clang's that it is made of. Errors as of
    `compile_source`."""
    output = _run_clang(source, options, target)
    return _compile(source, options, target, output), output.text


def compile_functions(
    source: str, options: str = "", *, target: FrontEndTarget
) -> tuple[dict[str, ir.Function], dict[str, ir.Global]]:
    """Every function that `source` defines, by mangled name, and its program-scope data. Errors as `compile_source`."""
    linker = _link(_run_clang(source, options, target))
    return {name: linker.finish(name) for name in linker.reader.helpers}, linker.reader.globals


def _link(output: ClangOutput, finite: bool = False, relaxed: bool = False) -> Linker:
    """Returns what finishes the functions of a program. Raises BuildError for one that uses what nobody defines."""
    from .link import Linker  # the reader and all passes, which a program that is on disk does not need
    from .llvm_reader.reader import ModuleReader

    reader = ModuleReader(output.text)
    if reader.undefined:
        found = [Diagnostic(loc.file, loc.line, loc.column, "error", what) for what, loc in reader.undefined]
        raise BuildError(summary(found), [*output.warnings, *found])
    return Linker(reader, finite, relaxed)


def _run_clang(source: str, options: str, target: FrontEndTarget) -> ClangOutput:
    return run_clang(source, parse_options(options, target.extensions), target, as_text=True)
