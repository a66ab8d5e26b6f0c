"""Known faults of Adreno's drivers, and which compilers have them. The table is errata.toml."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from ..records import dataclass

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """One fault; the fields are explained at the head of errata.toml."""

    name: str
    construct: str
    symptom: str
    workaround: str
    source: str
    has: Sequence[str] = ()
    before: str = ""
    numbers: Sequence[str] = ()
    kernel: Sequence[str] = ()
    calls: Sequence[str] = ()
    text: str = ""
    constant: Mapping[str, int] = field(default_factory=dict)
    required_group: bool = False
    multiply_adds: int = 0
    narrowed_nibbles: bool = False
    uniform_operands: bool = False
    nested_update: bool = False

    def is_of(self, compiler: str, device_version: str) -> bool:
        """Whether a compiler of this version has it, on the device that calls itself so."""
        if self.numbers and not any(f"Adreno(TM) {number}" in device_version for number in self.numbers):
            return False
        return any(_begins(compiler, start) for start in self.has) or (bool(self.before) and _is_before(compiler, self.before))

    @property
    def owners(self) -> str:
        """The compilers that have it, in words."""
        known = [*self.has, *([f"before {self.before}"] if self.before else [])]
        return ", ".join(known) + (f" on {', '.join(self.numbers)}" if self.numbers else "") if known else "not said"


TABLE = Path(__file__).with_name("errata.toml")


@functools.cache
def errata() -> tuple[Erratum, ...]:
    """The whole table."""
    table: dict[str, dict[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["erratum"]
    return tuple(Erratum(name=name, **entry) for name, entry in table.items())


def _begins(version: str, start: str) -> bool:
    return version == start or version.startswith(f"{start}.")


def _is_before(version: str, first_good: str) -> bool:
    """Whether a version comes before another of the same kind of compiler."""
    kind, *numbers = version.split(".")
    good_kind, *good = first_good.split(".")
    return kind == good_kind and list(map(int, numbers)) < list(map(int, good))
