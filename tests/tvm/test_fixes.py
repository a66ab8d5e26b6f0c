"""Every fix is needed: left out, its defect is back; and what each does to the module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from operators import IMAGE, OPERATORS, C, conv, graph, op, relax, weight

import adreno_sim
from adreno_sim.compiler.extract.module import extract
from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.passes import registry
from adreno_sim.compiler.plan.extract import extract_plan
from adreno_sim.compiler.tvm_bridge.versions import import_tvm, tvm_series

pytestmark = pytest.mark.tvm

SHOWS = {
    "private-function": ("private_function", "unsupported"),
    "inference-dropout": ("dropout", "unsupported"),
    "plain-operators": ("split_channels", "unsupported"),
    "plain-convolution": ("symbolic_batch_conv2d", "unsupported"),
    "packed-convolution": ("conv2d_depthwise", "unsupported"),
    "pool-accumulator": ("max_pool2d", "wrong-value in max_pool2d_opencl_kernel"),
    "texel-race": ("squeeze_by_mean", "wrong-value in mean_kernel"),
    "shared-function": ("two_concatenations", "AdrenoSimError: concatenate"),
    "reduction-epilogue": ("conv2d_blocks", "wrong-value in fused_conv2d_add_kernel"),
    "one-term-reduction": ("conv2d_of_one_channel", "wrong-value in fused_conv2d_add_relu_kernel"),
    "local-memory": ("conv1d_padded_for_the_next", "limit-exceeded in "),
    "unbound-block": ("squeeze_and_excite", "unsupported"),
    "texture-store": ("conv2d", "wrong-value in te_layout_transform_kernel"),
}
"""Fix -> an operator of the table that needs it, and the verdict for textures without it."""

WIDENS = {
    "constant-rank": "one_element_operand",
    "packed-transpose": "conv2d_transpose_between",
    "elementwise-texels": "clip_imported",
    "stacked-sum": "extrema_of_stack",
}
"""Fix -> an operator whose results lie in more textures with it."""


LANGUAGE = {"state-objects", "texture-flatten", "vector-store-address", "condition-range", "neighbour-read", "group-update"}
"""Fixes of language models: `llm/test_kv_kernels.py`, `llm/test_race_fixes.py` and `test_doctor.py` show them."""

DISPATCHED = {"sort-scan", "kernel-locals", "sampling", "parameter-types"}
"""Fixes of operators with a dispatch, and of functions by hand: `importers/test_sort_scan.py` and `test_doctor.py` show them."""


def test_every_fix_is_shown_or_concerns_the_plan() -> None:
    """function-suffix, own-threads: importers/test_operators_of_networks.py."""
    assert {fix.name for fix in registry.FIXES} == {
        *SHOWS,
        *WIDENS,
        "plan-coefficient",
        "function-names",
        "branch-storage",
        "function-suffix",
        "own-threads",
        "infinite-fill",
        *LANGUAGE,
        *DISPATCHED,
    }


@pytest.mark.parametrize("name", WIDENS)
def test_without_it_fewer_kernels_write_textures(name: str) -> None:
    def images(without: tuple[str, ...]) -> int:
        kernels = extract(lower(OPERATORS[WIDENS[name]](), "texture", "fixed", without)).kernels.values()
        return sum(param.kind == "image" and param.access == "write" for kernel in kernels for param in kernel.params)

    assert images(()) > images((name,))


@pytest.mark.parametrize(
    ("fixes", "operator"),
    [(("stacked-sum", "plain-operators"), "sum_of_stack"), (("stacked-sum", "plain-operators"), "extrema_of_stack"),
     (("plain-operators",), "stacked_channels"), (("plain-operators", "plain-convolution"), "masked"),
     (("plain-operators",), "group_norm"), (("plain-operators",), "squeeze_from_the_end"),
     (("plain-operators",), "layer_norm_of_image"), (("plain-operators",), "one_channel_operand"),
     (("constant-rank", "plain-operators"), "one_element_operand")],
)  # fmt: skip
def test_other_operators_that_need_fixes(fixes: tuple[str, ...], operator: str) -> None:
    with pytest.raises(adreno_sim.UnsupportedError, match="fails on this module"):
        lower(OPERATORS[operator](), "texture", without=fixes)


@pytest.mark.share()
@pytest.mark.parametrize("name", SHOWS)
def test_without_a_fix_its_defect_is_back(name: str, verdict: Callable[..., str]) -> None:
    if name not in {fix.name for fix in registry.choose()}:
        pytest.skip(f"TVM {tvm_series()} does not have the defect")
    operator, shown = SHOWS[name]
    if (operator, tvm_series()) == ("dropout", "0.25"):
        pytest.skip("TVM 0.25 has no legalisation of dropout at all")
    assert verdict(OPERATORS[operator](), "texture", "fixed", without_fix=(name,)) == shown


def test_reductions_that_fit_stay_in_local_memory(adreno: Any) -> None:
    def in_local_memory(module: Any, *without: str) -> bool:
        sources = lower(module, "buffer", without=without, limits=adreno.info.limits).sources.values()
        return any("__local" in source for source in sources)

    length = import_tvm().tirx.Var("length", "int64")
    unknown = graph(lambda x: op.nn.pad(op.nn.conv1d(x, weight(64, 4, 3)), [0, 0, 0, 0, 0, 1]), (1, 4, length))
    assert in_local_memory(OPERATORS["conv1d_padded_in_local_memory"]())
    assert in_local_memory(OPERATORS["conv1d_padded_for_the_next"](), "local-memory")
    assert not in_local_memory(OPERATORS["conv1d_padded_for_the_next"]())
    assert tvm_series() == "0.26" or not in_local_memory(unknown), "0.26 does not know the shape of what it pads"
    assert in_local_memory(graph(op.nn.softmax, (length, 64)))


@pytest.mark.parametrize("value", [-np.inf, 1.5])
def test_a_tensor_filled_with_no_finite_value_compiles_and_is_judged(adreno: Any, value: float) -> None:
    """As of causal masks; a finite value is its twin. TVM's llvm target, which has the same defect, stays a reference."""
    if tvm_series() != "0.27":
        pytest.skip(f"TVM {tvm_series()} does not have the defect")
    fill = relax.op.triu(relax.op.full(relax.ShapeExpr([8, 8]), relax.const(value, "float32"), "float32"), 1)
    module = graph(lambda x: op.nn.softmax(op.add(x, fill)), (8, 8))
    report = adreno_sim.check(module, device=adreno, target="buffer")
    assert {row.reference: row.ok for row in report.outputs} == {"TVM llvm": True}, str(report)
    assert report.verdict.startswith("ok:"), str(report)
    if not np.isfinite(value):
        with pytest.raises(adreno_sim.UnsupportedError, match="PrimType"):
            lower(module, "buffer", without=("infinite-fill",))


