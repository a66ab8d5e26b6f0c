"""Reads assembly text, as Mesa's disassembler prints it: instructions by category, half registers, source lines beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from ..device.machine_code import Instructions

_LINE = re.compile(r"(?P<flags>(?:\([^)]*\))*)\s*(?P<name>[a-z][\w.]*)(?P<operands>.*)")
_REPEAT, _NOPS = re.compile(r"\(rpt(\d+)\)"), re.compile(r"\(nop(\d+)\)")

_HALF, _FIRST_SHARED = re.compile(r"\bhr(\d+)\."), 48

_FLOW = frozenset(
    [
        "br",
        "brac",
        "brao",
        "braa",
        "bany",
        "ball",
        "jump",
        "call",
        "ret",
        "kill",
        "end",
        "getone",
        "getlast",
        "predt",
        "predf",
        "prede",
        "shps",
        "shpe",
    ]
)
_MOVES = frozenset(["mov", "cov", "mova", "mova1", "movmsk", "movs", "swz", "gat", "sct"])
_SPECIAL = frozenset(["rcp", "rsq", "log2", "exp2", "sin", "cos", "sqrt", "hrsq", "hlog2", "hexp2"])
_TEXTURE = re.compile(
    r"isam|sam|gather4|getsize|getbuf|getinfo|getpos|getlod|dsx|dsy|brcst|quad_shuffle|rgetpos|rgetinfo|samgq|samgp|samgpbase"
)
_MEMORY = re.compile(r"ld[a-z]|st[a-z]|atomic|resinfo|resbase|getspid|getwid|getfiberid|ray_intersection|shfl")
_BARRIERS = frozenset(["bar", "fence", "sleep", "icinv", "dccln", "dcinv", "dcflu", "ccinv", "lock", "unlock", "alias"])


def count_instructions(text: str) -> Instructions:
    """Returns the counts. The nops behind `end`, which only fill the last line of code, do not count. What is between `shps` and
    `shpe` is the preamble."""
    counts: Counter[str] = Counter()
    in_preamble = False
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None or line.rstrip().endswith(":"):
            continue
        flags, name = match["flags"], match["name"]
        times = 1 + sum(map(int, _REPEAT.findall(flags)))
        if in_preamble or name == "shps":
            in_preamble = name != "shpe"
            counts["preamble"] += times * (name != "nop")
            continue
        counts["nops"] += sum(map(int, _NOPS.findall(flags)))
        counts[_category(name, match["operands"])] += times
        if name == "end":
            break
    return Instructions(**counts)


def count_half_registers(text: str) -> int:
    """Returns how many half registers of four halves the code names. From 48 on they are not registers of a work-item."""
    numbers = (int(number) for number in _HALF.findall(text))
    return max((number + 1 for number in numbers if number < _FIRST_SHARED), default=0)


def place_lines(text: str, lines: Iterable[int]) -> tuple[int, ...]:
    """Returns the source line for each line of text. lines: of each instruction; labels, and nops behind the end, have none."""
    left = iter(lines)
    return tuple(0 if line.rstrip().endswith(":") else next(left, 0) for line in text.splitlines())


def _category(name: str, operands: str) -> str:
    stem = name.partition(".")[0]
    if stem == "nop":
        return "nops"
    if stem in _FLOW:
        return "flow"
    if stem in _MOVES:
        return "moves"
    if stem in _SPECIAL:
        return "special"
    if stem in _BARRIERS:
        return "barriers"
    if _TEXTURE.match(stem):
        return "texture"
    if _MEMORY.match(stem):
        return "memory"
    return "alu_half" if operands.lstrip().startswith("hr") else "alu_full"
