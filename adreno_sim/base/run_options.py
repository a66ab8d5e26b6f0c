"""RunOptions, and RunOptions from what users give: keyword arguments, and key=value text of a device string."""

from __future__ import annotations

import dataclasses
import difflib
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal

from ..records import dataclass
from .errors import AdrenoSimError
from .pitch_rules import PitchRuleName

Checks = Literal["off", "bounds", "full"]
Order = Literal["shuffled", "ascending", "descending"]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a device runs kernels; fixed when the device is opened.

    checks: "off" none, "bounds" every buffer and image access (default), "full" adds uninitialised reads, races and more.
    seed: order of groups and work-items at level full, poison pattern (default 0).
    order: of groups and work-items at level full: "shuffled" by the seed (default), "ascending" or "descending" by their ids.
    threads: worker threads; 0 = as many as this process may use (default).
    timeout: seconds one launch may run before the watchdog stops it (default 60).
    contract: "on" fuses a*b+c inside one expression (llvm.fma), "off" rounds twice (default "on", as GPUs do).
    flush_denormals: None = as the profile says (default).
    finite_math: "folded" compiles a program that was built with -cl-finite-math-only or -cl-fast-relaxed-math as if no value were
        NaN or infinite, as a compiler may then: isnan() is false, and x == x true. "kept" (default) computes both.
    filter_bits: bits of the weights with which linear filtering blends texels, up to 16: coordinates are rounded to so many
        fractional bits of a texel (Mesa gives 8 for Adreno); 0 = those of a float (default).
    pitch_rule: one of `pitch_rules`, None = the profile's.
    pool: what keeps freed memory: "paged" as TVM's OpenCL runtime (default), or "none".
    cache: keep compiled kernels on disk (default True).
    emitter: "spmd" (default) runs work-items in vectors where a kernel allows, "scalar" writes the code of one work-item in a
        loop. Results are the same to the bit, except for kernels whose work-items race.
    count_accesses: count executed memory accesses, and those of them proven in range; slower (default False).
    counters: count what each launch does: operations, bytes, transactions of waves (docs/counters.md). A launch then runs once
        more, one work-item at a time (default False).
    all_drivers: warn of constructs that any known driver compiles wrongly, not only the device's (default False).
    unsafe_includes: a kernel's source reads any file of the host, not only those below the include folders that its build names
        (default False). A real device's driver reads what it likes.
    """

    checks: Checks = "bounds"
    seed: int = 0
    order: Order = "shuffled"
    threads: int = 0
    timeout: float = 60.0
    contract: Literal["on", "off"] = "on"
    flush_denormals: bool | None = None
    finite_math: Literal["kept", "folded"] = "kept"
    filter_bits: int = 0
    pitch_rule: PitchRuleName | None = None
    pool: Literal["paged", "none"] = "paged"
    cache: bool = True
    emitter: Literal["scalar", "spmd"] = "spmd"
    count_accesses: bool = False
    counters: bool = False
    all_drivers: bool = False
    unsafe_includes: bool = False


NAMES = tuple(field.name for field in dataclasses.fields(RunOptions))
MOST_FILTER_BITS = 16
LONGEST = 10**9
"""Seconds a launch may be given: below what the system's clocks can wait for."""


def make_options(given: Mapping[str, Any]) -> RunOptions:
    """Options from values or their text. Raises AdrenoSimError on an unknown name or a value outside its type or range."""
    types_of = typing.get_type_hints(RunOptions)
    for name in given:
        if name not in types_of:
            close = difflib.get_close_matches(name, NAMES, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise AdrenoSimError(f"option {name!r} does not exist{hint}; there are: {', '.join(NAMES)}")
    options = RunOptions(**{name: _value(name, value, types_of[name]) for name, value in given.items()})
    if not 0 < options.timeout <= LONGEST:
        _refuse("timeout", options.timeout, f"more than 0 and at most {LONGEST} seconds")
    if not 0 <= options.filter_bits <= MOST_FILTER_BITS:
        _refuse("filter_bits", options.filter_bits, f"0 to {MOST_FILTER_BITS}")
    if options.threads < 0:
        _refuse("threads", options.threads, "0 or more")
    return options


def _value(name: str, value: Any, kind: Any) -> Any:
    """`value` as `kind`: a Literal of strings, bool, int, float, or one of these and None."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        if value is None or value == "None":
            return None
        (kind,) = (part for part in typing.get_args(kind) if part is not type(None))
    if typing.get_origin(kind) is typing.Literal:
        choices = typing.get_args(kind)
        return value if value in choices else _refuse(name, value, ", ".join(map(str, choices)))
    try:
        return _PARSERS[kind](value)
    except (KeyError, ValueError, TypeError):
        return _refuse(name, value, {bool: "true or false", int: "an integer", float: "a number"}.get(kind, str(kind)))


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    return {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}[str(value).lower()]


def _integer(value: Any) -> int:
    if isinstance(value, (bool, float)):
        raise ValueError
    return int(value, 0) if isinstance(value, str) else int(value)


def _number(value: Any) -> float:
    number = float(value)
    if number != number or isinstance(value, bool):
        raise ValueError
    return number


_PARSERS: dict[Any, Any] = {bool: _boolean, int: _integer, float: _number, str: str}


def _refuse(name: str, value: Any, expected: str) -> Any:
    raise AdrenoSimError(f"option {name}={value!s}: expected {expected}")
