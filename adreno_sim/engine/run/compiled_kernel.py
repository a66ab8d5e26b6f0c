"""A kernel compiled for one specialization: from memory, from disk, or fresh."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import Any

from ...base.errors import UnsupportedError
from ...base.garbage import gc_paused
from ...device.protocol import LaunchCode
from ...ir import ir
from ...records import dataclass
from ..abi.specialization import Specialization
from ..analysis.failures import note
from ..caching import compiled_cache
from ..caching.kernel_memo import KernelMemo
from ..emit.c_runtime import WORK, WORKER, renew_runtime
from ..emit.check import NotVectorizable
from ..emit.tables.module_text import ModuleText
from ..llvm import objects
from ..llvm.passes import LONG
from .native_functions import native_functions
from .workers import Pace

Worker = Callable[[int, int, int], None]
"""worker(context address, argument block address, private memory address). It releases the GIL while it runs."""

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)


@dataclass(frozen=True)
class CompiledKernel:
    """The machine code of `kernel` for `spec`, and what is needed to run it and to read its reports. Hold it while it runs."""

    kernel: ir.Function
    spec: Specialization
    module: ModuleText
    worker: Worker
    loaded: objects.Loaded
    pace: Pace = field(default_factory=Pace)
    spare: list[Any] = field(default_factory=list)  # memory of launches that are over

    @property
    def name(self) -> str:
        return self.kernel.name

    @cached_property
    def code(self) -> LaunchCode:
        """The LLVM text, and in words what it is compiled for."""
        merged = self.spec.merged
        lanes = f"vectors of {self.module.lanes} work-items" + (f", one of each of {merged} work-groups" if merged > 1 else "")
        form = lanes if self.module.lanes > 1 else f"one work-item at a time ({self.module.reason or 'scalar'})"
        size = " x ".join(map(str, self.spec.local_size))
        how = "a failed check sets a flag" if self.spec.deferred_checks else "a failed check reports"
        checks = "no checks" if self.spec.checks == "off" else f"checks {self.spec.checks}, {how}"
        proven = len(self.spec.proofs.in_range)
        quick = f", not optimised: over {LONG} lines of LLVM text in one function" if objects.is_long(self.module.text) else ""
        words = f"{form}, work-groups of {size}, {checks}, {proven} instructions proven in range{quick}"
        return LaunchCode(words, self.module.text)


_compiled: KernelMemo[CompiledKernel] = KernelMemo()


def specialize(kernel: ir.Function, spec: Specialization, *, keep: bool = True) -> CompiledKernel:
    """Compiles `kernel` for `spec`; returns the same object for the same kernel and spec. `keep`: use the disk
    cache.

    Raises UnsupportedError, with name and location, for what the engine does not run; AdrenoSimError if `spec` does not fit
    the kernel; NotVectorizable if deferred checks are asked for at level full and the kernel does not vectorise.
    """
    return _compiled.get(kernel, spec, make=lambda: _compile(kernel, spec, keep))


@gc_paused()
def _compile(kernel: ir.Function, spec: Specialization, keep: bool) -> CompiledKernel:
    name = compiled_cache.module_name(kernel, spec, objects.machine().identity) if keep else ""
    kept = compiled_cache.load_value("modules", ModuleText, name) if name else None
    module = kept or _emit(kernel, spec, name)
    if not module.text:
        note(module.failures)
        raise NotVectorizable(module.reason)
    try:
        loaded = _link(kernel, module, keep)
    except Exception as error:  # of any kind: a text on disk may be anything
        # Neither LLVM's verifier nor an encoder refuses what is made of the C runtime as that is.
        renewed = isinstance(error, (RuntimeError, ValueError)) and renew_runtime()
        module = _emit(kernel, spec, name, kept) if kept or renewed else module
        if not renewed and (kept is None or module.text == kept.text):
            raise
        loaded = _link(kernel, module, keep)
    return CompiledKernel(kernel, spec, module, _SIGNATURE(loaded.address), loaded)


def _emit(kernel: ir.Function, spec: Specialization, name: str, refused: ModuleText | None = None) -> ModuleText:
    """Returns the module made now, which the disk keeps as `name`. refused: what it had there, which is of no use."""
    from ..codegen import emit_module  # all emitters, which a kernel whose text is on disk does not need

    module = emit_module(kernel, spec)
    if refused is not None and module.text != refused.text:
        compiled_cache.refuse_value("modules", name, f"LLVM does not take this text of the kernel {kernel.name}")
    if name:
        compiled_cache.store_value("modules", ModuleText, name, module)
    return module


def _link(kernel: ir.Function, module: ModuleText, keep: bool) -> objects.Loaded:
    try:
        return compiled_cache.load_linked(module.text, WORKER, keep, {WORK: native_functions().work})
    except UnsupportedError as error:
        raise UnsupportedError(f"{error} (kernel {kernel.name})") from None
