"""Named values of a launch file: [values], what the command line sets instead, and the expressions that use them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Union

from ..base.errors import AdrenoSimError, OptionError
from ..base.toml_tables import Table, is_whole
from . import expressions

Settings = Mapping[str, Union[int, str]]
"""Values by name that replace those of a file; texts are expressions."""

_IN_TEXT = re.compile(r"\{([^{}]*)\}")


def read_values(data: Mapping[str, Any], file: Path, settings: Settings) -> dict[str, int]:
    """The table [values] of a launch file's data, with `settings` instead of its own values. A value may use those above it.

    Raises AdrenoSimError for anything but a whole number, OptionError for a setting that the file has no value for.
    """
    table = Table(data, file).table("values")
    for name in settings:
        if name not in table:
            known = ", ".join(table.names()) or "none"
            raise OptionError("set", f"{name}: {file} has no value of this name; its [values] are {known}")
    values: dict[str, int] = {}
    for name in table.names():
        if wrong := expressions.find_wrong_name(name):
            raise table.error(name, wrong)
        values[name] = _setting(name, settings[name], values) if name in settings else _written(table, name, values)
    return values


def _written(table: Table, name: str, values: Mapping[str, int]) -> int:
    written = table.get(name, None, "a whole number")
    if isinstance(written, str):
        try:
            return expressions.evaluate(written, values)
        except ValueError as error:
            raise table.error(name, f"{written!r:.60}: {error}") from None
    if not is_whole(written) or abs(written) >= expressions.LARGEST:
        table.fail_expected(name, "a whole number, or an expression of the values above it")
    return int(written)


def _setting(name: str, given: int | str, values: Mapping[str, int]) -> int:
    try:
        return expressions.evaluate(str(given), values)
    except ValueError as error:
        raise OptionError("set", f"{name}={given!s:.60}: {error}") from None


def with_values(data: Mapping[str, Any], file: Path, values: Mapping[str, int]) -> Table:
    """The file's tables, whose numbers may be expressions of `values`."""
    return Table(data, file, evaluate=partial(expressions.evaluate, names=values))


def fill_in(text: str, values: Mapping[str, int], table: Table, key: str) -> str:
    """The text with {expression} replaced by its number, where the file has values; else unchanged."""

    def number(found: re.Match[str]) -> str:
        try:
            return str(expressions.evaluate(found[1], values))
        except ValueError as error:
            raise table.error(key, f"{found[0]:.60}: {error}") from None

    return _IN_TEXT.sub(number, text) if values else text


def parse_setting(text: str) -> tuple[str, str]:
    """NAME=VALUE as (name, value). Raises AdrenoSimError for anything else."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise AdrenoSimError(f"{text!r}: expected NAME=NUMBER, as n=2048")
    return name.strip(), value.strip()
