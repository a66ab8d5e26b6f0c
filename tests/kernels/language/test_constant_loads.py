# ruff: noqa: E501 (kernel sources read better unbroken)
"""Constant memory that a wave loads itself (cl_qcom_subgroup_constant_load): values, bounds, what was not loaded, what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from adreno_sim.backends.open import open_device
from adreno_sim.base.errors import UnsupportedError
from adreno_sim.base.specs import BufferSpec
from adreno_sim.findings import Kind
from adreno_sim.isa.translate.kernel import translate_kernel

KERNEL = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define SLOT 4
void fetch(__constant half8* to, __constant half8* from, int slot, int step) {
  qcom_sub_group_constant_load8(to, from, slot, step * SLOT, SLOT);
  qcom_sub_group_sync(QCOM_CLK_CONST_LOAD_SYNC);
}
__kernel void k(__global half* y, __global const half* x, __constant half8* w __attribute__((sub_group_uniform)),
                __constant half8* fast __attribute__((max_constant_size((12 * SLOT * 16)))), int n, int steps) {
  int i = get_global_id(0);
  if (i >= n) return;
  int slot = (int)(0x1F & qcom_get_physical_sub_group_id()) % 12 * SLOT;
  __constant half16* own = (__constant half16*)&fast[slot];
  half16 sum = 0;
  for (int step = 0; step < steps; ++step) {
    fetch(fast, w, slot, step);
    sum += x[i] * own[0] + own[1];
  }
  vstore16(sum, i, y);
}
"""
ITEMS, ACTIVE, STEPS, WEIGHTS = 256, 200, 3, 3 * 4 * 8


def run(source: str, weights: int = WEIGHTS, steps: int = STEPS) -> tuple[np.ndarray, np.ndarray, np.ndarray, set[Kind]]:
    """The result, both inputs, and the kinds of findings. The last group is not full."""
    device = open_device("sim:adreno-840,checks=full")
    rng = np.random.default_rng(3)
    x, w = rng.integers(-4, 5, ITEMS).astype(np.float16), rng.integers(-4, 5, weights).astype(np.float16)
    views = [device.view(device.allocate(2 * n), BufferSpec(2 * n, "float16")) for n in (16 * ITEMS, ITEMS, weights, 12 * 4 * 8)]
    device.write(views[1], x)
    device.write(views[2], w)
    device.write(views[0], np.zeros(16 * ITEMS, np.float16))
    kernel = device.build(source, "-cl-std=CL3.0")["k"]
    done = device.launch(kernel, (ITEMS,), (128,), [*views, ACTIVE, steps])
    return device.read(views[0]).reshape(ITEMS, 16), x, w, {finding.kind for finding in done.findings}


def test_each_wave_reads_what_it_loaded():
    result, x, w, found = run(KERNEL)
    steps = w.reshape(STEPS, 2, 16).astype(np.float64)
    want = sum(x[:ACTIVE, None] * first + second for first, second in steps)
    np.testing.assert_array_equal(result[:ACTIVE], want)
    assert not result[ACTIVE:].any()
    assert not found


def test_a_load_beyond_its_source_is_out_of_bounds():
    *_, found = run(KERNEL, weights=WEIGHTS - 8)
    assert Kind.OUT_OF_BOUNDS_READ in found


def test_what_no_load_wrote_is_not_initialised():
    *_, found = run(KERNEL.replace("own[0] + own[1]", "own[0] + own[2]"))
    assert found == {Kind.UNINITIALIZED_READ}


NAMED = {
    "without a size": (KERNEL.replace("__attribute__((max_constant_size((12 * SLOT * 16))))", ""), "qcom_sub_group_constant_load8"),
    "joined with another address": (KERNEL.replace("(__constant half16*)&fast[slot]", "(__constant half16*)(n > 5 ? &fast[slot] : w)"), "qcom_sub_group_constant_load8"),
    "another wait": (KERNEL.replace("QCOM_CLK_CONST_LOAD_SYNC", "7"), "qcom_sub_group_sync"),
}  # fmt: skip


@pytest.mark.parametrize("why", NAMED)
def test_other_uses_are_refused_by_name(why):
    source, name = NAMED[why]
    with pytest.raises(UnsupportedError, match=re.escape(name)):
        run(source)


def test_no_machine_code_is_made_of_them():
    """The private array of the simulator is not what a device has."""
    kernel = open_device("sim:adreno-840").build(KERNEL, "-cl-std=CL3.0").module.kernels["k"]
    with pytest.raises(UnsupportedError, match="constant memory that a wave loads"):
        translate_kernel(kernel)
