"""Known faults of drivers: each has a kernel that meets it, a twin that does not, and a driver that does not have it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import adreno_sim
from adreno_sim.backends.sim.driver_errata import find_errata
from adreno_sim.base.specs import BufferSpec
from adreno_sim.cli.main import main
from adreno_sim.findings import Kind
from adreno_sim.profiles.errata import errata
from adreno_sim.profiles.profile import load

# ruff: noqa: E501 (a case reads better unbroken)
ARGS = "(__global float *o, __global const uint *a, float e{})"
I = "int i = get_global_id(0); "  # noqa: E741


def kernel(body: str, name: str = "k", before: str = "", more: str = "") -> str:
    return f"{before}__kernel void {name}{ARGS.format(more)} {{ {I}{body} }}"


SUM, SHUFFLE = "o[i] = {}(o[i]);", "o[i] = qcom_sub_group_shuffle_xor(o[i], {}, 0.0f);"
GROUP = "__attribute__((reqd_work_group_size({}, 1, 1))) "
CASES = {
    "sub-group-reduction": (
        "adreno-660", kernel("o[i] = sub_group_reduce_add(o[i]);"), kernel("o[i] = sub_group_broadcast(o[i], 0u);"), "adreno-730"
    ),
    "shuffle-over-the-wave": (
        "adreno-650,driver=E031.37.12.07", kernel(SHUFFLE.format("1u, 0u")), kernel(SHUFFLE.format("1u, 8u")), "adreno-650"
    ),
    "shuffle-beyond-half-a-wave": (
        "adreno-x1-85,device_version=OpenCL 3.0 Qualcomm(R) Adreno(TM) X2-90 GPU", kernel(SHUFFLE.format("32u, 0u")),
        kernel(SHUFFLE.format("16u, 0u")), "adreno-x1-85",
    ),
    "nibbles-in-bytes": (
        "adreno-830", kernel("uchar h = a[i] & 15; o[i] = (uchar)(h << 4);"), kernel("uint h = a[i] & 15; o[i] = (uchar)(h << 4);"), "adreno-840"
    ),
    "scale-min-k4": (
        "adreno-830", kernel("o[i] = get_scale_min_k4(o[i]);", "kernel_moe", "float get_scale_min_k4(float x) { return x; }\n"),
        kernel("o[i] = get_scale_min_k4(o[i]);", "kernel_dense", "float get_scale_min_k4(float x) { return x; }\n"), "adreno-840",
    ),
    "rsqrt-of-a-sum": (
        "adreno-830,driver=E031.47.12.01", kernel("o[i] = rsqrt(o[i] / 8 + e);"), kernel("float s = o[i] / 8 + e; o[i] = rsqrt(s) + rsqrt(1.0e+2f);"),
        "adreno-830",
    ),
    "largest-required-group": (
        "adreno-750", kernel("o[i] = e;", before=GROUP.format(1024)), kernel("o[i] = e;", before=GROUP.format(256)), "adreno-740"
    ),
    "flat-q4-0-mv": (
        "adreno-660", kernel("o[i] = e;", "kernel_mul_mv_q4_0_f32_1d_8x_flat"), kernel("o[i] = e;", "kernel_mul_mv_q4_0_f32"), "adreno-730"
    ),
    "flat-q6-k": (
        "adreno-740", kernel("o[i] = e;", "kernel_mul_mv_q6_K_f32_flat"), kernel("o[i] = e;", "kernel_mul_mv_q6_K_f32"), "adreno-740,driver=E031.41.03.44"
    ),
    "gqa-r4-img": (
        "adreno-730", kernel("o[i] = e;", "kernel_mul_mat_f16_f32_l4_x8_gqa_r4_img"), kernel("o[i] = e;", "kernel_mul_mat_f16_f32_l4"),
        "adreno-730,driver=E031.38.11.11",
    ),
    "mixed-flash-attention": ("adreno-740", kernel("o[i] = e;", "flash_attn_f32_f16"), kernel("o[i] = e;", "flash_attn_f16"), "adreno-750"),
    "moe-repack": ("adreno-750", kernel("o[i] = e;", "kernel_repack_moe"), kernel("o[i] = e;", "kernel_repack"), "adreno-830"),
    "unrolled-products": (
        "adreno-740,all_drivers=true", kernel("float s = e; " + "s = mad(s, e, 1.0f); " * 512 + "o[i] = s;"),
        kernel("float s = e; for (int n = 0; n < 512; n++) s = mad(s, e, 1.0f); o[i] = s;"), "adreno-740",
    ),
    "two-constant-registers": (
        "adreno-740,all_drivers=true", kernel("o[i] = min(n, (int) get_local_size(0)) * e;", more=", int n"),
        kernel("volatile int size = get_local_size(0); o[i] = min(n, size) * min(i, (int) get_local_size(0));", more=", int n"), "adreno-740",
    ),
    "nested-update": (
        "adreno-740,all_drivers=true", kernel("for (int y = 0; y < n; y++) for (int x = 0; x < 8; x++) o[i] += a[y * 8 + x];", more=", int n"),
        kernel("for (int y = 0; y < n; y++) { float s = o[i]; for (int x = 0; x < 8; x++) s += a[y * 8 + x]; o[i] = s; }", more=", int n"), "adreno-740",
    ),
    "half-scale-gaussian": ("adreno-740,all_drivers=true", kernel("o[i] = e;", "gaussian1x5_sub_x"), kernel("o[i] = e;", "gaussian3x3"), "adreno-740"),
    "clblast-xgemm-tuner": ("adreno-650,all_drivers=true", kernel("o[i] = e;", "Xgemm"), kernel("o[i] = e;", "XgemmDirectNN"), "adreno-650"),
}  # fmt: skip
HEAD = "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"


def found(device: str, source: str) -> set[str]:
    opened = adreno_sim.open_device(f"sim:{device}")
    program = opened.build(HEAD + source, "-cl-std=CL2.0")
    (built,) = (program[name] for name in program.kernel_names())
    return {one.message.partition(":")[0] for one in find_errata(built, opened.profile, opened.options.all_drivers)}


def test_every_erratum_has_its_pair() -> None:
    assert set(CASES) == {one.name for one in errata()}
    for one in errata():
        assert one.construct
        assert one.symptom
        assert one.workaround
        assert one.source
        assert (
            one.kernel
            or one.calls
            or one.text
            or one.required_group
            or one.multiply_adds
            or one.narrowed_nibbles
            or one.uniform_operands
            or one.nested_update
        )


@pytest.mark.share()
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_meets_it_and_its_twin_does_not(name: str) -> None:
    device, source, twin, other = CASES[name]
    assert name in found(device, source)
    assert name not in found(device, twin)
    assert name not in found(other, source)
    if "all_drivers" not in other:
        assert name in found(f"{other},all_drivers=true", source)


STRIDED = "for (int j = get_local_id(0); j < 8; j += {}) o[j * n] = e;"


@pytest.mark.parametrize(("step", "meets"), [("get_local_size(0)", True), ("64", False), ("get_global_size(0)", False)])
def test_a_product_with_what_grows_by_the_size_of_the_group_is_one(step: str, meets: bool) -> None:
    device = "adreno-740,all_drivers=true"
    assert ("two-constant-registers" in found(device, kernel(STRIDED.format(step), more=", ulong n"))) == meets


def test_versions_are_compared_by_their_numbers() -> None:
    reduction = next(one for one in errata() if one.name == "sub-group-reduction")
    known = {
        "E031.37.12.07": True,
        "E031.38.01.08": True,
        "E031.38.10.99": True,
        "E031.38.11.0": False,
        "E031.38.11.00": False,
        "E031.41": False,
    }
    assert {version: reduction.is_of(version, "") for version in known} == known
    assert not reduction.is_of("DX.18.05.00", "")
    assert load("adreno-630,driver=mesa").compiler_version == ""


def test_a_device_warns_once_of_each_kernel() -> None:
    device = adreno_sim.open_device("sim:adreno-830")
    program = device.build(CASES["nibbles-in-bytes"][1], "-cl-std=CL2.0")
    views = [device.view(device.allocate(256), BufferSpec(256, dtype)) for dtype in ("float32", "uint32")]
    device.write(views[1], np.arange(64, dtype=np.uint32))
    for _ in range(2):
        device.launch(program["k"], (64,), (64,), [*views, np.float32(1)])
    warned = device.take_warnings()
    assert [(one.kind, one.kernel, one.line) for one in warned] == [(Kind.DRIVER_ERRATUM, "k", 1)]
    assert "E031.47.18.42" in warned[0].message
    assert "keep uint" in warned[0].message
    assert "https://" in warned[0].message
    device.launch(program["k"], (32,), (32,), [*views, np.float32(1)])
    assert not device.take_warnings()


def test_the_command_line_asks_for_all_drivers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.cl").write_text(
        "__kernel void k(__global uchar *o) { int i = get_global_id(0); uchar h = o[i] & 15; o[i] = h << 4; }"
    )
    (tmp_path / "k.toml").write_text(
        'global_size = [4]\n[[argument]]\nkind = "buffer"\nname = "o"\ndtype = "uint8"\ncount = 4\ndata = "zeros"\n'
    )
    words = ["kernel", str(tmp_path / "k.cl"), "--launch", str(tmp_path / "k.toml"), "--json", "-"]
    for more, expected in (([], []), (["--all-drivers"], ["driver-erratum"])):
        main([*words, *more])
        report = json.loads(capsys.readouterr().out)
        assert [one["kind"] for one in report["findings"]] == expected
