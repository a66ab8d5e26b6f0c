"""The C runtime, and those of its functions that the module of a kernel calls, as part of that module."""

from __future__ import annotations

import functools
import re
from collections.abc import Set
from typing import TYPE_CHECKING

from ...base.host.current import current_family
from ..abi import context, counting, debugging, kernel_shape, mailbox, race_cells
from ..abi.kernel_shape import KernelShape
from ..llvm.objects import RUNTIME
from ..runtime import compiled
from ..runtime.constants import declare_structure, define_constants
from ..runtime.functions import CModule

if TYPE_CHECKING:
    from .unit import Unit

FILES = ("diagnostics.c", "epochs.c", "futex_pool.c", "groups.c", "work.c")
"""What every process needs, so that most call clang once; soft float is for few processors."""
SHARING = ("race_cells.c", "srgb.c")
"""What kernels call whose work-items share memory in ways that no proof orders, or that store colours: as much work as FILES."""
WATCHING = ("counters.c", "debugger.c")
"""What counted and debugged launches call: for clang as much work as all others."""
PARTS = (FILES, SHARING, WATCHING)
"""No part calls another."""
WORKER = "worker"
"""The function of a module that a launch calls. No other is visible outside."""
GROUPS, WORK = "run_groups", "work"
"""The function of the runtime that holds a kernel's code, and the one, outside all modules, by which a worker takes groups."""

_NAMED = re.compile(r"@([\w.]+)\(")
_IN_C = re.compile(r"\w+(?=\()")
_DEFINED = re.compile(r"^define [^@\n]*@([\w.]+)\(", re.MULTILINE)
_ATTRIBUTES = {"cold": "#1", "noinline": "#2", "alwaysinline": "#3"}
"""Of a function in the module of a kernel (`Unit.text`), by its kind."""


def constants() -> str:
    """Returns the constants and structures that the C files share with Python, and what they need of the processor."""
    header = current_family().header.read_text(encoding="utf-8")
    return (
        header
        + define_constants((context, counting, debugging, race_cells, kernel_shape, mailbox))
        + declare_structure(KernelShape)
    )


@functools.cache
def runtime(files: tuple[str, ...] = FILES) -> CModule:
    """Returns the functions of one of PARTS."""
    return compiled.compile_files(constants(), files)


def whole_runtime() -> CModule:
    """Returns all functions of the C runtime."""
    return functools.reduce(CModule.with_others, map(runtime, PARTS))


def _find_functions(called: Set[str]) -> CModule:
    """Returns the parts of the C runtime that have the functions which are called; clang compiles no others."""
    most = runtime()
    missing = called - most.functions.keys()
    return functools.reduce(CModule.with_others, (runtime(part) for part in PARTS if missing & _read_names(part)), most)


@functools.cache
def _read_names(files: tuple[str, ...]) -> frozenset[str]:
    """Returns the names of all functions that C files define, and of those that they call."""
    return frozenset(name for file in files for name in _IN_C.findall((compiled.FOLDER / file).read_text(encoding="utf-8")))


def renew_runtime() -> bool:
    """Makes the functions again where those on disk were others; returns whether they were. For when LLVM takes no module with
    them."""
    if not compiled.renew():
        return False
    runtime.cache_clear()
    return True


def begin_runtime() -> None:
    """Has a thread make the functions before they are needed. Errors are reported where they are used."""
    from concurrent.futures import ThreadPoolExecutor  # with all that it imports, which few processes need

    pool = ThreadPoolExecutor(1, thread_name_prefix="runtime")
    pool.submit(runtime)
    pool.shutdown(wait=False)


def add_runtime(unit: Unit) -> None:
    """Adds to a module all functions of the C runtime that it calls, @run_groups first of all."""
    named = {name for text in unit.functions for name in _NAMED.findall(text)}
    defined = {name for text in unit.functions for name in _DEFINED.findall(text)}
    module = _find_functions({name for name in named - defined - unit.declarations.keys() if not name.startswith("llvm.")})
    needed = module.needed_for([GROUPS, *(name for name in module.functions if name != WORK and name in named)])
    unit.declarations |= {name: text for name, text in needed.declarations.items() if name.startswith("llvm.")}
    unit.functions.append(RUNTIME)
    for function in needed.functions.values():
        unit.functions.append(function.text("internal ", _ATTRIBUTES[function.kind]))
