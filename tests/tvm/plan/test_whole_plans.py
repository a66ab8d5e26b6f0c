"""Plans over all tensors: TVM's planner is met to the byte, a run takes what was foretold, another plan changes no bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

import relax_models  # noqa: E402
from tvm import relax, tirx  # noqa: E402
from tvm.script import ir as I  # noqa: E402
from tvm.script import relax as R  # noqa: E402

from adreno_sim import open_device  # noqa: E402
from adreno_sim.base.errors import AdrenoSimError  # noqa: E402
from adreno_sim.compiler.artifact.model import CompiledModel  # noqa: E402
from adreno_sim.compiler.compile import compile_model  # noqa: E402
from adreno_sim.compiler.plan.apply import replan  # noqa: E402
from adreno_sim.compiler.plan.extract import extract_bounded, extract_plan  # noqa: E402
from adreno_sim.compiler.plan.footprint import measure  # noqa: E402
from adreno_sim.compiler.plan.measured.peak import measure_peak  # noqa: E402
from adreno_sim.compiler.plan.rules import DeviceRules  # noqa: E402
from adreno_sim.compiler.run import vm  # noqa: E402
from adreno_sim.compiler.run.observer import Observer  # noqa: E402

pytestmark = pytest.mark.tvm

RULES = DeviceRules.of_device(open_device("sim:adreno-740"))
PLANNERS = ("naive", "tvm", "tvm-fixed", "unified", "arena", "arena-reordered")


@I.ir_module
class Functions:
    """Two functions, one of which is called three times."""

    @R.function
    def main(x: R.Tensor((64, 64), "float32")) -> R.Tensor((64, 64), "float32"):
        cls = Functions
        a = cls.block(x)
        b = cls.block(a)
        c = cls.block(b)
        d = R.exp(c)
        e = cls.other(d)
        return e

    @R.function
    def block(x: R.Tensor((64, 64), "float32")) -> R.Tensor((64, 64), "float32"):
        a = R.nn.softmax(x)
        b = R.matmul(a, x)
        c = R.matmul(b, a)
        d = R.sum(c, axis=1, keepdims=True)
        e = R.add(c, d)
        f = R.multiply(R.matmul(e, x), R.const(0.01, "float32"))
        return f

    @R.function
    def other(x: R.Tensor((64, 64), "float32")) -> R.Tensor((64, 64), "float32"):
        b = R.matmul(x, x)
        c = R.matmul(b, x)
        return c


@I.ir_module
class Branches:
    """Tensors made before a branch and used in it, made in it and used after it."""

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((64, 64), "float32")) -> R.Tensor((64,), "float32"):
        a = R.matmul(x, x)
        b = R.matmul(a, x)
        d = R.matmul(b, x)
        if c:
            t = R.matmul(d, x)
            u = R.matmul(t, d)
            y = R.matmul(u, t)
        else:
            v = R.matmul(x, x)
            w = R.matmul(v, x)
            y = R.matmul(w, v)
        e = R.sum(y, axis=1)
        f = R.add(e, R.sum(b, axis=1))
        return f


@I.ir_module
class SharedOutside:
    """TVM lets what comes after the branch share a storage that is made inside it, and so is not there."""

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((64, 64), "float32")) -> R.Tensor((64, 64), "float32"):
        if c:
            t = R.matmul(x, x)
            y = R.matmul(t, x)
        else:
            y = R.exp(x)
        e = R.matmul(y, x)
        f = R.matmul(e, y)
        return f


def symbolic() -> Any:
    """Sizes in n and in m: TVM lets tensors share a storage only where it proves these equal."""
    builder = relax.BlockBuilder()
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
    x, z = relax.Var("x", R.Tensor((n, 16), "float32")), relax.Var("z", R.Tensor((m, 16), "float32"))
    square, wide = relax.const(np.ones((16, 16), "float32")), relax.const(np.ones((16, 32), "float32"))
    with builder.function("main", [x, z]):
        with builder.dataflow():
            one = x
            for _ in range(4):
                one = builder.emit(relax.op.matmul(one, square))
            two = z
            for _ in range(4):
                two = builder.emit(relax.op.matmul(two, square))
            sums = [builder.emit(relax.op.sum(relax.op.matmul(value, wide), axis=0)) for value in (one, two)]
            result = builder.emit_output(builder.emit(relax.op.add(*sums)))
        builder.emit_func_output(result)
    return builder.get()


def empty() -> Any:
    """A tensor without elements between others."""
    builder = relax.BlockBuilder()
    x, w = relax.Var("x", R.Tensor((4, 16), "float32")), relax.const(np.ones((16, 16), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            a = builder.emit(relax.op.matmul(x, w))
            nothing = builder.emit(relax.op.matmul(builder.emit(relax.op.strided_slice(a, [0], [0], [0])), w))
            both = builder.emit(relax.op.concat([builder.emit(relax.op.matmul(a, w)), nothing], axis=0))
            result = builder.emit_output(builder.emit(relax.op.matmul(both, w)))
        builder.emit_func_output(result)
    return builder.get()


MODELS = {
    "convolutions": (relax_models.convolutions, "texture"),
    "functions": (lambda: Functions, "buffer"),
    "branches": (lambda: Branches, "texture"),
    "empty": (empty, "texture"),
}


@pytest.fixture(scope="module")
def models() -> dict[str, CompiledModel]:
    return {name: compile_model(make(), pipeline="stock", target=target) for name, (make, target) in MODELS.items()}


def totals(plan: Any) -> dict[str, int]:
    return {row.planner: row.total for row in measure(plan, RULES, PLANNERS).rows}


@pytest.mark.parametrize("name", MODELS)
def test_the_planner_tvm_takes_tvms_bytes(name: str, models: dict[str, CompiledModel]) -> None:
    found = totals(extract_plan(models[name]))
    assert found["tvm"] == found["as compiled"] > 0


def test_a_storage_that_is_not_there_after_its_branch() -> None:
    model = compile_model(SharedOutside, pipeline="stock", target="texture")
    inputs = [np.array(True), np.eye(64, dtype="float32") * 2]
    with pytest.raises(AdrenoSimError, match="holds nothing"):
        vm.run(model, inputs, open_device("sim:adreno-740"))
    assert totals(extract_plan(model))["tvm"] == totals(extract_plan(model))["as compiled"]
    for flag, value in ((True, 8**2 * 2), (False, None)):
        found = vm.run(replan(model, "arena", RULES), [np.array(flag), inputs[1]], open_device("sim:adreno-740"))[0]
        assert value is None or (np.diag(found) == value).all()


def test_symbolic_sizes_are_shared_where_they_are_equal() -> None:
    plan = extract_bounded(compile_model(symbolic(), pipeline="stock"), {"n": (1, 64), "m": (1, 64)})
    found = totals(plan)
    assert found["tvm"] == found["as compiled"]
    assert len({t.symbolic for t in plan.tensors}) == 5
    known = totals(extract_plan(compile_model(symbolic(), pipeline="stock"), {"x": (64, 16), "z": (64, 16)}))
    assert known["tvm"] < found["tvm"]  # with sizes known, n and m share


class Watching(Observer):
    def __init__(self) -> None:
        self.reused: list[Any] = []

    def storage_reused(self, tensor: str, live: list[str], where: str) -> None:
        self.reused.append((tensor, live, where))


@pytest.mark.each_value
@pytest.mark.parametrize("device", ["sim:adreno-740", "sim:adreno-650"])
@pytest.mark.parametrize("name", MODELS)
def test_a_run_takes_what_was_foretold(name: str, device: str, models: dict[str, CompiledModel]) -> None:
    rules = DeviceRules.of_device(open_device(device))
    footprint = measure(extract_plan(models[name]), rules, PLANNERS, model=models[name])
    for row, allocation in zip(footprint.rows, footprint.allocations, strict=True):
        if row.fits and allocation is not None:
            taken = [
                measure_peak(models[name], allocation, rules, open_device(device, checks="off"), inputs)
                for inputs in ((np.array(True), np.zeros((64, 64), "float32")), None)[name != "branches" :]
            ]
            assert (row.planner, row.peak) == (row.planner, max(taken))


@pytest.mark.each_value
@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("name", MODELS)
def test_another_plan_changes_no_bit(name: str, planner: str, models: dict[str, CompiledModel]) -> None:
    rng = np.random.default_rng(0)
    for flag in (True, False) if name == "branches" else (True,):
        inputs = [
            np.array(flag) if i.dtype == "bool" else rng.standard_normal(i.shape).astype(i.dtype) for i in models[name].inputs
        ]
        expected = vm.run(models[name], inputs, open_device("sim:adreno-740"))
        watching = Watching()
        found = vm.run(replan(models[name], planner, RULES), inputs, open_device("sim:adreno-740"), watching)
        assert watching.reused == []
        assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]
