"""Runs clang: OpenCL C source in, LLVM IR and diagnostics out.

clang reads only the files that `visible_files` finds, unless the caller lets it read all.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace

from ..base.errors import AdrenoSimError, BuildError, UnsupportedError
from ..base.host.current import current_family
from ..base.installed.package_version import find_version
from ..records import dataclass
from . import wide_vectors
from .compiler_process import LIKELY_CAUSE, TIME_LIMIT, Ended, execute
from .diagnostics import Diagnostic, parse_diagnostics, summary
from .file_references import may_read_files
from .llvm_reader.words import read_marker_name
from .options import BuildOptions, parse_options
from .visible_files import HEADERS, VisibleFiles, find_visible_files

_SOURCE_LIMIT = 16 << 20
_OLDEST_CLANG = 17
"""Before it, images and samplers were plain pointers in LLVM IR."""

_STANDARD_NAME = {100: "CL1.0", 110: "CL1.1", 120: "CL1.2", 200: "CL2.0", 300: "CL3.0"}
_UNASKED_STANDARD = 120
"""Without -cl-std the language is the highest OpenCL C 1.x that the device has (OpenCL API 3.0, section 5.8.6.5)."""

_FLAGS = (
    "-x", "cl", "-target", "spir64-unknown-unknown", "-emit-llvm", "-O1", "-Xclang", "-disable-llvm-passes",
    "-Xclang", "-disable-lifetime-markers", "-ftrivial-auto-var-init=zero", "-fwrapv", "-fno-strict-aliasing",
    "-ffp-contract=on", "-gcolumn-info",
    "-fno-discard-value-names", "-Xclang", "-cl-kernel-arg-info", "-fno-color-diagnostics",
    "-fno-diagnostics-fixit-info", "-Wno-unused-command-line-argument", "-fno-delete-null-pointer-checks",
    "-Wno-error=incompatible-pointer-types", "-Wno-error=int-conversion", "-nostdinc", "-fno-gnu-inline-asm",
    "-fno-crash-diagnostics", "-Xclang", "-disable-pragma-debug-crash",
)  # fmt: skip
"""No optimisation may fold a defect away, every instruction has a line, every argument its name (DESIGN, kernel engine).

Where a declaration gives a variable no value, clang writes a marked zero, which the reader takes for the loss of the value.
Markers of lifetimes would say the same, but bring jumps that leave a block together and part again behind its end.

Pointers of another type are a warning, as in the older clang of device drivers. Assembly is refused: no instruction of kernel
IR stands for it. Pragmas with which clang's own tests crash it, or fill its stack for minutes, do nothing."""

_LINES, _VARIABLES = "-gline-tables-only", "-g"
"""What clang writes of the source besides its code."""

_SIZE_FLAG = f"-ftrivial-auto-var-init-max-size={1 << 20}"
"""Larger variables get no zero: clang takes memory for every element of one."""
_OLDEST_WITH_SIZE = 19
"""The first clang that knows this flag."""

_ASSEMBLY = "GNU-style inline assembly is disabled"
_MISSING_FILE = re.compile(r"'(.*)' file not found")
_EMBED = re.compile(r"^#embed .* /\* clang -E -dE \*/$")
_LINE_MARKER = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"')

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
    them). macros: more NAME=VALUE. unsafe_includes: a source reads any file of the host, not only those below the folders of -I.
    folds_finite_math: tests for NaN and infinity have one result in a program whose options promise that there is neither.
    debug: clang also says what the variables are (`debug_info`).
    """

    opencl_version: int = 200
    extensions: frozenset[str] | None = None
    fp16: bool = True
    fp64: bool = False
    builtins: bool = True
    macros: tuple[str, ...] = ()
    unsafe_includes: bool = False
    folds_finite_math: bool = False
    debug: bool = False


@dataclass(frozen=True)
class ClangOutput:
    """LLVM IR of a source that compiled, as bitcode or as text, and the warnings on it."""

    bitcode: bytes
    text: str
    warnings: tuple[Diagnostic, ...]


_SOURCE_BEGINS = '# 1 "<stdin>"\n'
"""clang's first line marker of the source itself."""


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
    files = None if target.unsafe_includes else find_visible_files(options.folders)
    compile = _Compile(text, options, target, files)
    ended = compile.run("-S" if as_text else "-c")
    diagnostics = [found for found in parse_diagnostics(ended.messages) if not _is_known_pragma(found, target)]
    if not ended.is_good or ended.find_limit():
        raise compile.explain_failure(ended, diagnostics)
    if may_read_files(source, options):
        compile.refuse_embedded_files()
    if not as_text:
        return ClangOutput(ended.output, "", tuple(diagnostics))
    return ClangOutput(b"", compile.with_undefined_constants(ended.output), tuple(diagnostics))


