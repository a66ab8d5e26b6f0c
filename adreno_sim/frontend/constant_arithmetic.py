"""Undefined arithmetic of constants, as 1 / 0 or (char)1e30f: clang folds it to `poison` before any check could see it.

Such a program is compiled once more with clang's sanitizers, which put a mark before each operation that they cannot show to be
defined. Here a mark with constant operands becomes an operation of the same kind, which nothing folds: the checks of the engine
then report it where it stands, and only if it runs. All other marks are dropped, since the engine itself checks what depends on
variables. The value that was folded reads as 0.
"""

from __future__ import annotations

import re

_CHECKS = "integer-divide-by-zero,float-cast-overflow,signed-integer-overflow"
FLAGS = ("-Xclang", f"-fsanitize={_CHECKS}", "-Xclang", f"-fsanitize-recover={_CHECKS}")

_VECTOR = re.compile(r"<[^<>]*>")
_SCALAR_POISON = re.compile(r"(?:\bi\d+ (?:[a-z]+ )*|[\[,] )poison\b")
_VECTOR_POISON = re.compile(r"<\d+ x i\d+> (?:[a-z]+ )*(?:poison|<[^<>]*\bpoison[^<>]*>)")
_ELEMENT = re.compile(r"\b(i\d+) poison\b")
_WHOLE = re.compile(r"(<\d+ x i\d+>(?: [a-z]+)*) poison\b")
_INSERT = re.compile(
    r" *(?P<name>%[\w.]+) = insertelement <\d+ x i\d+> (?P<base>%[\w.]+|poison|<[^<>]*>), i\d+ \S+, "
    r"i\d+ (?:(?P<lane>\d+)|%[\w.]+)"
)
_SPLAT = re.compile(r"= shufflevector <\d+ x i\d+> (%[\w.]+), <\d+ x i\d+> (?:poison|undef), <\d+ x i32> zeroinitializer")
"""A vector whose elements are all the first one of another."""

_MARK = re.compile(
    r"^ *call [^@\n]*@__ubsan_handle_(?P<kind>\w+)\(ptr(?: addrspace\(\d+\))? @[^,\s]+(?P<operands>(?:, i64 [^,)\n]+)*)\)"
    r"[^,\n]*(?P<loc>, !dbg !\d+)?.*$",
    re.MULTILINE,
)
_CONSTANTS = re.compile(r"(?:, i64 -?\d+)+")
_DATA = re.compile(r"^@(?:\d+|\.src(?:\.\d+)?) = private unnamed_addr addrspace.*\n", re.MULTILINE)
_CHECKED = re.compile(
    r"^(?P<name> *%\w+ = )call \{ (?P<type>i\d+), i1 \} @llvm\.[su](?P<op>add|sub|mul)\.with\.overflow\.i\d+"
    r"\((?P<operands>[^)\n]*)\)[^,\n]*(?P<rest>.*)$",
    re.MULTILINE,
)
_PART = re.compile(r"^(?P<name> *%\w+ = )extractvalue \{ (?P<type>i\d+), i1 \} (?P<whole>%\w+), (?P<part>[01])", re.MULTILINE)
_LARGE = "0x46293E5940000000"
"""1e30, which no integer type holds."""


def has_folded_operation(text: str) -> bool:
    """Returns True if an integer of the LLVM text is `poison`, or an element of a vector that nothing fills later."""
    open_lanes: dict[str, set[int]] = {}
    for line in text.splitlines():
        if not _is_instruction(line):
            continue
        insert = _INSERT.match(line) if " insertelement " in line else None
        splat = _SPLAT.search(line) if " shufflevector " in line else None
        if splat is not None and 0 not in open_lanes.get(splat[1], ()):
            open_lanes.pop(splat[1], None)
        if insert is not None:
            lanes = open_lanes.pop(insert["base"], None) or _poison_lanes(insert["base"])
            open_lanes[insert["name"]] = lanes - {int(insert["lane"] or -1)}
        if "poison" in line and _SCALAR_POISON.search(_VECTOR.sub("", line)):
            return True
        if "poison" in line and insert is None and "shufflevector" not in line and _VECTOR_POISON.search(line):
            return True
    return any(open_lanes.values())


def _is_instruction(line: str) -> bool:
    """Returns True for a line in a function's body. Data and metadata may hold any text."""
    return line.startswith("  ")


def _poison_lanes(constant: str) -> set[int]:
    """Returns the lanes of a vector constant that are `poison`; none of one that is so as a whole, and of other operands."""
    return {lane for lane, item in enumerate(constant.split(", ")) if item.strip("<>").endswith(" poison")}


def replace_marks(text: str) -> str:
    """Returns LLVM text that was compiled with FLAGS with operations in place of the marks, and plain arithmetic."""
    numbers = iter(range(len(text)))
    text = _MARK.sub(lambda mark: _operation(mark, next(numbers)), text)
    text = _CHECKED.sub(_plain, text)
    text = "\n".join(_without_poison(line) if "poison" in line else line for line in _PART.sub(_part, text).split("\n"))
    return _DATA.sub("", text)


def _without_poison(line: str) -> str:
    """Returns a line with 0 for the elements of vector constants that are `poison`, and for vectors that are so as a whole: the
    elements that a literal leaves to variables are filled in any case."""
    if not _is_instruction(line):
        return line
    line = _VECTOR.sub(lambda vector: _ELEMENT.sub(r"\1 0", vector[0]), line)
    return line if "insertelement" in line or "shufflevector" in line else _WHOLE.sub(r"\1 zeroinitializer", line)


def _operation(mark: re.Match[str], number: int) -> str:
    """Returns the line that takes the place of a mark: an operation that is undefined in the same way, or nothing."""
    if not _CONSTANTS.fullmatch(mark["operands"]):
        return ""
    result = f"  %undefined.{number} = "
    if mark["kind"] == "float_cast_overflow":
        return f"{result}fptosi float {_LARGE} to i8{mark['loc'] or ''}"
    if mark["kind"] != "divrem_overflow":
        return ""
    divisor = int(mark["operands"].rpartition(" ")[2])
    if divisor == 0:
        return f"{result}udiv i32 1, 0{mark['loc'] or ''}"
    return f"{result}sdiv i32 {-(1 << 31)}, -1{mark['loc'] or ''}"


def _plain(checked: re.Match[str]) -> str:
    """Returns the operation that wraps instead of the one that reports its overflow."""
    first, second = (operand.split()[-1] for operand in checked["operands"].split(", "))
    return f"{checked['name']}{checked['op']} {checked['type']} {first}, {second}{checked['rest']}"


def _part(part: re.Match[str]) -> str:
    """Returns a copy of the result, or that nothing overflowed."""
    if part["part"] == "0":
        return f"{part['name']}add {part['type']} {part['whole']}, 0"
    return f"{part['name']}icmp ne i1 false, false"
