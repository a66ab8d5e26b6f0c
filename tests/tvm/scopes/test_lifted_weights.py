"""Weights that are parameters, in textures: packed once by a function of their own, while callers still give them as they are."""

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402

import adreno_sim  # noqa: E402
from adreno_sim.compiler.artifact.vm_function import CallVM  # noqa: E402
from adreno_sim.compiler.compile import compile_model  # noqa: E402
from adreno_sim.compiler.tvm_bridge.versions import tensor_type  # noqa: E402

pytestmark = pytest.mark.tvm

SHAPE = (1, 8, 6, 6)
WEIGHTS = {"w1": (8, 8, 3, 3), "bias": (1, 8, 1, 1), "w2": (4, 8, 1, 1)}


def two_convolutions(inputs=1, symbolic=False):
    """conv 3x3, bias, relu, conv 1x1; inputs: what the module says of how many parameters are no weights, None = nothing."""
    batch = tvm.tirx.Var("n", "int64") if symbolic else 1
    builder = relax.BlockBuilder()
    x = relax.Var("x", tensor_type((batch, *SHAPE[1:]), "float32"))
    w1, bias, w2 = (relax.Var(name, tensor_type(shape, "float32")) for name, shape in WEIGHTS.items())
    with builder.function("main", [x, w1, bias, w2], attrs={} if inputs is None else {"num_input": inputs}):
        with builder.dataflow():
            first = builder.emit(relax.op.add(relax.op.nn.conv2d(x, w1), bias))
            second = relax.op.nn.conv2d(builder.emit(relax.op.nn.relu(first)), w2)
            result = builder.emit_output(builder.emit(second))
        builder.emit_func_output(result)
    return builder.get()


def seeded(seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-1, 1, shape).astype("float32") for name, shape in WEIGHTS.items()}


def packings(report):
    """Launches of the kernels that pack: each weight and the bias, then the data and the result."""
    return sorted(kernel.launches for kernel in report.kernels if "te_layout_transform" in kernel.name)


def calls_once(model):
    return [i.function for f in model.functions.values() for i in f.body if isinstance(i, CallVM) and i.once]


def test_a_model_still_takes_its_weights_as_they_are():
    model = compile_model(two_convolutions(), weights="texture")
    assert [(info.name, info.scope) for info in model.inputs] == [(name, "global") for name in ("x", *WEIGHTS)]
    assert calls_once(model) == ["main_transform_params"]
    report = adreno_sim.check(two_convolutions(), weights="texture", checks="full")
    assert report.ok, report
    assert all(kernel.status in ("ok", "part") for kernel in report.kernels), report


@pytest.mark.parametrize(("inputs", "weights"), [(None, "texture"), (4, "texture"), (1, "buffer")])
def test_nothing_is_lifted_where_no_weight_is_named_or_none_is_for_textures(inputs, weights, adreno):
    assert not calls_once(compile_model(two_convolutions(inputs), weights=weights))
    assert adreno_sim.check(two_convolutions(inputs), device=adreno, weights=weights).ok


def test_relay_lifts_too(adreno):
    """Weights that are no constants are in textures by its rule."""
    assert calls_once(compile_model(two_convolutions(), weights="relay"))
    assert adreno_sim.check(two_convolutions(), device=adreno, weights="relay").ok


def test_a_session_packs_its_weights_once(adreno, tmp_path):
    rng = np.random.default_rng(3)
    with adreno_sim.Session(two_convolutions(), seeded(), device=adreno, weights="texture") as session:
        for _ in range(3):
            session.call("main", rng.uniform(-1, 1, SHAPE).astype("float32"))
        report = session.report()
        session.save(tmp_path / "calls.asim")
    assert list(session.model.entries) == ["main"]
    assert report.ok, report
    assert packings(report) == [1, 1, 1, 3, 3], report
    again = adreno_sim.check(tmp_path / "calls.asim", device=adreno)
    assert again.ok, again
    assert packings(again) == [1, 1, 1, 3, 3], again


def test_other_weights_are_packed_anew(adreno):
    """Each call is judged, so that weights of the call before would be seen."""
    x = np.ones(SHAPE, "float32")
    with adreno_sim.Session(two_convolutions(), device=adreno, weights="texture") as session:
        for seed in (0, 1, 0):
            session.call("main", x, *seeded(seed).values())
        report = session.report()
    assert report.ok, report
    assert packings(report) == [3] * 5, report


def test_a_symbolic_batch(adreno):
    x = np.random.default_rng(1).uniform(-1, 1, (3, *SHAPE[1:])).astype("float32")
    with adreno_sim.Session(two_convolutions(symbolic=True), seeded(), device=adreno) as session:
        session.call("main", x)
        assert session.report().ok


@pytest.mark.representative
def test_the_plan_counts_packed_weights():
    plan = compile_model(two_convolutions(), weights="texture").plan
    (packed,) = [tensor for tensor in plan.tensors if tensor.shape == (2, 8, 3, 3, 4)]
    assert packed.scope == "global.texture-weight"
    assert packed.right_bytes == 2 * 72 * 16
