"""Runs clang: OpenCL C source in, LLVM IR and diagnostics out.

Nothing is written to disk: source, IR and messages pass through anonymous memory files, so that any number of
processes can compile at once and a read-only home is no obstacle.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import re
import resource
import select
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from ..base.errors import AdrenoSimError, BuildError
from . import wide_vectors
from .constant_arithmetic import FLAGS as CHECK_FLAGS
from .constant_arithmetic import has_folded_operation, replace_marks
from .diagnostics import Diagnostic, parse_diagnostics, summary
from .options import BuildOptions

TIME_LIMIT = 30.0
"""Seconds one compilation may take."""
_MEMORY_LIMIT = 2 << 30
_OUTPUT_LIMIT = 256 << 20
_SOURCE_LIMIT = 16 << 20
_NO_MEMORY = ("out of memory", "bad_alloc", "Allocation failed")
_INCLUDE = Path(__file__).parent / "include"
_OLDEST_CLANG = 17
"""Before it, images and samplers were plain pointers in LLVM IR."""

_STANDARD_NAME = {100: "CL1.0", 110: "CL1.1", 120: "CL1.2", 200: "CL2.0", 300: "CL3.0"}
_UNASKED_STANDARD = 120
"""Without -cl-std the language is the highest OpenCL C 1.x that the device has (OpenCL API 3.0, section 5.8.6.5)."""

_FLAGS = (
    "-x", "cl", "-target", "spir64-unknown-unknown", "-emit-llvm", "-O1", "-Xclang", "-disable-llvm-passes",
    "-Xclang", "-disable-lifetime-markers", "-fwrapv", "-fno-strict-aliasing",
    "-ffp-contract=on", "-gline-tables-only", "-gcolumn-info",
    "-fno-discard-value-names", "-Xclang", "-cl-kernel-arg-info", "-fno-color-diagnostics",
    "-fno-diagnostics-fixit-info", "-Wno-unused-command-line-argument", "-fno-delete-null-pointer-checks",
    "-Wno-error=incompatible-pointer-types", "-Wno-error=int-conversion",
)  # fmt: skip
"""No optimisation may fold a defect away, every instruction has a line, every argument its name (DESIGN, kernel engine).

Pointers of another type are a warning, as in the older clang of device drivers."""

_UNKNOWN_PRAGMA = re.compile(r"OpenCL extension '(\w+)' unknown or does not require pragma")

_CLANG_EXTENSIONS = frozenset((
    "cl_khr_3d_image_writes", "cl_khr_byte_addressable_store", "cl_khr_depth_images", "cl_khr_fp16", "cl_khr_fp64",
    "cl_khr_gl_msaa_sharing", "cl_khr_global_int32_base_atomics", "cl_khr_global_int32_extended_atomics",
    "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics", "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics", "cl_khr_mipmap_image", "cl_khr_mipmap_image_writes", "cl_khr_srgb_image_writes",
    "cl_khr_subgroups",
))  # fmt: skip
"""Extensions clang itself switches on and off; every other one is only a macro."""

_FEATURES = {
    "cl_khr_3d_image_writes": ("__opencl_c_3d_image_writes",),
    "cl_khr_fp64": ("__opencl_c_fp64",),
    "cl_khr_integer_dot_product": (
        "__opencl_c_integer_dot_product_input_4x8bit", "__opencl_c_integer_dot_product_input_4x8bit_packed",
    ),
    "cl_khr_subgroups": ("__opencl_c_subgroups",),
}  # fmt: skip
"""Features of OpenCL C 3.0 that must agree with the extension."""

_COMMON_FEATURES = tuple(
    "__opencl_c_" + name
    for name in (
        "atomic_order_acq_rel", "atomic_order_seq_cst", "atomic_scope_all_devices", "atomic_scope_device", "device_enqueue",
        "generic_address_space", "images", "int64", "pipes", "program_scope_global_variables", "read_write_images",
        "work_group_collective_functions",
    )
)  # fmt: skip
"""Features that depend on no extension."""


@dataclass(frozen=True)
class FrontEndTarget:
    """What a device's compiler announces to a source.

    opencl_version: CL_DEVICE_VERSION as a number (`__OPENCL_VERSION__`), 100 to 300; also the newest OpenCL C that it takes.
    extensions: names a kernel may test as macros; None = all that clang knows. fp16, fp64: whether `half` and `double`
    arithmetic exist (they win over `extensions`). builtins: declare OpenCL's built-in functions (False: the source defines
    them). macros: more NAME=VALUE.
    """

    opencl_version: int = 200
    extensions: frozenset[str] | None = None
    fp16: bool = True
    fp64: bool = False
    builtins: bool = True
    macros: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClangOutput:
    """LLVM IR of a source that compiled, as bitcode or as text, and the warnings on it."""

    bitcode: bytes
    text: str
    warnings: tuple[Diagnostic, ...]


def run_clang(source: str, options: BuildOptions, target: FrontEndTarget, *, as_text: bool = False) -> ClangOutput:
    """Compile `source`. Raises BuildError with clang's diagnostics, also for one that takes too long or too much memory.

    The IR comes as bitcode, which only an LLVM at least as new as clang reads, or as text.
    """
    if options.standard is not None and options.standard > target.opencl_version:
        newest = max(version for version in _STANDARD_NAME if version <= target.opencl_version)
        asked, taken = _STANDARD_NAME[options.standard], _STANDARD_NAME[newest]
        raise BuildError(f"-cl-std={asked}: expected at most {taken}, the newest OpenCL C of this device")
    if wide_vectors.EXTENSION in (target.extensions or ()):
        source = wide_vectors.name_upper_lanes(source)
    text = source.encode("utf-8", "surrogateescape")
    if len(text) > _SOURCE_LIMIT:
        raise BuildError(f"source of {len(text)} bytes: expected at most {_SOURCE_LIMIT}")
    form = "-S" if as_text else "-c"
    status, output, messages = _execute([*compiler(), form, *arguments(options, target)], text)
    diagnostics = [found for found in parse_diagnostics(messages) if not _is_known_pragma(found, target)]
    if status == 0 and output:
        if not as_text:
            return ClangOutput(output, "", tuple(diagnostics))
        return ClangOutput(b"", _with_undefined_constants(output, text, options, target), tuple(diagnostics))
    if any(sign in messages for sign in _NO_MEMORY):
        raise BuildError(f"the compiler needs more than {_MEMORY_LIMIT >> 20} MiB of memory (macros that expand without end?)")
    what = summary(diagnostics) or _failure(status, messages)
    raise BuildError(what + (_newer_standard(text, options, target) if status > 0 else ""), diagnostics)


def _with_undefined_constants(output: bytes, text: bytes, options: BuildOptions, target: FrontEndTarget) -> str:
    """Returns clang's LLVM text of a source, in which undefined arithmetic of constants is still there."""
    printed = output.decode("utf-8", "replace")
    if not has_folded_operation(printed):
        return printed
    status, marked, _ = _execute([*compiler(), "-S", *CHECK_FLAGS, *arguments(options, target)], text)
    return replace_marks(marked.decode("utf-8", "replace")) if status == 0 and marked else printed


