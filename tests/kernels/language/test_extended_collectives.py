"""cl_khr_subgroup_extended_types: sub_group_broadcast of vectors, reductions and scans of small integers, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.errors import BuildError
from adreno_sim.base.specs import BufferSpec

ITEMS, WAVE = 80, 64
TYPES = {"char": np.int8, "ushort": np.uint16, "int": np.int32, "ulong": np.uint64, "half": np.float16, "float": np.float32}
HEAD = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
"""


def build(body: str, type: str, device: str = "sim:adreno-830", checks: str = "full"):
    opened = adreno_sim.open_device(device, checks=checks)
    head = f"kernel void k(global const {type} *a, global {type} *o)"
    items = "int i = get_global_id(0), lane = get_sub_group_local_id();"
    return opened, opened.build(f"{HEAD}{head} {{ {items} {body} }}", "-cl-std=CL2.0")["k"]


def run(body: str, type: str, given: np.ndarray):
    device, kernel = build(body, type)
    views = []
    for array in (given, np.zeros_like(given)):
        views.append(device.view(device.allocate(array.nbytes), BufferSpec(array.nbytes, array.dtype.name)))
        device.write(views[-1], array.ravel())
    found = device.launch(kernel, (ITEMS,), (ITEMS,), views).findings
    return np.asarray(device.read(views[1])).reshape(given.shape), found


def values(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(5).integers(0, 120, shape).astype(dtype)


@pytest.mark.parametrize(
    ("scalar", "width"), [("char", 16), ("ushort", 3), ("int", 2), ("ulong", 8), ("half", 3), ("half", 8), ("float", 4)]
)
def test_a_vector_is_handed_to_the_whole_sub_group(scalar, width):
    given = values(ITEMS, 4 if width == 3 else width, dtype=TYPES[scalar])
    result, findings = run("o[i] = sub_group_broadcast(a[i], 5);", f"{scalar}{width}", given)
    source = np.arange(ITEMS) // WAVE * WAVE + 5
    np.testing.assert_array_equal(result[:, :width], given[source, :width])
    assert not findings


@pytest.mark.parametrize(("used", "users"), [("x", 0), ("y", ITEMS), ("yx.y", 0)])
def test_each_component_carries_whether_it_was_set(used, users):
    """Work-item 5 of each sub-group sets the first component alone."""
    body = f"float2 v; if (lane == 5) v.x = a[i]; o[i] = sub_group_broadcast(v, 5).{used};"
    result, findings = run(body, "float", given := values(ITEMS))
    assert {finding.kind.label for finding in findings} == ({"uninitialized-read"} if users else set())
    assert sum(finding.count for finding in findings) == users
    if not users:
        np.testing.assert_array_equal(result, given[np.arange(ITEMS) // WAVE * WAVE + 5])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_small_integers_are_added_and_compared(dtype):
    """Sums wrap around as the type does."""
    given = values(ITEMS, dtype=dtype)
    name = {"i": "", "u": "u"}[np.dtype(dtype).kind] + {1: "char", 2: "short"}[given.itemsize]
    for call, expected in {
        "reduce_add": lambda wave: np.full_like(wave, wave.sum(dtype=dtype)),
        "reduce_max": lambda wave: np.full_like(wave, wave.max()),
        "scan_inclusive_add": lambda wave: np.cumsum(wave, dtype=dtype),
        "scan_exclusive_min": lambda wave: np.minimum.accumulate(np.r_[np.iinfo(dtype).max, wave[:-1]]).astype(dtype),
    }.items():
        result, findings = run(f"o[i] = sub_group_{call}(a[i]);", name, given)
        np.testing.assert_array_equal(result, np.concatenate([expected(given[:WAVE]), expected(given[WAVE:])]), call)
        assert not findings


@pytest.mark.parametrize(
    ("body", "type"),
    [
        ("o[i] = sub_group_reduce_add(a[i]);", "float4"),
        ("o[i] = sub_group_scan_inclusive_max(a[i]);", "int2"),
        ("o[i] = work_group_broadcast(a[i], 0);", "float4"),
        ("struct { float x; } s = {a[i]}; o[i] = sub_group_broadcast(s, 0).x;", "float"),
    ],
)
def test_what_the_extension_does_not_have_is_refused(body, type):
    with pytest.raises(BuildError, match=r"no matching function for call to '\w+_group_|call to '\w+_group_\w+' is ambiguous"):
        build(body, type)


@pytest.mark.parametrize("device", ["sim:adreno-740", "sim:adreno-640"])
def test_an_older_compiler_refuses_vectors(device):
    with pytest.raises(BuildError, match="sub_group_broadcast"):
        build("o[i] = sub_group_broadcast(a[i], 5);", "float4", device)
    build("o[i] = sub_group_broadcast(a[i], 5);", "float", device)
