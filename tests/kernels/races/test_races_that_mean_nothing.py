"""Races that mean nothing are no errors: the first read of a compare-and-swap loop, lanes of a load that nobody uses. What a
barrier lacks is said."""

from __future__ import annotations

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec

ITEMS, GROUP = 32, 16
HEAD = """__kernel void k(__global int *p, __global int *o, __global float *f) {
  int me = get_global_id(0), at = get_local_id(0); __local int tile[GROUP];
""".replace("GROUP", str(GROUP))

LOOP = "int cur = p[0], seen; do { seen = cur; cur = atomic_cmpxchg(p, seen, seen + me); } while (cur != seen);"
FLOAT = (
    "volatile __global int *w = (volatile __global int *)(f + 0); int cur = *w, seen;"
    "do { seen = cur; cur = atomic_cmpxchg(w, seen, as_int(as_float(seen) + 1.0f)); } while (cur != seen);"
)
C11 = "int cur = p[0]; while (!atomic_compare_exchange_strong((volatile __global atomic_int *)p, &cur, cur + me)) {}"
WEAK = """int cur, next; cur = p[0]; do next = max(cur, me); while (!atomic_compare_exchange_weak_explicit(
  (volatile __global atomic_int *)p, &cur, next, memory_order_relaxed, memory_order_relaxed, memory_scope_device));"""
C11_FLOAT = """union { float f; int i; } cur; cur.f = f[0];
  while (!atomic_compare_exchange_strong((volatile __global atomic_int *)f, &cur.i, as_int(cur.f * 0.5f + 1.0f))) {}"""
ANEW = """int cur; do cur = p[0];
  while (!atomic_compare_exchange_strong((volatile __global atomic_int *)p, &cur, cur + me));"""
EXCHANGES = {  # a loop, and what is found
    "a sum": (LOOP, {"same-value-race"}),
    "a sum of floats": (FLOAT, {"same-value-race"}),
    "what was read first is kept": (LOOP.replace("int cur = p[0], seen;", "int cur = p[0], seen; o[me] = cur;"), {"data-race"}),
    "it decides whether to begin": (LOOP.replace("do", "if (cur < 3) do"), {"data-race"}),
    "C11": (C11, {"same-value-race"}),
    "C11, weak": (WEAK, {"same-value-race"}),
    "C11, floats": (C11_FLOAT, {"same-value-race"}),
    "C11, what was found is kept": (C11 + "o[me] = cur;", {"same-value-race"}),
    "C11, what was read first is kept": (C11.replace("p[0];", "p[0]; o[me] = cur;"), {"data-race"}),
    "C11, it decides whether to begin": (C11.replace("while", "if (cur < 3) while"), {"data-race"}),
    "C11, read in each turn": (ANEW + "o[me] = cur;", {"same-value-race"}),
    "C11, read in each turn and kept there": (ANEW.replace("while", "o[me] = cur; } while").replace("do", "do {"), {"data-race"}),
    "C11, somebody else gets the variable": (C11 + "int *q = &cur; if (me > 40) q = (int *)tile; o[me] = *q;", {"data-race"}),
    "C11, another element": (C11.replace("= p[0]", "= p[1]").replace("*)p,", "*)p + (me & 1),"), {"data-race"}),
    "another element is swapped": (
        LOOP.replace("= p[0]", "= p[1]").replace("(p,", "(p + (me & 1),"),
        {"data-race"},
    ),
}


def launch(body: str) -> list[tuple[str, str]]:
    device = adreno_sim.open_device("sim:adreno-740", checks="full")
    views = [device.view(device.allocate(1024), BufferSpec(1024, dtype)) for dtype in ("int32", "int32", "float32")]
    for view in views:
        device.write(view, np.zeros(256, view.spec.dtype))
    found = device.launch(device.build(HEAD + body + "}", "-cl-std=CL2.0")["k"], (ITEMS,), (GROUP,), views).findings
    return [(finding.kind.label, finding.message) for finding in found]


@pytest.mark.parametrize("name", EXCHANGES)
def test_the_first_read_of_a_compare_and_swap(name):
    body, kinds = EXCHANGES[name]
    found = launch(body)
    assert {kind for kind, _ in found} == kinds, found
    if kinds == {"same-value-race"}:
        assert "the compare-and-swap tries again where the value read is old" in found[0][1]


@pytest.mark.parametrize(("lane", "kinds"), [("x", set()), ("yz", set()), ("w", {"data-race"}), ("wx", {"data-race"})])
def test_lanes_that_nobody_uses_are_not_accessed(lane, kinds):
    """Each work-item reads four elements, of which its neighbour writes the last."""
    used = " + ".join(f"v.{one}" for one in lane)
    found = launch(f"float4 v = vload4(me, f); f[4 * (me ^ 1) + 3] = me; o[me] = (int)({used});")
    assert {kind for kind, _ in found} == kinds, found


FENCES = {"LOCAL": "CLK_GLOBAL_MEM_FENCE", "GLOBAL": "CLK_LOCAL_MEM_FENCE"}
"""The flag that is lacking, by the one that is there."""


@pytest.mark.parametrize("there", FENCES)
def test_a_barrier_that_does_not_cover_the_memory_is_named(there):
    memory = "p" if there == "LOCAL" else "tile"
    place = "me" if there == "LOCAL" else "at"
    body = f"{memory}[{place}] = me; BARRIER o[me] = {memory}[{place} ^ 1];"
    lacking = launch(body.replace("BARRIER", f"barrier(CLK_{there}_MEM_FENCE);"))
    assert [kind for kind, _ in lacking] == ["data-race"]
    assert f"no barrier of the group with {FENCES[there]} is between them, only weaker ones" in lacking[0][1]
    assert launch(body.replace("BARRIER", f"barrier({FENCES[there]});")) == []
    ((kind, message),) = launch(body.replace("BARRIER", ""))
    assert kind == "data-race"
    assert "no barrier orders them" in message