@dataclass(frozen=True)
class _Compile:
    """A source that is compiled, several times where need be. files: None = any file of the host."""

    text: bytes
    options: BuildOptions
    target: FrontEndTarget
    files: VisibleFiles | None

    def run(self, *words: str, standard: int | None = None) -> Ended:
        return execute(self.command(*words, standard=standard), self.text, None if self.files is None else self.files.overlay)

    def command(self, *words: str, standard: int | None = None) -> list[str]:
        options = self.options if standard is None else replace(self.options, standard=standard)
        return [*compiler(), *words, *arguments(options, self.target)]

    def explain_failure(self, ended: Ended, diagnostics: list[Diagnostic]) -> AdrenoSimError:
        """Returns the error of a source that does not compile: the limit that it met, else clang's diagnostics and what to do."""
        from .compiler_crash import explain_crash  # with expressions that only such a source needs
        from .image_access import name_access

        limit = ended.find_limit()
        if limit:
            return BuildError(f"{limit}: {LIKELY_CAUSE}")
        errors = [found for found in diagnostics if found.severity == "error"]
        if errors and all(found.message == _ASSEMBLY for found in errors):
            where = f"{errors[0].file}:" if errors[0].file else ""
            return UnsupportedError(f"unsupported: assembly at {where}{errors[0].line}:{errors[0].column}")
        if not errors and ended.find_crash():
            return BuildError(explain_crash(ended, self.text, self.command("-S"), _describe_compiler()), diagnostics)
        diagnostics = name_access(diagnostics)
        lines = [summary(diagnostics) or ended.describe()]
        missing = [match[1] for found in diagnostics if (match := _MISSING_FILE.search(found.message))]
        if missing and self.files is not None:
            lines.append(self.files.explain_missing(missing[0]))
        if ended.status > 0:
            lines += self._newer_standard()
        return BuildError("\n".join(lines), diagnostics)

    def with_undefined_constants(self, output: bytes) -> str:
        """Returns clang's LLVM text, in which undefined arithmetic of constants is still there."""
        from .constant_arithmetic import FLAGS, has_folded_operation, replace_marks  # a kept kernel needs none of its expressions

        printed = output.decode("utf-8", "replace")
        if not has_folded_operation(printed):
            return printed
        marked = self.run("-S", *FLAGS)
        return replace_marks(marked.output.decode("utf-8", "replace")) if marked.is_good else printed

    def refuse_embedded_files(self) -> None:
        """Raises BuildError at the first `#embed`, which is a directive of C23. No flag of clang refuses it."""
        file, line = "", 0
        for text in self.run("-E", "-Xclang", "-dE").output.decode("utf-8", "replace").split("\n"):
            marker = _LINE_MARKER.match(text)
            if marker:
                file, line = read_marker_name(marker[2]), int(marker[1]) - 1
                continue
            line += 1
            if _EMBED.match(text):
                place = Diagnostic("" if file == "<stdin>" else file, line, 1, "error", "OpenCL C has no directive #embed")
                raise BuildError(str(place), [place])

    def _newer_standard(self) -> list[str]:
        """Returns a line on the -cl-std with which a source compiles that names none and needs a newer one, if there is one."""
        if self.options.standard is not None:
            return []
        for standard in (n for n in _STANDARD_NAME if _UNASKED_STANDARD < n <= self.target.opencl_version):
            if self.run("-fsyntax-only", standard=standard).status == 0:
                return [f"without -cl-std this is OpenCL C 1.2: it compiles with -cl-std={_STANDARD_NAME[standard]}"]
        return []


def inline_files(source: str, options: str, target: FrontEndTarget) -> str:
    """Returns `source` with the files that it includes in their places and line markers that name them.

    It is itself where it reads none, or cannot be preprocessed.
    """
    parsed = parse_options(options, target.extensions)
    if not may_read_files(source, parsed):
        return source
    files = None if target.unsafe_includes else find_visible_files(parsed.folders)
    ended = _Compile(source.encode("utf-8", "surrogateescape"), parsed, target, files).run("-E", "-frewrite-includes")
    _, begin, rest = ended.output.decode("utf-8", "surrogateescape").partition(_SOURCE_BEGINS)  # before it: the built-ins
    return begin + rest if ended.is_good and begin else source


