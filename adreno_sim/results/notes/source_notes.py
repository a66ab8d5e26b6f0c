"""What the source adds to a finding: the text of the condition that decides, the declaration of a variable without a value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ...base.text.c_source import blank_text, find_closing
from ...base.text.line_markers import number_lines
from ...base.text.spelling import encode_exactly
from ...findings import VARIABLE, Finding, Kind, Note

_BRANCH = re.compile(r"\b(if|while|for|switch)\s*\(")
_STATEMENTS = frozenset({"return", "else", "case", "goto", "typedef", "do", "kernel", "__kernel"})
_MOST_QUOTED = 60
_LOCAL = re.compile(r"^\s*(?:__)?local\b")
_LOCAL_HELP = "have the work-items of the group write all of {} that is read, its edges too, and meet at a barrier"


def name_file(finding: Finding, file: str) -> Finding:
    """Returns a finding with the name of the source's file, where its places are in the source itself."""
    notes = tuple(note if note.file or not note.line else replace(note, file=file) for note in finding.notes)
    return replace(finding, file=finding.file or file, notes=notes)


def add_source_notes(finding: Finding, source: str) -> Finding:
    """Returns the finding with what its source says of it. source: the text of the kernel, in which the finding's file may be
    named by line markers."""
    if finding.kind is Kind.DIVERGENT_BARRIER and finding.notes:
        return _quote_conditions(finding, source)
    if finding.kind is Kind.UNINITIALIZED_READ and (name := _variable(finding)):
        declared = find_declaration(number_lines(blank_text(source), finding.file), name, finding.line)
        if declared is not None:
            note = replace(declared, file=finding.file)
            if _LOCAL.search(number_lines(source, finding.file)[note.line]):  # no local variable has an initial value
                note = replace(note, label=f"{name} is declared here")
                return replace(finding, notes=(note, *finding.notes), help=_LOCAL_HELP.format(name))
            return replace(
                finding, notes=(note, *finding.notes), help=f"give {name} a value where it is declared, in line {note.line}"
            )
    return finding


def _quote_conditions(finding: Finding, source: str) -> Finding:
    """Returns a finding whose notes name the conditions at their places."""
    notes = []
    for note in finding.notes:
        lines = number_lines(source, note.file)
        condition = find_condition(lines.get(note.line, ""), note.column)
        notes.append(replace(note, label=f"`{condition}` decides which work-items get there") if condition else note)
    return replace(finding, notes=tuple(notes))


def find_condition(line: str, column: int) -> str:
    """Returns the condition of the branch at a column (in bytes, from 1) of a line; "" if the line does not hold all of it."""
    code = blank_text(line)
    at = len(encode_exactly(line)[: max(0, column - 1)].decode("utf-8", "surrogateescape"))
    for branch in _BRANCH.finditer(code):
        opening = branch.end() - 1
        closing = find_closing(code, opening)
        if closing < 0 or not branch.start() <= at <= closing:
            continue
        inside = line[opening + 1 : closing]
        if branch[1] == "for":
            parts = inside.split(";")
            inside = parts[1] if len(parts) == 3 else ""
        inside = inside.strip()
        return inside if len(inside) <= _MOST_QUOTED else ""
    return ""


def _variable(finding: Finding) -> str:
    """Returns the variable that has no value, as the source calls it: not "row.w", but "row"; "" if memory has none."""
    name = finding.detail.get(VARIABLE) or (finding.access.view if finding.access is not None else "")
    first, _, rest = str(name).removeprefix(f"{finding.kernel}.").partition(".")
    return first if re.fullmatch(r"[A-Za-z_]\w*", first) and " " not in rest else ""


_DECLARATION = r"^\s*(?:[{{]\s*)?((?:[A-Za-z_]\w*\s+)+)(?:[^;()*]*,\s*)?(?P<name>{name})\s*(?P<after>[;,=\[])"


def find_declaration(lines: Mapping[int, str], name: str, use: int) -> Note | None:
    """Returns where a variable is declared before the line `use`, of lines without comments; None if that is not certain."""
    pattern = re.compile(_DECLARATION.format(name=re.escape(name)))
    found = []
    for number, line in lines.items():
        match = pattern.match(line) if number <= use else None
        if match is not None and not _STATEMENTS & set(match[1].split()):
            array = match["after"] == "[" and "=" in line[match.end() :]
            found.append((number, len(encode_exactly(line[: match.start("name")])) + 1, match["after"] != "=" and not array))
    bare = [place for place in found if place[2]]
    certain = bare if len(bare) == 1 else found
    if len(certain) != 1:
        return None
    number, column, without_value = certain[0]
    return Note(f"{name} is declared here{', without a value' if without_value else ''}", number, column)
