"""Where the installed TVM keeps MetaSchedule."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from ...base.errors import UnsupportedError
from ..tvm_bridge.versions import import_tvm

MODULES = ("tvm.s_tir.meta_schedule", "tvm.meta_schedule")
NEEDED = ("TuneContext", "database", "builder", "runner", "space_generator", "search_strategy", "mutator")


def meta_schedule() -> ModuleType:
    """The module of MetaSchedule. UnsupportedError if TVM was built without it, or with another interface."""
    version = import_tvm().__version__
    for module_name in MODULES:
        try:
            found = import_module(module_name)
        except ImportError:
            continue
        missing = [name for name in NEEDED if not hasattr(found, name)]
        if missing:
            raise UnsupportedError(f"unsupported: MetaSchedule of TVM {version} has no {missing[0]}, which tuning needs")
        return found
    raise UnsupportedError(f"unsupported: TVM {version} has no MetaSchedule ({' or '.join(MODULES)}); tuning needs it")


def derive(kind: type) -> Any:
    """An object of a Python class derived from one of MetaSchedule's Py classes, as TVM takes it."""
    for module_name in ("tvm.ir.utils", "tvm.runtime.support", "tvm.s_tir.meta_schedule.utils"):
        try:
            decorate = getattr(import_module(module_name), "derived_object", None)
        except ImportError:
            continue
        if decorate is not None:
            return decorate(kind)()
    raise UnsupportedError(f"unsupported: TVM {import_tvm().__version__} has no derived_object, which Builder and Runner need")


@contextmanager
def without_tensor_intrinsics() -> Iterator[None]:
    """While this lasts, a TuneContext does not register the tensor-core intrinsics of other GPUs and of CPUs.

    It would parse some 250 functions for them, half a minute, and nothing of an Adreno space names one.
    """
    name = "tvm.s_tir.tensor_intrin"
    if name in sys.modules:
        yield
        return
    sys.modules[name] = ModuleType(name)
    try:
        yield
    finally:
        del sys.modules[name]


def quiet_logger() -> logging.Logger:
    """A logger that says nothing below an error: MetaSchedule logs each step of its search."""
    logger = logging.getLogger("adreno_sim.tuning")
    logger.setLevel(logging.ERROR)
    return logger
