"""Programs that differ only in sizes as one C function, which is given these: networks repeat layers in many shapes, and clang
takes as long for each function.

A number with the suffix LL in the text of a program may become a variable; clang knows all others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...records import dataclass
from .value import SIZE

if TYPE_CHECKING:
    from .truth_program import TruthProgram


@dataclass(frozen=True)
class SharedCode:
    """The C text of programs that are alike, as a function of the name of the first. sizes: what each of them gives it as `k`."""

    name: str
    text: str
    sizes: dict[str, tuple[int, ...]]


def share_code(programs: Sequence[TruthProgram]) -> list[SharedCode]:
    """The programs, those that are alike as one."""
    alike: dict[str, list[TruthProgram]] = {}
    for program in programs:
        nameless = re.sub(rf"\b{program.name}(?=_body\b|_floats\b|\b)", "", program.text)
        alike.setdefault(SIZE.sub("LL", nameless), []).append(program)
    return [_share(group) for group in alike.values()]


def _share(group: Sequence[TruthProgram]) -> SharedCode:
    """One function for programs whose texts differ only in sizes."""
    places = zip(*(map(int, SIZE.findall(program.text)) for program in group), strict=True)
    variables: dict[tuple[int, ...], int] = {}

    def spell(match: re.Match[str]) -> str:
        values = next(places)
        return match[0] if len(set(values)) == 1 else f"k[{variables.setdefault(values, len(variables))}]"

    text = SIZE.sub(spell, group[0].text)
    sizes = {program.name: tuple(values[number] for values in variables) for number, program in enumerate(group)}
    return SharedCode(group[0].name, text, sizes)
