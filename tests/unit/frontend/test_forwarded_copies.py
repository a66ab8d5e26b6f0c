"""Copies of whole structs: read where the original is, if nothing is written between; else kept. Values are the same."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_ir import kernel, ops

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec

HEAD = """typedef struct { int a, b; int c[4]; } S;
int sum(S s) { return s.a + s.b + s.c[1]; }
int pass_on(S s) { return sum(s) * 2; }
int change(S s) { s.a = 7; return sum(s); }
int pick(S s, int i) { return s.c[i & 3]; }
S make(int i) { S m; m.a = i; m.b = i * 3; m.c[1] = 4; return m; }
kernel void k(global int *d, int n) {
  int i = get_global_id(0), r = 0; S s = { i, i * 2, { i + 1, i + 2, i + 3, i + 4 } };
"""
FORWARDED = {
    "to a helper": ("r = sum(s);", lambda i: 3 * i + i + 2),
    "to two": ("r = sum(s) + sum(s);", lambda i: 2 * (4 * i + 2)),
    "through a helper": ("r = pass_on(s);", lambda i: 2 * (4 * i + 2)),
    "at an index": ("r = pick(s, i);", lambda i: i + 1 + (i & 3)),
    "in a loop": ("for (int j = 0; j < n; j++) r += sum(s);", lambda i: 3 * (4 * i + 2)),
    "in a loop that then changes it": ("for (int j = 0; j < n; j++) { r += sum(s); s.a += 1; }", lambda i: 3 * (4 * i + 2) + 3),
    "on one way": ("if (i & 1) r = sum(s);", lambda i: (i & 1) * (4 * i + 2)),
    "declared in a loop": ("for (int j = 0; j < n; j++) { S t; t = s; r += t.a + sum(t); }", lambda i: 3 * (5 * i + 2)),
    "of what a helper returns": ("S t; t = make(i); r = sum(t);", lambda i: 4 * i + 4),
    "of what a helper returns in each iteration": (
        "for (int j = 0; j < n; j++) { S t = make(i + j); r += t.b; }",
        lambda i: 9 * i + 9,
    ),
    "by assignment": ("S t = s; r = t.a + t.c[2];", lambda i: i + i + 3),
}
KEPT = {
    "that is changed": ("r = change(s) * 10 + s.a;", lambda i: (7 + 2 * i + i + 2) * 10 + i),
    "of what changes": ("S t = s; s.a = 5; r = t.a + s.a;", lambda i: i + 5),
    "of what changes on one way": ("S t = s; if (i & 1) s.b = 5; r = t.b + s.b;", lambda i: 2 * i + np.where(i & 1, 5, 2 * i)),
    "of what changes in the next iteration": (
        "S t = s; for (int j = 0; j < n; j++) { r += t.a; s.a += 1; } r += s.a;",
        lambda i: 3 * i + i + 3,
    ),
    "of the iteration before": (
        "S t = s; for (int j = 0; j < n; j++) { r += t.a; t = s; s.a += 1; }",
        lambda i: i + i + i + 1,
    ),
    "of either of two": (
        "S u = { 1, 2, { 3, 4, 5, 6 } }, t; if (i & 1) t = s; else t = u; r = t.b;",
        lambda i: np.where(i & 1, 2 * i, 2),
    ),
    "of what the next iteration declares anew": (
        "S t = s; for (int j = 0; j < n; j++) { r += t.b; S u; u.b = j; t = u; }",
        lambda i: 2 * i + 1,
    ),
    "to a part, of what a helper returns": ("S t[2] = { make(i), make(2) }; r = t[n & 1].b + t[0].a;", lambda i: 6 + i),
    "of a part": ("S t = { 1, 2, { 0, 0, 0, 0 } }; t.c[1] = s.c[1]; r = sum(t);", lambda i: 3 + i + 2),
}


@pytest.mark.parametrize("name", FORWARDED)
def test_a_copy_that_nobody_changes_is_the_original(name):
    assert ops(kernel(f"{HEAD} {FORWARDED[name][0]} d[i] = r; }}"))["memcpy"] == 0


@pytest.mark.parametrize("checks", ["off", "full"])
def test_values_are_those_of_copies(checks):
    device = open_device(f"sim:adreno-740,checks={checks}")
    i = np.arange(32, dtype=np.int32)
    for name, (body, wanted) in {**FORWARDED, **KEPT}.items():
        view = device.view(device.allocate(128), BufferSpec(128, "int32"))
        device.write(view, np.zeros(32, np.int32))
        result = device.launch(device.build(f"{HEAD} {body} d[i] = r; }}")["k"], (32, 1, 1), (8, 1, 1), [view, np.int32(3)])
        assert not result.findings, name
        np.testing.assert_array_equal(device.read(view), wanted(i), name)


def test_what_nobody_wrote_is_found_in_the_original():
    device = open_device("sim:adreno-740,checks=full")
    source = HEAD.replace("S s = {", "S s; S other = {") + "s.a = i; s.b = 2; r = sum(s); d[i] = r + other.a; }"
    view = device.view(device.allocate(128), BufferSpec(128, "int32"))
    findings = device.launch(device.build(source)["k"], (32, 1, 1), (8, 1, 1), [view, np.int32(3)]).findings
    assert [(finding.kind.label, finding.line) for finding in findings] == [("uninitialized-read", 2)]


def test_what_an_earlier_iteration_copied_is_lost():
    device = open_device("sim:adreno-740,checks=full")
    source = HEAD + "for (int j = 0; j < n; j++) {\nS t; if (j == 0) t = s;\nr += t.b; } d[i] = r; }"
    view = device.view(device.allocate(128), BufferSpec(128, "int32"))
    findings = device.launch(device.build(source)["k"], (32, 1, 1), (8, 1, 1), [view, np.int32(3)]).findings
    assert [(found.kind.label, found.line, found.count) for found in findings] == [("uninitialized-read", 11, 32)]
