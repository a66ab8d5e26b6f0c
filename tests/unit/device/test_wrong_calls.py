"""Launches and builds called with what is no size, no argument list, no option: the same refusal on every device."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.errors import AdrenoSimError, DeviceError
from adreno_sim.base.specs import BufferSpec

SOURCE = "kernel void k(void) {}\nkernel void m(global int *a) { a[0] = X; }"


@pytest.fixture(scope="module", params=["sim:adreno-740", pytest.param("cl:portable", marks=pytest.mark.device)])
def device(request):
    try:
        return open_device(request.param)
    except AdrenoSimError as error:
        pytest.skip(str(error))


LAUNCHES = {
    "no global size": (None, None, [], "CL_INVALID_GLOBAL_WORK_SIZE", "global size None: expected a list of whole numbers"),
    "a number for a list": (4, None, [], "CL_INVALID_GLOBAL_WORK_SIZE", "global size 4: expected a list"),
    "nothing in the list": ((None,), None, [], "CL_INVALID_GLOBAL_WORK_SIZE", "global size (None,): expected a list"),
    "text in the list": (("a",), None, [], "CL_INVALID_GLOBAL_WORK_SIZE", "global size ('a',): expected a list"),
    "a fraction": ((4.5,), None, [], "CL_INVALID_GLOBAL_WORK_SIZE", "global size (4.5,): expected a list"),
    "a number for a local size": ((4,), 4, [], "CL_INVALID_WORK_GROUP_SIZE", "local size 4: expected a list"),
    "no arguments": ((4,), None, None, "CL_INVALID_KERNEL_ARGS", "arguments: expected a list, got None"),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_launch_of_the_wrong_kinds_is_refused(device, name):
    total, local, args, code, reason = LAUNCHES[name]
    kernel = device.build(SOURCE, "-DX=1")["k"]
    with pytest.raises(DeviceError) as said:
        device.launch(kernel, total, local, args)
    assert said.value.code == code
    assert f"kernel k: {reason}" in str(said.value)
    device.launch(kernel, (4,), None, [])
    device.launch(kernel, np.array([4]), np.array([2]), ())


def test_what_is_no_kernel_is_refused(device):
    with pytest.raises(DeviceError) as said:
        device.launch(None, (4,), None, [])
    assert said.value.code == "CL_INVALID_KERNEL"
    assert "None" in str(said.value)


@pytest.mark.parametrize("options", ["-DX='3 + 4'", '-DX="3 + 4"', "-D 'X=3 + 4'", "-D X=7", "-DX=7 -DY"])
def test_quotes_in_options_are_read_as_a_shell_reads_them(device, options):
    view = device.view(device.allocate(4), BufferSpec(4, "int32"))
    device.write(view, np.zeros(1, np.int32))
    device.launch(device.build(SOURCE, options)["m"], (1,), None, [view])
    assert device.read(view).tolist() == [7]


@pytest.mark.parametrize("options", ["-nonsense", "-cl-nonsense", "-DX='", "-DX=1 \0"])
def test_options_that_no_driver_knows_are_one_line(device, options):
    with pytest.raises(DeviceError) as said:
        device.build(SOURCE, options)
    assert said.value.code == "CL_INVALID_BUILD_OPTIONS"
    assert "\n" not in str(said.value)
