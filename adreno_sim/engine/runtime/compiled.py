"""The C files of this folder as LLVM text: compiled by clang once, and kept on disk."""

from __future__ import annotations

import hashlib
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from ...base import disk_cache
from ...base.code_digest import code_digest
from ...base.stored import values
from ...frontend.driver import c_target, compile_c, identify_compiler
from .functions import CModule, read_module

FOLDER = Path(__file__).parent
FLAGS = (
    "-std=c11", "-O2", "-ffreestanding", "-nostdinc", "-fno-builtin", "-ffp-contract=off", "-fno-strict-aliasing",
    "-fno-sanitize=all", "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
    "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops", "-fno-discard-value-names",
    "-Xclang", "-no-enable-noundef-analysis", "-Xclang", "-disable-lifetime-markers",
)  # fmt: skip
"""Loops stay unchanged: they are vectorised with the kernel that they go into, for the processor that runs it. A value that
a kernel passes may be undefined, so that clang must not take it for defined."""


def source_of(constants: str, files: tuple[str, ...]) -> str:
    """Returns one translation unit: `constants` (see `constants.py`) ahead of `files` of this folder."""
    return constants + "".join(f'#include "{name}"\n' for name in files)


_from_disk: dict[Path, tuple[str, CModule]] = {}
"""What this process has of the disk: the source, and what was kept of it."""


def compile_files(constants: str, files: tuple[str, ...]) -> CModule:
    """Returns the functions of `files`. Raises BuildError with clang's diagnostics: the files are this project's."""
    source = source_of(constants, files)
    parts = (code_digest("runtime"), llvmlite.__version__, identify_compiler(), *c_target(), *FLAGS, source)
    path = disk_cache.folder("runtime") / hashlib.sha256("\0".join(parts).encode()).hexdigest()
    known: CModule | None = values.load(path, CModule)
    if known is not None:
        _from_disk[path] = source, known
        return known
    module = read_module(_compile(source))
    values.store(path, CModule, module)
    return module


def renew() -> bool:
    """Compiles again what this process has from disk, and returns whether any of it is something else; that is kept no more."""
    is_other = False
    while _from_disk:
        path, (source, known) = _from_disk.popitem()
        module = read_module(_compile(source))
        if module != known:
            disk_cache.refuse(path, "it is not what clang makes of the same C")
            values.store(path, CModule, module)
            is_other = True
    return is_other


def _compile(source: str) -> str:
    bitcode = compile_c(source, (*FLAGS, f"-I{FOLDER}", "-emit-llvm"))
    return str(llvm.parse_bitcode(bitcode, llvm.create_context()))
