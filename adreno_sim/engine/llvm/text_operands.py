"""Operands and types in lines of LLVM text."""

from __future__ import annotations

import re

_LANES = re.compile(r"<(\d+) x ")


def split_operands(text: str) -> list[str]:
    """Returns the operands of an instruction: parts between commas that no bracket encloses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def suffix_of(type: str) -> str:
    """Returns LLVM's spelling of float, double, or a vector of these in the name of an intrinsic: v4f32."""
    lanes, elem = _LANES.match(type), "f32" if "float" in type else "f64"
    return f"v{lanes[1]}{elem}" if lanes else elem
