"""Local arrays that need no look for races: what is taken for one, what must not be, and that level full finds the same
whether or not it knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adreno_sim
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.engine.prove import launch as launch_proofs
from adreno_sim.engine.prove import local_races
from adreno_sim.engine.run import launch_analysis

HEAD = """kernel void k(global int *a, global const int *b) {
  local int s[64]; local int t[64];
  int l = get_local_id(0), y = get_local_id(1), g = get_group_id(0); int r = 0; """
TAIL = "\n a[get_global_id(0) + 16 * get_global_id(1)] = r; }"
WAIT = "barrier(CLK_LOCAL_MEM_FENCE);"
ITEM = "l + 8 * y"
START = f"s[{ITEM}] = l;"
TREE = "for (int n = 8; n > 0; n >>= 1)"

KERNELS = {  # what a group of 8 by 2 does; whether nobody can race in `s`
    "write, wait, read": (f"s[l + 8 * y] = l; {WAIT} r = s[8 * y + 7 - l];", True),
    "no wait": ("s[l + 8 * y] = l; r = s[8 * y + 7 - l];", False),
    "a fence for other memory": ("s[l + 8 * y] = l; barrier(CLK_GLOBAL_MEM_FENCE); r = s[8 * y + 7 - l];", False),
    "writes that meet": (f"s[l + 7 * y] = l; {WAIT} r = s[l];", False),
    "one coordinate alone": (f"s[l] = y; {WAIT} r = s[l];", False),
    "one item writes": (f"if (l == 0 && y == 0) s[3] = g; {WAIT} r = s[3];", True),
    "one row writes": (f"if (y == 0) s[l] = g; {WAIT} r = s[l];", True),
    "two items write": (f"if (l < 2 && y == 0) s[3] = l; {WAIT} r = s[3];", False),
    "in turns": (f"for (int n = 0; n < 2; n++) {{ s[l + 8 * y] = n; {WAIT} r += s[7 - l]; {WAIT} }}", True),
    "in turns, no wait before the next": (f"for (int n = 0; n < 2; n++) {{ s[l + 8 * y] = n; {WAIT} r += s[7 - l]; }}", False),
    "in strides": (f"for (int n = l + 8 * y; n < 64; n += 16) s[n] = n; {WAIT} r = s[l * 8];", True),
    "in strides that meet": (f"for (int n = l + 8 * y; n < 60; n += 15) s[n] = l; {WAIT} r = s[l];", False),
    "two halves": (f"s[l + 8 * y] = l; s[l + 8 * y + 16] = y; {WAIT} r = s[31 - l];", True),
    "two parts that meet": (f"s[l + 8 * y] = l; s[l + 8 * y + 15] = y; {WAIT} r = s[31 - l];", False),
    "read below, written above, in turns": (
        f"s[l + 8 * y] = 0; {WAIT} for (int n = 0; n < 2; n++) {{ s[(n + 1) * 16 + l + 8 * y] = s[l]; {WAIT} }} r = s[l];", True,
    ),
    "a step of a tree": (f"s[l + 8 * y] = l; {WAIT} if (l < 4 && y == 0) s[l] += s[l + 4]; {WAIT} r = s[0];", True),
    "a longer step of a tree": (f"s[l + 8 * y] = l; {WAIT} if (l < 5 && y == 0) s[l] += s[l + 4]; {WAIT} r = s[0];", False),
    "a tree": (f"{START} {WAIT} {TREE} {{ if ({ITEM} < n) s[{ITEM}] += s[{ITEM} + n]; {WAIT} }} r = s[0];", True),
    "a tree, no wait in its turns": (f"{START} {WAIT} {TREE} if ({ITEM} < n) s[{ITEM}] += s[{ITEM} + n]; r = s[0];", False),
    "a tree, a wait behind it": (f"{START} {WAIT} {TREE} if ({ITEM} < n) s[{ITEM}] += s[{ITEM} + n]; {WAIT} r = s[0];", False),
    "the turns of a tree on both sides of a wait": (
        f"{START} {WAIT} {TREE} {{ r += s[{ITEM} + n]; {WAIT} if ({ITEM} < n) s[{ITEM}] = l; }} {WAIT} r += s[0];", False,
    ),
    "a tree from where an item began": (
        f"{START} int m = 8; if (l) m = 4; {WAIT} for (; m; m >>= 1) {{ if ({ITEM} < m) s[{ITEM}] += s[{ITEM} + m]; {WAIT} }}",
        False,
    ),
    "a tree of a step that each item has": (
        f"{START} int m = l & 1 ? 3 : 8; {WAIT} {TREE} {{ if ({ITEM} < m) s[{ITEM}] += s[{ITEM} + m]; m >>= 1; {WAIT} }}", False,
    ),
    "a tree of one item too many": (
        f"{START} {WAIT} {TREE} {{ if ({ITEM} <= n) s[{ITEM}] += s[{ITEM} + n]; {WAIT} }} r = s[0];", False,
    ),
    "a tree whose wait is before its turn's write": (
        f"{START} {TREE} {{ {WAIT} if ({ITEM} < n) s[{ITEM}] += s[{ITEM} + n]; }} r = s[0];", False,
    ),
    "a tree that uses the step of the turn before": (
        f"{START} int m = 16; {WAIT} {TREE} {{ if ({ITEM} < m) s[{ITEM}] += s[({ITEM} + n) & 15]; m = n; {WAIT} }} r = s[0];",
        False,
    ),
    "a tree as deep as an item likes": (
        f"{START} {WAIT} for (int n = b[l] & 8; n > 0; n >>= 1) {{ if ({ITEM} < n) s[{ITEM}] += s[{ITEM} + n]; {WAIT} }}", False,
    ),
    "a branch that all take alike": (f"if (g > 0) {START} else r = s[7 - l]; {WAIT} r += s[0];", True),
    "a branch that some take": (f"if (b[l] > 2) {START} else r = s[7 - l]; {WAIT} r += s[0];", False),
    "a branch alike, in a loop without a wait": (
        f"for (int n = 0; n < 2; n++) if (n > 0) {START} else r = s[7 - l]; {WAIT} r += s[0];", False,
    ),
    "a branch alike, within one that some take: not looked at": (
        f"if (b[l] > 2) {{ if (g > 0) {START} else r = s[7 - l]; }} {WAIT} r += s[0];", False,
    ),
    "two buffers in turns": (
        f"for (int n = 0; n < 4; n++) {{ s[(n & 1) * 16 + l + 8 * y] = n; {WAIT} r += s[(n & 1) * 16 + 7 - l]; }}", False,
    ),
    "its own element again": (f"s[l + 8 * y] = l; r = s[l + 8 * y]; {WAIT} r += s[7 - l];", True),
    "its own element, and another's": (f"if (l < 3) s[l + 8 * y] = l; r = s[l + 7 * y]; {WAIT} r += s[7 - l];", False),
    "the element of the only one who writes": (f"if (l == 0 && y == 0) s[0] = 3; r = s[0]; {WAIT} r += s[0];", False),
    "what one row wrote, of another": (f"if (y == 0) s[l] = 3; r = s[l]; {WAIT} r += s[0];", False),
    "above what is written": (f"s[l + 8 * y] = l; r = s[16 + l] & 0; {WAIT} r += s[7 - l];", True),
    "beyond its end": (f"s[l + 8 * y + 50] = l; {WAIT} r = s[l];", False),
    "vectors": (f"vstore4((int4)(l), l + 8 * y, s); {WAIT} r = s[l * 8];", True),
    "vectors that overlap": (f"vstore4((int4)(l), 0, s + l + 8 * y); {WAIT} r = s[l];", False),
    "atomic": (f"if (l == 0 && y == 0) s[0] = 0; {WAIT} atomic_inc(s); {WAIT} r = s[0];", False),
    "a wait on one way": (f"s[l + 8 * y] = l; if (b[0] == 5) {WAIT} r = s[7 - l];", False),
    "a wait on both ways": (f"s[l + 8 * y] = l; if (b[0] == 5) {{ {WAIT} }} else {{ {WAIT} r = 1; }} r += s[7 - l];", True),
    "through a pointer to either": (f"local int *p = b[l] ? s : t; p[l + 8 * y] = 1; {WAIT} r = s[l];", False),
}  # fmt: skip


def run(body: str) -> list[tuple[str, int, int, str]]:
    """Kind, line, count and message of what a launch finds."""
    launch_analysis._analyses.clear()
    device = adreno_sim.open_device("sim:reference", checks="full", cache=False)
    views = [device.view(device.allocate(512), BufferSpec(512, "int32")) for _ in range(2)]
    device.write(views[1], np.arange(128, dtype=np.int32))
    found = device.launch(device.build(HEAD + body + TAIL, "-cl-std=CL2.0")["k"], (16, 4), (8, 2), views).findings
    return sorted((finding.kind.label, finding.line, finding.count, finding.message) for finding in found)


@pytest.mark.share(5)
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_kept_apart(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    body, expected = KERNELS[name]
    told: list[Any] = []

    def noted(*args: Any) -> frozenset[Any]:
        told.append(local_races.race_free_local_arrays(*args))
        return frozenset()

    monkeypatch.setattr(launch_proofs, "race_free_local_arrays", noted)
    kinds = {kind for kind, *_ in run(body)}
    assert any(str(which).endswith("s") for kind, which in told[0]) is expected
    assert not expected or not kinds & {"data-race", "same-value-race"}


QUERIES = {
    "get_image_width(x)": True, "get_image_height(x)": True, "get_num_sub_groups()": True, "get_max_sub_group_size()": True,
    "get_num_groups(0)": True, "get_sub_group_local_id()": False, "get_sub_group_size()": False,
}  # fmt: skip


@pytest.mark.parametrize("bound", QUERIES)
def test_loops_that_all_work_items_leave_together(monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    """The same built-ins are uniform for this proof as for vectors."""
    told: list[Any] = []

    def noted(*args: Any) -> frozenset[Any]:
        told.append(local_races.race_free_local_arrays(*args))
        return told[-1]

    monkeypatch.setattr(launch_proofs, "race_free_local_arrays", noted)
    source = f"""kernel void k(global int *a, read_only image2d_t x) {{
      local int s[64];
      int l = get_local_id(0), r = 0;
      s[l] = l; {WAIT}
      for (int n = min((int){bound}, 4); n > 0; n >>= 1) {{ if (l < n) s[l] += s[l + n]; {WAIT} }}
      a[get_global_id(0)] = r;
    }}"""
    device = adreno_sim.open_device("sim:reference", checks="full", cache=False)
    out, texels = BufferSpec(64, "int32"), ImageSpec("image2d", 2, 2)
    views = [device.view(device.allocate(device.view_nbytes(spec)), spec) for spec in (out, texels)]
    findings = device.launch(device.build(source, "-cl-std=CL3.0")["k"], (16,), (8,), views).findings
    assert len(told[0]) == QUERIES[bound]
    assert not QUERIES[bound] or not findings


number = st.integers(0, 9)


@st.composite
def statements(draw: st.DrawFn, depth: int = 0) -> str:
    """Statements that write and read local memory, some with a barrier between them."""
    row, turn = draw(st.sampled_from([0, 1, 4, 8, 16])), draw(st.sampled_from([0, 1, 16]))
    index = f"({draw(number)} * l + {row} * y + {draw(number)} + {turn} * n) & 63"
    x, y, n = draw(st.sampled_from([1, 1, 2, 3])), draw(st.sampled_from([0, 8, 8, 16])), draw(st.sampled_from([turn, 1]))
    plain = f"{x} * l + {y} * y + {n} * n"
    target = draw(st.sampled_from([index, plain, plain]))
    guard = draw(
        st.sampled_from(["", "", "if (l == 0) ", "if (y == 0) ", "if (l < 4) ", "if (l + 8 * y == 3) ", "if (l + 8 * y < n) "])
    )
    choices = [f"{guard}s[{target}] = l + y;", f"{guard}r += s[{target}];", WAIT, WAIT, "barrier(CLK_GLOBAL_MEM_FENCE);"]
    if depth == 0:
        head = draw(st.sampled_from(["for (n = 0; n < 2; n++)", "for (n = 8; n > 0; n >>= 1)", "if (g > 0)", "if (b[0] > 0)"]))
        choices.append(f"{head} {{ {draw(statements(1))} {draw(statements(1))} {draw(statements(1))} }}")
    return draw(st.sampled_from(choices))


@settings(max_examples=25, deadline=None)
@given(st.lists(statements(), min_size=2, max_size=6))
def test_random_kernels_give_the_same_findings_with_and_without(lines: list[str]) -> None:
    body = "int n = 0;\n" + "\n".join(lines)
    with_proof = run(body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch_proofs, "race_free_local_arrays", lambda *_: frozenset())
        assert with_proof == run(body)
