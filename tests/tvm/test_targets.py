"""Target names, and a device's limits in TVM's target."""

from __future__ import annotations

import pytest
from operators import OPERATORS

import adreno_sim
from adreno_sim.compiler.lower.pipeline import lower, split_sources
from adreno_sim.compiler.lower.targets import TAGS, make_target, shorthand
from adreno_sim.compiler.tvm_bridge.versions import import_tvm

pytestmark = pytest.mark.tvm


@pytest.mark.parametrize(("short", "tag"), TAGS.items())
def test_shorthand_and_tag_are_the_same(short: str, tag: str) -> None:
    assert shorthand(short) == shorthand(tag) == short
    assert str(make_target(short)) == str(make_target(tag))


def test_only_texture_targets_have_textures() -> None:
    assert {name: "texture" in make_target(name).keys for name in TAGS} == {"texture": True, "buffer": False, "clml": False}


@pytest.mark.parametrize("name", ["textures", "", "llvm", "qcom/adreno"])
def test_other_names_are_refused_with_what_there_is(name: str) -> None:
    with pytest.raises(
        adreno_sim.AdrenoSimError, match=r"expected one of texture, buffer, clml, clml-texture or qcom/adreno-opencl-texture"
    ):
        make_target(name)


def test_limits_of_a_device_replace_tvms() -> None:
    target = make_target("texture", {"IMAGE2D_MAX_WIDTH": 8192, "IMAGE_MAX_ARRAY_SIZE": 256, "MAX_WORK_GROUP_SIZE": 64})
    assert int(target.attrs["texture_spatial_limit"]) == 8192
    assert int(target.attrs["texture_depth_limit"]) == 256
    assert int(target.attrs["max_num_threads"]) == int(make_target("texture").attrs["max_num_threads"])


def test_a_tvm_target_is_taken_as_it_is() -> None:
    target = import_tvm().target.Target("qcom/adreno-opencl")
    assert make_target(target, {"IMAGE2D_MAX_WIDTH": 1}) is target


@pytest.mark.parametrize("name", ["qcom/adreno-vulkan-texture", "qcom/adreno-vulkan", "llvm"])
def test_a_tvm_target_that_is_not_opencl_is_refused(name: str) -> None:
    with pytest.raises(adreno_sim.UnsupportedError, match=r"a target of kind (vulkan|llvm): expected opencl"):
        make_target(import_tvm().target.Target(name))


def test_a_narrow_device_gets_no_wide_images() -> None:
    """What exceeds the limit stays in buffers, as it does for a network too wide for any device."""
    module = OPERATORS["residual_block"]()
    assert "image2d_array_t" in "".join(lower(module, "texture").sources.values())
    narrow = {"IMAGE2D_MAX_WIDTH": 8, "IMAGE_MAX_ARRAY_SIZE": 1}
    assert "image2d_array_t" not in "".join(lower(module, "texture", limits=narrow).sources.values())


HALVES = """#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#else
#error "no half"
#endif
"""


def test_a_program_asks_only_for_what_its_own_kernel_needs() -> None:
    """TVM declares all kernels of a module in front of each; lines keep their numbers."""
    declared = "__kernel void f(__global float* a);\n__kernel void h(__global half* a);\n"
    floats, halves = "__kernel void f(__global float* a) { }\n", "__kernel void h(__global half* a) { }\n"
    text = f"// Function: f\n{HALVES}{declared}{floats}// Function: h\n{HALVES}{declared}{halves}"
    pieces = split_sources(text)
    assert pieces["f"] == "\n" * 5 + "__kernel void f(__global float* a);\n\n" + floats
    assert pieces["h"] == HALVES + "\n__kernel void h(__global half* a);\n" + halves


def test_float_kernels_of_a_model_with_halves_build_without_halves() -> None:
    from tvm.script import ir as I
    from tvm.script import relax as R

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((1, 4, 8, 8), "float32")) -> R.Tensor((1, 4, 8, 8), "float16"):
            with R.dataflow():
                a = R.nn.softmax(x, axis=1)
                b = R.sum(a, axis=[1], keepdims=True)
                c = R.divide(a, b)
                d = R.nn.softmax(R.astype(c, "float16"), axis=2)
                R.output(d)
            return d

    sources = lower(Module, "buffer").sources
    asking = {name: "cl_khr_fp16" in source for name, source in sources.items()}
    assert asking == {name: "half" in source.split("{", 1)[1] or "half*" in source for name, source in sources.items()}
    assert set(asking.values()) == {True, False}


def test_sources_are_split_into_programs() -> None:
    text = "// Function: a_kernel\n__kernel void a_kernel() {}\n\n// Function: b\nint x;\n"
    assert split_sources(text) == {"a_kernel": "__kernel void a_kernel() {}\n\n", "b": "int x;\n"}


def test_open_cl_ml_takes_one_series_of_tvm(monkeypatch: pytest.MonkeyPatch) -> None:
    from adreno_sim.compiler.clml import is_clml_runtime_enabled, partition

    monkeypatch.setattr(partition, "tvm_series", lambda: "0.26")
    with pytest.raises(adreno_sim.UnsupportedError, match=r"OpenCL ML is supported with TVM 0\.27"):
        lower(OPERATORS["conv2d"](), "clml")
    assert not is_clml_runtime_enabled()
