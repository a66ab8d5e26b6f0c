"""Modules whose functions are scheduled already, take a tensor's offset, or are all there is: no crash, a true message."""

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import adreno_sim
from adreno_sim import AdrenoSimError
from adreno_sim.cli.main import main as command
from adreno_sim.compiler import testing
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.compiler.tvm_bridge.versions import tensor_type
from adreno_sim.results.unwatched import LEVEL_BOUNDS

pytestmark = pytest.mark.tvm

SCHEDULED = """
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from adreno_sim.results.unwatched import LEVEL_BOUNDS


@I.ir_module
class Scheduled:
    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(64),), "float32")):
        T.func_attr({"tirx.noalias": True, "tirx.is_scheduled": True})
        for i in T.thread_binding(T.int64(2), thread="blockIdx.x"):
            for j in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                with T.sblock("B"):
                    v = T.axis.spatial(T.int64(64), i * T.int64(32) + j)
                    B[v] = A[v] * T.float32(2)

    @R.function
    def main(x: R.Tensor((64,), "float32")):
        cls = Scheduled
        with R.dataflow():
            y = R.call_tir(cls.double, (x,), R.Tensor((64,), "float32"))
            R.output(y)
        return y
"""


@I.ir_module
class Offset:
    """A function that takes the place where its argument begins, as TVM's sorts do."""

    @T.prim_func(private=True, s_tir=True)
    def double(a: T.handle, b: T.handle):
        T.func_attr({"tirx.noalias": True})
        begin = T.int64()
        A = T.match_buffer(a, (T.int64(64),), "float32", elem_offset=begin)
        B = T.match_buffer(b, (T.int64(64),), "float32")
        for i in range(T.int64(64)):
            with T.sblock("B"):
                v = T.axis.spatial(T.int64(64), i)
                B[v] = A[v] * T.float32(2)

    @R.function
    def main(x: R.Tensor((64,), "float32")):
        cls = Offset
        with R.dataflow():
            y = R.call_tir(cls.double, (x,), R.Tensor((64,), "float32"))
            R.output(y)
        return y


@I.ir_module
class Bare:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.sblock("B"):
                v = T.axis.spatial(64, i)
                B[v] = A[v] * T.float32(2)


@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_a_scheduled_function_is_judged_without_its_threads(tmp_path, target):
    (tmp_path / "scheduled.py").write_text(SCHEDULED)
    report = adreno_sim.check(str(tmp_path / "scheduled.py"), target=target)
    assert report.verdict.startswith("ok: 1 of 1 kernels")
    assert [kernel.status for kernel in report.kernels] == ["ok"]
    assert [output.reference for output in report.outputs] == ["TVM llvm"]
    assert report.unchecked == [LEVEL_BOUNDS]


@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_a_function_written_for_threads_runs_and_is_said_to_be_unjudged(tmp_path, capsys, target):
    barrier = '                    T.tvm_storage_sync("shared")\n'
    source = SCHEDULED.replace('                with T.sblock("B"):\n', '                with T.sblock("B"):\n' + barrier)
    (tmp_path / "scheduled.py").write_text(source)
    assert command(["check", str(tmp_path / "scheduled.py"), "--target", target]) == 0
    said = capsys.readouterr()
    assert "ok, in part" in said.out
    assert "double binds threads of a GPU" in said.out
    assert "Traceback" not in said.out + said.err


def test_a_tensor_begins_where_its_view_does():
    report = adreno_sim.check(Offset, target="buffer")
    assert report.ok
    assert [kernel.status for kernel in report.kernels] == ["ok"]


def sorted_by(build):
    """A module of one operator on a (4, 16) tensor, its sorts those that TVM has for GPUs."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", tensor_type((4, 16), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(build(x)))
        builder.emit_func_output(result)
    with make_target("buffer", None):
        return relax.backend.DispatchSortScan()(builder.get())


SORTS = {
    "argsort": (lambda x: relax.op.argsort(x, axis=-1), lambda x: [np.argsort(x, axis=-1)]),
    "sort": (relax.op.sort, lambda x: [np.sort(x, axis=-1)]),
    "topk": (lambda x: relax.op.topk(x, k=3), lambda x: [-np.sort(-x, axis=-1)[:, :3], np.argsort(-x, axis=-1)[:, :3]]),
}


@pytest.mark.parametrize("name", SORTS)
def test_sorts_of_tvm_compile_and_run(name):
    build, expected = SORTS[name]
    module = sorted_by(build)
    x = np.random.default_rng(0).permutation(64).reshape(4, 16).astype("float32")
    for got, wanted in zip(testing.build_and_run(module, [x], "qcom/adreno-opencl"), expected(x), strict=True):
        np.testing.assert_array_equal(got, wanted)
    report = adreno_sim.check(module, target="buffer")
    assert report.ok
    assert any(f"function {name}: " in line for line in report.unchecked)


def test_a_module_of_bare_functions_is_told_what_it_lacks():
    with pytest.raises(AdrenoSimError, match=r"no Relax function 'main'; its functions are main \(a PrimFunc\); .*R\.call_tir"):
        adreno_sim.check(Bare)
