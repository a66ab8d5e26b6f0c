# ruff: noqa: E501 (kernel sources read better unbroken)
"""Dot products of packed bytes, Qualcomm's sub-group functions and vectors of 32, against NumPy and plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Buffer

from adreno_sim.backends.open import open_device
from adreno_sim.base.errors import DeviceError, UnsupportedError
from adreno_sim.base.specs import BufferSpec
from adreno_sim.frontend.program import FrontEndTarget
from adreno_sim.frontend.wide_vectors import name_upper_lanes

WAVE = 8
QCOM = FrontEndTarget(
    300,
    frozenset(
        (
            "cl_qcom_dot_product8", "cl_qcom_subgroup_shuffle", "cl_qcom_extra_vector_types", "cl_khr_subgroups",
            "cl_khr_integer_dot_product", "cl_qcom_reqd_sub_group_size",
        )
    ),
)  # fmt: skip

SIGNED, UNSIGNED = np.int8, np.uint8
FORMS = {
    "uu": (UNSIGNED, UNSIGNED, np.uint32), "ss": (SIGNED, SIGNED, np.int32),
    "us": (UNSIGNED, SIGNED, np.int32), "su": (SIGNED, UNSIGNED, np.int32),
}  # fmt: skip


def bytes_of(first: np.dtype, second: np.dtype, count: int = 256) -> tuple[np.ndarray, np.ndarray]:
    """Random fours of bytes, the extremes among them."""
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 256, (count, 4)).astype(np.uint8) for _ in range(2))
    a[:4], b[:4] = (0, 255, 128, 127), ((255,) * 4, (255,) * 4, (128,) * 4, (0, 127, 128, 255))
    a[4:6], b[4:6] = 128, 128
    return a.view(first), b.view(second)


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a.astype(np.int64) * b.astype(np.int64)).sum(axis=1)


@pytest.mark.parametrize("form", FORMS)
def test_dot_products_in_both_spellings(engine, form):
    first, second, result = FORMS[form]
    a, b = bytes_of(first, second)
    limits = np.iinfo(result)
    acc = np.random.default_rng(6).integers(limits.min, limits.max, len(a), dtype=result, endpoint=True)
    acc[::3], acc[1::3] = limits.max, limits.min
    types = {SIGNED: "char4", UNSIGNED: "uchar4"}
    scalar = "uint" if result is np.uint32 else "int"
    source = f"""__kernel void k(__global const {types[first]}* a, __global const {types[second]}* b, __global const {scalar}* c, __global {scalar}* r) {{
      int i = get_global_id(0), n = get_global_size(0); uint p = as_uint(a[i]), q = as_uint(b[i]);
      r[i] = dot(a[i], b[i]); r[n + i] = dot_acc_sat(a[i], b[i], c[i]);
      r[2*n + i] = dot_4x8packed_{form}_{scalar}(p, q); r[3*n + i] = dot_acc_sat_4x8packed_{form}_{scalar}(p, q, c[i]); }}"""
    args = [Buffer(a), Buffer(b), Buffer(acc), Buffer(np.zeros(4 * len(a), result))]
    out = engine.run(source, "k", [len(a)], [32], args, target=QCOM, options="-cl-std=CL3.0")
    plain, saturated = exact(a, b), np.clip(exact(a, b) + acc.astype(np.int64), limits.min, limits.max)
    assert (saturated == limits.max).any()
    assert not out.findings
    np.testing.assert_array_equal(out.outputs[3].reshape(4, -1), [plain, saturated, plain, saturated])


@pytest.mark.parametrize(("name", "form"), [("qcom_dot8_acc", "su"), ("qcom_udot8_acc", "uu")])
def test_qualcomms_dot_products(engine, name, form):
    first, second, result = FORMS[form]
    a, b = bytes_of(first, second)
    acc = np.arange(len(a)).astype(result) - result(0)
    scalar = "uint" if result is np.uint32 else "int"
    source = f"""__kernel void k(__global const uint* a, __global const uint* b, __global const {scalar}* c, __global {scalar}* r) {{
      int i = get_global_id(0); r[i] = {name}(a[i], b[i], c[i]); }}"""
    args = [Buffer(a.view(np.uint32)), Buffer(b.view(np.uint32)), Buffer(acc), Buffer(np.zeros(len(a), result))]
    out = engine.run(source, "k", [len(a)], [32], args, target=QCOM)
    np.testing.assert_array_equal(out.outputs[3], (exact(a, b) + acc).astype(result))


@pytest.mark.each_value
@pytest.mark.parametrize("how", ["xor", "up", "down"])
@pytest.mark.parametrize("width", [0, 4])
@pytest.mark.parametrize("group", [16, 12])
def test_qualcomms_shuffles(engine, how, width, group):
    """Groups of 12 leave a sub-group of 4 lanes behind one of 8."""
    source = f"""__kernel void k(__global const float* a, __global const uint* d, __global float* r) {{ int i = get_global_id(0);
      r[i] = qcom_sub_group_shuffle_{how}(a[i], d[i], (uint){width}, -a[i]); }}"""
    a = np.arange(1, 49, dtype=np.float32)
    by = np.random.default_rng(1).integers(0, 10, 48).astype(np.uint32)
    out = engine.run(source, "k", [48], [group], [Buffer(a), Buffer(by), Buffer(np.zeros_like(a))], target=QCOM, wave_size=WAVE)
    want = []
    for i in range(48):
        local = i % group
        lane, size = local % WAVE, min(WAVE, group - local // WAVE * WAVE)
        source_lane = {"xor": lane ^ int(by[i]), "up": lane - int(by[i]), "down": lane + int(by[i])}[how]
        segment = width or size
        inside = 0 <= source_lane < size and source_lane // segment == lane // segment
        want.append(a[i - lane + source_lane] if inside else -a[i])
    assert out.outputs[2].tolist() == want
    assert not out.findings


def test_vectors_of_32_have_components_up_to_sv(engine):
    source = """#pragma OPENCL EXTENSION cl_qcom_extra_vector_types : enable
    __kernel void k(__global const float* a, __global float* r) { float32 v = (float32)(0.0f);
      v.lo = vload16(0, a); v.hi = vload16(1, a); v = v * 2.0f + 1.0f; v.sg += 100.0f; v.sv = v.sh; v.sij = v.sji;
      vstore16(v.lo, 0, r); vstore16(v.hi, 1, r); r[32] = v.sF + v.sG; }"""
    a = np.arange(32, dtype=np.float32)
    out = engine.run(source, "k", [1], [1], [Buffer(a), Buffer(np.zeros(33, np.float32))], target=QCOM).outputs[1]
    want = np.append(a * 2 + 1, 0)
    want[16] += 100
    want[31], want[18], want[19] = want[17], want[19], want[18]
    want[32] = want[15] + want[16]
    np.testing.assert_array_equal(out, want)


def test_a_source_that_does_not_ask_for_wide_vectors_is_left_alone():
    source = "struct { int sg; } v; v.sg = 1; // #pragma OPENCL EXTENSION cl_qcom_extra_vector_types : enable"
    assert name_upper_lanes(source) == source
    on = "#pragma OPENCL EXTENSION cl_qcom_extra_vector_types : enable\n"
    assert name_upper_lanes(on + "a.sg + b[1].sghv + c.s0g + d.sgx + sg") == on + "a.hi.s0 + b[1].hi.s01f + c.s0g + d.sgx + sg"


@pytest.mark.parametrize(("wanted", "size"), [("half", 64), ("full", 128), ("", 128)])
def test_a_kernel_gets_the_sub_group_size_that_it_asks_for(wanted, size):
    device = open_device("sim:adreno-750")
    attribute = f'__attribute__((qcom_reqd_sub_group_size("{wanted}")))' if wanted else ""
    source = f"""#pragma OPENCL EXTENSION cl_khr_subgroups : enable
    {attribute} __kernel void k(__global uint* r) {{ r[get_global_id(0)] = get_sub_group_size() * 1000 + sub_group_reduce_add(1u); }}"""
    spec = BufferSpec(1024, "uint32")
    storage = device.allocate(1024)
    view = device.view(storage, spec)
    device.launch(device.build(source, "-cl-std=CL3.0")["k"], (256,), (256,), [view])
    assert device.read(view).tolist() == [size * 1000 + size] * 256


@pytest.mark.parametrize("mark", ["__attribute__((sub_group_uniform))", '__attribute__((annotate("other")))', ""])
def test_weights_that_a_sub_group_reads_from_memory_may_be_large(mark):
    device = open_device("sim:adreno-750")
    source = f"__kernel void k(__global float* r, __constant float4* in, __constant float4* w {mark}) {{ r[0] = w[8191].x + in[0].y; }}"
    kernel = device.build(source, "-cl-std=CL3.0")["k"]
    assert ("sub_group_uniform" in kernel.params[2].qualifiers) == ("uniform" in mark)
    out, small, large = (device.view(device.allocate(n), BufferSpec(n, "float32")) for n in (16, 64, 131072))
    device.write(small, np.ones(16, np.float32))
    device.write(large, np.arange(32768, dtype=np.float32))
    if "uniform" in mark:
        device.launch(kernel, (1,), (1,), [out, small, large])
        assert device.read(out)[0] == 32765
    with pytest.raises(DeviceError, match="131072 bytes in a __constant argument, MAX_CONSTANT_BUFFER_SIZE = 65536"):
        device.launch(kernel, (1,), (1,), [out, large, large])


def test_what_public_sources_do_not_describe_is_refused_by_name():
    device = open_device("sim:adreno-750")
    source = "__kernel void k(__global uint* r) { r[0] = 0; qcom_sub_group_sync(7); }"
    view = device.view(device.allocate(64), BufferSpec(64, "uint32"))
    with pytest.raises(UnsupportedError, match=r"qcom_sub_group_sync\(uint\) at 1:"):
        device.launch(device.build(source, "")["k"], (1,), (1,), [view])


def test_a_query_that_nobody_documents_is_refused_by_name_in_vectors_too():
    source = "kernel void k(global uint *a) { if (a[get_global_id(0)]) qcom_sub_group_sync(7); }"
    device = open_device("sim:adreno-830")
    view = device.view(device.allocate(256), BufferSpec(256, "uint32"))
    with pytest.raises(UnsupportedError, match="qcom_sub_group_sync"):
        device.launch(device.build(source, "-cl-std=CL2.0")["k"], (64,), (64,), [view])
