"""TVM's own OpenCL runtime for a TVM that was built without: compiled once from a checkout, loaded whenever TVM is imported.

With it TVM's virtual machine, its tests and its tools run on whatever device the OpenCL loader finds: under `adreno-sim run` the
simulated one. The checkout gives what the package leaves out; every header that the package has is the package's, so that what is
compiled fits the installed libraries or does not compile.

TVM imports `autoload` (entry point group tvm.backends): nothing heavy is imported here.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata, util
from pathlib import Path

from ...base import disk_cache
from ...base.errors import AdrenoSimError, UnsupportedError
from ...base.installed.extras import missing_package
from ...base.processes.scratch import scratch_folder
from ...base.stored.libraries import may_load, note_digest
from .versions import series

RUNTIME = Path("src/backend/opencl/runtime")
SOURCES = ("opencl_device_api.cc", "opencl_module.cc", "opencl_wrapper/opencl_wrapper.cc")
HEADERS = ("include", "src/runtime", "src/support", str(RUNTIME))
LIBRARY = "libtvm_runtime_opencl.so"
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-DCL_TARGET_OPENCL_VERSION=300")
COMPILERS = ("g++", "c++", "clang++")
SERIES = "0.27"
"""The series whose runtime is a library beside the others; before, the compiler made OpenCL's modules itself."""

_TIME_LIMIT = 900


def build_runtime(checkout: Path, headers: Path | None = None) -> Path:
    """Compile the runtime for the installed TVM, and keep it where `autoload` finds it; its path.

    checkout: TVM's sources of the installed version. headers: the folder of CL/cl.h (default: that of the checkout's submodule,
    else of the system). AdrenoSimError, UnsupportedError with what is missing and where to get it.
    """
    package = _package()
    if not disk_cache.is_enabled():
        raise AdrenoSimError(f"{disk_cache.SWITCH}=off: expected a cache, in which TVM's OpenCL runtime is kept")
    if (package / "lib" / LIBRARY).exists():
        raise AdrenoSimError(f"{package / 'lib' / LIBRARY}: this TVM has its own OpenCL runtime; nothing to build")
    for name in SOURCES:
        if not (checkout / RUNTIME / name).is_file():
            raise AdrenoSimError(f"{checkout / RUNTIME / name}: no such file; expected a checkout of TVM {_version()}")
    compiler = _find_compiler()
    found = _find_headers(checkout, headers)
    place = _place(package)
    with scratch_folder("tvm") as scratch:
        made = _compile(compiler, _overlay(checkout, package, scratch), package, found, scratch)
        try:
            disk_cache.make_folder(place.parent)
            shutil.copyfile(made, place.with_suffix(".new"))
            os.chmod(place.with_suffix(".new"), 0o700)
            os.replace(place.with_suffix(".new"), place)
            note_digest(place)
        except OSError as error:
            raise AdrenoSimError(f"cannot write {place}: {error.strerror or error}") from error
    return place


def autoload() -> None:
    """Called by TVM when it is imported: loads the runtime that was built for it, if there is one and it has no other."""
    with contextlib.suppress(Exception):  # an import of TVM never fails for what is offered here
        place = _place(_package())
        if not disk_cache.is_enabled() or not place.is_file() or _has_runtime():
            return
        if not may_load(place):
            warnings.warn(f"{place} is not loaded: it is damaged, or others may have written it; build it again", stacklevel=2)
            return
        os.utime(place)  # by this the cache knows what is in use
        try:
            ctypes.CDLL(str(place))
        except OSError as error:
            warnings.warn(f"TVM's OpenCL runtime of adreno-sim does not load: {error}", stacklevel=2)


def _has_runtime() -> bool:
    import tvm_ffi

    return tvm_ffi.get_global_func("device_api.opencl", allow_missing=True) is not None


def _version() -> str:
    return metadata.version("apache-tvm")


def _package() -> Path:
    """The folder of the installed TVM; UnsupportedError for one that takes no such runtime."""
    imported = sys.modules.get("tvm")  # amid its import, when `autoload` is called
    spec = None if imported is not None else util.find_spec("tvm")
    origin = getattr(imported, "__file__", None) or (spec.origin if spec is not None else None)
    if origin is None:
        raise missing_package("tvm")
    if series(_version()) != SERIES:
        raise UnsupportedError(
            f"unsupported: TVM {_version()}: its compiler makes OpenCL's modules without asking a runtime; expected TVM {SERIES}"
        )
    return Path(origin).parent


def _place(package: Path) -> Path:
    """Where the runtime for these libraries of TVM is kept."""
    digest = hashlib.sha256()
    for name in ("libtvm_runtime.so", "libtvm_compiler.so"):
        status = (package / "lib" / name).stat()
        digest.update(f"{package}/{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return disk_cache.folder("tvm-runtime") / f"{digest.hexdigest()[:32]}.so"


def _find_compiler() -> str:
    asked = os.environ.get("CXX")
    for name in [asked] if asked else COMPILERS:
        if found := shutil.which(name):
            return found
    wanted = f"CXX={asked}" if asked else ", ".join(COMPILERS)
    raise AdrenoSimError(f"no C++ compiler: none of {wanted} is here; expected one with libstdc++ (apt-get install g++)")


def _find_headers(checkout: Path, given: Path | None) -> Path:
    own = checkout / "3rdparty/OpenCL-Headers"
    for folder in [given] if given else [own, Path("/usr/include")]:
        if (folder / "CL/cl.h").is_file():
            return folder
    where = str(given) if given else f"{own} and /usr/include"
    raise AdrenoSimError(
        f"no CL/cl.h in {where}: git submodule update --init 3rdparty/OpenCL-Headers in the checkout, or apt-get install "
        "opencl-c-headers, or --headers FOLDER"
    )


def _overlay(checkout: Path, package: Path, folder: Path) -> Path:
    """A tree of the runtime's sources with the checkout's headers, those that the package has replaced by the package's."""
    tree = folder / "tree"
    for name in SOURCES:
        (tree / RUNTIME / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(checkout / RUNTIME / name, tree / RUNTIME / name)
    for origin, parts in ((checkout, HEADERS), (package, HEADERS[:2])):
        for part in parts:
            for header in (origin / part).rglob("*.h"):
                target = tree / header.relative_to(origin)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(header, target)
    return tree


def _compile(compiler: str, tree: Path, package: Path, headers: Path, folder: Path) -> Path:
    import tvm_ffi  # its package alone knows where its headers lie

    ffi = Path(tvm_ffi.__file__).parent
    given = [f"-I{place}" for place in (tree / "include", tree / "src", ffi / "include", headers)]
    objects = [folder / f"{number}.o" for number in range(len(SOURCES))]
    commands = [
        [compiler, *FLAGS, *given, "-c", str(tree / RUNTIME / name), "-o", str(made)]
        for name, made in zip(SOURCES, objects, strict=True)
    ]
    with ThreadPoolExecutor() as pool:
        list(pool.map(_run, commands))
    libraries = [word for part in (package / "lib", ffi / "lib") for word in (f"-L{part}", f"-Wl,-rpath,{part}")]
    library = folder / LIBRARY
    _run([compiler, "-shared", *map(str, objects), *libraries, "-ltvm_runtime", "-ltvm_ffi", "-ldl", "-o", str(library)])
    return library


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", timeout=_TIME_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise AdrenoSimError(f"{command[0]} did not end within {_TIME_LIMIT} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["no message"]
        raise AdrenoSimError(f"the checkout does not compile for the installed TVM {_version()}: {lines[0]}")
