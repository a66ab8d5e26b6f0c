"""A counted launch leaves the same memory and finds the same as one that is not counted, at every level of checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from counted_launch import open_counting, upload
from kernels.corpus_cases import CASES

from adreno_sim.backends.open import open_device
from adreno_sim.base.errors import AdrenoSimError, OptionError
from adreno_sim.base.specs import Local
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.launch_spec.run import run_launch
from adreno_sim.results.launch_report import LaunchReport

CHOSEN = CASES[::24]


def run(path: Path, variant: str, counters: bool) -> LaunchReport:
    report = run_launch(read_launch(path, variant), path.with_suffix(".cl"), variant=variant, counters=counters)
    return replace(report, seconds=0.0)


def check_case(path: Path, variant: str) -> None:
    counted, plain = run(path, variant, True), run(path, variant, False)
    told = [sentence for sentence in counted.unchecked if sentence.startswith("counters of kernel")]
    ran = not plain.refused and not any("was not run" in sentence for sentence in plain.unchecked)
    assert (counted.counters is not None) == (ran and not told)
    assert not told or {"watchdog", "divergent-barrier"} & {finding.kind.label for finding in plain.expected}, told
    unchecked = [sentence for sentence in counted.unchecked if sentence not in told]
    assert replace(counted, counters=None, unchecked=unchecked) == plain


@pytest.mark.parametrize("path", CHOSEN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_cases_of_the_corpus(path):
    check_case(path, "")


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["", "clean"])
@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_all_cases_of_the_corpus(path, variant):
    check_case(path, variant)


SOURCE = """kernel void k(global float *a, global float *b, global uint *n, local float *s) {
    size_t i = get_global_id(0), l = get_local_id(0);
    s[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[i] = native_sin(s[l ^ 1]) + a[i];           // what was there decides: counting must not write twice
    uint before = atomic_add(&n[0], (uint)l);
    if (l == 5) printf("%u\\n", (uint)get_group_id(0));
    b[i + 64] = before > 100000u ? 1.0f : 2.0f;   // out of bounds at the end
}"""


@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
def test_memory_findings_and_output(checks):
    results = []
    for counters in (False, True):
        device = open_device("sim:adreno-740", counters=counters, checks=checks)
        items = 128 if checks == "off" else 192
        a, b = upload(device, np.arange(192, dtype=np.float32)), upload(device, np.zeros(192, np.float32))
        n = upload(device, np.zeros(1, np.uint32))
        result = device.launch(device.build(SOURCE)["k"], (items,), (64,), [a, b, n, Local(256)])
        assert (result.counters is not None) == counters
        assert not result.failures
        results.append(([device.read(view).tobytes() for view in (a, b, n)], result.findings, result.printed))
    assert results[0] == results[1]


def test_counters_are_the_same_again_and_at_every_level():
    """Also where groups do not fill the NDRange, and with functions of sub-groups."""
    source = """kernel void k(global float *a, uint width) {
        size_t i = get_global_id(1) * width + get_global_id(0);
        a[i] += sub_group_reduce_add(1.0f);
    }"""
    found = []
    for checks in ("bounds", "bounds", "full"):
        device = open_counting(checks=checks)
        a = upload(device, np.ones(30 * 7, np.float32))
        kernel = device.build(source, "-cl-std=CL2.0")["k"]
        found.append(device.launch(kernel, (30, 7), (16, 4), [a, np.uint32(30)]).counters)
    assert found[0] == found[1] == found[2]
    assert found[0] is not None
    assert found[0].work_items == 210
    assert found[0].memory[0].reads == found[0].memory[0].writes == 210
    assert found[0].operations["float32"] == 420


def test_a_real_device_refuses():
    with pytest.raises(OptionError, match="counters: cl:any is a real device"):
        open_device("cl:any", counters=True)
    with pytest.raises(AdrenoSimError, match="already open with counters=False"):
        run_launch(read_launch(CASES[0], ""), CASES[0], device=open_device("sim:adreno-740"), counters=True)


def test_a_launch_that_is_stopped_is_not_counted():
    device = open_counting(timeout=0.3)
    source = "kernel void k(global volatile int *a) { while (a[0] == 0) a[1] += 1; }"
    result = device.launch(device.build(source)["k"], (1,), (1,), [upload(device, np.zeros(2, np.int32))])
    assert result.counters is None
    assert result.failures == ("counters of kernel k: the launch did not run to its end",)