def c_target() -> tuple[str, ...]:
    """What tells clang for which processors C is compiled: part of the key of what it makes."""
    family = current_family()
    return ("-target", family.triple, *family.c_flags)


def compile_c(source: str, flags: Sequence[str]) -> bytes:
    """Object code for this machine of a C source, or bitcode if `flags` hold -emit-llvm. The source is this project's.

    Raises UnsupportedError if the compiler meets a limit, BuildError with clang's diagnostics.
    """
    command = [*compiler(), "-x", "c", *c_target(), *flags, "-fno-color-diagnostics", "-c", "-", "-o", "-"]
    ended = execute(command, source.encode())
    if ended.is_good:
        return ended.output
    if limit := ended.find_limit():
        raise UnsupportedError(limit)
    diagnostics = parse_diagnostics(ended.messages)
    raise BuildError(summary(diagnostics) or ended.describe(), diagnostics)


def _is_known_pragma(found: Diagnostic, target: FrontEndTarget) -> bool:
    """Whether clang only does not know the pragma of an extension that the device has."""
    name = _UNKNOWN_PRAGMA.match(found.message)
    return name is not None and name[1] in (target.extensions or ())


def arguments(options: BuildOptions, target: FrontEndTarget) -> list[str]:
    """clang's command line except for the program and the form of the IR: source on standard input, IR on standard output."""
    standard = options.standard or min(target.opencl_version, _UNASKED_STANDARD)
    program = os.environ.get("ADRENO_SIM_CLANG")
    limits = [_SIZE_FLAG] if not program or _read_version(program) >= _OLDEST_WITH_SIZE else []
    words = [
        *_FLAGS,
        _VARIABLES if target.debug else _LINES,
        *limits,
        f"-cl-std={_STANDARD_NAME[standard]}",
        f"-D__OPENCL_VERSION__={target.opencl_version}",
    ]
    words += [f"-I{HEADERS}", *_extension_arguments(target)]
    if not target.builtins:
        words += ["-cl-no-stdinc", "-include", str(HEADERS / "opencl-c-base.h")]
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
        return [find_zig(), "clang"]
    _read_version(chosen)
    return [chosen]


def identify_compiler() -> str:
    """What tells this compiler from another in the key of a cache: the package's version, or a program's path, size and age."""
    program = compiler()
    if not os.environ.get("ADRENO_SIM_CLANG"):
        return identify_zig()
    status = os.stat(program[0]) if os.path.exists(program[0]) else None
    return repr((*program, *((status.st_size, status.st_mtime_ns) if status else ())))


def _describe_compiler() -> str:
    """Which compiler it is, for people."""
    return os.environ.get("ADRENO_SIM_CLANG") or f"ziglang {_zig_version()}"


@functools.lru_cache(maxsize=1)
def identify_zig() -> str:
    """The same of `find_zig`: alike wherever its package is installed, so that what it compiled can be brought along."""
    return repr(("ziglang", _zig_version(), os.stat(find_zig()).st_size))


def _zig_version() -> str:
    return find_version(os.path.dirname(find_zig()), "ziglang")


@functools.lru_cache(maxsize=1)
def find_zig() -> str:
    """Returns the path of the program in the package ziglang, which is a compiler and a linker."""
    spec = importlib.util.find_spec("ziglang")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = os.path.join(folder, "zig")
        if os.access(path, os.X_OK):
            return path
    raise AdrenoSimError(
        "no OpenCL C compiler: install one with `pip install ziglang==0.17.0`, or name a clang in ADRENO_SIM_CLANG"
    )


@functools.lru_cache(maxsize=8)
def _read_version(program: str) -> int:
    """Returns the version of a clang. Raises AdrenoSimError for one that does not run or is too old."""
    try:
        shown = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=TIME_LIMIT, check=False).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise AdrenoSimError(f"ADRENO_SIM_CLANG={program}: expected a clang that runs, got {error}") from None
    version = re.search(r"clang version (\d+)", shown)
    if not version or int(version[1]) < _OLDEST_CLANG:
        got = shown.splitlines()[0] if shown else "no version"
        raise AdrenoSimError(f"ADRENO_SIM_CLANG={program}: expected clang {_OLDEST_CLANG} or newer, got {got}")
    return int(version[1])
