"""The language without -cl-std is OpenCL C 1.2, as drivers have it; __OPENCL_VERSION__ is the device's."""

from __future__ import annotations

import numpy as np
import oracle
import pytest

from adreno_sim import open_device
from adreno_sim.base.errors import BuildError
from adreno_sim.base.specs import BufferSpec
from adreno_sim.frontend.program import FrontEndTarget, compile_source

VERSIONS = "__kernel void k(__global int *a) { a[0] = __OPENCL_C_VERSION__; a[1] = __OPENCL_VERSION__; }"
DEVICES = {"sim:adreno-540": 200, "sim:adreno-640": 200, "sim:adreno-740": 300, "sim:adreno-740,opencl=1.2": 120}

NEWER = {  # what needs OpenCL C 2.0
    "generic pointer": "__kernel void k(__global int *a) { int *p = a; p[0] = 1; }",
    "work_group_barrier": "__kernel void k(__global int *a) { work_group_barrier(CLK_LOCAL_MEM_FENCE); a[0] = 1; }",
    "atomics with orders": "__kernel void k(__global atomic_int *a) { atomic_store(a, 1); }",
    "collective": "__kernel void k(__global int *a) { a[0] = work_group_any(1); }",
    "size at the edge": "__kernel void k(__global int *a) { a[0] = get_enqueued_local_size(0) != 0; }",
}
OLD = {  # the same in OpenCL C 1.2
    "pointer": "__kernel void k(__global int *a) { __global int *p = a; p[0] = 1; }",
    "barrier": "__kernel void k(__global int *a) { barrier(CLK_LOCAL_MEM_FENCE); a[0] = 1; }",
    "atomic": "__kernel void k(__global int *a) { atomic_xchg(a, 1); }",
    "private variable": "__kernel void k(__global int *a) { int x = 1, *p = &x; a[0] = *p; }",
    "version of the device": "#if __OPENCL_VERSION__ >= 200\n__kernel void k(__global int *a) { a[0] = 1; }\n#endif",
}


def run(device: str, source: str, options: str = "") -> list[int]:
    opened = open_device(device)
    view = opened.view(opened.allocate(8), BufferSpec(8, "int32"))
    opened.write(view, np.zeros(2, np.int32))
    opened.launch(opened.build(source, options)["k"], (1,), (1,), [view])
    return opened.read(view).tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_without_an_option_the_language_is_1_2(device: str) -> None:
    assert run(device, VERSIONS) == [120, DEVICES[device]]


@pytest.mark.parametrize(("option", "number"), [("1.0", 100), ("1.1", 110), ("1.2", 120), ("2.0", 200), ("3.0", 300)])
def test_an_option_names_the_language_up_to_that_of_the_device(option: str, number: int) -> None:
    for device, newest in DEVICES.items():
        if number <= newest:
            assert run(device, VERSIONS, f"-cl-std=CL{option}") == [number, newest]
        else:
            with pytest.raises(BuildError, match=rf"^-cl-std=CL{option}: expected at most CL\d\.\d, the newest OpenCL C"):
                open_device(device).build(VERSIONS, f"-cl-std=CL{option}")


def test_a_driver_says_the_same(intel: oracle.Oracle) -> None:
    """Debian's PoCL 3.1 takes source without -cl-std for its newest language, against the specification."""
    (found,) = intel.run(VERSIONS, "", "k", [1], [1], [oracle.Buffer(np.zeros(2, np.int32))])
    assert found[0] == 120
    assert found[1] >= 200
    (found,) = intel.run(VERSIONS, "-cl-std=CL2.0", "k", [1], [1], [oracle.Buffer(np.zeros(2, np.int32))])
    assert found[0] == 200


@pytest.mark.parametrize("name", NEWER)
def test_what_needs_2_0_is_refused_without_it(intel: oracle.Oracle, name: str) -> None:
    source, arg = NEWER[name], oracle.Buffer(np.zeros(2, np.int32))
    with pytest.raises(oracle.OracleError):
        intel.run(source, "", "k", [1], [1], [arg])
    assert intel.run(source, "-cl-std=CL2.0", "k", [1], [1], [arg])[0].tolist() == [1, 0]
    for device in ("sim:adreno-640", "sim:adreno-740"):
        with pytest.raises(BuildError, match=r"\nwithout -cl-std this is OpenCL C 1\.2: it compiles with -cl-std=CL2\.0$"):
            open_device(device).build(source)
        assert run(device, source, "-cl-std=CL2.0") == [1, 0]


@pytest.mark.parametrize("name", OLD)
def test_what_1_2_has_needs_no_option(judge: oracle.Oracle, name: str) -> None:
    arg = oracle.Buffer(np.zeros(2, np.int32))
    assert judge.run(OLD[name], "", "k", [1], [1], [arg])[0].tolist() == run("sim:adreno-740", OLD[name]) == [1, 0]


def test_what_is_wrong_in_every_version_gets_no_advice() -> None:
    for device in DEVICES:
        with pytest.raises(BuildError) as caught:
            open_device(device).build("__kernel void k(__global int *a) { a[0] = nonsense; }")
        assert "-cl-std" not in str(caught.value)


def test_sub_groups_are_of_2_0() -> None:
    """cl_khr_subgroups is an extension of OpenCL 2.0."""
    source = "__kernel void k(__global int *a) { a[0] = sub_group_reduce_add(1); }"
    target = FrontEndTarget(300, frozenset({"cl_khr_subgroups"}))
    with pytest.raises(BuildError, match="it compiles with -cl-std=CL2"):
        compile_source(source, target=target)
    compile_source(source, "-cl-std=CL2.0", target=target)