def test_texture_store_is_right_in_025_and_fixed_after() -> None:
    names = {fix.name for fix in registry.choose()}
    assert ("texture-store" in names) == (tvm_series() != "0.25")


def test_an_unknown_fix_is_named() -> None:
    with pytest.raises(adreno_sim.AdrenoSimError, match=r"fix 'texture-stores': expected one of .*texture-store"):
        lower(OPERATORS["conv2d"](), "texture", without=("texture-stores",))


def test_stock_has_nothing_to_leave_out() -> None:
    with pytest.raises(adreno_sim.AdrenoSimError, match="stock pipeline has no fixes"):
        lower(OPERATORS["conv2d"](), "texture", "stock", without=("texture-store",))


@pytest.mark.parametrize(("operator", "factor"), [("residual_block", 4), ("conv2d_half_twice", 2)])
def test_plan_is_inflated_by_the_item_size_and_fixed(operator: str, factor: int) -> None:
    module = OPERATORS[operator]() if operator in OPERATORS else half_twice()
    stock, fixed = (_plan(module, without) for without in (("plan-coefficient",), ()))
    textures = {t.storage for t in stock.tensors} - {t.storage for t in stock.tensors if t.scope == "global"}
    planned = [storage for storage in stock.storages if storage.planned and storage.id in textures]
    assert planned
    assert all(storage.planned_bytes == factor * storage.needed_bytes for storage in planned)
    assert stock.summary.planned > stock.summary.right
    assert fixed.summary.planned == fixed.summary.right <= stock.summary.right