def _newer_standard(text: bytes, options: BuildOptions, target: FrontEndTarget) -> str:
    """Returns a line on the -cl-std with which a source compiles that names none and needs a newer one; "" if there is none."""
    newer = [n for n in _STANDARD_NAME if _UNASKED_STANDARD < n <= target.opencl_version] if options.standard is None else []
    for standard in newer:
        words = arguments(replace(options, standard=standard), target)
        if _execute([*compiler(), "-fsyntax-only", *words], text)[0] == 0:
            return f"\nwithout -cl-std this is OpenCL C 1.2: it compiles with -cl-std={_STANDARD_NAME[standard]}"
    return ""


def compile_c(source: str, flags: Sequence[str]) -> bytes:
    """Object code for x86-64 of a C source, or bitcode if `flags` hold -emit-llvm. Raises BuildError with clang's diagnostics:
    the source is this project's."""
    words = [*compiler(), "-x", "c", "-target", "x86_64-unknown-linux-gnu"]
    command = [*words, *flags, "-fno-color-diagnostics", "-c", "-", "-o", "-"]
    status, output, messages = _execute(command, source.encode())
    if status == 0 and output:
        return output
    diagnostics = parse_diagnostics(messages)
    raise BuildError(summary(diagnostics) or _failure(status, messages), diagnostics)


def _is_known_pragma(found: Diagnostic, target: FrontEndTarget) -> bool:
    """Whether clang only does not know the pragma of an extension that the device has."""
    name = _UNKNOWN_PRAGMA.match(found.message)
    return name is not None and name[1] in (target.extensions or ())


def arguments(options: BuildOptions, target: FrontEndTarget) -> list[str]:
    """clang's command line but for the program and the form of the IR: source on standard input, IR on standard output."""
    standard = options.standard or min(target.opencl_version, _UNASKED_STANDARD)
    words = [*_FLAGS, f"-cl-std={_STANDARD_NAME[standard]}", f"-D__OPENCL_VERSION__={target.opencl_version}"]
    words += [f"-I{_INCLUDE}", *_extension_arguments(target)]
    if not target.builtins:
        words += ["-cl-no-stdinc", "-include", str(_INCLUDE / "opencl-c-base.h")]
    words += ["-D" + macro for macro in target.macros]
    return [*words, *options.arguments, "-", "-o", "-"]


