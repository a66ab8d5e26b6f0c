"""Groups of kernels of many registers: refused, warned of, let alone; by Mesa's compiler, and by the estimate without."""

from __future__ import annotations

import numpy as np
import pytest

import adreno_sim
from adreno_sim.backends.sim.group_limits import find_largest_group, sure_group
from adreno_sim.base.errors import BuildError, DeviceError
from adreno_sim.base.installed.extras import is_installed
from adreno_sim.base.specs import BufferSpec
from adreno_sim.findings import Kind
from adreno_sim.isa import compile as isa_compile
from adreno_sim.isa.chips import find_chip
from adreno_sim.isa.register_use import find_register_use

BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"
WAYS = ("ir3", "estimate")


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Who says how many registers a kernel takes."""
    if request.param == "estimate":
        monkeypatch.setattr(isa_compile, "is_installed", lambda name: False)
    elif not is_installed("tinymesa"):
        pytest.skip("Mesa's compiler is not installed: the extra isa, for glibc from 2.32 on")
    return request.param


def kernel_of(sums: int, more: str = BARRIER, attribute: str = "") -> str:
    """A kernel with so many live float4, which waits for its group."""
    first = "".join(f"float4 a{k} = x[{k}];" for k in range(sums))
    step = "".join(f"a{k} = mad(a{k}, v, a{(k + 1) % sums});" for k in range(sums))
    last = "+".join(f"a{k}" for k in range(sums))
    return (
        f"{attribute} kernel void k(global const float4 *x, global float4 *y, int n) {{ local float4 shared; {first} "
        f"for (int j = 0; j < n; j++) {{ float4 v = x[j]; {step} }} {more} y[get_global_id(0)] = {last}; }}"
    )


class Launch:
    def __init__(self, device: str, source: str, way: str = ""):
        self.device = adreno_sim.open_device(f"sim:{device}")
        self.kernel = self.device.build(f"{source} // {way}")["k"]  # what is found of a kernel stays with it
        views = [self.device.view(self.device.allocate(16384), BufferSpec(16384, "float32")) for _ in range(2)]
        self.device.write(views[0], np.ones(4096, np.float32))
        self.args = [*views, 1]

    def run(self, items: int) -> list:
        """The warnings of a launch of one group."""
        self.device.launch(self.kernel, [items], [items], self.args)
        return [finding for finding in self.device.take_warnings() if finding.kind is Kind.GROUP_MAY_BE_REFUSED]


@pytest.mark.parametrize("device", ["adreno-506", "adreno-530", "adreno-650", "adreno-660"])
def test_a_group_without_registers_is_refused_where_its_work_items_wait(way, device):
    launch = Launch(device, kernel_of(64), way)
    with pytest.raises(DeviceError, match=r"kernel k: local size \(512, 1, 1\).*48 registers") as refused:
        launch.run(512)
    assert refused.value.code == "CL_INVALID_WORK_GROUP_SIZE"
    largest = find_largest_group(launch.kernel, launch.device.profile)
    assert sure_group(launch.device.profile) <= largest < 512
    assert launch.run(sure_group(launch.device.profile)) == []
    launch.run(largest)
    with pytest.raises(DeviceError):
        launch.run(largest + 1)


@pytest.mark.parametrize("device", ["adreno-506", "adreno-660", "adreno-740"])
def test_groups_of_512_with_32_live_float4_are_told_of(way, device):
    waits, alone = kernel_of(32), kernel_of(32, more="")
    with pytest.raises(DeviceError, match=r"512 work-items; .* registers"):
        Launch(device, waits, way).run(512)
    assert len(Launch(device, alone, way).run(512)) == 1
    assert Launch(device, waits, way).run(64) == Launch(device, alone, way).run(64) == []


def test_so_they_are_of_a_chip_without_a_profile(way):
    use = find_register_use(Launch("adreno-660", kernel_of(32), way).kernel.function, find_chip("a610"))
    assert use.refuses(512)
    assert not use.may_refuse(64)


def test_the_same_group_of_a_kernel_of_few_registers_runs(way):
    launch = Launch("adreno-650", kernel_of(1), way)
    assert launch.run(512) == []
    assert find_largest_group(launch.kernel, launch.device.profile) >= 512


def test_a_kernel_without_barriers_runs_with_one_warning(way):
    launch = Launch("adreno-650", kernel_of(64, more=""), way)
    (warning,) = launch.run(512)
    assert "do not wait for each other" in warning.message
    assert warning.line == 1
    assert warning.detail["chip"] == "a650"
    assert warning.detail["by"] == way
    assert launch.run(512) == launch.run(128) == []
    assert find_largest_group(launch.kernel, launch.device.profile) == 1024


def test_between_what_fits_and_what_does_not_there_is_a_warning(monkeypatch):
    monkeypatch.setattr(isa_compile, "is_installed", lambda name: False)
    launch = Launch("adreno-650", kernel_of(24), "estimate")
    assert launch.run(128) == []
    (warning,) = launch.run(256)
    assert "by an estimate" in warning.message
    assert "do not wait" not in warning.message
    with pytest.raises(DeviceError):
        launch.run(1024)


def test_a_required_group_without_registers_is_not_built(way):
    device = adreno_sim.open_device("sim:adreno-750")
    required = "__attribute__((reqd_work_group_size(1024, 1, 1)))"
    with pytest.raises(BuildError, match=r"k: reqd_work_group_size asks for 1024 work-items; .*CL_OUT_OF_HOST_MEMORY"):
        device.build(kernel_of(64, attribute=required) + f"// {way}")
    for right in (kernel_of(1, attribute=required), kernel_of(64, more="", attribute=required)):
        device.build(f"{right} // {way}")
    device.build(kernel_of(64, attribute=required.replace("1024", "256")))


@pytest.mark.parametrize("device", ["adreno-650,kernel_group_limit=1024", "adreno-830", "reference"])
def test_where_registers_are_not_known_or_not_asked_for_nothing_is_refused(device):
    launch = Launch(device, kernel_of(64))
    assert launch.run(512) == []
    assert find_largest_group(launch.kernel, launch.device.profile) == launch.device.profile.largest_group >= 1024


def test_registers_are_asked_for_only_where_they_can_matter(monkeypatch):
    monkeypatch.setattr("adreno_sim.isa.register_use.find_register_use", None)
    launch = Launch("adreno-740", kernel_of(64))
    assert launch.run(256) == launch.run(64) == []


def test_waves_of_5xx_may_get_registers_one_by_one():
    chip = find_chip("a530")
    assert [chip.sure_group_limit(registers) for registers in (7, 15, 23, 40)] == [288, 128, 64, 64]
    assert [chip.group_limit(registers) for registers in (7, 15, 23, 40)] == [576, 256, 128, 64]
    chip = find_chip("a650")
    assert [(chip.sure_group_limit(r), chip.group_limit(r)) for r in (15, 23)] == [(512, 512), (256, 256)]
