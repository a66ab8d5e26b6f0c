"""Why a command has no report, as JSON, as SARIF and as a page: a tool that reads its report finds one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...base.text.spelling import spell_line, spell_lines
from ...base.version import __version__
from ...frontend.diagnostics import Diagnostic
from ...results.verdict.exit_codes import WORDS
from ..page import document, escape
from ..report.sarif import SCHEMA as SARIF_SCHEMA
from ..report.sarif import VERSION as SARIF_VERSION
from ..report.sarif import reference_of

SCHEMA = "adreno-sim/failure/1"


def to_json(code: int, text: str, diagnostics: Iterable[object]) -> dict[str, Any]:
    """JSON-ready data. text: as printed on standard error."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "ok": False,
        "exit_code": code,
        "verdict": f"{WORDS.get(code, 'failed')}: {spell_line(text.splitlines()[0].removeprefix('error: '))}",
        "error": spell_lines(text),
        "diagnostics": [
            {
                "file": spell_line(item.file),
                "line": item.line,
                "column": item.column,
                "severity": item.severity,
                "message": spell_lines(item.message),
            }
            for item in _known(diagnostics)
        ],
    }


def to_sarif(code: int, text: str, diagnostics: Iterable[object]) -> dict[str, Any]:
    """A run that did not succeed, with what a compiler says as its notifications."""
    told = [_notification(item) for item in _known(diagnostics)]
    told = told or [{"level": "error", "message": {"text": spell_lines(text)}}]
    run = {
        "tool": {"driver": {"name": "adreno-sim", "version": __version__, "rules": []}},
        "columnKind": "utf16CodeUnits",
        "results": [],
        "invocations": [{"executionSuccessful": False, "exitCode": code, "toolExecutionNotifications": told}],
    }
    return {"$schema": SARIF_SCHEMA, "version": SARIF_VERSION, "runs": [run]}


def to_page(code: int, text: str, command: str = "") -> str:
    """A page with the error."""
    word = WORDS.get(code, "failed")
    parts = [f'<p class="bad"><strong>{escape(word)} (exit code {code})</strong></p>', f"<pre>{escape(text)}</pre>"]
    return document(f"adreno-sim: {word}", "", parts, command=command)


def _known(diagnostics: Iterable[object]) -> list[Diagnostic]:
    return [item for item in diagnostics if isinstance(item, Diagnostic)]


def _notification(item: Diagnostic) -> dict[str, Any]:
    found: dict[str, Any] = {"level": item.severity, "message": {"text": spell_lines(item.message)}}
    if item.file and item.line:
        region = {"startLine": item.line, **({"startColumn": item.column} if item.column else {})}
        found["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": reference_of(item.file)}, "region": region}}]
    return found