def _extension_arguments(target: FrontEndTarget) -> list[str]:
    """Returns clang's switches. Its target SPIR has all extensions, those of other vendors too: what a device does not list is
    switched off, whether this list names it or not. clang ignores names that it does not know."""
    wanted = set(_CLANG_EXTENSIONS if target.extensions is None else target.extensions) - {"cl_khr_fp16", "cl_khr_fp64"}
    wanted |= {"cl_khr_fp16"} if target.fp16 else set()
    wanted |= {"cl_khr_fp64"} if target.fp64 else set()
    switches = [] if target.extensions is None else ["-all", *("+" + name for name in _COMMON_FEATURES)]
    for name in sorted(_CLANG_EXTENSIONS | wanted):
        sign = "+" if name in wanted else "-"
        switches += [sign + name, *(sign + feature for feature in _FEATURES.get(name, ()))]
    macros = sorted(name for name in wanted if name not in _CLANG_EXTENSIONS and re.fullmatch(r"cl_\w+", name))
    return ["-Xclang", "-cl-ext=" + ",".join(switches), *(f"-D{name}=1" for name in macros)]


def compiler() -> list[str]:
    """The program to run: ADRENO_SIM_CLANG where set, else the clang inside the ziglang package."""
    chosen = os.environ.get("ADRENO_SIM_CLANG")
    if not chosen:
        return [_zig(), "clang"]
    _check_version(chosen)
    return [chosen]


def identify_compiler() -> str:
    """What tells this compiler from another in the key of a cache: its path, size and age."""
    program = compiler()
    status = os.stat(program[0]) if os.path.exists(program[0]) else None
    return repr((*program, *((status.st_size, status.st_mtime_ns) if status else ())))


@functools.lru_cache(maxsize=1)
def _zig() -> str:
    spec = importlib.util.find_spec("ziglang")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = os.path.join(folder, "zig")
        if os.access(path, os.X_OK):
            return path
    raise AdrenoSimError(
        "no OpenCL C compiler: install one with `pip install ziglang==0.17.0`, or name a clang in ADRENO_SIM_CLANG"
    )


@functools.lru_cache(maxsize=8)
def _check_version(program: str) -> None:
    try:
        shown = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=TIME_LIMIT, check=False).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise AdrenoSimError(f"ADRENO_SIM_CLANG={program}: expected a clang that runs, got {error}") from None
    version = re.search(r"clang version (\d+)", shown)
    if not version or int(version[1]) < _OLDEST_CLANG:
        got = shown.splitlines()[0] if shown else "no version"
        raise AdrenoSimError(f"ADRENO_SIM_CLANG={program}: expected clang {_OLDEST_CLANG} or newer, got {got}")


def _execute(command: list[str], source: bytes) -> tuple[int, bytes, str]:
    """Run `command` within the time, memory and output limits: exit status (negative: signal), stdout, stderr."""
    with _memory_file(source) as given, _memory_file() as out, _memory_file() as err:
        try:
            process = subprocess.Popen(command, stdin=given, stdout=out, stderr=err)
        except OSError as error:
            raise AdrenoSimError(f"cannot run {command[0]}: {error.strerror}") from None
        _limit(process.pid)
        try:
            in_time = _wait(process)
        finally:
            if process.poll() is None:
                process.kill()
        status = process.wait() if in_time else -signal.SIGXCPU
        return status, _content(out), _content(err).decode("utf-8", "replace")


def _wait(process: subprocess.Popen[bytes]) -> bool:
    """Wait for the end, without the polling of `Popen.wait(timeout)`, which costs up to its own duration again."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:  # kernels before 5.3, and sandboxes
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(TIME_LIMIT)
        return process.poll() is not None
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(TIME_LIMIT * 1000))
    finally:
        os.close(handle)


def _memory_file(content: bytes = b"") -> BinaryIO:
    file = os.fdopen(os.memfd_create("adreno-sim"), "w+b")
    file.write(content)
    file.seek(0)
    return file


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(_OUTPUT_LIMIT)


def _limit(pid: int) -> None:
    try:
        resource.prlimit(pid, resource.RLIMIT_AS, (_MEMORY_LIMIT, _MEMORY_LIMIT))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (_OUTPUT_LIMIT, _OUTPUT_LIMIT))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    except (ProcessLookupError, PermissionError, ValueError):
        pass  # it has ended already, or runs under stricter limits


def _failure(status: int, messages: str) -> str:
    if status == -signal.SIGXCPU:
        return f"compilation took longer than {TIME_LIMIT:.0f} s"
    if status < 0:
        return f"the compiler was stopped by {signal.Signals(-status).name} (source too large or nested too deeply?)"
    return f"the compiler failed with status {status}: {messages.strip()[:500] or 'no message'}"
