"""A pass before scheduling that changes the meaning is caught by the whole-model reference, which saw none of them."""

from __future__ import annotations

from typing import Any

import pytest

import adreno_sim
from adreno_sim.compiler.passes import registry
from adreno_sim.compiler.passes.base import ALL_VERSIONS, Fix

pytest.importorskip("tvm")
import tvm
from tvm import relax

pytestmark = pytest.mark.tvm


def block() -> Any:
    """conv2d, relu, and the input added: square, so that height and width can be mixed up."""
    make = getattr(relax, "TensorStructInfo", None) or relax.TensorType
    data, weight = relax.Var("data", make((1, 8, 12, 12), "float32")), relax.Var("weight", make((8, 8, 3, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data, weight]):
        with builder.dataflow():
            conv = builder.emit(relax.op.nn.conv2d(data, weight, padding=(1, 1)))
            active = builder.emit(relax.op.nn.relu(conv))
            out = builder.emit_output(relax.op.add(active, data))
        builder.emit_func_output(out)
    return builder.get()


def rewriting(operator: str, change: Any) -> Fix:
    """A pass that replaces each call of `operator`, running before all of TVM's."""

    @relax.expr_functor.mutator
    class Change(relax.PyExprMutator):
        def visit_call_(self, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            return self.builder_.normalize(change(call)) if getattr(call.op, "name", "") == operator else call

    def transform(mod: Any, _ctx: Any) -> Any:
        mod[mod.get_global_var("main")] = Change(mod).visit_expr(mod["main"])
        return mod

    wrong = tvm.transform.module_pass(transform, opt_level=0, name="test.WrongPass")
    return Fix("wrong-pass", ALL_VERSIONS, "deliberately wrong", relax=lambda passes, target: [wrong, *passes])


def transposed(call: Any) -> Any:
    data, weight = call.args
    return relax.op.nn.conv2d(relax.op.permute_dims(data, [0, 1, 3, 2]), weight, padding=(1, 1))


WRONG = {
    "layout conversion that swaps height and width": ("relax.nn.conv2d", transposed),
    "fusion that loses the activation": ("relax.nn.relu", lambda call: call.args[0]),
    "fusion that adds the input twice": ("relax.add", lambda call: relax.op.add(call, call.args[1])),
}


@pytest.mark.share(4)
@pytest.mark.each_value
@pytest.mark.parametrize("target", ["buffer", "texture"])
@pytest.mark.parametrize("name", WRONG)
def test_is_caught(name: str, target: str, adreno: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FIXES", (*registry.FIXES, rewriting(*WRONG[name])))
    report = adreno_sim.check(block(), device=adreno, target=target)
    assert report.exit_code == 1
    assert {kernel.status for kernel in report.kernels} <= {"ok", "part"}
    found = [finding.message for finding in report.findings if finding.kind.label == "wrong-value"]
    assert [message.partition(":")[0].partition("differs from ")[2] for message in found] == ["float64", "TVM llvm"]
    assert all(message.endswith("a pass before scheduling changed the meaning: test.WrongPass") for message in found), found
    assert "TVM llvm differs" in report.verdict
    assert "float64 differs" in report.verdict


def test_the_block_itself_is_right(adreno: Any) -> None:
    assert adreno_sim.check(block(), device=adreno, target="texture").verdict.startswith("ok: ")
