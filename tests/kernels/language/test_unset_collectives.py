"""Collective functions and values that some work-items have not set: what is handed over is used by those that get it, what is
combined is used at once."""

from __future__ import annotations

import random

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec

ITEMS = 16

HEAD = """#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable
#pragma OPENCL EXTENSION cl_qcom_subgroup_shuffle : enable
__kernel void k(__global const float* a, __global float* o) {
  int i = get_global_id(0), lane = get_sub_group_local_id();
  float v;
  if (lane < 4) v = a[i];
  float w = 0.0f;
"""

CASES = [  # what is computed, and the work-items that use what is not set
    ("w = sub_group_broadcast(v, 3);", []),
    ("w = sub_group_broadcast(v, 4);", range(ITEMS)),
    ("w = sub_group_broadcast_first(v);", []),
    ("w = work_group_broadcast(v, 2);", []),
    ("w = work_group_broadcast(v, 9);", range(ITEMS)),
    ("w = sub_group_shuffle(v, lane & 3);", []),
    ("w = sub_group_shuffle(v, lane & 7);", [i for i in range(ITEMS) if i & 7 > 3]),
    ("w = sub_group_shuffle_xor(v, 4); w = lane >= 4 && lane < 8 ? w : 0.0f;", []),
    ("w = sub_group_shuffle_xor(v, 4);", [i for i in range(ITEMS) if (i ^ 4) > 3]),
    ("w = qcom_sub_group_shuffle_up(v, 1, 0, 0.0f); w = lane > 0 && lane < 5 ? w : 0.0f;", []),
    ("w = qcom_sub_group_shuffle_up(v, 1, 0, 0.0f); w = lane > 0 ? w : 0.0f;", range(5, ITEMS)),
    ("w = qcom_sub_group_shuffle_down(v, 2, 0, 0.0f); w = lane < 2 ? w : 0.0f;", []),
    ("w = qcom_sub_group_shuffle_down(v, 2, 0, 0.0f); w = lane < 3 ? w : 0.0f;", [2]),
    ("w = qcom_sub_group_shuffle_up(v, 1, CLK_SUB_GROUP_SHUFFLE_WIDTH_WAVE_SIZE_QCOM, 5.0f); w = lane < 5 ? w : 0.0f;", []),
    ("w = qcom_sub_group_shuffle_xor(v, 8, CLK_SUB_GROUP_SHUFFLE_WIDTH_W4_QCOM, 5.0f);", []),
    ("w = qcom_sub_group_shuffle_xor(5.0f, 8, CLK_SUB_GROUP_SHUFFLE_WIDTH_W4_QCOM, v);", range(4, ITEMS)),
    ("w = sub_group_reduce_add(lane < 4 ? v : 0.0f);", []),
    ("w = sub_group_reduce_add(v);", range(4, ITEMS)),
    ("w = work_group_scan_inclusive_max(v);", range(4, ITEMS)),
    ("w = sub_group_any(v > 0.0f);", range(4, ITEMS)),
]


def launch(body: str, shadowed: int = ITEMS, head: str = HEAD):
    device = adreno_sim.open_device("sim:reference", checks="full")
    kernel = device.build(f"{head}  {body}\n  o[i] = w;\n}}\n", "-cl-std=CL3.0")["k"]
    views = []
    for array in (np.arange(ITEMS, dtype=np.float32), np.zeros(ITEMS, np.float32)):
        view = device.view(device.allocate(array.nbytes), BufferSpec(array.nbytes, "float32"))
        device.write(view, array)
        views.append(view)
    views[0].block.valid[4 * shadowed :] = 0
    views[0].block.forget()
    found = device.launch(kernel, (ITEMS,), (ITEMS,), views).findings
    return found, np.asarray(device.read(views[1]))


