"""LLVM bitcode to text, by llvmlite. No pass runs: LLVM's treat an out-of-range or uninitialised access as a licence."""

from __future__ import annotations

import llvmlite.binding as llvm

from ..device import AdrenoSimError


def disassemble(bitcode: bytes) -> str:
    """The text of a module. Raises AdrenoSimError where the bitcode is newer than llvmlite's LLVM."""
    try:
        return str(llvm.parse_bitcode(bitcode, llvm.create_context()))
    except RuntimeError as error:
        version = ".".join(map(str, llvm.llvm_version_info))
        raise AdrenoSimError(f"the compiler's bitcode does not read with llvmlite's LLVM {version}: {error}") from None
