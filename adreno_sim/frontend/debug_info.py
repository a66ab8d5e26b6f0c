"""What clang's debug information says of a program's variables: their names, types, and scopes.

It is read of a build with `FrontEndTarget.debug`. Kernel IR refers to it by numbers: those of scopes (`SourceLoc.scope`) and of
variables (`Instr.indices` of notes and of private variables).
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import cached_property

from ..ir import ir
from ..records import dataclass
from .driver import FrontEndTarget
from .llvm_reader.words import read_text
from .program import compile_with_text

_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.MULTILINE)
_TUPLE = re.compile(r"^!(\d+) = (?:distinct )?!\{(.*)\}$", re.MULTILINE)
_FIELD = re.compile(r'(\w+): ("(?:[^"\\]|\\.)*"|[^,"]+)')
_SCOPES = ("DISubprogram", "DILexicalBlock", "DILexicalBlockFile")
_DEEPEST = 64
"""Types within one another that are followed; a struct may point to itself."""


@dataclass(frozen=True)
class Type:
    """A type of the source.

    kind: "int", "uint", "bool", "float", "vector", "array", "struct", "pointer", or "opaque" for what has no form here. name: as
    the source spells it. nbytes: its size. element: of vectors, arrays and pointers. fields: name, offset and type of each
    member.
    """

    kind: str
    name: str
    nbytes: int
    element: Type | None = None
    count: int = 0
    fields: tuple[tuple[str, int, Type], ...] = ()


OPAQUE = Type("opaque", "?", 0)


@dataclass(frozen=True)
class Variable:
    """A variable of a function, or of the program. scope: the number of the scope that declares it."""

    name: str
    type: Type
    scope: int
    line: int
    is_parameter: bool = False


@dataclass
class DebugInfo:
    """The debug information of one program, by number."""

    _nodes: dict[int, tuple[str, dict[str, str]]] = field(default_factory=dict)
    _tuples: dict[int, list[str]] = field(default_factory=dict)
    _types: dict[int, Type] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> DebugInfo:
        """Reads the metadata at the end of a module's text."""
        text = text[text.rfind("\n}\n") + 1 :]
        nodes = {int(m[1]): (m[2], dict(_FIELD.findall(m[3]))) for m in _NODE.finditer(text) if m[2] != "DILocation"}
        return cls(nodes, {int(m[1]): m[2].split(", ") for m in _TUPLE.finditer(text)})

    def variable(self, number: int) -> Variable | None:
        """Returns the variable of this number; None if nothing is said of it."""
        kind, fields = self._nodes.get(number, ("", {}))
        if kind not in ("DILocalVariable", "DIGlobalVariable"):
            return None
        type = self._type(_number(fields.get("type", "")))
        line = int(fields.get("line", "0"))
        return Variable(_unquoted(fields.get("name", "")), type, _number(fields.get("scope", "")), line, "arg" in fields)

    @cached_property
    def globals(self) -> list[Variable]:
        """Variables of program scope, and those of functions that a group shares."""
        found = [self.variable(number) for number, (kind, _) in self._nodes.items() if kind == "DIGlobalVariable"]
        return [variable for variable in found if variable is not None]

    def outer_scopes(self, scope: int) -> list[int]:
        """Returns a scope and those around it within the function, innermost first."""
        found: list[int] = []
        while scope not in found and self._nodes.get(scope, ("",))[0] in _SCOPES:
            kind, fields = self._nodes[scope]
            found.append(scope)
            if kind == "DISubprogram":
                break
            scope = _number(fields.get("scope", ""))
        return found

    def function_name(self, scope: int) -> str:
        """Returns the name of the function that a scope is in; "" if it is not known."""
        scopes = self.outer_scopes(scope)
        return _unquoted(self._nodes[scopes[-1]][1].get("name", "")) if scopes else ""

    def _type(self, number: int, depth: int = 0) -> Type:
        if number in self._types:
            return self._types[number]
        if depth > _DEEPEST or number not in self._nodes:
            return OPAQUE
        type = self._make_type(number, depth + 1)
        if depth == 0:
            self._types[number] = type
        return type

    def _make_type(self, number: int, depth: int) -> Type:
        kind, fields = self._nodes[number]
        name, nbytes = _unquoted(fields.get("name", "")), int(fields.get("size", "0")) // 8
        if kind == "DIBasicType":
            return Type(_BASIC.get(fields.get("encoding", ""), "opaque"), name, nbytes)
        tag = fields.get("tag", "")
        if tag == "DW_TAG_pointer_type":  # what it points to is followed no further than one step
            base = self._type(_number(fields.get("baseType", "")), max(depth, _DEEPEST - 8))
            return Type("pointer", f"{base.name} *", nbytes or 8, base)
        base = self._type(_number(fields.get("baseType", "")), depth)
        if tag == "DW_TAG_array_type":
            return self._array(fields, base, nbytes)
        if tag in ("DW_TAG_structure_type", "DW_TAG_union_type"):
            return Type("struct", f"struct {name}".strip(), nbytes, fields=tuple(self._members(fields, depth)))
        if tag == "DW_TAG_enumeration_type":
            return Type("int", f"enum {name}", nbytes)
        if tag == "DW_TAG_typedef":
            return Type(base.kind, name, base.nbytes, base.element, base.count, base.fields)
        return base  # const, volatile, restrict, atomic

    def _array(self, fields: dict[str, str], base: Type, nbytes: int) -> Type:
        counts = []
        for item in self._tuples.get(_number(fields.get("elements", "")), ()):
            said = self._nodes.get(_number(item), ("", {}))[1].get("count", "0").removeprefix("i64 ")
            counts.append(int(said) if said.isdigit() else 0)
        if "DIFlagVector" in fields.get("flags", ""):
            return Type("vector", f"{base.name}{counts[0]}", nbytes, base, counts[0])
        type = base
        for count in reversed(counts):
            type = Type("array", f"{base.name}[{count}]", type.nbytes * count, type, count)
        return type

    def _members(self, fields: dict[str, str], depth: int) -> list[tuple[str, int, Type]]:
        found = []
        for item in self._tuples.get(_number(fields.get("elements", "")), ()):
            _, member = self._nodes.get(_number(item), ("", {}))
            if member.get("tag") == "DW_TAG_member" and "flags" not in member:
                type = self._type(_number(member.get("baseType", "")), depth)
                found.append((_unquoted(member.get("name", "")), int(member.get("offset", "0")) // 8, type))
        return found


_BASIC = {
    "DW_ATE_signed": "int", "DW_ATE_signed_char": "int", "DW_ATE_unsigned": "uint", "DW_ATE_unsigned_char": "uint",
    "DW_ATE_boolean": "bool", "DW_ATE_float": "float",
}  # fmt: skip


def _number(text: str) -> int:
    """Returns the number of a node that a field names, -1 for none."""
    return int(text[1:]) if text[:1] == "!" and text[1:].isdigit() else -1


def _unquoted(text: str) -> str:
    return read_text(text[1:-1]) if text[:1] == '"' else text


def compile_for_debugging(source: str, options: str = "", *, target: FrontEndTarget) -> tuple[ir.Module, DebugInfo]:
    """Builds a program for the debugger, which no cache keeps. `target` has `debug`. Errors as of `program.compile_source`."""
    module, text = compile_with_text(source, options, target=target)
    return module, DebugInfo.read(text)
