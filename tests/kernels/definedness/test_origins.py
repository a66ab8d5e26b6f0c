"""Which read a finding names: one that its own work-item has made, with the element, also behind a barrier.

Each case has its clean twin, in which no element is left out.
"""

from __future__ import annotations

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.findings import Finding

ITEMS, GROUP, LACKING = 32, 8, 5
HEAD = """__kernel void k(__global int *y, int lacking, __read_only image2d_t image) {
  int me = get_global_id(0), at = get_local_id(0), s = 0, a[16];
  for (int j = 0; j < 16; ++j) if (me != lacking || j < 14) a[j] = me + j;
"""
BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);\n"
END = "y[me] = s;\n"


def launch(body: str, lacking: int, image_unset: int = -1) -> list[Finding]:
    """Returns what is found where a work-item leaves out the last two elements of its array."""
    device = adreno_sim.open_device("sim:adreno-740", checks="full")
    y = device.view(device.allocate(4 * ITEMS), BufferSpec(4 * ITEMS, "int32"))
    image = device.view(device.allocate(4096), ImageSpec("image2d", ITEMS, 1, 1, "R", "SIGNED_INT32"))
    device.write(image, np.ones((1, ITEMS, 1), np.int32))
    if image_unset >= 0:
        image.marks()[0, 0, image_unset] = 0
        image.block.forget()
    kernel = device.build(HEAD + body + END + "}\n", "-cl-std=CL2.0")["k"]
    return device.launch(kernel, (ITEMS,), (GROUP,), [y, np.int32(lacking), image]).findings


def places(found: list[Finding]) -> list[tuple[int, int | None, tuple[int, ...] | None, int]]:
    """Line of the body, offset and coordinate that findings name, and how often."""
    assert {f.kind.label for f in found} <= {"uninitialized-read"}
    assert all(f.work_item.global_id[0] == LACKING for f in found)
    return [(f.line - HEAD.count("\n"), f.access and f.access.offset, f.access and f.access.coordinate, f.count) for f in found]


CASES = {  # the body; what is named
    "the statement that the work-item runs": (
        f"if (me < 2) s += a[at & 15];\nif (me > 3) s += a[15 - (at & 0)];\n{BARRIER}",
        [(2, 60, None, 1)],
    ),
    "both statements": (f"s += a[14 + (at & 0)];\ns += a[15 - (at & 0)];\n{BARRIER}", [(1, 56, None, 1), (2, 60, None, 1)]),
    "in a loop with a barrier": (
        f"for (int j = 0; j < 3; ++j) {{\nif (me < 2) s += a[at & 15];\ns ^= a[13 + j];\n{BARRIER}}}\n",
        [(3, 56, None, 1)],
    ),
    "copies of an unrolled loop": ("\n#pragma unroll\nfor (int j = 10; j < 16; ++j) s += a[j ^ (at & 0)];\n", [(3, 56, None, 1)]),
    "more statements than are remembered": (
        "".join(f"if (me & {n + 1}) s += a[(at + {n}) % 13];\n" for n in range(8)) + f"s += a[15 - (at & 0)];\n{BARRIER}",
        [(11, None, None, 1)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_read_that_is_named(name):
    body, expected = CASES[name]
    assert places(launch(body, LACKING)) == expected
    assert launch(body, -1) == []


def test_a_texel_is_named_behind_a_barrier():
    body = f"if (me < 2) s += read_imagei(image, (int2)(at, 0)).x;\ns += read_imagei(image, (int2)(me, 0)).x;\n{BARRIER}"
    assert places(launch(body, -1, image_unset=LACKING)) == [(2, None, (LACKING, 0), 1)]
    assert launch(body, -1) == []


def test_what_another_work_item_has_read():
    """A work-item that was handed an undefined value has read nothing unwritten itself: the finding stands at its use."""
    body = (
        "if (me < 2) s += a[at & 13];\nif (me < 8) s += a[15 - (at & 0)];\n"
        f"int all = work_group_broadcast(s, {LACKING});\nif (me != {LACKING}) s = all;\n"
    )
    found = launch(body, LACKING)
    assert sorted((f.line - HEAD.count("\n"), f.count) for f in found) == [(2, 1), (5, GROUP - 1)]
    assert launch(body, -1) == []
