"""Which TVM is installed, as its files show: a key for what it makes, without importing it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path

from ...base.file_digests import FileSet, find_files

PACKAGES = ("tvm", "tvm_ffi")
DISTRIBUTIONS = ("apache-tvm", "apache-tvm-ffi", "tvm", "tvm-ffi")

BACKENDS = "tvm.backends"
"""Entry points that TVM loads when it is imported, and which may change what it does."""
OWN_BACKEND = "adreno_sim"

_LIBRARY = re.compile(r"libtvm[^/]*\.(so|dylib)")
_COMPILER = re.compile(r"libtvm(_compiler)?\.(so|dylib)")
_BUILDS = ("build", "build/lib", "build/Release", "lib")
"""Where the libraries of a checkout lie, whose Python package is PATH/python/tvm."""


def is_imported() -> bool:
    """Whether this process has TVM already, in which anything may have been changed or registered since."""
    return any(name in sys.modules for name in PACKAGES)


def is_steered() -> bool:
    """Whether something besides its files says what TVM does: its environment variables, or a backend that others installed."""
    if any(name.startswith("TVM_") for name in os.environ):
        return True
    return any(point.name != OWN_BACKEND for point in metadata.entry_points(group=BACKENDS))


def find_installed() -> FileSet | None:
    """All files of the TVM that would be imported; None if none is found, or not its compiler. Files of a checkout count as
    those of a package do. Raises OSError."""
    files: dict[str, str] = {}
    for package in PACKAGES:
        for number, root in enumerate(_locations(package)):
            files |= {f"{package} {number} {path[len(root) :]}": path for path in find_files(root)}
    known = set(files.values())
    elsewhere = sorted(path for path in set(_libraries_elsewhere()) if path not in known)
    files |= {f"library {number} {os.path.basename(path)}": path for number, path in enumerate(elsewhere)}
    if not any(_COMPILER.fullmatch(os.path.basename(path)) for path in files.values()):
        return None
    return FileSet(files)


def _locations(package: str) -> list[str]:
    """The folders of a package's modules; an editable one may have several."""
    try:
        spec = util.find_spec(package)
    except ValueError:  # a module that replaces it
        return []
    return [] if spec is None else list(spec.submodule_search_locations or [])


def _libraries_elsewhere() -> Iterator[str]:
    """TVM's libraries outside of its packages, wherever it looks for them."""
    checkouts = [Path(root).parents[1] / name for package in PACKAGES for root in _locations(package) for name in _BUILDS]
    searched = [folder for name in ("LD_LIBRARY_PATH", "PATH") for folder in os.environ.get(name, "").split(os.pathsep)]
    for folder in (*map(str, checkouts), *filter(None, searched)):
        try:
            with os.scandir(folder) as entries:
                yield from (entry.path for entry in entries if _LIBRARY.fullmatch(entry.name))
        except OSError:
            continue
    for name in DISTRIBUTIONS:
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        lines = (found.read_text("RECORD") or "").splitlines()
        listed = (line.partition(",")[0] for line in lines if "libtvm" in line)
        places = (os.path.abspath(str(found.locate_file(path))) for path in listed if _LIBRARY.fullmatch(os.path.basename(path)))
        yield from filter(os.path.isfile, places)
