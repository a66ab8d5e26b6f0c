"""TVM's FoldConstant is left out only where it changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from operators import OPERATORS

from adreno_sim.compiler.lower import pipeline
from adreno_sim.compiler.lower.fold_constant import fold_constant, is_folded
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.compiler.passes.registry import choose
from adreno_sim.compiler.tvm_bridge.pass_pipelines import with_own_constants
from adreno_sim.compiler.tvm_bridge.versions import import_tvm, tensor_type

pytestmark = pytest.mark.tvm


def functions_of(mod: Any) -> list[Any]:
    return [func for _, func in mod.functions_items() if isinstance(func, import_tvm().relax.Function)]


@pytest.mark.parametrize("target", ["texture", "buffer"])
@pytest.mark.parametrize("name", ["residual_block", "batch_norm", "clip", "conv2d_bias_relu", "conv2d_depthwise", "conv2d_half"])
def test_a_module_that_is_left_alone_is_what_tvm_makes_of_it(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tvm, kind = import_tvm(), make_target(target)
    left: list[bool] = []

    def fold_both() -> Any:
        ours, tvms = fold_constant(), tvm.relax.transform.FoldConstant()

        def transform(mod: Any, _ctx: Any) -> Any:
            made = ours(mod)
            left.append(all(map(is_folded, functions_of(mod))))
            tvm.ir.assert_structural_equal(made, tvms(mod), map_free_vars=True)
            return made

        return tvm.transform.module_pass(transform, opt_level=0, name="both")

    monkeypatch.setattr(pipeline, "fold_constant", fold_both)
    with kind:
        tvm.transform.Sequential(pipeline.relax_passes(kind, choose(())))(with_own_constants(OPERATORS[name]()))
    assert left
    assert all(left) or (name, target) == ("batch_norm", "buffer")  # a tuple of results


Emit = Callable[[Any, Any, Any, Any], Any]
"""Emits bindings by a builder, of variables x and y; returns the call that is the result."""


def relax_module(emit: Emit) -> Any:
    relax = import_tvm().relax
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, tensor_type((4, 4), "float32")) for name in "xy")
    with builder.function("main", [x, y]):
        with builder.dataflow():
            result = builder.emit_output(emit(builder, relax, x, y))
        builder.emit_func_output(result)
    return builder.get()


def constant(relax: Any) -> Any:
    return relax.const(np.arange(16, dtype=np.float32).reshape(4, 4))


FOLDED: dict[str, Emit] = {
    "of variables": lambda b, relax, x, y: relax.op.add(x, y),
    "of a variable and a constant": lambda b, relax, x, y: relax.op.multiply(constant(relax), x),
    "of a tuple": lambda b, relax, x, y: relax.op.concat([x, constant(relax)]),
    "in a chain": lambda b, relax, x, y: relax.op.nn.relu(b.emit(relax.op.reshape(x, (16,)))),
}
OPEN: dict[str, Emit] = {
    "of constants": lambda b, relax, x, y: relax.op.add(x, b.emit(relax.op.add(constant(relax), constant(relax)))),
    "of a tuple of constants": lambda b, relax, x, y: relax.op.concat([constant(relax), constant(relax)]),
    "of the shape alone": lambda b, relax, x, y: relax.op.add(x, b.emit(relax.op.zeros_like(y))),
    "of no tensor": lambda b, relax, x, y: relax.op.add(x, b.emit(relax.op.full((4, 4), relax.const(2.0, "float32")))),
    "a name for a constant": lambda b, relax, x, y: relax.op.add(x, b.emit(constant(relax))),
    "of what nobody reads": lambda b, relax, x, y: (b.emit(relax.op.add(x, y)), relax.op.multiply(x, y))[1],
}


@pytest.mark.parametrize("name", FOLDED)
def test_what_a_run_computes_is_folded(name: str) -> None:
    tvm, mod = import_tvm(), relax_module(FOLDED[name])
    assert all(map(is_folded, functions_of(mod)))
    tvm.ir.assert_structural_equal(tvm.relax.transform.FoldConstant()(mod), mod)


@pytest.mark.parametrize("name", OPEN)
def test_what_may_be_folded_goes_to_tvm(name: str) -> None:
    tvm, mod = import_tvm(), relax_module(OPEN[name])
    assert not all(map(is_folded, functions_of(mod)))
    with pytest.raises(ValueError, match="StructuralEqual"):
        tvm.ir.assert_structural_equal(tvm.relax.transform.FoldConstant()(mod), mod)
