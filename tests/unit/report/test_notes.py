"""A finding's second places, help and patch: in text, JSON, SARIF, annotations and pages; what its source adds to it."""

from dataclasses import replace

import pytest
from validators import validator

from adreno_sim.findings import VARIABLE, Access, Finding, Kind, Note
from adreno_sim.render.report import annotations, explain, html, sarif
from adreno_sim.results import finding_text
from adreno_sim.results.notes.source_notes import add_source_notes, find_condition, find_declaration, name_file
from adreno_sim.results.run_encode import finding_from_json
from adreno_sim.results.verdict.finding_json import finding_to_json

SOURCE = """\
kernel void reverse(global int *y, local int *tile) {
  int l = get_local_id(0);
  tile[l] = l;
  barrier(CLK_GLOBAL_MEM_FENCE);

  y[l] = tile[7 - l];
}
"""
PATCH = """\
--- k.cl
+++ k.cl
@@ -4 +4 @@
-  barrier(CLK_GLOBAL_MEM_FENCE);
+  barrier(CLK_LOCAL_MEM_FENCE);
"""
RACE = Finding(
    Kind.DATA_RACE, "reads tile at offset 0", "reverse", 6, 10, file="k.cl", help="give the barrier a flag", patch=PATCH,
    notes=(Note("work-item (7, 0, 0) writes it here", 3, 11, "k.cl"), Note("orders global memory only", 4, 3, "k.cl")),
)  # fmt: skip


def test_each_place_has_its_line_and_label():
    assert explain.explain(RACE, SOURCE).splitlines() == [
        "k.cl:6:10: error: reads tile at offset 0 [data-race]",
        " 3 |   tile[l] = l;",
        "   |           - work-item (7, 0, 0) writes it here",
        " 4 |   barrier(CLK_GLOBAL_MEM_FENCE);",
        "   |   - orders global memory only",
        " 5 | ",
        " 6 |   y[l] = tile[7 - l];",
        "   |          ^",
        "   = kernel reverse",
        "   = help: give the barrier a flag",
        "   patch, with which the same launch ran clean:",
        "   --- k.cl",
        "   +++ k.cl",
        "   @@ -4 +4 @@",
        "   -  barrier(CLK_GLOBAL_MEM_FENCE);",
        "   +  barrier(CLK_LOCAL_MEM_FENCE);",
    ]


def test_a_note_far_away_is_shown_behind_a_gap_and_one_in_another_file_by_its_name():
    notes = Note("here", 6, 3, "k.cl"), Note("there", 9, 1, "util.h"), Note("so it is")
    far = replace(RACE, line=1, column=8, notes=notes, patch="")
    text = explain.explain(far, SOURCE).splitlines()
    assert text[1:4] == [" 1 | " + SOURCE.splitlines()[0], "   |        ^", "   ..."]
    assert text[4:6] == [" 6 |   y[l] = tile[7 - l];", "   |   - here"]
    assert "   = util.h:9: there" in text
    assert "   = note: so it is" in text


def test_lists_annotations_and_pages_say_the_same():
    lines = finding_text.lines(RACE)
    assert "  line 3: work-item (7, 0, 0) writes it here" in lines
    assert "  help: give the barrier a flag" in lines
    assert lines[-1] == "  +  barrier(CLK_LOCAL_MEM_FENCE);"
    assert "%0Aline 4: orders global memory only%0Ahelp: give the barrier a flag" in annotations.annotation(RACE)
    page = html.of_finding(0, RACE, SOURCE, file="")
    assert "<em>work-item (7, 0, 0) writes it here</em>" in page
    assert "help: give the barrier a flag" in page


def test_json_holds_all_of_it_both_ways():
    data = finding_to_json(RACE)
    validator("finding").validate(data)
    assert data["notes"][1] == {"label": "orders global memory only", "line": 4, "column": 3, "file": "k.cl"}
    assert data["patch"] == PATCH
    assert finding_from_json(data) == RACE
    plain = Finding(Kind.WATCHDOG, "still running", "spin")
    assert finding_to_json(plain)["help"].startswith("look for a loop")
    assert "notes" not in finding_to_json(plain)


