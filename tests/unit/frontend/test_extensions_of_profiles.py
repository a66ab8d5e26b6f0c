"""A kernel sees the extensions that its device lists, and no others: it takes the branch that it would take on the device."""

from __future__ import annotations

import re

import pytest

from adreno_sim import open_device
from adreno_sim.backends.sim.info import front_end_target
from adreno_sim.base.errors import DeviceError
from adreno_sim.frontend import driver
from adreno_sim.frontend.options import parse_options
from adreno_sim.profiles import profile

OF_2_0 = {"cl_khr_mipmap_image", "cl_khr_srgb_image_writes", "cl_khr_subgroups"}
"""Extensions that clang has from OpenCL C 2.0 on."""
GOOD = "__kernel void k(__global int *a) { a[0] = 1; }"
LARGE = "-qcom-enable-large-buffer"


def macros(name: str, options: str) -> set[str]:
    device = open_device(f"sim:{name}")
    target = front_end_target(device.profile, device.options)
    words = driver.arguments(parse_options(options), target)
    ended = driver.execute([*driver.compiler(), "-E", "-dM", *words], b"")
    assert ended.status == 0
    assert not ended.messages
    return set(re.findall(r"^#define (\w+)", ended.output.decode(), re.MULTILINE))


@pytest.mark.parametrize("name", profile.names())
def test_the_macros_are_the_extensions_of_the_profile(name: str) -> None:
    device = profile.load(name)
    listed = {word for word in device.extensions | device.compiler_extensions if word.startswith("cl_")}
    for option in ("", "-cl-std=CL1.2", "-cl-std=CL2.0", "-cl-std=CL3.0"):
        if option == "-cl-std=CL3.0" and device["opencl"] < "3.0":
            continue
        seen = {word for word in macros(name, option) if word.startswith("cl_")}
        assert seen - listed == set(), option
        assert listed - seen <= (OF_2_0 if "2.0" not in option and "3.0" not in option else set()), option


@pytest.mark.parametrize("name", ["adreno-640", "adreno-750"])
def test_a_kernel_for_several_vendors_takes_the_branch_of_an_adreno(name: str) -> None:
    source = f"""
    #if defined(cl_intel_subgroups) || defined(cl_intel_required_subgroup_size) || defined(cl_amd_media_ops)
    #error another vendor
    #elif !defined(cl_khr_subgroups) || defined(cl_khr_subgroup_shuffle) || defined(cl_ext_float_atomics)
    #error not what the device lists
    #endif
    {GOOD}"""
    open_device(f"sim:{name}").build(source, "-cl-std=CL2.0")


def test_a_device_of_another_vendor_has_its_own() -> None:
    """Clean twin: an extension that a profile lists is there."""
    source = f"#ifndef cl_intel_subgroups\n#error\n#endif\n{GOOD}"
    open_device("sim:adreno-740,extensions=cl_khr_fp16+cl_intel_subgroups").build(source, "-cl-std=CL2.0")


@pytest.mark.parametrize("name", profile.names())
def test_large_buffers_are_asked_for_where_the_device_lists_them(name: str) -> None:
    device = open_device(f"sim:{name}")
    if "cl_qcom_large_buffer" in profile.load(name).extensions:
        assert device.build(GOOD, f"-cl-std=CL2.0 {LARGE}").kernel_names() == ["k"]
    else:
        with pytest.raises(DeviceError, match=f"^CL_INVALID_BUILD_OPTIONS: {LARGE}: expected a device with cl_qcom_large_buffer"):
            device.build(GOOD, LARGE)


def test_some_profiles_list_large_buffers_and_some_do_not() -> None:
    assert {"cl_qcom_large_buffer" in profile.load(name).extensions for name in profile.names()} == {True, False}
