"""Networks with depthwise convolutions in textures, as they are and stored in float16."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_models

import adreno_sim
from adreno_sim.base.errors import UncompiledError
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.check.bundle import make_bundle
from adreno_sim.compiler.importers.fp16_storage import with_storage
from adreno_sim.compiler.tvm_bridge.versions import import_tvm, tensor_type

pytestmark = pytest.mark.tvm


@pytest.mark.parametrize("blocks", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_mobilenet_in_textures(dtype: str, blocks: int, adreno: Any) -> None:
    report = adreno_sim.check(relax_models.mobilenet(blocks=blocks), device=adreno, target="texture", dtype=dtype)
    assert report.ok, str(report)
    assert any("packed_conv2d" in kernel.name for kernel in report.kernels)
    *_, output = report.outputs
    assert output.reference == "TVM llvm"
    assert output.ok
    assert not output.vacuous
    assert (output.max_abs > 1e-4 * output.rms) == (dtype == "float16")  # rounded to half, or not


def test_where_tvm_cannot_mix_precisions_it_is_refused() -> None:
    """TVM imports ONNX's Pad as a call of a function, whose name has no tensor's type."""
    tvm = import_tvm()
    relax = tvm.relax
    builder, x = relax.BlockBuilder(), relax.Var("x", tensor_type((1, 4, 5, 5), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            made = builder.emit(relax.op.nn.conv2d(x, relax.const(np.ones((4, 4, 3, 3), "float32"))))
            result = builder.emit_output(builder.call_te(lambda data: tvm.topi.nn.pad(data, [0, 0, 1, 1]), made))
        builder.emit_func_output(result)
    with pytest.raises(UncompiledError, match="ToMixedPrecision fails on this module: InternalError"):
        with_storage(builder.get(), "float16")


def test_a_bundle_in_halves_keeps_how_far_off_results_may_be(adreno: Any, tmp_path: Path) -> None:
    path = tmp_path / "half.asim"
    make_bundle(relax_models.mobilenet(blocks=1), path, golden=True, device=adreno, dtype="float16")
    report = adreno_sim.check(path, device=adreno)
    assert report.ok, str(report)
    assert report.outputs, str(report)
    golden = CompiledModel.load(path).golden
    assert golden is not None
    assert golden.bound is None
    (output,) = golden.outputs("TVM llvm")
    assert output.allowed is not None
    assert 0 < output.allowed.max() < 0.1 * np.abs(output.array).max()


@pytest.mark.each_value
@pytest.mark.parametrize("accumulate", ["float32", "float16"])
@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_sums_of_either_type_are_right(target: str, accumulate: str, adreno: Any) -> None:
    report = adreno_sim.check(relax_models.convolutions(), device=adreno, target=target, dtype="float16", accumulate=accumulate)
    assert report.ok, str(report)
    assert {output.reference for output in report.outputs} == {"float64", "TVM llvm"}, str(report)


def test_sums_take_the_type_asked_for() -> None:
    module = relax_models.convolutions()
    assert with_storage(module, "float32") is module
    for accumulate in ("float32", "float16"):
        assert f'out_dtype="{accumulate}"' in with_storage(module, "float16", accumulate)["main"].script()


def test_constants_are_rounded_once() -> None:
    """Not by whatever pass comes to it: a weight's rounding is the same everywhere, so it is no error of a device."""
    text = with_storage(relax_models.mobilenet(), "float16")["main"].script()
    assert "R.astype(lv" in text
    assert "metadata[" in text
    assert "R.astype(metadata[" not in text


def test_another_type_is_refused() -> None:
    with pytest.raises(adreno_sim.AdrenoSimError, match="dtype 'bfloat16': expected one of float32, float16"):
        with_storage(relax_models.convolutions(), "bfloat16")


@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_a_clip_of_a_convolution_in_halves(target: str, adreno: Any) -> None:
    """Of hard sigmoid and swish; TVM's pass takes its limits for tensors. Clips of integers stay as they are."""
    relax = import_tvm().relax
    builder, x = relax.BlockBuilder(), relax.Var("x", tensor_type((1, 4, 6, 6), "float32"))
    weights = np.random.default_rng(0).normal(size=(4, 4, 3, 3)).astype("float32")
    with builder.function("main", [x]):
        with builder.dataflow():
            made = builder.emit(relax.op.nn.conv2d(x, relax.const(weights)))
            whole = builder.emit(relax.op.clip(builder.emit(relax.op.astype(made, "int32")), -1, 1))
            clipped = builder.emit(relax.op.clip(made, -0.5, 0.75))
            result = builder.emit_output(relax.op.add(clipped, relax.op.astype(whole, "float32")))
        builder.emit_func_output(result)
    text = with_storage(builder.get(), "float16")["main"].script()
    assert text.count("R.clip(") == text.count("R.maximum(") == text.count("R.minimum(") == 1
    report = adreno_sim.check(builder.get(), device=adreno, target=target, dtype="float16")
    assert report.ok, str(report)
    assert any(output.ok and not output.vacuous for output in report.outputs), str(report)
