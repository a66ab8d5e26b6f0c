"""Takes constant floats out of vector code that is not optimised.

LLVM keeps the constants of a function in one list, and looks at all of it for each constant that it adds. Two of one type are
compared at once; of a vector of floats and one of integers it compares the bits, so that many of both take time that grows
with the square. Loaded from a table, floats are not constants.
"""

from __future__ import annotations

import re

FEW = 500
"""So many different floats stay unchanged: the list is short, and loading takes three instructions."""

_TABLE = "@float.table"
_SPLAT = re.compile(r"splat \(float (0x[0-9A-Fa-f]+)\)")
_VECTOR = re.compile(r"<(\d+) x float>")


def move_to_table(text: str, few: int = FEW) -> str:
    """Returns the module `text` in which vectors of one float each are loaded, where it has more than `few` different ones."""
    values = list(dict.fromkeys(_SPLAT.findall(text)))
    if len(values) <= few:
        return text
    places = {value: place for place, value in enumerate(values)}
    out: list[str] = []
    for line in text.splitlines():
        if line.startswith("  ") and " phi " not in line and _SPLAT.search(line):
            line = _load(line, places, out)
        out.append(line)
    entries = ", ".join(f"float {value}" for value in values)
    return "\n".join([*out, f"{_TABLE} = private constant [{len(values)} x float] [{entries}]"]) + "\n"


def _load(line: str, places: dict[str, int], out: list[str]) -> str:
    """The line on loaded vectors; adds to `out` what loads them."""
    lanes = _VECTOR.search(line)
    assert lanes is not None, line
    wide = lanes[0]
    for value in dict.fromkeys(_SPLAT.findall(line)):
        name = f"%float.{len(out)}"
        out += [
            f"  {name}.one = load float, ptr getelementptr (float, ptr {_TABLE}, i64 {places[value]})",
            f"  {name}.first = insertelement {wide} poison, float {name}.one, i64 0",
            f"  {name} = shufflevector {wide} {name}.first, {wide} poison, <{lanes[1]} x i32> zeroinitializer",
        ]
        line = line.replace(f"splat (float {value})", name)
    return line
