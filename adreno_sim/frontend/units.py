"""Separate compilation: clCompileProgram makes units of sources and headers by name, clLinkProgram one program of several units.

A unit is clang's LLVM text. What is external in OpenCL C (functions that are not static, and extern variables) is found across
units by name, everything else belongs to its unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..base.errors import BuildError, DeviceError
from ..base.garbage import gc_paused
from ..base.processes.scratch import scratch_folder
from ..ir import ir
from ..records import dataclass
from .diagnostics import Diagnostic
from .driver import FrontEndTarget, run_clang
from .link import Linker
from .llvm_reader.linked import LinkedReader
from .options import parse_options


@dataclass(frozen=True)
class SourceUnit:
    """A compiled source: its LLVM text, the warnings on it."""

    source: str
    options: str
    text: str
    warnings: tuple[Diagnostic, ...]


def compile_unit(
    source: str, options: str = "", headers: Mapping[str, str] | None = None, *, target: FrontEndTarget
) -> SourceUnit:
    """Compile a source, whose #include directives find `headers` by name before any file.

    Raises BuildError with clang's diagnostics, DeviceError CL_INVALID_BUILD_OPTIONS, or CL_INVALID_VALUE for a header's name
    that leads out of a folder.
    """
    parsed = parse_options(options, target.extensions)
    if not headers:
        made = run_clang(source, parsed, target, as_text=True)
        return SourceUnit(source, options, made.text, made.warnings)
    with scratch_folder("headers") as folder:
        for header, text in headers.items():
            _write_header(folder, header, text)
        prefix = f"{folder}/"
        words = (f"-I{folder}", f"-ffile-prefix-map={prefix}=", *parsed.arguments)
        try:
            made = run_clang(source, replace(parsed, arguments=words), target, as_text=True)
        except BuildError as error:
            shown = [replace(found, file=found.file.replace(prefix, "")) for found in error.diagnostics]  # type: ignore[attr-defined,type-var]
            raise BuildError(str(error).replace(prefix, ""), shown) from None
    warnings = tuple(replace(found, file=found.file.replace(prefix, "")) for found in made.warnings)
    return SourceUnit(source, options, made.text, warnings)


@gc_paused()
def link_units(units: Sequence[SourceUnit], finite: bool = False) -> ir.Module:
    """The program of several units. BuildError for a function that two of them define, and for one that none does;
    UnsupportedError as of `compile_source`. finite: as of `Linker`."""
    relaxed = any(parse_options(unit.options).relaxed_math for unit in units)
    linker = Linker(LinkedReader([unit.text for unit in units]), finite, relaxed)
    kernels = {name: linker.finish(name) for name in linker.reader.kernels}
    warnings: list[object] = [found for unit in units for found in unit.warnings]
    return ir.Module("\n".join(unit.source for unit in units), kernels, linker.reader.globals, warnings)


def _write_header(folder: Path, name: str, text: str) -> None:
    path = folder / name
    if not name or name.startswith("/") or ".." in Path(name).parts or re.search(r"[\0\n]", name):
        raise DeviceError("CL_INVALID_VALUE", f"header {name!r:.60}: expected a relative path without '..'")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise DeviceError("CL_INVALID_VALUE", f"header {name!r:.60}: {error.strerror}") from None
