"""Target names, and a device's limits in TVM's target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from operators import OPERATORS

import adreno_sim
from adreno_sim.cli.main import main
from adreno_sim.compiler.lower.pipeline import lower, split_sources
from adreno_sim.compiler.lower.targets import TAGS, make_target, shorthand, thread_limit
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


def test_the_thread_limit_of_a_target_needs_no_tvm() -> None:
    given = ["texture", "buffer", {"kind": "opencl", "max_num_threads": 128}, '{"kind": "opencl", "max_num_threads": 512}']
    assert [thread_limit(one) for one in given] == [256, 256, 128, 512]
    assert all(thread_limit(one) == int(make_target(one).attrs["max_num_threads"]) for one in given)
    assert thread_limit(make_target(given[2])) == 128


def test_a_tvm_target_is_taken_as_it_is() -> None:
    target = import_tvm().target.Target("qcom/adreno-opencl")
    assert make_target(target, {"IMAGE2D_MAX_WIDTH": 1}) is target


@pytest.mark.parametrize("name", ["qcom/adreno-vulkan-texture", "qcom/adreno-vulkan", "llvm"])
def test_a_tvm_target_that_is_not_opencl_is_refused(name: str) -> None:
    with pytest.raises(adreno_sim.UnsupportedError, match=r"a target of kind (vulkan|llvm): expected opencl"):
        make_target(import_tvm().target.Target(name))


ADRENO = {"kind": "opencl", "device": "adreno"}
TEXTURES = {**ADRENO, "keys": ["adreno", "opencl", "gpu", "texture"]}


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        (ADRENO, {"adreno"}),
        (TEXTURES, {"adreno", "texture"}),
        (json.dumps(ADRENO), {"adreno"}),
        (json.dumps(TEXTURES), {"adreno", "texture"}),
        ({"tag": "qcom/adreno-opencl-texture", "texture_depth_limit": 7}, {"adreno", "texture"}),
        ({**ADRENO, "host": "llvm"}, {"adreno"}),
        ("opencl", set()),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),  # alike in every process
)
def test_whatever_tvm_makes_a_target_of_is_taken(given: Any, keys: set[str]) -> None:
    target = make_target(given)
    assert target.kind.name == "opencl"
    assert set(target.keys) - {"opencl", "gpu"} == keys
    assert make_target(import_tvm().target.Target(given)).keys == target.keys


@pytest.mark.parametrize("given", [ADRENO, TEXTURES, json.dumps(TEXTURES), {**TEXTURES, "host": {"kind": "llvm"}}], ids=str)
def test_a_described_target_is_checked_like_a_tag(adreno: Any, given: Any) -> None:
    """The same kernels as with the tag of the same keys, right on the device and against TVM llvm."""
    textures = "texture" in str(given)
    report = adreno_sim.check(OPERATORS["residual_block"](), device=adreno, target=given)
    assert report.ok, report
    assert report.target == TAGS["texture" if textures else "buffer"], report
    sources = lower(OPERATORS["residual_block"](), given).sources
    assert sources == lower(OPERATORS["residual_block"](), "texture" if textures else "buffer").sources


def test_limits_fill_in_what_a_description_leaves_open() -> None:
    limits = {"IMAGE2D_MAX_WIDTH": 8192, "IMAGE_MAX_ARRAY_SIZE": 256}
    target = make_target({**TEXTURES, "texture_depth_limit": 7}, limits)
    assert (int(target.attrs["texture_spatial_limit"]), int(target.attrs["texture_depth_limit"])) == (8192, 7)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("opencl -device=adreno", r"""takes no options in a string; write '{"kind": "opencl", "device": "adreno"}'$"""),
        ("opencl -keys=adreno,texture", r"""write '{"kind": "opencl", "keys": \["adreno", "texture"\]}'$"""),
        ("{bad", r"expected JSON, as .*: Expecting property name"),
        ({"kind": "opencl", "bogus": 1}, r"TVM does not take it: .*bogus"),
        ({"device": "adreno"}, r'TVM does not take it: Field "kind" is not found'),
        (5, r"expected a name, a dict, its JSON, or a tvm\.target\.Target"),
    ],
)
def test_what_tvm_does_not_take_is_refused_in_a_line(given: Any, said: str) -> None:
    with pytest.raises(adreno_sim.AdrenoSimError, match=said) as raised:
        make_target(given)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("given", [{"kind": "llvm"}, '{"kind": "vulkan"}'])
def test_a_description_that_is_not_opencl_is_refused(given: Any) -> None:
    with pytest.raises(adreno_sim.UnsupportedError, match=r"a target of kind (vulkan|llvm): expected opencl"):
        make_target(given)


def test_commands_take_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.py"
    model.write_text(
        "from tvm.script import ir as I, relax as R\n\n\n@I.ir_module\nclass Model:\n    @R.function\n"
        '    def main(x: R.Tensor((1, 4, 6, 6), "float32")):\n        with R.dataflow():\n'
        "            y = R.nn.relu(x)\n            R.output(y)\n        return y\n"
    )
    data = tmp_path / "data.json"
    assert main(["check", str(model), "--target", json.dumps(TEXTURES), "--json", str(data)]) == 0
    assert json.loads(data.read_text())["target"] == TAGS["texture"]
    assert main(["scopes", str(model), "--target", json.dumps(TEXTURES), "--json", str(data)]) == 0
    assert json.loads(json.loads(data.read_text())["target"]) == TEXTURES
    results = ["--results", str(tmp_path / "sweep"), "--json", str(data)]
    assert main(["sweep", str(model), "--targets", "buffer", json.dumps(TEXTURES), *results, "--jobs", "1"]) == 0
    assert len(json.loads(data.read_text())["cases"]) == 2
    capsys.readouterr()
    assert main(["check", str(model), "--target", "opencl -device=adreno"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


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
