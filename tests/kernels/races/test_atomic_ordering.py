"""Data that atomics and fences hand from one work-group to another: not reported as a race, but as not followed; and each of the
same kernels without one of the fences, which is a race."""

from __future__ import annotations

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec

GROUPS, ITEMS = 4, 8
GLOBAL, LOCAL, BOTH = "CLK_GLOBAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE"

HEAD = "__kernel void k(__global const int* a, __global volatile int* part, __global volatile int* count, __global int* out) {"

LAST_GROUP = """
  __local int s[8]; __local int last;
  int l = get_local_id(0), g = get_group_id(0), n = get_num_groups(0);
  s[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) {
    int sum = 0;
    for (int j = 0; j < 8; ++j) sum += s[j];
    part[g] = sum;
    RELEASE;
    last = ATOMIC == n - 1;
  }
  barrier(ACQUIRE);
  if (last && l == 0) {
    int sum = 0;
    for (int j = 0; j < n; ++j) sum += part[j];
    out[0] = sum;
  }
}"""

FLAG = """
  int l = get_local_id(0), g = get_group_id(0);
  if (l == 0) {
    part[g] = a[g];
    RELEASE;
    int before = ATOMIC;
    ACQUIRE;
    if (before > 0) out[g] = part[before - 1];
  }
}"""

OLD = "atomic_inc(count)"
DEFAULT = "atomic_fetch_add((volatile __global atomic_int*)count, 1)"
FLAG_SET = "atomic_xchg(count, g + 1)"
NEW = "atomic_fetch_add_explicit((volatile __global atomic_int*)count, 1, memory_order_{0}, memory_scope_device)"

CASES = {
    "the last group, with both fences": (LAST_GROUP, f"mem_fence({GLOBAL})", OLD, BOTH, True),
    "the last group, a write fence": (LAST_GROUP, f"write_mem_fence({GLOBAL})", OLD, BOTH, True),
    "the last group, an atomic with an order": (LAST_GROUP, "", NEW.format("acq_rel"), BOTH, True),
    "the last group, an atomic of OpenCL 2.0": (LAST_GROUP, "", DEFAULT, BOTH, True),
    "the last group, nothing releases": (LAST_GROUP, "", OLD, BOTH, False),
    "the last group, a fence of local memory": (LAST_GROUP, f"mem_fence({LOCAL})", OLD, BOTH, False),
    "the last group, a relaxed atomic": (LAST_GROUP, "", NEW.format("relaxed"), BOTH, False),
    "the last group, nothing acquires": (LAST_GROUP, f"mem_fence({GLOBAL})", OLD, LOCAL, False),
    "the last group, no atomic": (LAST_GROUP, f"mem_fence({GLOBAL})", "(g == n - 1 ? n - 1 : 0)", BOTH, False),
    "a flag, with both fences": (FLAG, f"mem_fence({GLOBAL})", FLAG_SET, f"mem_fence({GLOBAL})", True),
    "a flag, nothing releases": (FLAG, "", FLAG_SET, f"mem_fence({GLOBAL})", False),
    "a flag, nothing acquires": (FLAG, f"mem_fence({GLOBAL})", FLAG_SET, "", False),
}  # fmt: skip


def launch(source: str):
    device = adreno_sim.open_device("sim:adreno-740", checks="full")
    kernel = device.build(HEAD + source, "-cl-std=CL3.0")["k"]
    views = []
    for count in (GROUPS * ITEMS, GROUPS, 1, GROUPS):
        view = device.view(device.allocate(4 * count), BufferSpec(4 * count, "int32"))
        device.write(view, np.full(count, 0 if count == 1 else 1, np.int32))
        views.append(view)
    return device.launch(kernel, (GROUPS * ITEMS,), (ITEMS,), views)


@pytest.mark.parametrize(("source", "release", "atomic", "acquire", "ordered"), CASES.values(), ids=CASES)
def test_hand_over_between_groups(source, release, atomic, acquire, ordered):
    result = launch(source.replace("RELEASE", release).replace("ATOMIC", atomic).replace("ACQUIRE", acquire))
    kinds = {f.kind.label for f in result.findings}
    if ordered:
        assert not kinds
        assert any("atomics and fences may order them" in text for text in result.failures)
    else:
        assert kinds & {"data-race", "same-value-race"}
        assert not any("atomics" in text for text in result.failures)


BESIDE = {
    "a race inside a group, barriers and atomics around it": """
  __local int s[8]; int l = get_local_id(0), x = 0;
  for (int j = 0; j < 3; ++j) {
    s[l] = j; x += s[(l + 1) & 7];
    atomic_inc(count);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  out[get_group_id(0)] = 1;
}""",
    "a race between groups, atomics on local memory alone": """
  __local int s[8]; int l = get_local_id(0);
  for (int j = 0; j < 3; ++j) {
    s[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    atomic_inc(&s[(l + 1) & 7]);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (l == 0) part[0] = get_group_id(0) * 3 + j;
  }
}""",
}


@pytest.mark.parametrize("source", BESIDE.values(), ids=BESIDE)
def test_atomics_that_hand_nothing_over_hide_no_race(source):
    result = launch(source)
    assert "data-race" in {f.kind.label for f in result.findings}
    assert not any("atomics" in text for text in result.failures)
