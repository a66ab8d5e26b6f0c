"""Golden results on disk: found again by content, never for other content, computed again when lost."""

import numpy as np
import pytest

pytest.importorskip("tvm")
import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from adreno_sim.base import disk_cache
from adreno_sim.compiler.importers.onnx_file import take_model
from adreno_sim.golden import result_cache
from adreno_sim.golden.kernel_reference import KernelReference
from adreno_sim.golden.model_reference import ModelReference, has_onnxruntime, run_onnx

pytestmark = pytest.mark.tvm


@I.ir_module
class Functions:
    @T.prim_func(private=True)
    def scale(a: T.handle, b: T.handle, factor: T.int64):
        n = T.int64()
        x = T.match_buffer(a, (n,), "float32")
        y = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            y[i] = x[i] * T.Cast("float32", factor)

    @T.prim_func(private=True)
    def bound(a: T.handle):
        x = T.match_buffer(a, (8,), "float32")
        for i in T.thread_binding(8, thread="threadIdx.x"):
            x[i] = T.float32(1)


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """What TVM compiled since, on an empty cache."""
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    done = []
    compile = tvm.compile
    monkeypatch.setattr(tvm, "compile", lambda *args, **keywords: done.append(args[0]) or compile(*args, **keywords))
    return done


X, Y = np.arange(6, dtype="float32"), np.full(6, np.nan, "float32")


def scaled(factor=3, x=X):
    return KernelReference(IRModule({"scale": Functions["scale"]})).run("scale", [x, Y, factor])


def test_a_kernel_seen_before_is_not_compiled(compiled):
    first = scaled()
    assert len(compiled) == 1
    second = scaled()
    assert len(compiled) == 1
    assert second[2] is None
    np.testing.assert_array_equal(second[0], X)
    np.testing.assert_array_equal(second[1], first[1])


def test_other_arguments_and_other_functions_are_computed(compiled):
    scaled()
    np.testing.assert_array_equal(scaled(factor=4)[1], 4 * X)
    np.testing.assert_array_equal(scaled(x=X + 1)[1], 3 * (X + 1))
    assert len(compiled) == 3
    KernelReference(Functions)
    assert len(compiled) > 3


def test_what_llvm_refuses_is_remembered_with_its_reason(compiled):
    first = KernelReference(Functions).unavailable
    assert list(first) == ["bound"]
    count = len(compiled)
    again = KernelReference(Functions)
    assert again.unavailable == first
    assert "bound" not in again
    assert "scale" in again
    assert len(compiled) == count


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_result_is_computed_again(compiled, damage):
    first = scaled()
    for place in disk_cache.folder("golden").iterdir():
        if damage is None:
            disk_cache.store(place, b"whole, but no result")
        else:
            place.write_bytes(damage)
    np.testing.assert_array_equal(scaled()[1], first[1])
    assert len(compiled) == 2


def model(weight):
    """x times a constant of shape (2, 3)."""
    tensor = getattr(relax, "TensorStructInfo", None) or relax.TensorType
    x = relax.Var("x", tensor((2, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.normalize(relax.op.multiply(x, relax.const(np.full((2, 3), weight, "float32")))))
    return builder.get()


def test_models_differ_by_their_constants(compiled):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    for weight, count in ((2, 1), (2, 1), (5, 2), (2, 2)):
        (got,) = ModelReference(model(weight)).run([x])
        np.testing.assert_array_equal(got, weight * x)
        assert len(compiled) == count
    np.testing.assert_array_equal(ModelReference(model(2)).run([x + 1])[0], 2 * (x + 1))
    assert len(compiled) == 3


def test_with_the_cache_off_everything_is_computed(compiled, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE", "off")
    scaled()
    scaled()
    assert len(compiled) == 2
    assert not disk_cache.usage()


def test_keys_tell_types_shapes_and_borders_apart():
    zeros = np.zeros(4, np.float32)
    parts = [
        (zeros,),
        (zeros.reshape(2, 2),),
        (zeros.view(np.int32),),
        (zeros[:2], zeros[2:]),
        ("ab", "c"),
        ("a", "bc"),
        (b"ab", "c"),
        (1, 2),
        ("1", 2),
    ]
    assert len({result_cache.digest_of(part) for part in parts}) == len(parts)
    assert result_cache.digest_of([zeros[::2]]) == result_cache.digest_of([zeros[:2].copy()])


@pytest.mark.skipif(not has_onnxruntime(), reason="ONNX Runtime is not installed")
def test_onnx_runtime_is_not_asked_twice(compiled, monkeypatch):
    import onnxruntime
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    node = helper.make_node("Neg", ["x"], ["y"])
    graph = helper.make_graph([node], "g", [value("x", TensorProto.FLOAT, [3])], [value("y", TensorProto.FLOAT, [3])])
    network = take_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))
    x = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(run_onnx(network, {"x": x})[0], -x)
    monkeypatch.setattr(onnxruntime, "InferenceSession", None)
    np.testing.assert_array_equal(run_onnx(network, {"x": x})[0], -x)
