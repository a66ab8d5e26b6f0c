"""Barriers whose flags only the run knows: they order what the flags say, no more."""

from __future__ import annotations

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec, ImageSpec

ITEMS = 8
SOURCE = """__kernel void k(__global int* a, __global int* o, int flags) {
  __local int s[8];
  int l = get_local_id(0);
  s[l] = l; a[l] = l;
  barrier(WHAT);
  o[l] = s[(l + 1) & 7] + a[(l + 1) & 7];
}"""
LOCAL, GLOBAL, IMAGE = 1, 2, 4


def races(what: str, flags: int) -> set[str]:
    device = adreno_sim.open_device("sim:adreno-740", checks="full")
    kernel = device.build(SOURCE.replace("WHAT", what))["k"]
    views = []
    for _ in range(2):
        view = device.view(device.allocate(4 * ITEMS), BufferSpec(4 * ITEMS, "int32"))
        device.write(view, np.zeros(ITEMS, np.int32))
        views.append(view)
    found = device.launch(kernel, (ITEMS,), (ITEMS,), [*views, np.int32(flags)]).findings
    assert {f.kind.label for f in found} <= {"data-race"}
    return {f.access.view.removeprefix("k.") for f in found}


@pytest.mark.parametrize("what", ["flags", "flags & 7", "(uint)flags | 0"])
@pytest.mark.parametrize(
    ("flags", "expected"),
    [(LOCAL | GLOBAL, set()), (LOCAL, {"a"}), (GLOBAL, {"s"}), (LOCAL | IMAGE, {"a"}), (0, {"a", "s"})],
)
def test_flags_that_a_launch_gives(what, flags, expected):
    assert races(what, flags) == expected


def test_flags_of_work_items_that_differ_order_what_all_of_them_say():
    assert races("l == 3 ? CLK_LOCAL_MEM_FENCE : CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE", 0) == {"a"}
    assert races("l == 3 ? flags : CLK_LOCAL_MEM_FENCE", GLOBAL) == {"a", "s"}


def test_one_barrier_after_the_other():
    """The flags of the first say nothing of the second."""
    both = "flags); barrier(CLK_GLOBAL_MEM_FENCE); barrier(flags"
    assert races(both, LOCAL) == set()
    assert races(both, 0) == {"s"}


IMAGE_SOURCE = """__kernel void k(read_write image1d_t t, __global int* o, int flags) {
  int l = get_local_id(0);
  write_imagei(t, l, (int4)(l + 1));
  barrier(WHAT);
  o[l] = read_imagei(t, (l + 1) & 7).x;
}"""


@pytest.mark.parametrize(
    ("flags", "expected"),
    [(IMAGE, []), (LOCAL | GLOBAL | IMAGE, []), (GLOBAL, ["data-race"]), (LOCAL, ["data-race"]), (LOCAL | GLOBAL, ["data-race"])],
)
@pytest.mark.parametrize("constant", [True, False])
def test_texels_have_a_fence_of_their_own(flags, expected, constant):
    device = adreno_sim.open_device("sim:reference", checks="full")
    kernel = device.build(IMAGE_SOURCE.replace("WHAT", str(flags) if constant else "flags"), "-cl-std=CL2.0")["k"]
    image = ImageSpec("image1d", ITEMS, 1, 1, "R", "SIGNED_INT32")
    texels = device.view(device.allocate(device.view_nbytes(image)), image)
    device.write(texels, np.zeros((1, 1, ITEMS, 1), np.int32))
    out = device.view(device.allocate(4 * ITEMS), BufferSpec(4 * ITEMS, "int32"))
    found = device.launch(kernel, (ITEMS,), (ITEMS,), [texels, out, np.int32(flags)]).findings
    assert [f.kind.label for f in found] == expected
