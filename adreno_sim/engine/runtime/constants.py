"""Constants and structures that Python and C share, as C text. Python defines them; the C files use them by the same names."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any


def define_constants(modules: Iterable[ModuleType]) -> str:
    """Returns a `#define` of every public integer constant of `modules`. Raises ValueError if two of them share a name."""
    lines: dict[str, str] = {}
    for module in modules:
        for name, value in vars(module).items():
            if name.isupper() and not name.startswith("_") and type(value) is int:
                if name in lines:
                    raise ValueError(f"constant {name} of {module.__name__}: another module of the C runtime has one")
                lines[name] = f"#define {name} {_literal(value)}"
    return "".join(f"{line}\n" for line in lines.values())


def _literal(value: int) -> str:
    return f"({value})" if value < 0 else f"{value}" if value < 1 << 31 else f"{value}ull"


def declare_structure(fields: type[Any]) -> str:
    """Returns the declaration of a structure of 64-bit words: the fields of a named tuple, under its name in lower case."""
    name = "".join(f"_{c.lower()}" if c.isupper() else c for c in fields.__name__).lstrip("_")
    members = "".join(f"  __UINT64_TYPE__ {field};\n" for field in fields._fields)
    return f"struct {name} {{\n{members}}};\n"
