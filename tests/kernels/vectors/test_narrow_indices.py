"""Indices of 32 bits that differ by one between lanes: one access for all where no lane's index can wrap, right values anyway."""

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine.llvm import objects

from .lane_loops import goes_from_lane_to_lane, stores_a_row

SIZE = 1 << 16
SIGNED, UNSIGNED = "int x = get_global_id(0), y = get_global_id(1);", "uint x = get_global_id(0), y = get_global_id(1);"

KERNEL = """kernel void k(global const uchar *a, global uchar *d, int step, int off, uint far) {{
    {ids}
    if ({condition}) {{ {index} d[i] = a[i] + 1; }}
}}"""


def run(ids, index, checks="bounds", condition="x < 41", far=0, step=100):
    """What a launch of 48 x 8 work-items in groups of 16 x 4 writes, the text of its code, and its findings."""
    device = adreno_sim.open_device(f"sim:adreno-740,checks={checks},cache=false")
    kernel = device.build(KERNEL.format(ids=ids, index=index, condition=condition))["k"]
    a = np.arange(SIZE, dtype=np.uint32).astype(np.uint8)
    views = []
    for data in (a, np.zeros(SIZE, np.uint8)):
        views.append(device.view(device.allocate(SIZE), BufferSpec(SIZE, "uint8")))
        device.write(views[-1], data)
    result = device.launch(kernel, (48, 8, 1), (16, 4, 1), [*views, np.int32(step), np.int32(7), np.uint32(far)])
    return device.read(views[1]), "".join(code.text for code in result.code), result.findings


def expected(index, active):
    """The same by NumPy. index, active: functions of the coordinates."""
    y, x = np.mgrid[0:8, 0:48].astype(np.int64)
    found = np.zeros(SIZE, np.uint8)
    at = index(x, y)[active(x, y)]
    found[at] = at.astype(np.uint8) + np.uint8(1)
    return found


def is_one_access(text):
    lanes = objects.machine().processor.lane_counts[0]
    return not goes_from_lane_to_lane(text) and stores_a_row(text, f"{lanes}i8")


IN_A_ROW = {
    "sums": (SIGNED, "int i = y * step + x + off;"),
    "products of 24 bits": (SIGNED, "int i = mad24(y, step, mad24(x, 1, off));"),
    "unsigned sums": (UNSIGNED, "uint i = y * step + x + off;"),
}


@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
@pytest.mark.parametrize("case", IN_A_ROW)
def test_neighbours_are_accessed_as_one(case, checks):
    found, text, findings = run(*IN_A_ROW[case], checks)
    np.testing.assert_array_equal(found, expected(lambda x, y: y * 100 + x + 7, lambda x, y: x < 41))
    assert not findings
    assert is_one_access(text) or checks == "full"


@pytest.mark.parametrize("checks", ["off", "bounds"])
def test_lane_0_without_work_may_be_below_zero(checks):
    """Its index is what the others' are counted from: 2**32 - 3 is -3 here."""
    found, text, findings = run(UNSIGNED, "uint i = x - 3 + y * step;", checks, "x > 2")
    np.testing.assert_array_equal(found, expected(lambda x, y: x - 3 + y * 100, lambda x, y: x > 2))
    assert not findings
    assert is_one_access(text)


WRAPPING = {
    "sums that wrap in some lanes": (UNSIGNED, "uint i = x + far;", 2**32 - 20, 20),
    "sums that pass the largest signed number": (
        SIGNED, "int j = x + (int)far; long i = j + (j < 0 ? 2147483648L : 0L);", 2**31 - 8, 8,
    ),
}  # fmt: skip
"""ids, index, far, and the first x whose index is in the buffer: it is at 0."""


@pytest.mark.parametrize("checks", ["off", "bounds"])
@pytest.mark.parametrize("case", WRAPPING)
def test_lanes_that_wrap_are_where_they_are(case, checks):
    ids, index, far, first = WRAPPING[case]
    found, _, findings = run(ids, index, checks, f"x >= {first} && x < 41", far=far)
    np.testing.assert_array_equal(found, expected(lambda x, y: x - first, lambda x, y: (x >= first) & (x < 41)))
    assert not findings


SHOWN = "int i = (((int)p >> 14) & 2047) * 16 + (x & 15);"
"""An index by the high bits of a product, in which a cut is seen."""

BEYOND = {
    "signed": (SIGNED, "int p = mul24((int)(x + far), 3);", 2**23 - 20, 24),
    "unsigned": (UNSIGNED, "uint p = mul24(x + far, 3u);", 2**24 - 20, 0),
    "signed, with a sum": (SIGNED, "int p = mad24(3, (int)(x + far), 5);", 2**23 - 20, 24),
}


@pytest.mark.parametrize("checks", ["off", "bounds"])
@pytest.mark.parametrize("case", BEYOND)
def test_factors_that_leave_24_bits_are_cut_in_each_lane(case, checks):
    """What is then computed is the implementation's choice: here the product of the low 24 bits, in every code."""
    ids, product, far, sign = BEYOND[case]
    found, _, findings = run(ids, f"{product} {SHOWN}", checks, "x < 41", far)

    def index_of(x, y):
        low = (x + far) & 0xFFFFFF
        low = low - ((low >> 23) << sign) if sign else low
        product = low * 3 + (5 if "sum" in case else 0)
        return ((product >> 14) & 2047) * 16 + (x & 15)

    np.testing.assert_array_equal(found, expected(index_of, lambda x, y: x < 41))
    assert not findings


def test_an_id_that_24_bits_hold_is_multiplied_as_it_is():
    _, text, _ = run(SIGNED, "int i = mad24(y, step, mad24(x, 1, off));", "off")
    _, beyond, _ = run(SIGNED, "int i = mad24(y, step, mad24(x + (off << 21), 1, off)) & 16383;", "off")
    assert is_one_access(text)
    assert not is_one_access(beyond)


@pytest.mark.parametrize("checks", ["off", "bounds"])
def test_factors_that_a_launch_keeps_in_24_bits_are_multiplied_as_they_are(checks):
    """Backwards, from the last column, as a flip does: how many columns there are is an argument."""
    found, text, findings = run(SIGNED, "int i = mad24(y, step, mad24((int)far - x - 1, 1, off));", checks, "x < (int)far", 41)
    np.testing.assert_array_equal(found, expected(lambda x, y: y * 100 + 41 - x - 1 + 7, lambda x, y: x < 41))
    assert not findings
    assert not goes_from_lane_to_lane(text)


@pytest.mark.parametrize("checks", ["off", "bounds"])
def test_a_lane_without_work_may_leave_24_bits(checks):
    """Lane 0's factor is 2**23 + 2, and cut; that of the first lane with work is the largest that fits."""
    index = "int p = mul24((int)far - x, 3) - 25165821; int i = (p + (16 * 3)) / 3 + y * step;"
    found, _, findings = run(SIGNED, index, checks, "x > 2 && x < 19", far=2**23 + 2)
    np.testing.assert_array_equal(found, expected(lambda x, y: 18 - x + 1 + y * 100, lambda x, y: (x > 2) & (x < 19)))
    assert not findings
