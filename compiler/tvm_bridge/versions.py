"""Which TVM is installed, whether it may be imported, and the names that moved between its versions.

Supported: 0.25, 0.26 and 0.27 from PyPI. The pair apache-tvm / apache-tvm-ffi is judged from the package metadata
before anything of TVM is imported, because a bad pair ends the process with a segmentation fault.
"""

from __future__ import annotations

import functools
import re
from importlib import import_module, metadata
from types import ModuleType
from typing import Any

from ...base.errors import AdrenoSimError, UnsupportedError
from ...base.garbage import importing
from ...base.host.freed_memory import keep_freed_memory
from ...base.installed import extras
from ...base.processes.crashes import keep_noting
from .global_names import listing_once
from .schedule_arguments import keep_hints

SUPPORTED = ("0.25", "0.26", "0.27")

GOOD_PAIRS = {
    "0.25": ("apache-tvm==0.25.0.post1", "apache-tvm-ffi==0.1.12"),
    "0.26": ("apache-tvm==0.26.0", "apache-tvm-ffi==0.1.14.post1"),
    "0.27": ("apache-tvm==0.27.0.post1", "apache-tvm-ffi==0.1.14.post1"),
}
"""The pins that were run, by TVM series."""

FFI_RANGE = {
    "0.25": ((0, 1, 12), (0, 1, 13)),
    "0.26": ((0, 1, 14), (0, 1, 15)),
    "0.27": ((0, 1, 14), (0, 1, 15)),
}
"""The apache-tvm-ffi each series works with: from the first, below the second.

Tried outside: older ones and 0.25 with newer ones do not load (undefined symbols) or stop with internal errors; 0.1.15
ends the process with a segmentation fault.
"""


def numbers(version: str) -> tuple[int, ...]:
    """The leading numeric components of a version: "0.1.14.post1" -> (0, 1, 14)."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def series(version: str) -> str:
    """The release series of a TVM version: "0.27.0.post1" -> "0.27"."""
    return ".".join(map(str, numbers(version)[:2]))


def _pip_line(pair: tuple[str, str]) -> str:
    return "pip install " + " ".join(f"'{requirement}'" for requirement in pair)


def check_pair(tvm_version: str, ffi_version: str | None) -> None:
    """Raise unless this apache-tvm may be imported with this apache-tvm-ffi (None = not installed).

    UnsupportedError for a TVM series that is not in SUPPORTED, AdrenoSimError for a pair known to crash; both give the
    pip line that fixes it.
    """
    name = series(tvm_version)
    if name not in SUPPORTED:
        raise UnsupportedError(
            f"unsupported: TVM {tvm_version}; supported are {', '.join(SUPPORTED)}. Run: {_pip_line(GOOD_PAIRS[SUPPORTED[-1]])}"
        )
    first, end = FFI_RANGE[name]
    if ffi_version is None or not first <= numbers(ffi_version) < end:
        found = "no apache-tvm-ffi" if ffi_version is None else f"apache-tvm-ffi {ffi_version}"
        raise AdrenoSimError(
            f"apache-tvm {tvm_version} does not work with {found} (it does not load, or ends in a crash). "
            f"Run: {_pip_line(GOOD_PAIRS[name])}"
        )


def _installed_version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def require_tvm() -> None:
    """Raise unless TVM is there, supported and paired with an ffi that works, before anything of it is imported.

    AdrenoSimError or UnsupportedError with what to run.
    """
    version = _installed_version("apache-tvm")
    if version is not None:
        check_pair(version, _installed_version("apache-tvm-ffi"))
    elif not extras.is_installed("tvm"):
        raise extras.missing_package("tvm")


@functools.cache
def import_tvm() -> ModuleType:
    """Import TVM where it may be. Errors as of `require_tvm`.

    A TVM without package metadata (built from source, on the path) is judged by its own version after the import.
    """
    require_tvm()
    keep_freed_memory()
    with importing(), listing_once():
        import tvm
        import tvm.relax

    if series(tvm.__version__) not in SUPPORTED:
        raise UnsupportedError(f"unsupported: TVM {tvm.__version__}; supported are {', '.join(SUPPORTED)}")
    # TVM hands errors of Python functions that it calls on by their class, and an unknown class as a RuntimeError.
    import_module("tvm_ffi").register_error("KeyboardInterrupt", KeyboardInterrupt)
    keep_noting()  # TVM handles SIGSEGV
    keep_hints()
    return tvm


def tvm_series() -> str:
    """The series of the imported TVM: "0.25", "0.26" or "0.27"."""
    return series(import_tvm().__version__)


def type_of(expr: Any) -> Any:
    """A Relax expression's type: `.ty`, which 0.25 calls `.struct_info`."""
    return expr.struct_info if tvm_series() == "0.25" else expr.ty


def type_arguments(call: Any) -> dict[str, Any]:
    """A Relax call's type arguments as the keyword of `call_te`: `ty_args`, which 0.25 calls `sinfo_args`."""
    return {"sinfo_args": call.sinfo_args} if tvm_series() == "0.25" else {"ty_args": call.ty_args}


def tensor_type(shape: Any, dtype: str) -> Any:
    """A Relax tensor type for `relax.Var`: TensorType, which 0.25 calls TensorStructInfo."""
    relax = import_tvm().relax
    return (relax.TensorStructInfo if tvm_series() == "0.25" else relax.TensorType)(shape, dtype)


def shape_values(kind: Any) -> list[Any] | None:
    """Dimensions (TIR expressions) of a tensor type, None if it is not a tensor or its rank is unknown."""
    shape = getattr(kind, "shape", None)
    values = getattr(shape, "values", None)
    return None if values is None else list(values)


def var_name(var: Any) -> str:
    """The name of a Relax variable: `.name`, which 0.25 calls `.name_hint`."""
    return str(var.name_hint if tvm_series() == "0.25" else var.name)


def dtype_of(expr: Any) -> str:
    """The dtype of a TIR expression: `.ty.dtype`, which 0.25 calls `.dtype`."""
    return str(expr.dtype if tvm_series() == "0.25" else expr.ty.dtype)
