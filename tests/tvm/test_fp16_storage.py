"""Networks with depthwise convolutions in textures, as they are and stored in float16."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import relax_models

import adreno_sim
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.check.bundle import make_bundle
from adreno_sim.compiler.importers.fp16_storage import output_bound, with_storage

pytestmark = pytest.mark.tvm


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_mobilenet_in_textures(dtype: str, adreno: Any) -> None:
    report = adreno_sim.check(relax_models.mobilenet(), device=adreno, target="texture", dtype=dtype)
    assert report.ok, str(report)
    assert any("packed_conv2d" in kernel.name for kernel in report.kernels)
    (output,) = report.outputs
    assert output.ok and not output.vacuous
    assert (output.max_abs > 1e-4 * output.rms) == (dtype == "float16")  # rounded to half, or not


def test_a_bundle_in_halves_keeps_its_bound(adreno: Any, tmp_path: Path) -> None:
    path = tmp_path / "half.asim"
    make_bundle(relax_models.mobilenet(), path, golden=True, device=adreno, dtype="float16")
    report = adreno_sim.check(path, device=adreno)
    assert report.ok and report.outputs, str(report)
    golden = CompiledModel.load(path).golden
    assert golden is not None and golden.bound == output_bound(relax_models.mobilenet(), "float16")


def test_the_bound_grows_with_the_layers() -> None:
    module = relax_models.mobilenet()
    assert output_bound(module, "float32") is None
    assert output_bound(module, "float16") == pytest.approx(2.0**-8 * 11**0.5)


def test_sums_take_the_type_asked_for() -> None:
    module = relax_models.convolutions()
    assert with_storage(module, "float32") is module
    for accumulate in ("float32", "float16"):
        assert f'out_dtype="{accumulate}"' in with_storage(module, "float16", accumulate)["main"].script()


def test_another_type_is_refused() -> None:
    with pytest.raises(adreno_sim.AdrenoSimError, match="dtype 'bfloat16': expected one of float32, float16"):
        with_storage(relax_models.convolutions(), "bfloat16")
