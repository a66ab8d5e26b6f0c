"""The packages that a plain install leaves out: what each is for, and the error of work that needs one which is missing.

Every package is asked for here, so that each command and each function of the API says the same: which package, and the line that
installs it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

from ..errors import AdrenoSimError
from .install_line import install_line


class _Package(NamedTuple):
    """title: as its makers write it. use: what it does here. extra: what brings it."""

    title: str
    use: str
    extra: str


_PACKAGES = {
    "tvm": _Package("TVM", "compiles models", "tvm"),
    "tvm_ffi": _Package("TVM's apache-tvm-ffi", "compiles models", "tvm"),
    "onnx": _Package("ONNX", "reads .onnx models", "model"),
    "onnxruntime": _Package("ONNX Runtime", "judges models", "model"),
    "PIL": _Package("Pillow", "reads and draws pictures", "model"),
    "pyopencl": _Package("PyOpenCL", "opens real OpenCL devices", "opencl"),
    "ortools": _Package("OR-tools", "is the solver of the planner optimal", "solver"),
    "tinymesa": _Package("Mesa's tinymesa", "compiles kernels to machine code", "isa"),
    "distributed": _Package("Dask", "runs a sweep on the workers of --scheduler", "sweep"),
}


_NEEDED = ("numpy", "numba", "llvmlite", "rich", "platformdirs", "tomli")
"""Packages that a plain install brings: they lack where somebody installed without dependencies."""


class MissingPackageError(AdrenoSimError, ImportError):
    """A package that is not installed; the text has the line that installs it."""


def is_installed(name: str) -> bool:
    """Returns True if a top-level module can be imported."""
    try:
        return find_spec(name) is not None
    except ValueError:  # it has been imported by a loader that left no spec
        return True


def require(name: str) -> None:
    """Raises MissingPackageError if the module `name` of an optional package cannot be imported."""
    if not is_installed(name):
        raise missing_package(name)


def missing_package(name: str) -> MissingPackageError:
    """Returns the error that says what the module `name` is for, and how to install it."""
    title, use, extra = _PACKAGES[name]
    if extra == "model" and not is_installed("tvm"):
        extra = "tvm"  # which brings it too, and what comes next needs TVM
    return MissingPackageError(f"{title} is not installed, which {use}. Run: {install_line(extra)}")


def explain_import(error: BaseException) -> MissingPackageError | None:
    """Returns the error to raise instead of a failed import of a package that is not installed, None for any other error."""
    if not isinstance(error, ModuleNotFoundError) or isinstance(error, MissingPackageError):
        return None
    name = (error.name or "").partition(".")[0]
    if name in _NEEDED and not is_installed(name):
        return MissingPackageError(f"{name} is not installed, which adreno-sim needs in any case. Run: {install_line()}")
    return missing_package(name) if name in _PACKAGES and not is_installed(name) else None
