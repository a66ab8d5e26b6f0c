"""What the project has to know of a processor family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType

from ...records import dataclass


def find_nothing() -> dict[str, bool]:
    """LLVM finds all features by itself."""
    return {}


@dataclass(frozen=True)
class ProcessorFamily:
    """Features are named as LLVM names them.

    machine: as `uname -m` says. name: for people. triple: clang's and LLVM's target. shim_target: zig's, with the oldest glibc
    that the driver runs on. library_folder: Debian's folder of libraries. linker_mark: how `ldconfig -p` marks such libraries.
    header: C functions for the float mode of a thread and for waiting (`float_mode`, `set_float_mode`, `pause_thread`). c_flags:
    what clang needs to make object code that calls nothing outside itself.

    half_arithmetic: the feature with which halves are computed as halves. wide_vectors: that with which 16 lanes are a vector;
    "" if there is none. byte_masks: that with which some bytes of a vector are stored. slow_lanes: one by which processors are
    known that gather and scatter about as slowly where no lane is active; "" if there is none. conversions: features without
    which LLVM calls functions for conversions of halves and fused multiply-add. avoided: features whose instructions code is
    better without. vector_flags: clang's flag for wider vectors, by the feature that it needs.

    Where denormals are flushed: flushes_before_rounding: whether a result that is denormal before it is rounded becomes zero.
    choices_flush: whether instructions for the lesser and the greater of two floats, which LLVM takes for a comparison and a
    choice, flush what they choose.
    find_features: features of this processor that LLVM does not find.
    """

    machine: str
    name: str
    triple: str
    shim_target: str
    library_folder: str
    linker_mark: str
    header: Path
    half_arithmetic: str
    wide_vectors: str = ""
    byte_masks: str = ""
    slow_lanes: str = ""
    conversions: tuple[str, ...] = ()
    avoided: tuple[str, ...] = ()
    c_flags: tuple[str, ...] = ()
    vector_flags: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    flushes_before_rounding: bool = False
    choices_flush: bool = False
    find_features: Callable[[], dict[str, bool]] = find_nothing