@pytest.mark.parametrize(("body", "users"), CASES)
def test_work_items_that_use_what_is_not_set(body, users):
    found, _ = launch(body)
    users = list(users)
    assert sum(f.count for f in found) == len(users), [f.message for f in found]
    if users:
        assert {f.kind.label for f in found} == {"uninitialized-read"}
        assert min(f.work_item.global_id[0] for f in found) == users[0]
        assert "uses v, to which nothing was assigned" in found[0].message


def test_what_is_handed_over_is_right():
    _, result = launch("w = sub_group_broadcast(v, 3) + sub_group_shuffle(v, lane & 3);")
    assert result.tolist() == [3 + (i & 3) for i in range(ITEMS)]


@pytest.mark.parametrize(("written", "users"), [(4, 0), (3, ITEMS)])
def test_memory_that_is_handed_over(written, users):
    """Every work-item loads; what counts is what the one wrote that is asked."""
    found, _ = launch("float u = a[i]; w = sub_group_broadcast(u, 3);".replace("a[i]", "a[lane]"), shadowed=written)
    found = [f for f in found if f.line != 9]  # the load of v
    assert sum(f.count for f in found) == users


def random_hand_over(seed: int) -> tuple[str, list[int]]:
    """A launch in which some work-items set `v`, all hand it over, and some use what they get; and those whose use is of what was
    not set, by brute force."""
    r = random.Random(seed)
    is_set, is_used = r.getrandbits(ITEMS), r.getrandbits(ITEMS)
    lanes = range(ITEMS)
    at, mask, delta = r.randrange(ITEMS), r.randrange(ITEMS), r.randrange(ITEMS)
    factor, more, width = r.randrange(1, 8), r.randrange(ITEMS), r.choice([0, 4, 8])
    segment = width or ITEMS
    sources: dict[str, list[int | None]] = {  # None: the last operand, which is set
        f"sub_group_broadcast(v, {at})": [at] * ITEMS,
        f"work_group_broadcast(v, {at})": [at] * ITEMS,
        "sub_group_broadcast_first(v)": [0] * ITEMS,
        f"sub_group_shuffle(v, (lane * {factor} + {more}) & {ITEMS - 1})": [(i * factor + more) % ITEMS for i in lanes],
        f"sub_group_shuffle_xor(v, {mask})": [i ^ mask for i in lanes],
        f"qcom_sub_group_shuffle_up(v, {delta}, {width}, 0.0f)": [i - delta if i % segment >= delta else None for i in lanes],
        f"qcom_sub_group_shuffle_down(v, {delta}, {width}, 0.0f)": [
            i + delta if i % segment + delta < segment and i + delta < ITEMS else None for i in lanes
        ],
        f"qcom_sub_group_shuffle_xor(v, {mask}, {width}, 0.0f)": [
            i ^ mask if (i ^ mask) // segment == i // segment else None for i in lanes
        ],
    }
    call, taken = r.choice(list(sources.items()))
    users = [i for i, source in enumerate(taken) if is_used >> i & 1 and source is not None and not is_set >> source & 1]
    body = f"float v; if ({is_set} >> lane & 1) v = a[i]; w = {call}; w = ({is_used} >> lane & 1) ? w : 0.0f;"
    return body, users


def check_hand_over(seed: int) -> str:
    body, users = random_hand_over(seed)
    found, _ = launch(body, head=HEAD.partition("  float v;")[0] + "  float w;\n")
    counted, first = sum(f.count for f in found), min((f.work_item.global_id[0] for f in found), default=None)
    wanted = users[0] if users else None
    return "" if (counted, first) == (len(users), wanted) else f"{seed}: {body}: found {counted} from {first}, expected {users}"


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 4))])
def test_random_hand_overs(block):
    assert [wrong for seed in range(25 * block, 25 * block + (25 if block else 15)) if (wrong := check_hand_over(seed))] == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_a_thousand_random_hand_overs(block):
    assert [wrong for seed in range(1000 + 100 * block, 1100 + 100 * block) if (wrong := check_hand_over(seed))] == []
