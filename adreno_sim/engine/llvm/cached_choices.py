"""Keeps a choice between two floats a choice of bits.

A processor may have instructions for the lesser and the greater of two floats that flush their operands. LLVM takes them for
`x < y ? x : y`, in whatever way a kernel says it, where comparison and choice are in one block: a denormal would become zero
or not by chance. Built-in functions that flush what they choose say so (`llvm.canonicalize`): there they do no harm.
"""

from __future__ import annotations

import functools
import re
from collections import Counter

from .text_operands import split_operands, suffix_of

_FUNCTION = re.compile(r"^define .*?^}$", re.MULTILINE | re.DOTALL)
_TYPE = r"((?:<\d+ x )?(?:float|double)>?)"
_COMPARED = re.compile(rf"^  (%\S+) = fcmp (?:olt|ogt|ule|uge) {_TYPE} (.*)$", re.MULTILINE)
_CHOSEN = re.compile(rf"^  (%\S+) = select (?:<\d+ x i1>|i1) (%[^\s,]+), {_TYPE} (.*)$", re.MULTILINE)
_METADATA = re.compile(r"(?:, !\S+ !\S+)+$")
_NAME = re.compile(r'%(?:"[^"]*"|[\w.$-]+)')
_FENCE = "llvm.arithmetic.fence"
_DECLARED = re.compile(rf"^declare .*@{re.escape(_FENCE)}\.(\w+)\(", re.MULTILINE)


def keep_choices(text: str) -> str:
    """Returns the optimised module `text` with a fence, which emits no instruction, before each choice that such an instruction
    could make; itself if there is none."""
    fenced: set[str] = set()
    kept = _FUNCTION.sub(lambda function: _keep_in_function(function[0], fenced), text)
    if not fenced:
        return text
    there = set(_DECLARED.findall(text))  # built-in functions have fences of their own
    new = sorted(type for type in fenced if suffix_of(type) not in there)
    return "\n".join([kept, *(f"declare {type} @{_FENCE}.{suffix_of(type)}({type})" for type in new), ""])


def _keep_in_function(text: str, fenced: set[str]) -> str:
    """Returns a function with its fences; adds their types to `fenced`."""
    compared = {flag: set(split_operands(operands)) for flag, _, operands in _COMPARED.findall(text)}
    find_kept = functools.cache(lambda: _find_kept(text))

    def keep(choice: re.Match[str]) -> str:
        result, flag, type, rest = choice.groups()
        if flag not in compared:
            return choice[0]
        operands = [part.removeprefix(type).strip() for part in split_operands(_METADATA.sub("", f"{type} {rest}"))]
        if compared[flag] != set(operands) or result not in find_kept():
            return choice[0]
        fenced.add(type)
        variable = next(operand for operand in operands if operand.startswith("%"))
        name = f"%kept.{result[1:].strip(chr(34))}"
        fence = f"  {name} = call {type} @{_FENCE}.{suffix_of(type)}({type} {variable})\n"
        first, second = (name if operand == variable else operand for operand in operands)
        return f"{fence}{choice[0].partition(f', {type} ')[0]}, {type} {first}, {type} {second}"

    return _CHOSEN.sub(keep, text)


def _find_kept(text: str) -> set[str]:
    """Returns the values of a function, among those that something else than `llvm.canonicalize` makes, that something else
    uses."""
    there = Counter(_NAME.findall("\n".join(line for line in text.split("\n") if "@llvm.canonicalize." not in line)))
    return {name for name, times in there.items() if times > 1}  # once where it is defined