def test_sarif_has_related_locations_and_rules_that_help():
    (run,) = sarif.to_sarif([RACE, replace(RACE, file="", notes=(Note("nowhere"), Note("there", 4)))])["runs"]
    first, second = (result["relatedLocations"] for result in run["results"])
    assert first[0]["physicalLocation"] == {"artifactLocation": {"uri": "k.cl"}, "region": {"startLine": 3, "startColumn": 11}}
    assert first[1] == {**first[1], "id": 2, "message": {"text": "orders global memory only"}}
    assert "physicalLocation" not in second[0]
    assert second[1]["physicalLocation"]["artifactLocation"]["uri"] == "reverse.cl"
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["helpUri"].startswith("https://")
    assert "barrier" in rule["help"]["markdown"]


def test_places_in_the_source_itself_get_its_name():
    bare = replace(RACE, file="", notes=(Note("a", 3), Note("b", 4, file="util.h"), Note("c")))
    named = name_file(bare, "k.cl")
    assert (named.file, [note.file for note in named.notes]) == ("k.cl", ["k.cl", "util.h", ""])


@pytest.mark.parametrize(
    "line, column, condition",
    [
        ("  if (lid < count) {", 11, "lid < count"),
        ("  for (int i = 0; i < trips; ++i) {", 3, "i < trips"),
        ("  } while (more(lid, (int2)(1, 2)));", 12, "more(lid, (int2)(1, 2))"),
        ("  if (a) x = 1; if (b /* ) */ > 2) {", 21, "b /* ) */ > 2"),
        ("  if (lid <", 11, ""),
        ("  for (;;) {", 3, ""),
        ("  y = lid < 2 ? f() : g();", 11, ""),
        ("", 0, ""),
    ],
)
def test_the_condition_at_a_place(line, column, condition):
    assert find_condition(line, column) == condition


@pytest.mark.parametrize(
    "lines, name, place",
    [
        (["  float acc;", "  y[i] = acc;"], "acc", (1, 9, True)),
        (["  const int a = 1, acc[4];", "  y[i] = acc[i];"], "acc", (1, 20, True)),
        (["  int4 acc = f();", "  y[i] = acc.x;"], "acc", (1, 8, False)),
        (["  float acc;", "  return acc;"], "acc", (1, 9, True)),
        (["  float acc;", "  { float acc;", "  y[i] = acc; }"], "acc", None),
        (["  else acc = 1;", "  y[i] = acc;"], "acc", None),
        (["  y[i] = acc;", "  float acc;"], "acc", None),
    ],
)
def test_the_declaration_of_a_variable(lines, name, place):
    found = find_declaration(dict(enumerate(lines, 1)), name, len(lines) if lines[-1] != "  float acc;" else 1)
    assert (found and (found.line, found.column, found.label.endswith("without a value"))) == place


def test_the_source_names_conditions_and_declarations():
    source = "kernel void f(global int *y, int n) {\n  int x; // int x = 1;\n  if (y[0] < n) barrier(1);\n  y[1] = x;\n}\n"
    barrier = Finding(Kind.DIVERGENT_BARRIER, "parts", "f", 3, 17, notes=(Note("this decides", 3, 12),))
    assert add_source_notes(barrier, source).notes[0].label == "`y[0] < n` decides which work-items get there"
    unset = Finding(Kind.UNINITIALIZED_READ, "uses x", "f", 4, 8, detail={VARIABLE: "x"})
    told = add_source_notes(unset, source)
    assert told.notes == (Note("x is declared here, without a value", 2, 7),)
    assert "line 2" in told.help
    argument = Finding(Kind.UNINITIALIZED_READ, "reads y", "f", 4, 8, access=Access("y", 4, 0))
    assert add_source_notes(argument, source) == argument
