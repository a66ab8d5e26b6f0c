"""Itanium names of OpenCL built-ins, read back into source spellings.

Only what can appear in a built-in's name is read: builtin types, vectors, pointers with address spaces and
qualifiers, OpenCL's opaque types, enums, and the substitutions that refer back to them.
"""

from __future__ import annotations

import functools

from ..ir.ir import Callee

_BUILTIN = {
    "v": "void", "b": "bool", "c": "char", "a": "char", "h": "uchar", "s": "short", "t": "ushort", "i": "int", "j": "uint",
    "l": "long", "m": "ulong", "x": "long", "y": "ulong", "f": "float", "d": "double", "z": "...",
}  # fmt: skip

_SPACES = {
    "AS0": "__private", "AS1": "__global", "AS2": "__constant", "AS3": "__local", "AS4": "__generic",
    "CLprivate": "__private", "CLglobal": "__global", "CLconstant": "__constant", "CLlocal": "__local", "CLgeneric": "__generic",
}  # fmt: skip


class _NotMangled(Exception):
    """The name does not follow the grammar read here."""


@functools.lru_cache(maxsize=4096)
def demangle(mangled: str) -> Callee:
    """Name and argument spellings: `_Z11read_imagef20ocl_image2d_array_ro11ocl_samplerDv4_i` is "read_imagef" of
    ("image2d_array_ro", "sampler", "int4").

    Pointers are spelled "__global const float*", `__private` written out. A name that is not mangled (printf, an LLVM
    intrinsic, a C function), or that no built-in can have, comes back unchanged with no arguments.
    """
    if not mangled.startswith("_Z"):
        return Callee(mangled, mangled, ())
    try:
        return _Demangler(mangled).run()
    except (_NotMangled, IndexError):
        return Callee(mangled, mangled, ())


class _Demangler:
    """One pass over one name; `seen` are the substitution candidates in the order of the ABI."""

    def __init__(self, text: str):
        self.text = text
        self.at = 2
        self.seen: list[str] = []

    def run(self) -> Callee:
        name = self.source_name()
        args: list[str] = []
        while self.at < len(self.text):
            args.append(self.type())
        return Callee(name, self.text, () if args == ["void"] else tuple(args))

    def peek(self, word: str) -> bool:
        if self.text.startswith(word, self.at):
            self.at += len(word)
            return True
        return False

    def number(self) -> int:
        start = self.at
        while self.at < len(self.text) and self.text[self.at].isdigit():
            self.at += 1
        if start == self.at:
            raise _NotMangled(self.text)
        return int(self.text[start : self.at])

    def source_name(self) -> str:
        length = self.number()
        name = self.text[self.at : self.at + length]
        if len(name) != length or not length:
            raise _NotMangled(self.text)
        self.at += length
        return name

    def type(self) -> str:
        if self.peek("P"):
            return self.remember(self.qualified() + "*")
        if self.peek("Dv"):
            return self.vector()
        if self.peek("Dh") or self.peek("DF16_"):
            return "half"
        if self.peek("U7_Atomic"):
            return self.remember("atomic_" + self.type())
        if self.peek("S"):
            return self.substitution()
        if self.text[self.at].isdigit():
            name = self.source_name()
            return self.remember(name[4:] if name.startswith("ocl_") else name)
        letter = self.text[self.at]
        if letter not in _BUILTIN:
            raise _NotMangled(self.text)
        self.at += 1
        return _BUILTIN[letter]

    def vector(self) -> str:
        count = self.number()
        if not self.peek("_"):
            raise _NotMangled(self.text)
        return self.remember(f"{self.type()}{count}")

    def qualified(self) -> str:
        """What a pointer points at, address space first: "__global const float"."""
        space = "__private"
        words: list[str] = []
        if self.text.startswith("U", self.at) and not self.text.startswith("U7_Atomic", self.at):
            self.at += 1
            vendor = self.source_name()
            if vendor not in _SPACES:
                raise _NotMangled(self.text)
            space = _SPACES[vendor]
        for letter, word in (("r", "restrict"), ("V", "volatile"), ("K", "const")):
            if self.peek(letter):
                words.insert(0, word)
        pointee = self.type()
        if pointee.startswith("__") and not pointee.endswith("*"):
            return pointee  # a substitution that stands for the qualified type
        return self.remember(" ".join([space, *words, pointee]))  # __private counts as a qualifier, though it is not written

    def substitution(self) -> str:
        digits = ""
        while self.text[self.at] != "_":
            digits += self.text[self.at]
            self.at += 1
        self.at += 1
        try:
            return self.seen[int(digits, 36) + 1 if digits else 0]
        except (ValueError, IndexError):
            raise _NotMangled(self.text) from None

    def remember(self, spelled: str) -> str:
        self.seen.append(spelled)
        return spelled
