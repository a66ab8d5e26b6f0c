"""Compiles the driver's shim (`shim/`): the driver that loaders load, and a libOpenCL in front of it where there is no loader.

Both are made by the package ziglang, for the oldest glibc that its users have, and kept on disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ..base import disk_cache
from ..base.errors import AdrenoSimError
from ..base.host.current import current_family
from ..base.installed.package_version import find_version
from ..base.processes.scratch import make_scratch_folder, scratch_folder
from ..base.stored.libraries import is_own_file, may_load, note_digest
from ..base.stored.ownership import find_intruder
from ..frontend.driver import find_zig, identify_zig
from .protocol import write_header

SHIM = Path(__file__).parent / "shim"
FLAGS = ("-std=gnu11", "-O2", "-g0", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden",
         "-fno-sanitize=all", "--rtlib=none", "-Wl,-z,defs", "-Wl,-z,nodelete")  # fmt: skip
"""--rtlib=none: zig would compile clang's runtime first, which takes longer than the shim and gives it nothing: -z defs refuses
what is missing. -z nodelete: a thread of the shim may run when its library is closed."""
DRIVER, LOADER, LOADER_LINK, ICD = "libadreno_sim_icd.so", "libOpenCL.so.1", "libOpenCL.so", "vendors/adreno-sim.icd"
_EXPORTS = {DRIVER: "driver_exports.c", LOADER: "loader_exports.c"}
_FUNCTION = re.compile(r"\b[FV]\((\d)(\d),.*?\b(cl[A-Z]\w+), \(")
_TIME_LIMIT = 300
_KIND = "driver"
"""Of the folder in the cache, and of what a wheel brings along."""


class Libraries(NamedTuple):
    """driver: for loaders. vendors: the folder whose .icd file names it. loader: the folder of libOpenCL.so.1, libOpenCL.so."""

    driver: Path
    vendors: Path
    loader: Path


def build_libraries() -> Libraries:
    """Returns the libraries, compiled at the first call of this version; where the cache takes none, as it is read-only, full,
    somebody else's, has a name that LD_LIBRARY_PATH cannot hold, or was taken away meanwhile, in a folder of this process.
    AdrenoSimError with the compiler's first line."""
    kept = disk_cache.folder(_KIND)
    if disk_cache.is_enabled() and is_nameable(kept) and not find_intruder(kept):
        with contextlib.suppress(AdrenoSimError, OSError):
            return _libraries_in(kept)
    return _libraries_in(_private_folder())


def is_nameable(folder: Path) -> bool:
    """Whether LD_LIBRARY_PATH can name a folder: these separate its folders."""
    return not set(":;") & set(str(folder))


def _libraries_in(parent: Path) -> Libraries:
    folder = parent / _digest()
    if not _is_whole(folder):
        _build(parent, folder)
    found = Libraries(folder / DRIVER, (folder / ICD).parent, folder)
    for name in (DRIVER, LOADER, LOADER_LINK, ICD):
        os.utime(folder / name)  # by this the cache knows what is in use
    return found


def library_sources() -> list[Path]:
    """The C files of the driver except for its exports."""
    files = [path for path in SHIM.glob("*.c") if path.name not in _EXPORTS.values() and not path.name.startswith("server_")]
    return sorted([*files, *SHIM.glob("*/*.c")])


def generate_headers() -> dict[str, str]:
    """Returns what the C files include besides files of `shim/`, by name: the protocol, and this processor family."""
    return {"protocol.h": write_header(), "processor.h": current_family().header.read_text(encoding="utf-8")}


def version_script() -> str:
    """Returns the linker's script for the loader: each function under the version of OpenCL that added it, as other loaders have
    it."""
    names: dict[str, list[str]] = {}
    for major, minor, name in _FUNCTION.findall((SHIM / "functions.h").read_text(encoding="utf-8")):
        names.setdefault(f"OPENCL_{major}.{minor}", []).append(name)
    lines, before = [], ""
    for version in sorted(names):
        hidden = "" if before else " local: *;"
        lines.append(f"{version} {{ global: {'; '.join(names[version])};{hidden} }}{before};")
        before = f" {version}"
    return "\n".join([*lines, ""])


def find_brought_along() -> Path | None:
    """Returns the folder of this installation that has the driver compiled, for this version and processor; None if there is
    none."""
    known = disk_cache.PREBUILT / _KIND / _digest()
    return known if all((known / library).is_file() for library in (DRIVER, LOADER)) else None


def bring_along() -> None:
    """Compile the driver into this installation, which needs no C compiler for it from then on. Raises AdrenoSimError."""
    target = disk_cache.PREBUILT / _KIND / _digest()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder("driver", target.parent) as scratch:
            made = scratch / "made"
            made.mkdir()
            compile_libraries(made)
            for header in (*generate_headers(), "versions.map"):
                (made / header).unlink()
            shutil.rmtree(target, ignore_errors=True)
            os.rename(made, target)
    except OSError as error:
        raise AdrenoSimError(f"{target.parent}: the OpenCL driver cannot be kept there ({error.strerror})") from None


