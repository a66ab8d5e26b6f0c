"""Findings of a program: many alike are shown in few lines; SARIF and annotations of what lies in no file."""

from __future__ import annotations

from dataclasses import replace

from adreno_sim.findings import Finding, Kind
from adreno_sim.render.report import annotations, sarif
from adreno_sim.results.listing.shown import MOST_ALIKE, MOST_LINES, MOST_WHOLE, ShownFindings
from adreno_sim.results.run_report import HostCall, with_host_call

WRITE = Finding(Kind.OUT_OF_BOUNDS_WRITE, "writes 4 bytes at offset 4000 of o", "k0", 3, 7)
REFUSED = with_host_call(Finding(Kind.CALL_REFUSED, "clCreateBuffer gives CL_INVALID_VALUE (-30)"), HostCall(9, 77, 0))


def test_many_findings_alike_are_few_lines() -> None:
    shown = ShownFindings()
    taken = [shown.takes(replace(WRITE, kernel=f"k{i}", message=f"writes 4 bytes at offset {i} of o")) for i in range(240)]
    assert sum(taken) == MOST_ALIKE
    assert all(taken[:MOST_ALIKE])
    assert shown.takes(REFUSED)  # of another kind
    assert list(shown.rest()) == [
        "error: out-of-bounds-write: 237 more like those above in k3, k4, k5 and 234 others: writes 4 bytes at offset 3 of o",
        "the report has all findings (--json, --html, --sarif)",
    ]
    assert list(shown.rest()) == []


def test_few_findings_are_all_shown_once() -> None:
    shown = ShownFindings()
    assert shown.is_new(WRITE)
    assert not shown.is_new(replace(WRITE, column=9))
    assert not shown.is_new(replace(WRITE, kind=Kind.CLAMPED_READ, line=8))  # a note
    assert shown.takes(WRITE)
    assert list(shown.rest()) == []


def test_findings_of_many_words_end_as_well() -> None:
    shown = ShownFindings()
    words = [f"{a}{b}" for a in "abcdefghijklmnopqrst" for b in "abcdefghij"]
    assert sum(shown.takes(replace(WRITE, message=word, line=place)) for place, word in enumerate(words, 1)) == MOST_WHOLE
    rest = list(shown.rest())
    assert len(rest) == MOST_LINES + 2
    assert rest[-2] == f"{200 - MOST_WHOLE - MOST_LINES} more findings with other words"


def test_sarif_gives_a_call_a_place_and_its_own_fingerprint() -> None:
    launched = with_host_call(WRITE, HostCall(4, 77, 1, (8,)))
    other = replace(REFUSED, message="clCreateImage gives CL_INVALID_VALUE (-30)")
    (run,) = sarif.to_sarif([REFUSED, other, launched], sources={"k0.cl": "kernel"}, program="examples/client.py")["runs"]
    first, second, third = run["results"]
    assert first["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "examples/client.py"}}}]
    assert "\nAt call 9 of thread 77.\nHelp: " in first["message"]["text"]
    assert first["partialFingerprints"] != second["partialFingerprints"]
    assert (
        third["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "k0.cl" == run["artifacts"][0]["location"]["uri"]
    )
    assert "Enqueued by call 4 of thread 77, queue 1, global size 8." in third["message"]["text"]


def test_an_annotation_without_a_file_names_line_source_and_call() -> None:
    found = with_host_call(replace(WRITE, detail={"source": "o[i] = 1;"}), HostCall(4, 77, 1))
    assert annotations.annotation(found).partition("%0Ahelp: ")[0] == (
        "::error title=out-of-bounds-write::kernel k0, line 3: writes 4 bytes at offset 4000 of o; o[i] = 1;; "
        "enqueued by call 4 of thread 77, queue 1"
    )
    assert annotations.annotation(replace(found, file="k.cl")).partition("%0Ahelp: ")[0] == (
        "::error file=k.cl,line=3,col=7,title=out-of-bounds-write::kernel k0: writes 4 bytes at offset 4000 of o"
    )
