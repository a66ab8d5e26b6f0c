"""Findings for machines and editors: SARIF, workflow annotations, source excerpts; the report of one launch."""

import datetime
import io
import json
from dataclasses import replace

import jsonschema
import pytest
from validators import validator

from adreno_sim.base import json_io
from adreno_sim.base.allow import Allowed, AllowEntry
from adreno_sim.findings import Access, Finding, Kind, WorkItem
from adreno_sim.render.launch import encode
from adreno_sim.render.launch import text as launch_text
from adreno_sim.render.report import annotations, explain, sarif
from adreno_sim.results.launch_report import LaunchOutput, LaunchReport

ITEM = WorkItem((5, 1, 0), (1, 1, 0), (1, 0, 0))
WRITE = Finding(
    Kind.OUT_OF_BOUNDS_WRITE,
    "writes 16 bytes",
    "conv",
    2,
    3,
    ITEM,
    Access("out", 16, offset=64, extent=(64,)),
    3,
    file="k/conv.cl",
)
NOTE = Finding(Kind.CLAMPED_READ, "edge", "conv", 1, 1, file="k/conv.cl")
OF_MODEL = Finding(Kind.PLAN_INFLATED, "100%, more\nor less: much")
ENTRY = AllowEntry("conv", "clamped-read", "", "padding", datetime.date(2030, 1, 2), "adreno-sim.toml: [[allow]] 1")
SOURCE = "kernel void conv(global float* out) {\n  out[i] = 1;\n}\n"

STRING, WHOLE = {"type": "string"}, {"type": "integer", "minimum": 1}
MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": STRING,
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "additionalProperties": False,
                                "properties": {
                                    "name": STRING,
                                    "version": STRING,
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": STRING,
                                                "shortDescription": MESSAGE,
                                                "fullDescription": MESSAGE,
                                                "help": MESSAGE,
                                                "helpUri": {"type": "string", "pattern": "^https://"},
                                                "defaultConfiguration": {
                                                    "properties": {"level": {"enum": ["none", "note", "warning", "error"]}}
                                                },
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "artifacts": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "properties": {
                                "location": {"$ref": "#/$defs/artifactLocation"},
                                "sourceLanguage": STRING,
                                "contents": MESSAGE,
                            },
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": STRING,
                                "ruleIndex": {"type": "integer", "minimum": -1},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": MESSAGE,
                                "occurrenceCount": WHOLE,
                                "partialFingerprints": {"type": "object", "additionalProperties": STRING},
                                "properties": {"type": "object"},
                                "suppressions": {
                                    "type": "array",
                                    "items": {
                                        "required": ["kind"],
                                        "properties": {
                                            "kind": {"enum": ["inSource", "external"]},
                                            "status": {"enum": ["accepted", "underReview", "rejected"]},
                                        },
                                    },
                                },
                                "locations": {"type": "array", "items": {"$ref": "#/$defs/location"}},
                                "relatedLocations": {"type": "array", "items": {"$ref": "#/$defs/location"}},
                            },
                        },
                    },
                },
            },
        },
    },
    "$defs": {
        "artifactLocation": {"properties": {"uri": {"type": "string", "pattern": r"^[^ \\]+$"}}, "required": ["uri"]},
        "location": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "id": WHOLE,
                "message": MESSAGE,
                "physicalLocation": {
                    "type": "object",
                    "required": ["artifactLocation"],
                    "additionalProperties": False,
                    "properties": {
                        "artifactLocation": {"$ref": "#/$defs/artifactLocation"},
                        "region": {
                            "type": "object",
                            "required": ["startLine"],
                            "additionalProperties": False,
                            "properties": {"startLine": WHOLE, "startColumn": WHOLE},
                        },
                    },
                },
                "logicalLocations": {"type": "array"},
            },
        },
    },
}
"""What SARIF 2.1.0 asks of the parts that are written here."""


