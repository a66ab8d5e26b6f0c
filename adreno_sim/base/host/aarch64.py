"""Arm in its 64-bit state (aarch64), from Armv8.0."""

from __future__ import annotations

import ctypes
from pathlib import Path

from .family import ProcessorFamily

_AT_HWCAP = 16
_FPHP, _ASIMDHP = 1 << 9, 1 << 10
"""Bits by which Linux says that a processor computes halves (FEAT_FP16): alone, and in vectors."""


def find_half_arithmetic() -> dict[str, bool]:
    """Returns whether this processor computes halves. LLVM knows it of some by their names, and asks none."""
    ask = ctypes.CDLL(None).getauxval
    ask.argtypes, ask.restype = [ctypes.c_ulong], ctypes.c_ulong
    return {AARCH64.half_arithmetic: not ~ask(_AT_HWCAP) & (_FPHP | _ASIMDHP)}


AARCH64 = ProcessorFamily(
    machine="aarch64",
    name="Arm (aarch64)",
    triple="aarch64-unknown-linux-gnu",
    shim_target="aarch64-linux-gnu.2.17",
    library_folder="aarch64-linux-gnu",
    linker_mark="AArch64",
    header=Path(__file__).with_name("aarch64.h"),
    half_arithmetic="fullfp16",
    c_flags=("-mno-outline-atomics", "-fsigned-char"),
    flushes_before_rounding=True,
    find_features=find_half_arithmetic,
)
