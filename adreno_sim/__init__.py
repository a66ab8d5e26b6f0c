"""A simulated Adreno GPU for compiler teams.

The names below are imported when first used, so that `import adreno_sim` and the command line start at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base.version import __version__ as __version__

if TYPE_CHECKING:
    from .backends.open import open_device
    from .base.errors import AdrenoSimError, UnsupportedError
    from .base.run_options import RunOptions
    from .base.specs import TensorSpec
    from .compiler.check.check import check
    from .compiler.check.kernel import check_kernel
    from .compiler.check.session.session import Session
    from .compiler.session_footprint.of_module import session_footprint
    from .frontend.sandbox import enter_sandbox
    from .launch_spec.machine_code import compile_machine_code
    from .results.model import Report

__all__ = [
    "AdrenoSimError",
    "Report",
    "RunOptions",
    "Session",
    "TensorSpec",
    "UnsupportedError",
    "check",
    "check_kernel",
    "compile_machine_code",
    "enter_sandbox",
    "open_device",
    "session_footprint",
]

_HOME = {
    "AdrenoSimError": "base.errors",
    "Report": "results.model",
    "RunOptions": "base.run_options",
    "Session": "compiler.check.session.session",
    "TensorSpec": "base.specs",
    "UnsupportedError": "base.errors",
    "check": "compiler.check.check",
    "check_kernel": "compiler.check.kernel",
    "compile_machine_code": "launch_spec.machine_code",
    "enter_sandbox": "frontend.sandbox",
    "open_device": "backends.open",
    "session_footprint": "compiler.session_footprint.of_module",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