def test_sarif_has_rules_places_and_suppressions():
    data = json.loads(json.dumps(sarif.to_sarif([WRITE, OF_MODEL], [Allowed(NOTE, ENTRY)], {"k/conv.cl": SOURCE})))
    jsonschema.Draft202012Validator(SARIF).validate(data)
    (run,) = data["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["clamped-read", "out-of-bounds-write", "plan-inflated"]
    write, model, note = run["results"]
    for result in run["results"]:
        rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["defaultConfiguration"]["level"] == result["level"]
    place = write["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "k/conv.cl"}, "region": {"startLine": 2, "startColumn": 3}}
    assert write["occurrenceCount"] == 3
    assert "global (5, 1, 0)" in write["message"]["text"]
    assert "locations" not in model
    assert "suppressions" not in write
    assert note["suppressions"][0]["justification"] == "padding (adreno-sim.toml: [[allow]] 1, until 2030-01-02)"
    assert run["artifacts"][0]["contents"]["text"] == SOURCE


def test_sarif_of_nothing_and_of_odd_paths():
    empty = sarif.to_sarif([])
    jsonschema.Draft202012Validator(SARIF).validate(empty)
    assert empty["runs"][0]["results"] == []
    odd = [replace(WRITE, file=file) for file in ("/a b/k.cl", "a b.cl", "")]
    data = sarif.to_sarif(odd)
    jsonschema.Draft202012Validator(SARIF).validate(data)
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in data["runs"][0]["results"]]
    assert uris == ["file:///a%20b/k.cl", "a%20b.cl", "conv.cl"]


def test_the_schema_refuses_what_is_not_sarif():
    data = sarif.to_sarif([WRITE])
    for key in ("version", "runs"):
        assert not jsonschema.Draft202012Validator(SARIF).is_valid({**data, key: "3"})


def test_fingerprints_survive_a_moved_line():
    def fingerprint(finding):
        return sarif.to_sarif([finding])["runs"][0]["results"][0]["partialFingerprints"]

    assert fingerprint(WRITE) == fingerprint(replace(WRITE, line=40, column=9))
    assert fingerprint(WRITE) != fingerprint(replace(WRITE, kernel="other"))


def test_every_kind_has_its_sentence():
    assert all(kind.sentence.endswith(".") and "\n" not in kind.sentence for kind in Kind)


def test_annotations_escape_and_order():
    lines = annotations.lines([NOTE, OF_MODEL, WRITE])
    assert lines[0].startswith(
        "::error file=k/conv.cl,line=2,col=3,title=out-of-bounds-write::kernel conv: writes 16 bytes; work-item"
    )
    assert "; 3 times%0Ahelp: test the index" in lines[0]
    assert lines[1].startswith("::warning title=plan-inflated::100%25, more%0Aor less: much%0Ahelp: ")
    assert lines[2].startswith("::notice file=k/conv.cl,line=1,col=1,title=clamped-read::kernel conv: edge%0Ahelp: ")
    assert annotations.annotation(replace(NOTE, file="a:b,c.cl")).startswith("::notice file=a%3Ab%2Cc.cl,line=1")


def test_explained_has_the_caret_under_the_column():
    text = explain.explain(WRITE, SOURCE).splitlines()
    assert text[:4] == [
        "k/conv.cl:2:3: error: writes 16 bytes [out-of-bounds-write]",
        " 1 | kernel void conv(global float* out) {",
        " 2 |   out[i] = 1;",
        "   |   ^",
    ]
    assert "   = work-item global (5, 1, 0) local (1, 1, 0) group (1, 0, 0)" in text
    assert text[-2] == "   = 3 times; this is the first"
    assert text[-1].startswith("   = help: test the index")


@pytest.mark.parametrize(
    "line, column, shown, caret",
    [
        ("\tx = a\t[i];", 8, "    x = a   [i];", 12),
        ("x" * 300 + "y", 301, None, None),
        ("short", 99, "short", 5),
        ("", 1, "", 0),
    ],
)
def test_excerpts_of_tabs_and_long_lines(line, column, shown, caret):
    finding = replace(WRITE, line=1, column=column)
    source, below = (part.partition("| ")[2] for part in explain.explain(finding, line + "\n").splitlines()[1:3])
    if shown is None:
        assert len(source) <= explain.SHOWN
        assert source[below.index("^")] == "y"
    else:
        assert source == shown
        assert below == " " * caret + "^"


@pytest.mark.parametrize("line, source", [(0, SOURCE), (99, SOURCE), (2, "")])
def test_a_finding_without_a_line_to_show(line, source):
    text = explain.explain(replace(WRITE, line=line), source)
    assert "writes 16 bytes" in text
    assert "|" not in text


def report(**changes):
    values = {
        "kernel": "conv",
        "source": "k/conv.cl",
        "launch": "l.toml",
        "variant": "",
        "device": "adreno-740",
        "checks": "bounds",
    }
    return LaunchReport(**{**values, "global_size": (4,), "local_size": None, "text": SOURCE, **changes})


WRONG = LaunchOutput("out", False, "", 2, 8, float("inf"), 3, 1)


@pytest.mark.parametrize(
    "made, code",
    [
        (report(), 0),
        (report(findings=[WRITE]), 1),
        (report(findings=[NOTE, OF_MODEL]), 0),
        (report(findings=[OF_MODEL], strict=True), 1),
        (report(expected=[WRITE], is_test=True), 0),
        (report(findings=[NOTE], is_test=True), 1),
        (report(missing=["data-race (line 3)"], is_test=True), 1),
        (report(allowed=[Allowed(WRITE, ENTRY)]), 0),
        (report(refused="no matching function", is_test=True), 0),
        (report(outputs=[WRONG], findings=[Finding(Kind.WRONG_VALUE, "out", "conv")], expired=[ENTRY]), 1),
    ],
)
def test_launch_reports_as_json_text_and_exit_code(made, code):
    assert made.exit_code == code
    assert made.ok is (code == 0)
    data = encode.to_json(made)
    validator("launch-report").validate(json.loads(json.dumps(data, allow_nan=False)))
    assert data["exit_code"] == code
    assert data["verdict"] == made.verdict
    out = io.StringIO()
    launch_text.show(made, out)
    assert out.getvalue().splitlines()[-1] == made.verdict
    for item in [*made.findings, *made.expected]:
        assert item.kind.label in out.getvalue()


def test_nothing_allowed_is_silent():
    out = io.StringIO()
    launch_text.show(report(allowed=[Allowed(WRITE, ENTRY)], expired=[ENTRY]), out)
    text = out.getvalue()
    assert (
        "allowed: error: out-of-bounds-write at k/conv.cl:conv:2:3: padding (adreno-sim.toml: [[allow]] 1, until 2030-01-02)"
        in text
    )
    assert "expired allow-list entry: adreno-sim.toml: [[allow]] 1: expired on 2030-01-02" in text
    assert "1 allowed" in text.splitlines()[-1]


def test_text_says_what_was_announced_and_what_was_not():
    made = report(
        findings=[NOTE], expected=[WRITE], missing=["data-race (line 3)"], is_test=True, printed="hello", unchecked=["values"]
    )
    out = io.StringIO()
    launch_text.show(made, out)
    lines = out.getvalue().splitlines()
    assert lines[0] == "hello"
    assert "expected, but not seen: data-race (line 3)" in lines
    assert "not expected: clamped-read at k/conv.cl:conv:1:1" in lines
    assert "not checked: values" in lines


def test_json_of_a_launch_is_written_whole(tmp_path):
    json_io.write_json(tmp_path / "x.json", encode.to_json(report(findings=[WRITE])))
    assert json.loads((tmp_path / "x.json").read_text())["findings"][0]["kind"] == "out-of-bounds-write"
