"""Findings as SARIF 2.1.0 (OASIS), which code hosts and editors read."""

from __future__ import annotations

import hashlib
import re
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...base.allow import Allowed
from ...base.text.spelling import encode_exactly, spell_line, spell_lines
from ...base.version import __version__
from ...explanations import explanations, help_of
from ...findings import Finding, Kind, Note
from ...results import finding_text
from ...results.run_report import host_call_of
from ...results.unwatched import find_unwatched
from ...results.verdict.finding_json import finding_to_json

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_sarif(
    findings: Sequence[Finding],
    allowed: Sequence[Allowed] = (),
    sources: Mapping[str, str] | None = None,
    checks: str = "",
    program: str = "",
) -> dict[str, Any]:
    """One run with a result per finding; allowed ones are suppressed results with the entry's reason.

    sources: text of kernels that are not files, by the path in the findings' locations (see `uri`). checks: the level of checks;
    the run says so where that is "off". program: the file of the program that ran, the place of findings without a kernel:
    code hosts require one of every result.
    """
    used = sorted({finding.kind for finding in [*findings, *(item.finding for item in allowed)]}, key=lambda kind: kind.label)
    results = [_result(finding, used, program) for finding in findings]
    for item in allowed:
        results.append({**_result(item.finding, used, program), "suppressions": [_suppression(item)]})
    driver = {"name": "adreno-sim", "version": __version__, "rules": [_rule(kind) for kind in used]}
    run: dict[str, Any] = {"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results}
    if unwatched := find_unwatched(checks):
        told = [{"level": "warning", "message": {"text": sentence}} for sentence in unwatched]
        run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": told}]
    if sources:
        run["artifacts"] = [
            {"location": {"uri": reference_of(path)}, "sourceLanguage": "opencl", "contents": {"text": spell_lines(text)}}
            for path, text in sources.items()
        ]
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def uri(finding: Finding) -> str:
    """The file a finding's place is in: its own, or KERNEL.cl for a kernel that a compiler made."""
    return finding.file or (f"{finding.kernel}.cl" if finding.kernel else "")


def _rule(kind: Kind) -> dict[str, Any]:
    told = explanations()[kind.label]
    return {
        "id": kind.label,
        "shortDescription": {"text": kind.sentence},
        "fullDescription": {"text": told.means},
        "help": {"text": f"{told.fix}\n\n{told.example}", "markdown": f"{told.fix}\n\n```c\n{told.example}\n```\n"},
        "helpUri": told.reference,
        "defaultConfiguration": {"level": str(kind.severity)},
    }


def _result(finding: Finding, rules: Sequence[Kind], program: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.kind.label,
        "ruleIndex": rules.index(finding.kind),
        "level": str(finding.severity),
        "message": {"text": _message(finding)},
        "occurrenceCount": finding.count,
        "partialFingerprints": {"place/v1": fingerprint(finding)},
        "properties": {"finding": finding_to_json(finding)},
    }
    location = _location(finding, uri(finding) or program)
    if location:
        result["locations"] = [location]
    if related := [_related(number, note, finding) for number, note in enumerate(finding.notes, 1)]:
        result["relatedLocations"] = related
    return result


def _related(number: int, note: Note, finding: Finding) -> dict[str, Any]:
    """A note as a separate location."""
    place = {"artifactLocation": {"uri": reference_of(note.file or uri(finding))}, "region": _region(note)} if note.line else None
    placed = {"physicalLocation": place} if place and (note.file or uri(finding)) else {}
    return {"id": number, "message": {"text": spell_line(note.label)}, **placed}


def _region(place: Finding | Note) -> dict[str, int]:
    return {"startLine": place.line, **({"startColumn": place.column} if place.column else {})}


def _message(finding: Finding) -> str:
    parts = [finding.message, *([f"Of {finding_text.node_words(finding)}."] if finding.nodes else [])]
    if finding.work_item is not None:
        parts.append(f"Work-item {finding_text.work_item(finding.work_item)}.")
    if finding.access is not None:
        parts.append(f"Access {finding_text.access(finding.access)}.")
    if (call := host_call_of(finding)) is not None:
        parts.append(f"{str(call)[0].upper()}{str(call)[1:]}.")
    parts.append(f"Help: {help_of(finding)}.")
    return "\n".join(map(spell_line, parts))


def _location(finding: Finding, path: str) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if path:
        physical: dict[str, Any] = {"artifactLocation": {"uri": reference_of(path)}}
        if finding.line:
            physical["region"] = _region(finding)
        location["physicalLocation"] = physical
    logical = [{"name": spell_line(finding.kernel), "kind": "function"}] if finding.kernel else []
    logical += [{"name": spell_line(name), "kind": "object"} for name in finding.nodes]
    if logical:
        location["logicalLocations"] = logical
    return location


def reference_of(path: str) -> str:
    """A path as a URI: absolute ones with their scheme, others relative to where the run was."""
    return f"{'file://' if Path(path).is_absolute() else ''}{urllib.parse.quote(encode_exactly(path))}"


def _suppression(item: Allowed) -> dict[str, Any]:
    entry = item.entry
    return {
        "kind": "external",
        "status": "accepted",
        "justification": spell_line(f"{entry.reason} ({entry.where}, until {entry.expires})"),
    }


def fingerprint(finding: Finding) -> str:
    """Stays the same while the kernel, the kind and the argument do, so that a moved line is not a new alert."""
    view = finding.access.view if finding.access else ""
    parts = [finding.kind.label, finding.kernel, view]
    if not finding.kernel and not finding.file:  # of a call: nothing else tells it from others
        parts.append(re.sub(r"\d+", "#", finding.message))
    text = "\0".join(parts)
    return hashlib.sha256(encode_exactly(text)).hexdigest()[:32]
