"""LLVM metadata of a printed module: source locations, and what a kernel's arguments were in the source."""

from __future__ import annotations

import os
import re

from ...ir.ir import UNKNOWN_LOC, SourceLoc
from .words import read_text

_LOCATION = re.compile(r"\n!(\d+) = (?:distinct )?!DILocation\(line: (\d+)(?:, column: (\d+))?, scope: !(\d+)")
"""Lines with the break before them: a search for text is many times as fast as one for `^`."""
_SCOPE = re.compile(r"\n!(\d+) = (?:distinct )?!DI(?:Subprogram|LexicalBlock|LexicalBlockFile)\((.*)\)$", re.MULTILINE)
_FILE = re.compile(r'\n!(\d+) = !DIFile\(filename: "([^"]*)"(?:, directory: "([^"]*)")?')
_TUPLE = re.compile(r"\n!(\d+) = (?:distinct )?!\{(.*)\}$", re.MULTILINE)
_PARAMETER = re.compile(r"\n!(\d+) = !DILocalVariable\(.*\barg: \d")
_FIELD = re.compile(r"\b(scope|file|line|name): (?:!(\d+)|(\d+)|\"([^\"]*)\")")
_ITEM = re.compile(r'\s*(?:!"((?:[^"\\]|\\.)*)"|i\d+ (-?\d+)|([^,]+))(?:,|$)')


def _path_of(name: str, folder: str) -> str:
    """A file's path from the working directory: clang splits off what its path shares with that, and calls it the folder."""
    if name in ("-", "<stdin>") or os.path.isabs(name) or folder in ("", os.getcwd()):
        return name
    return os.path.join(folder, name)


class Metadata:
    """The metadata at the end of a module's text. Locations are made on first use."""

    def __init__(self, text: str):
        text = text[text.rfind("\n}\n") + 1 :]
        self._locations = {found[0]: found for found in _LOCATION.findall(text)}
        self._scopes = dict(_SCOPE.findall(text))
        self._files = {match[1]: _path_of(read_text(match[2]), read_text(match[3] or "")) for match in _FILE.finditer(text)}
        self._tuples = dict(_TUPLE.findall(text))
        self._locs: dict[str, SourceLoc] = {}
        self._scope_files: dict[str, str] = {}
        self.has_variables = "emissionKind: FullDebug" in text
        self._parameters = frozenset(_PARAMETER.findall(text) if self.has_variables else ())

    def loc(self, number: str) -> SourceLoc:
        """Returns the location of `!dbg !number`; UNKNOWN_LOC if it is not one."""
        known = self._locs.get(number)
        if known is None:
            known = self._locs[number] = self._make_loc(number)
        return known

    def _make_loc(self, number: str) -> SourceLoc:
        location = self._locations.get(number)
        if location is None:
            return UNKNOWN_LOC
        _, line, column, scope = location
        return SourceLoc(int(line), int(column or 0), self._file_of(scope), (), int(scope) if self.has_variables else 0)

    def _file_of(self, scope: str) -> str:
        """Returns the file of a scope; "" for the program source, which clang reads from standard input."""
        known = self._scope_files.get(scope)
        if known is None:
            known = self._scope_files[scope] = self._find_file(scope)
        return known

    def _find_file(self, scope: str) -> str:
        while scope in self._scopes:
            fields = {match[1]: match for match in _FIELD.finditer(self._scopes[scope])}
            if "file" in fields:
                name = self._files.get(fields["file"][2] or "", "")
                return "" if name in ("-", "<stdin>") else name
            scope = fields["scope"][2] if "scope" in fields else ""
        return ""

    def subprogram_loc(self, number: str) -> SourceLoc:
        """Returns where the function starts to whose definition a `!dbg` is attached."""
        fields = {match[1]: match for match in _FIELD.finditer(self._scopes.get(number, ""))}
        return SourceLoc(int(fields["line"][3] or 0), 1, self._file_of(number)) if "line" in fields else UNKNOWN_LOC

    def is_parameter(self, number: str) -> bool:
        """Returns True for the debug information of a variable that is a parameter."""
        return number in self._parameters

    def is_artificial(self, number: str) -> bool:
        """Returns True for a function that clang has declared itself."""
        return "DIFlagArtificial" in self._scopes.get(number, "")

    def items(self, number: str) -> list[str]:
        """Returns the elements of a tuple as plain text: strings unquoted, integers as digits."""
        found = [match.groups() for match in _ITEM.finditer(self._tuples.get(number, ""))]
        return [read_text(string) if string is not None else word or other for string, word, other in found]
