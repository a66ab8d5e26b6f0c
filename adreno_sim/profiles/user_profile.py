"""Profiles of users: a TOML file (one `[profile.NAME]` table, `base` may name a built-in profile), or the output of `clinfo` or
`clinfo --json`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base.bounded_read import explain_unreadable, read_text
from ..base.errors import AdrenoSimError
from . import builtin
from .fields import EDITS, FIELDS, apply_value, suggest
from .profile import DRIVER, Profile, complete, load, names, phones

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def load_profile(name: str) -> Profile:
    """A user's profile by path (ends in .toml, .json or .txt), or a built-in one as of `load`. Errors as of that."""
    if name.endswith(".toml"):
        return from_toml(Path(name))
    if not name.endswith((".json", ".txt")):
        return load(name)
    from .clinfo import from_clinfo  # dumps are rare

    return from_clinfo(Path(name))


def from_toml(path: Path) -> Profile:
    """The profile a user's TOML file holds. Raises AdrenoSimError with the file's name on anything wrong in it."""
    try:
        tables = tomllib.loads(read_text(path))
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise AdrenoSimError(f"device profile {path}: cannot be read: {explain_unreadable(error)}") from None
    except ValueError as error:  # TOMLDecodeError, and Python's for a number of thousands of digits
        raise AdrenoSimError(f"device profile {path}: not valid TOML: {error}") from None
    profiles = tables.get("profile")
    if not isinstance(profiles, dict) or len(profiles) != 1 or not all(isinstance(table, dict) for table in profiles.values()):
        raise AdrenoSimError(f"device profile {path}: expected exactly one table [profile.NAME]")
    (name,) = profiles
    if not name or not name.isprintable():
        raise AdrenoSimError(f"device profile {path}: the name {name!r}: expected text without control characters")
    if name in (*names(), *phones()):
        raise AdrenoSimError(f"device profile {path}: the name {name!r} is taken by a built-in profile")
    return _resolve(name, profiles[name])


def _resolve(name: str, table: Mapping[str, Any]) -> Profile:
    """The values of a user's table over those of its base, which count as inferred."""
    _check_table(name, table)
    values: dict[str, Any] = {}
    marks: dict[str, str] = {}
    origins: dict[str, str] = {}
    seen: dict[str, tuple[int, int]] = {}
    if base := table.get("base"):
        found = _load_base(name, base)
        values, seen = dict(found.values), dict(found.seen)
        marks, origins = dict.fromkeys(values, "inferred"), {key: f"as {base}: {text}" for key, text in found.origins.items()}
    for mark in ("sourced", "inferred", "given"):
        for key, value in table.get(mark, {}).items():
            changed = apply_value(name, key, value, values)
            marks[changed], origins[changed] = mark, f"{mark} in {name}"
            seen.pop(changed, None)
    for key in EDITS:
        if key in table:
            apply_value(name, key, table[key], values)
    return complete(name, values, marks, origins, seen)


def _load_base(name: str, base: Any) -> builtin.Values:
    chip, _, driver = str(base).partition(DRIVER)
    known = (*names(), *phones(), *builtin.families())
    if not isinstance(base, str) or chip not in known:
        raise AdrenoSimError(f"device profile {name}: base {base!r} does not exist{suggest(str(base), known)}")
    return builtin.resolve(chip, driver)


def _check_table(name: str, table: Mapping[str, Any]) -> None:
    known = ("base", "sourced", "inferred", "given", *EDITS)
    for key, value in table.items():
        if key not in known:
            hint = " (values belong under sourced, inferred or given)" if key in FIELDS else suggest(key, known)
            raise AdrenoSimError(f"device profile {name}: unknown key {key!r}{hint}")
        if key in ("sourced", "inferred", "given") and not isinstance(value, dict):
            raise AdrenoSimError(f"device profile {name}: {key}: expected a table, got {value!r}")
