"""Models compiled by TVM, saved, and run from the file in a process without TVM: by another OpenCL, and by the simulator."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.device, pytest.mark.tvm]

tvm_installed = util.find_spec("tvm") is not None
onnx_installed = util.find_spec("onnx") is not None


@pytest.fixture(scope="session")
def run_bundle(opencl_child, tmp_path_factory):
    """run_bundle(model, inputs, device) -> (outputs, launches)."""

    def run(model, inputs, device):
        folder = tmp_path_factory.mktemp("bundle")
        model.save(folder / "model.adsim")
        np.savez(folder / "inputs.npz", **inputs)
        done = opencl_child(device, *(str(folder / name) for name in ("model.adsim", "inputs.npz", "outputs.npz")))
        assert done.returncode == 0, done.stderr[-3000:]
        with np.load(folder / "outputs.npz") as archive:
            outputs = [archive[f"output_{i}"] for i in range(len(archive.files) - 1)]
            return outputs, int(archive["launches"])

    return run


def compiled(module, target, pipeline="fixed"):
    from adreno_sim.compiler.extract.module import extract
    from adreno_sim.compiler.lower.pipeline import lower

    return extract(lower(module, target, pipeline))


def numbers(*shape):
    return (np.random.default_rng(1).random(shape) - 0.5).astype(np.float32)


def close(found, expected):
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    tolerance = 1e-4 * np.maximum(np.abs(expected), np.sqrt(np.mean(expected**2)))
    assert (np.abs(found - expected) <= tolerance).all(), np.abs(found - expected).max()


@pytest.fixture(scope="session")
def models():
    if not tvm_installed:
        pytest.skip("TVM is not installed")
    import relax_models

    return relax_models


@pytest.fixture(params=["cl:portable", "sim:adreno-740"])
def device(request):
    return request.param


@pytest.mark.each_value
@pytest.mark.parametrize("target", ["buffer", "texture"])
def test_convolutions_equal_tvm_llvm(models, run_bundle, device, target):
    from adreno_sim.golden.model_reference import ModelReference

    x = numbers(1, 3, 28, 28)
    model = compiled(models.convolutions(), target)
    (found,), launches = run_bundle(model, {"x": x}, device)
    close(found, ModelReference(models.convolutions()).run([x])[0])
    assert launches >= 3
    assert model.plan is not None
    assert model.plan.summary.inflation == 1.0
    images = {param.kind for kernel in model.kernels.values() for param in kernel.params}
    assert ("image" in images) == (target == "texture")


@pytest.mark.each_value
@pytest.mark.parametrize("n", [1, 5, 70])
def test_symbolic_batch_sizes(models, run_bundle, device, n):
    from adreno_sim.compiler.plan.extract import extract_plan

    model = compiled(models.symbolic(), "buffer")
    x, y = numbers(n, 4), numbers(n, 4) * 3
    (flat, rows, both), launches = run_bundle(model, {"x": x, "y": y}, device)
    close(flat, np.exp(x + y).reshape(-1))
    close(rows, x.sum(axis=1))
    close(both, np.concatenate([x + y, x]))
    assert launches == 4
    assert model.plan is None
    assert extract_plan(model, {"x": (n, 4), "y": (n, 4)}).summary.planned == 16 * n  # x + y; the rest are results


@pytest.mark.parametrize("taken", [True, False])
def test_branches(models, run_bundle, device, taken):
    x = numbers(4, 4)
    (found,), launches = run_bundle(compiled(models.Choice, "buffer"), {"c": np.array(taken), "x": x}, device)
    close(found, x + x if taken else np.exp(x) * x)
    assert launches == (1 if taken else 2)


def test_a_texture_allocated_inside_a_function(models, run_bundle, device):
    from adreno_sim.compiler.artifact.host_function import AllocImage

    model = compiled(models.InnerTexture, "texture")
    (alloc,) = [stmt for stmt in model.host_functions["f"].body if isinstance(stmt, AllocImage)]
    assert (alloc.width.value, alloc.height.value, alloc.layers.value, alloc.dtype) == (16, 8, 1, "float32")
    x = numbers(8, 16, 4)
    (found,), launches = run_bundle(model, {"x": x}, device)
    close(found, (x + 1) * 2)
    assert launches == 2


def test_extraction_is_deterministic(models):
    assert compiled(models.convolutions(), "texture").digest() == compiled(models.convolutions(), "texture").digest()


def light_model(name):
    import onnx

    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"


@pytest.mark.skipif(not onnx_installed, reason="onnx is not installed")
@pytest.mark.slow
def test_squeezenet_on_a_real_device_equals_onnx_runtime(models, run_bundle):
    from adreno_sim.compiler.importers.load import load_model
    from adreno_sim.golden.model_reference import has_onnxruntime, run_onnx

    if not has_onnxruntime():
        pytest.skip("onnxruntime is not installed")
    source = load_model(light_model("squeezenet"))
    inputs = {"data_0": numbers(1, 3, 224, 224)}
    model = compiled(source.module, "buffer")
    (found,), launches = run_bundle(model, inputs, "cl:portable")
    close(found, run_onnx(source.onnx, inputs)[0])
    assert launches > 25
    summary = model.plan.summary
    assert summary.live_lower_bound == 3_928_576  # conv1's output and the first pool's: 64 x 111 x 111 and 64 x 55 x 55 floats
    assert summary.planned == summary.right >= summary.live_lower_bound
