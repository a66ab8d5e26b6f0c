"""Compiles LLVM text to object code, and loads object code into this process."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

import llvmlite
import llvmlite.binding as llvm

from ...base.errors import AdrenoSimError, UnsupportedError
from ...base.host.current import current_family
from ...base.host.family import ProcessorFamily
from ...base.host.processor import Processor
from ...base.processes.helper import HelperEndedError, Helpers, Limits, NoHelperError
from ...frontend.compiler_process import MEMORY_LIMIT, TIME_LIMIT, WALL_FACTOR
from ...records import dataclass
from ..runtime.compiled import compile_files
from .cached_choices import keep_choices
from .float_table import move_to_table
from .flush_after_rounding import flush_after_rounding, flushes
from .long_blocks import cut_long_blocks
from .mappings import join_constants
from .passes import LONG, UNROLLING, Passes, function_sizes

VECTORS = "; vectors\n"
"""The first line of a module whose code is vectorised."""
QUICK = "; quick\n"
"""The first line of a module that is not optimised: it runs for less time than that would take, or clang has optimised it."""
UNOPTIMISED = "; unoptimised\n"
"""The first line of a module that LLVM does not optimise, neither its text nor its choice of instructions: the judge of optimised
code.
"""
RUNTIME = "; runtime"
"""The line of a module after which come functions that are the same for all kernels."""

FEATURES = "ADRENO_SIM_CPU_FEATURES"
"""Environment: features of the processor that code is not to use, as in "-NAME,-NAME". Results are the same bits."""

LIMITS = Limits(TIME_LIMIT, TIME_LIMIT * WALL_FACTOR, MEMORY_LIMIT)
"""Of the child in which LLVM compiles a module: those that clang has for a program."""

_LOCK = threading.RLock()
_NUMBER = itertools.count(1)

MOST_DROPPED = 8192
"""Modules that are loaded between two collections of garbage: where mappings are not joined, each takes two, and what held one
may be garbage that Python has not collected."""
MOST_LINKED = 1024
"""Modules that one linker loads. LLVM keeps 9 KB of each, also of one that is unloaded, until the linker goes: with the last of
its modules."""
MOST_UNJOINED = 1024
"""Modules that are loaded before mappings are joined. So few leave room for all others, and the search for a module's mappings
takes longer than loading it."""


def soft_float_text() -> str:
    """Returns the module of fallbacks (`runtime/soft_float.c`): conversions of halves and fused multiply-add for processors that
    have none."""
    return compile_files("", ("soft_float.c",)).text()


class Machine:
    """A processor as LLVM sees it (this machine's, unless named), and the linker that loads object code. Use `machine()`.

    family: of the processor; code for another family than this machine's can be compiled, and not loaded.
    """

    def __init__(self, cpu: str | None = None, features: str | None = None, family: ProcessorFamily | None = None) -> None:
        initialize_targets()
        self.cpu = llvm.get_host_cpu_name() if cpu is None else cpu
        self.processor = Processor(family or current_family(), find_features() if features is None else features)
        target = llvm.Target.from_triple(self.processor.family.triple)
        self._helpers = Helpers(lambda text: self.compile_here(text.decode()), LIMITS, keeping_others_out)
        self._failed: dict[str, str] = {}
        self._linker: llvm.LLJIT | None = None
        self._machine, self._quick = (
            target.create_target_machine(
                cpu=self.cpu, features=self.processor.features_of_code, opt=level, reloc="pic", codemodel="small"
            )
            for level in (3, 0)
        )

    @cached_property
    def identity(self) -> str:
        """What object code depends on besides its text."""
        return (
            f"{llvmlite.__version__} {llvm.llvm_version_info} {self._machine.triple} {self.cpu} {self.processor.features_of_code}"
        )

    def _find_linker(self, number: int) -> llvm.LLJIT:
        """Returns the linker for module `number`. Modules that another one has loaded keep it."""
        # JITLink gives an object one block of memory. RuntimeDyld maps each section where there is room: in a large process they
        # can lie further apart than the 2 GiB that the small code model reaches, which aborts the process.
        if self._linker is None or number % MOST_LINKED == 0:
            self._linker = llvm.create_lljit_compiler(self._machine, use_jit_link=True)
        return self._linker

    @cached_property
    def _soft_float(self) -> bytes:
        """The object code of functions that this processor lacks (`soft_float_text`); empty if it lacks none."""
        return self.compile(soft_float_text()) if self.processor.needs_soft_float else b""

    def compile(self, text: str) -> bytes:
        """Returns the object code of a module. Several threads have it made at once, by a child each.

        Raises RuntimeError for text that LLVM rejects, which is this project's error; UnsupportedError if LLVM crashes or
        meets a limit, from then on at once.
        """
        if text not in self._failed:
            try:
                return self._helpers.do(text.encode())
            except NoHelperError:
                return self.compile_here(text)
            except HelperEndedError as error:
                whose = "adreno-sim's limit for one kernel" if error.limit else "a limit or a bug of LLVM"
                self._failed[text] = f"unsupported: LLVM {error}: {whose}; split the kernel, or write it otherwise"
        raise UnsupportedError(self._failed[text])

    def compile_here(self, text: str) -> bytes:
        """As `compile`, in this process and without limits."""
        with _LOCK:
            # Without the layout LLVM takes no integer width for native, and gives up on most loops.
            header = f'target triple = "{self._machine.triple}"\ntarget datalayout = "{self._machine.target_data}"\n'
            long = is_long(text)
            whole = move_to_table(cut_long_blocks(text)) if long else text
            if self.processor.family.flushes_before_rounding:
                whole = flush_after_rounding(whole)
            module = _parse(header + whole)
            passes = Passes(self._machine)
            if long or text.startswith((QUICK, UNOPTIMISED)):
                passes.run_least(module)
            elif text.startswith(VECTORS):
                passes.run_on_vectors(module, text.partition(RUNTIME)[0].count("\n"), UNROLLING in text)
            else:
                passes.run(module)
            if self.processor.family.choices_flush and flushes(text) and " = fcmp " in text:
                optimised = str(module)
                kept = keep_choices(optimised)
                module = module if kept is optimised else _parse(kept)
            quick = long or text.startswith(UNOPTIMISED)
            return bytes((self._quick if quick else self._machine).emit_object(module))

    def load(self, code: bytes, symbol: str, imports: Mapping[str, int] | None = None) -> Loaded:
        """Returns object code linked into this process. Raises RuntimeError if it is damaged.

        imports: addresses of functions that it calls besides those of every kernel.
        """
        with _LOCK:
            number = next(_NUMBER)
            if number % MOST_DROPPED == 0:
                gc.collect()
            library = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(symbol)
            if self._soft_float:
                library.add_object_img(self._soft_float)
            for name, function in {**_LIBC, **(imports or {})}.items():
                library.import_symbol(name, function)
            tracker = library.link(self._find_linker(number), f"kernel{number}")
            if number > MOST_UNJOINED:
                join_constants(tracker[symbol])
            return Loaded(tracker, tracker[symbol])


def _parse(text: str) -> llvm.ModuleRef:
    """Returns a module that LLVM's verifier accepts; that takes less than a hundredth of what compiling does. Raises RuntimeError
    for others: LLVM's passes abort the process on a value that is used where it is not defined."""
    module = llvm.parse_assembly(text, llvm.create_context())
    module.verify()
    return module


@contextmanager
def keeping_others_out() -> Iterator[None]:
    """While the block runs no other thread compiles, loads, or is inside LLVM for numba: a child by fork finds its locks free."""
    with _LOCK, llvm.ffi.lib._lock:
        yield


def initialize_targets() -> None:
    """Makes LLVM's targets known."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def find_features() -> str:
    """Returns LLVM's features of this processor ("+NAME,-NAME,..."), changed as the environment's FEATURES says."""
    found = {**llvm.get_host_cpu_features(), **current_family().find_features()}
    for word in filter(None, os.environ.get(FEATURES, "").split(",")):
        name = word[1:]
        if word[0] not in "+-" or name not in found or (word[0] == "+" and not found[name]):
            raise AdrenoSimError(
                f"{FEATURES}={word}: expected -NAME of a feature of this processor, as in -{current_family().half_arithmetic}"
            )
        found[name] = word[0] == "+"
    return ",".join(f"{'+' if has else '-'}{name}" for name, has in sorted(found.items()))


def is_long(text: str) -> bool:
    """Returns whether a module holds a function that is too long to be optimised."""
    own = text.partition(RUNTIME)[0]
    return own.count("\n") > LONG and any(size.is_long for size in function_sizes(own))


@dataclass(frozen=True)
class Loaded:
    """Machine code in memory, which lives as long as this object. `address` is that of the exported symbol."""

    tracker: object
    address: int


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


_LIBC = {
    "memmove": _address(ctypes.memmove),
    "memcpy": _address(ctypes.memmove),
    "memset": _address(ctypes.memset),
    "syscall": _address(ctypes.CDLL(None).syscall),
}
"""All that machine code may call outside itself: long copies and fills, and the system call by which threads wait."""

_machine: Machine | None = None


def machine() -> Machine:
    """Returns the one Machine of this process."""
    global _machine
    with _LOCK:
        if _machine is None:
            _machine = Machine()
        return _machine
