"""RunOptions from what users give: keyword arguments, and key=value text of a device string."""

from __future__ import annotations

import dataclasses
import difflib
import types
import typing
from collections.abc import Mapping
from typing import Any

from .base.errors import AdrenoSimError
from .device import RunOptions

NAMES = tuple(field.name for field in dataclasses.fields(RunOptions))
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