def _digest() -> str:
    parts = [identify_zig(), current_family().shim_target, *FLAGS, *generate_headers().values()]
    for path in [Path(__file__), *sorted([*SHIM.rglob("*.c"), *SHIM.rglob("*.h")])]:
        parts += [path.name, path.read_text(encoding="utf-8")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _is_whole(folder: Path) -> bool:
    """Whether all is there, and may be loaded into a program."""
    try:
        named = (folder / ICD).read_text(encoding="utf-8") if is_own_file(folder / ICD) else ""
    except (OSError, ValueError):
        return False
    return named == _icd_text(folder) and all(may_load(folder / name) for name in (DRIVER, LOADER, LOADER_LINK))


def _icd_text(folder: Path) -> str:
    return f"{folder / DRIVER}\n"


def _private_folder() -> Path:
    """A folder of this process, where nothing may be kept."""
    global _private
    if _private is None:
        _private = make_scratch_folder("driver")
    return _private


_private: Path | None = None


def _build(parent: Path, folder: Path) -> None:
    """Make the folder beside its place, and move it there when it is whole."""
    try:
        disk_cache.make_folder(parent)
        with scratch_folder("driver", parent) as scratch:
            made = scratch / "made"
            made.mkdir(mode=0o700)
            (made / ICD).parent.mkdir(mode=0o700)
            known = find_brought_along()
            for library in (DRIVER, LOADER):
                if known is not None:
                    shutil.copyfile(known / library, made / library)
                else:
                    _compile_library(library, made, scratch)
                os.chmod(made / library, 0o700)
                note_digest(made / library)
            os.link(made / LOADER, made / LOADER_LINK)
            note_digest(made / LOADER_LINK)
            (made / ICD).write_text(_icd_text(folder), encoding="utf-8")
            os.chmod(made / ICD, 0o600)
            try:
                os.rename(made, folder)
            except OSError:
                if not _is_whole(folder):  # parts of it were cleared away
                    shutil.rmtree(folder, ignore_errors=True)
                    os.rename(made, folder)
    except OSError as error:
        raise AdrenoSimError(
            f"{parent}: the OpenCL driver cannot be kept there ({error.strerror}); name another folder in {disk_cache.FOLDER}"
        ) from None


def compile_libraries(folder: Path) -> None:
    """Compile the driver and the libOpenCL in front of it, whatever is kept or was brought along. AdrenoSimError with the
    compiler's first line."""
    with scratch_folder("driver") as scratch:
        for library in (DRIVER, LOADER):
            _compile_library(library, folder, scratch)


def _compile_library(library: str, made: Path, scratch: Path) -> None:
    for name, text in generate_headers().items():
        (made / name).write_text(text, encoding="utf-8")
    (made / "versions.map").write_text(version_script(), encoding="utf-8")
    words = [*map(str, library_sources()), str(SHIM / _EXPORTS[DRIVER]), "-ldl"]
    if library == LOADER:
        behind = [f"-Wl,--version-script={made / 'versions.map'}", "-Wl,-rpath,$ORIGIN", str(made / DRIVER)]
        words = [str(SHIM / _EXPORTS[LOADER]), *behind]
    compile_shim(
        ["-target", current_family().shim_target, *FLAGS, f"-Wl,-soname,{library}", f"-I{made}", *words], made / library, scratch
    )


def explain_return(package: Path) -> str:
    """Returns the sentence that says how the folders come back that `adreno-sim prune` removed: an environment that uv made has
    no pip."""
    installer = [sys.executable, "-m", "pip", "install", "--force-reinstall"]
    if find_spec("pip") is None:
        installer = ["uv", "pip", "install", "--python", sys.executable, "--reinstall"]
    command = [*installer, "--no-deps", f"ziglang=={find_version(str(package), 'ziglang')}"]
    return f"This brings it back: {shlex.join(command)}"


def compile_shim(words: Sequence[str], library: Path, scratch: Path) -> None:
    """Run `zig cc`, which keeps what it makes of libc in `scratch`. AdrenoSimError with its first line."""
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(scratch / "zig"), "ZIG_LOCAL_CACHE_DIR": str(scratch / "local")}
    command = [find_zig(), "cc", *words, "-o", str(library)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="surrogateescape", env=environment, timeout=_TIME_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        raise AdrenoSimError(f"the OpenCL driver did not compile within {_TIME_LIMIT} s") from None
    if done.returncode:
        package = Path(find_zig()).parent
        if not (package / "lib" / "libc").is_dir():
            raise AdrenoSimError(
                f"the OpenCL driver does not compile: {package} has no C library any more. {explain_return(package)}"
            )
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["no message"]
        raise AdrenoSimError(f"the OpenCL driver does not compile: {lines[0]}{_explain_path([*command, str(scratch)])}")


def _explain_path(words: Sequence[str]) -> str:
    """What to do about a path for which zig makes a list of files that it cannot read; "" for others."""
    if not any(letter in word for word in words for letter in '":\\\n'):
        return ""
    places = f"the environment, {disk_cache.FOLDER} and TMPDIR"
    return f'; zig may fail for a path that has ", :, \\ or a line break: put {places} in folders without'
