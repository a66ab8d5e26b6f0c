"""Small functions that kernels call, put before a program where it mentions them."""

from __future__ import annotations

import re

from .value_types import Type

_NAME = re.compile(r"\b(number|plain)_((?:half|float)(\d*))\b")
HALF = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
NO_CONTRACTION = "#pragma OPENCL FP_CONTRACT OFF\n"
EXTENSIONS = {
    "cl_khr_int64_base_atomics": r"\batom_\w+|\batomic_u?long\b",
    "cl_khr_int64_extended_atomics": r"\batom_(min|max|and|or|xor)\b|\batomic_u?long\b",
    "cl_khr_subgroups": r"\bsub_group_|get_sub_group_",
    "cl_khr_3d_image_writes": r"\b(write_only|read_write) image3d_t\b",
}
"""Extensions that a program asks for, and what they bring."""


def extensions_used(text: str) -> str:
    """The pragmas of a program."""
    return "".join(f"#pragma OPENCL EXTENSION {name} : enable\n" for name, words in EXTENSIONS.items() if re.search(words, text))


def functions_used(text: str) -> str:
    """Definitions of the `number_T` (1 for NaN) and `plain_T` (also +0 for -0) that occur in `text`."""
    used = {match.group(0): match.groups() for match in _NAME.finditer(text)}
    made = set()
    for purpose, name, width in used.values():
        made.add(("number", name, width))
        made.add((purpose, name, width))
    callees_first = sorted(made)
    return "".join(_definition(purpose, name, width) for purpose, name, width in callees_first)


def _definition(purpose: str, name: str, width: str) -> str:
    type = Type(name[: len(name) - len(width)], int(width or 1))
    if purpose == "plain":
        return f"{type} plain_{type}({type} x) {{ return number_{type}(x) + ({type})0.0f; }}\n"
    chosen = f"isnan(x) ? ({type})1.0f : x" if type.width == 1 else f"select(x, ({type})1.0f, isnan(x))"
    return f"{type} number_{type}({type} x) {{ return {chosen}; }}\n"
