"""C text of truths as functions of this process: compiled by the bundled clang, objects cached on disk by their text."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import UnsupportedError
from ...engine.llvm.objects import Loaded, machine
from ...frontend.driver import c_target, compile_c, identify_compiler
from .. import result_cache
from .sharing import share_code

if TYPE_CHECKING:
    from .truth_program import TruthProgram

_FLAGS = (
    "-O3", "-ffreestanding", "-fno-builtin", "-fPIC", "-fwrapv", "-ffp-contract=off", "-fno-stack-protector", "-fno-sanitize=all",
    "-fno-math-errno", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-fno-strict-aliasing",
    "-fno-asynchronous-unwind-tables", "-w",
)  # fmt: skip
TABLE = "truths"
"""The exported symbol: an array of the addresses of all functions."""


def prelude() -> str:
    return Path(__file__).with_name("prelude.c").read_text(encoding="utf-8")


Function = Callable[..., int]
"""The machine code of a program; `run_program` knows its arguments."""


class CompiledTruths:
    """Machine code of several programs. functions: by the name of the program; they live as long as this object."""

    def __init__(self, programs: Sequence[TruthProgram]):
        shared = share_code(programs)
        table = ", ".join(f"(void *)&{code.name}" for code in shared)
        text = "\n".join([prelude(), *(code.text for code in shared), f"void *const {TABLE}[] = {{{table}}};"])
        self._loaded: Loaded = machine().load(_object_of(text), TABLE, _libm())
        addresses = (ctypes.c_void_p * len(shared)).from_address(self._loaded.address)
        self._sizes: list[np.ndarray] = []
        self.functions: dict[str, Function] = {}
        for code, address in zip(shared, addresses, strict=True):
            function = _PROTOTYPE(address or 0)
            for name, sizes in code.sizes.items():
                self._sizes.append(np.array(sizes, np.int64))
                self.functions[name] = functools.partial(function, pointer(self._sizes[-1]))


_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 5)


def _object_of(text: str) -> bytes:
    flags = (*_FLAGS, *machine().processor.vector_flags)
    key = result_cache.key_of("truth, machine code", *c_target(), *flags, identify_compiler(), text)
    known: bytes | None = result_cache.load(key, bytes)
    if known is None:
        known = _compile(text, flags)
        result_cache.store(key, bytes, known)
    return known


def _compile(text: str, flags: Sequence[str]) -> bytes:
    """As fast code as the compiler makes within its limits. UnsupportedError if it makes none."""
    try:
        return compile_c(text, flags)
    except UnsupportedError:  # optimising takes five times as long as translating, in functions of thousands of lines
        pass
    try:
        return compile_c(text, [*flags, "-O0"])
    except UnsupportedError as error:
        raise UnsupportedError(f"{error}; next: check the model in parts, or on smaller shapes") from error


@functools.cache
def _libm() -> dict[str, int]:
    """Addresses of what the C text calls."""
    libm, libc = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6"), ctypes.CDLL(None)
    names = (
        "exp", "exp2", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
        "asinh", "acosh", "atanh", "erf", "pow", "floor", "ceil", "trunc", "nearbyint",
        "fmod",
    )  # fmt: skip
    addresses = {name: ctypes.cast(getattr(libm, name), ctypes.c_void_p).value or 0 for name in names}
    return addresses | {name: ctypes.cast(getattr(libc, name), ctypes.c_void_p).value or 0 for name in ("calloc", "free")}


def pointer(array: np.ndarray) -> int:
    return int(array.ctypes.data)
