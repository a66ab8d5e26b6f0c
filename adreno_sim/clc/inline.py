"""Bitcode to text with every helper function inlined.

Inlining is the only LLVM pass the front end runs: it moves code and exploits nothing. Promotion to registers and
clean-up are the project's own, because LLVM's treat an out-of-range or uninitialised access as a licence.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass

import llvmlite.binding as llvm

from ..device import AdrenoSimError

_WRAPPER_PREFIX = "__clang_ocl_kern_imp_"
"""clang >= 21 moves a kernel's body into a function of this name, which the kernel calls."""

_NO_INLINE = re.compile(r"\b(?:noinline|optnone)\b ?")
_lock = threading.Lock()
_builder: llvm.PassBuilder | None = None


@dataclass(frozen=True)
class InlinedModule:
    """Text of a module without calls between its functions (but recursive ones); `wrapped` kernels call their body."""

    text: str
    wrapped: frozenset[str]


def inline_all(bitcode: bytes) -> InlinedModule:
    """Inline every call of a defined function. Raises AdrenoSimError where the bitcode is newer than llvmlite's LLVM."""
    try:
        module = llvm.parse_bitcode(bitcode, llvm.create_context())
        if any(b"noinline" in attribute for function in _defined(module) for attribute in function.attributes):
            module = llvm.parse_assembly(_without_noinline(str(module)), llvm.create_context())
    except RuntimeError as error:
        version = ".".join(map(str, llvm.llvm_version_info))
        raise AdrenoSimError(f"the compiler's bitcode does not read with llvmlite's LLVM {version}: {error}") from None
    wrapped = []
    for function in _defined(module):
        function.add_function_attribute("alwaysinline")
        if function.name.startswith(_WRAPPER_PREFIX):
            function.linkage = "internal"  # so that it goes once it is inlined
            wrapped.append(function.name[len(_WRAPPER_PREFIX) :])
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    with _lock:
        passes.run(module, _pass_builder())
    return InlinedModule(str(module), frozenset(wrapped))


def _defined(module: llvm.ModuleRef) -> list[llvm.ValueRef]:
    return [function for function in module.functions if not function.is_declaration]


def _without_noinline(text: str) -> str:
    """Drop the attributes that forbid inlining, which exist only in attribute groups."""
    return re.sub(r"^attributes #\d+ = .*$", lambda line: _NO_INLINE.sub("", line[0]), text, flags=re.MULTILINE)


def _pass_builder() -> llvm.PassBuilder:
    global _builder
    if _builder is None:
        llvm.initialize_native_target()
        machine = llvm.Target.from_default_triple().create_target_machine()
        _builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    return _builder