def half_twice() -> Any:
    """Two float16 convolutions with a texture in between."""

    def body(x: Any) -> Any:
        first = op.nn.relu(op.nn.conv2d(x, weight(12, C, 3, 3, dtype="float16"), padding=1))
        return op.nn.conv2d(first, weight(12, 12, 3, 3, dtype="float16"), padding=1)

    return graph(body, IMAGE, dtype="float16")


def _plan(module: Any, without: tuple[str, ...]) -> Any:
    return extract_plan(extract(lower(module, "texture", "fixed", without)))


@pytest.mark.parametrize(
    ("stacked", "summed", "keep", "added"),
    [(0, [0], False, True), (1, [-4], False, True), (-1, [4], False, True), (0, [1], False, False), (0, [0, 1], False, False),
     (0, None, False, False), (0, [0], True, False)],
)  # fmt: skip
def test_sums_over_the_stacked_axis_alone_are_additions(stacked: int, summed: Any, keep: bool, added: bool) -> None:
    from adreno_sim.compiler.passes.stacked_sum import add_operands

    module = graph(lambda x: op.sum(op.stack([x, op.exp(x)], axis=stacked), axis=summed, keepdims=keep), IMAGE)
    text = add_operands()(module).script()
    assert ("R.add(" in text) == added == ("R.stack(" not in text)


def test_lowering_leaves_the_module_as_it_was() -> None:
    """TVM writes virtual devices into the types of constants in place; the caller's module must not see that."""
    module = OPERATORS["conv2d_bias_relu"]()
    before = module.script(show_meta=True)
    lower(module, "texture", "stock")
    lower(module, "texture", "fixed")
    assert module.script(show_meta=True) == before


def test_stages_name_the_same_functions() -> None:
    lowered = lower(OPERATORS["residual_block"](), "texture")
    called = {var.name_hint for var in lowered.unscheduled.get_global_vars()}
    hosts = {var.name_hint for var, func in lowered.tir.functions_items() if "tirx.kernel_launch_params" not in func.attrs}
    kernels = {var.name_hint for var, func in lowered.tir.functions_items() if "tirx.kernel_launch_params" in func.attrs}
    assert hosts <= called
    assert kernels == set(lowered.sources)
    for name, source in lowered.sources.items():
        assert f"void {name}(" in source


def test_one_loop_with_two_stores_gives_each_its_own_lanes(verdict: Callable[..., str]) -> None:
    """Two outputs of one function, both textures: a split between convolutions."""

    def body(x: Any) -> Any:
        parts = op.split(op.nn.relu(conv(x, 16)), 2, axis=1)
        return op.add(conv(relax.TupleGetItem(parts, 0), 12), conv(relax.TupleGetItem(parts, 1), 12))

    assert verdict(graph(body, IMAGE), "texture", "fixed") == "ok"


def test_calls_that_cannot_be_inlined_are_refused_by_name() -> None:
    public = OPERATORS["private_function"]()
    block = next(var for var in public.get_global_vars() if var.name_hint == "block")
    public[block] = public[block].with_attr("global_symbol", "block")
    with pytest.raises(adreno_sim.UnsupportedError, match=r"main calls block: TVM's passes for textures .* Make it private"):
        lower(public, "texture")
    with pytest.raises(adreno_sim.UnsupportedError, match="main calls block"):
        lower(OPERATORS["private_function"](), "texture", "stock")
    plan = extract_plan(extract(lower(public, "buffer")))  # for buffers a call stays one, and its tensors are in the plan
    assert {tensor.id.partition(".")[0] for tensor in plan.tensors} >= {"block", "block_1"}


def test_functions_are_split_by_scopes_only() -> None:
    """Calls in two scopes need two functions; calls in one scope share theirs."""
    relaxed = lower(OPERATORS["two_concatenations"](), "texture").relax
    names = sorted(var.name_hint for var in relaxed.get_global_vars() if var.name_hint.startswith("concatenate"))
    assert len(names) == 2
    buffers = lower(OPERATORS["two_concatenations"](), "buffer").relax
    assert sum(var.name_hint.startswith("concatenate") for var in buffers.get_global_vars()) == 1
