"""Partitioning for OpenCL ML: TVM's patterns by name, parameters, the policy, what code generation writes."""

from __future__ import annotations

import itertools

import clml_modules as modules
import numpy as np
import pytest
from clml_modules import IMAGE, constant, conv, module, nn, norm
from tvm import relax
from tvm.relax.backend.adreno.clml import AppendReshapeToBNRewriterPass, clml_pattern_table

from adreno_sim.compiler.clml import codegen, is_clml_runtime_enabled, partition_for_clml
from adreno_sim.compiler.clml.partition import Offload
from adreno_sim.compiler.clml.patterns import pattern_table
from adreno_sim.mlops.graph import parse
from adreno_sim.mlops.policy import OffloadPolicy
from adreno_sim.profiles.ml import NEWEST, MLCapabilities

pytestmark = pytest.mark.tvm

ROOTS = {
    "nn.conv2d": lambda x: conv(x, 8),
    "pad.nn.conv2d": lambda x: conv(nn.pad(x, (0, 0, 0, 0, 1, 1, 1, 1)), 8),
    "nn.conv2d_transpose": lambda x: nn.conv2d_transpose(x, constant(4, 8, 3, 3)),
}
ACTIVATIONS = {"": lambda x: x, "relu.": nn.relu, "clip.": lambda x: relax.op.clip(x, 0, 6)}


def _everything(**options):
    return Offload(OffloadPolicy(capabilities=MLCapabilities(version=NEWEST), min_flops=0), **options)


def _composites(mod):
    """Names of the composite functions, in order."""
    found = []
    for _, function in mod.functions_items():
        if function.attrs is not None and "Codegen" in function.attrs:
            values = [binding.value for block in function.body.blocks for binding in block.bindings]
            found += [str(value.attrs["Composite"]) for value in values if isinstance(value, relax.Function)]
    return found


def table_names() -> list[str]:
    return [name for name, *_ in pattern_table(MLCapabilities(version=NEWEST))]


def test_the_table_has_tvms_patterns():
    ours, theirs = table_names(), [name for name, *_ in clml_pattern_table()]
    assert len(theirs) == 86
    assert set(theirs) <= set(ours)
    assert set(ours) - set(theirs) == {"openclml.nn.dense", "openclml.concatenate"}


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_convolution_pattern(root, activation, normalised, bias):
    """36 of the 72: those of a tensor. The others are of a tuple, below."""

    def make(x):
        x = ROOTS[root](x)
        x = x + constant(1, 8, 1, 1) if bias else x
        x = norm(x, 8)[0] if normalised else x
        return ACTIVATIONS[activation](x)

    name = f"openclml.{activation}{'tuple.bn.' if normalised else ''}{'bias.' if bias else ''}{root}"
    assert _composites(_everything(fold_batch_norm=False).partition(module(make, IMAGE))) == [name]


def test_patterns_of_tuples_match_no_program():
    """The other 36: 18 take an item of a tensor, 12 a relu or clip of a tuple; 6 have a tuple as result, which no node has."""
    names = [name for name in table_names() if "conv2d" in name]
    parts = [name.removeprefix("openclml.").split(".") for name in names]
    of_tensors = [p for p in parts if ("tuple" in p) == ("bn" in p)]
    assert (len(names), len(of_tensors)) == (72, 36)
    untyped = [
        p for p in parts if ("tuple" in p and "bn" not in p) or ("bn" in p and "tuple" not in p and p[0] in ("relu", "clip"))
    ]
    assert len(untyped) == 30
    whole = [p for p in parts if p[0] == "bn"]
    assert len(whole) == 6
    with pytest.raises(Exception, match=r"[Tt]uple"):
        module(lambda x: nn.relu(norm(conv(x, 8), 8)), IMAGE)
    with pytest.raises(Exception, match=r"[Tt]uple"):
        module(lambda x: relax.TupleGetItem(conv(x, 8), 0), IMAGE)


@pytest.mark.parametrize("name", [name for name in (n for n, *_ in clml_pattern_table()) if "conv2d" not in name])
def test_other_pattern(name):
    of = {
        "openclml.nn.batch_norm": "batch_norm", "openclml.nn.global_avg_pool2d": "mean over rows and columns",
        "openclml.relax.nn.softmax": "softmax, 2D",
    }  # fmt: skip
    key = of.get(name) or name.removeprefix("openclml.").removeprefix("relax.").removeprefix("nn.")
    assert name in _composites(partition_for_clml(modules.OPERATORS[key][1]()))


def test_parameters_become_constants():
    builder = relax.BlockBuilder()
    x, w = (relax.Var(n, relax.TensorType(s, "float32")) for n, s in (("x", IMAGE), ("w", (8, 4, 3, 3))))
    with builder.function("main", [x, w]):
        with builder.dataflow():
            out = builder.emit_output(nn.conv2d(x, w))
        builder.emit_func_output(out)
    mod = partition_for_clml(builder.get(), {"w": np.ones((8, 4, 3, 3), "float32")})
    assert len(mod["main"].params) == 1
    assert _composites(mod) == ["openclml.nn.conv2d"]


def test_runtime_is_there():
    assert is_clml_runtime_enabled()


def _graph(make, *shapes):
    mod = _everything().as_pass()(module(make, *shapes))
    (found,) = mod.attrs["external_mods"]
    return parse(found.inspect_source()), [str(name) for name in found["get_const_vars"]()], mod


def test_code_generation_writes_what_tvms_runtime_reads():
    graph, names, mod = _graph(lambda x: relax.op.clip(conv(x, 8, padding=1) + constant(1, 8, 1, 1), 0, 6), IMAGE)
    assert [node.op for node in graph.nodes] == ["input", "const", "const", "kernel"]
    kernel = graph.nodes[-1]
    assert kernel.name == "openclml.clip.bias.nn.conv2d"
    assert kernel.attrs["activation_type"] == "relu6"
    assert kernel.attrs["padding"] == [1, 1, 1, 1]
    assert kernel.attrs["groups"] == 1
    assert kernel.attrs["out_dtype"] == ""
    assert graph.constants == names == [str(name) for name in mod.attrs["const_name_to_constant"]]
    assert parse(graph.to_json()) == graph


def test_depthwise_weights_are_the_same_bytes_under_another_shape():
    graph, _, mod = _graph(lambda x: conv(x, 4, inputs=1, groups=4), IMAGE)
    kernel = graph.nodes[-1]
    assert kernel.name == "openclml.nn.depthwise_conv2d"
    assert graph.nodes[1].shape == (1, 4, 3, 3)
    (weights,) = mod.attrs["const_name_to_constant"].values()
    assert weights.numpy().shape == (4, 1, 3, 3)


def test_own_code_generator_is_called_by_tvms_pass():
    codegen.register()
    mod = relax.transform.RunCodegen()(partition_for_clml(modules.OPERATORS["relu"][1]()))
    assert [str(m["get_symbol"]()) for m in mod.attrs["external_mods"]] == ["clml_0"]


@pytest.mark.parametrize(("flops", "operators"), list(itertools.product((0, 10_000, 10**9), (1, 2))))
def test_policy_keeps_small_subgraphs(flops, operators):
    """Two subgraphs of one operator each: a convolution of 69,120 operations, and a relu."""
    offload = Offload(OffloadPolicy(capabilities=MLCapabilities(version=NEWEST), min_flops=flops, min_operators=operators))
    offload.partition(module(lambda x: nn.relu(relax.op.sin(conv(x, 8, padding=1))), IMAGE))
    kinds = [decision.operators for decision in offload.decisions if decision.offloaded]
    expected = [("conv2d",), ("relu",)] if flops == 0 else [("conv2d",)] if flops < 10**9 else []
    assert kinds == (expected if operators == 1 else [])
    assert {name for d in offload.decisions for name in d.operators} == {"conv2d", "relu", "sin"}
    assert all(decision.reason for decision in offload.decisions)


def test_cost_model_weighs_copies():
    capabilities = MLCapabilities(
        version=4, ml_gflops=1000, kernel_gflops=100, memory_mbps=40000, ml_start_ns=10000, kernel_start_ns=15000
    )
    offload = Offload(OffloadPolicy(capabilities=capabilities))
    offload.partition(module(lambda x: nn.relu(relax.op.sin(conv(x, 64, inputs=64, padding=1))), (1, 64, 32, 32)))
    assert {d.operators: d.offloaded for d in offload.decisions if d.name} == {("conv2d",): True, ("relu",): False}


def test_the_module_given_stays_as_it_is():
    mod = module(lambda x: nn.relu(norm(conv(x, 8) + constant(1, 8, 1, 1), 8)[0]), IMAGE)
    before = mod.script(show_meta=True)
    partition_for_clml(mod)
    assert mod.script(show_meta=True) == before
    assert "Codegen" not in before


def _tvms_composites(mod):
    """What TVM's own passes and table make of a module, before code generation."""
    steps = [
        AppendReshapeToBNRewriterPass(),
        relax.transform.FoldConstant(),
        relax.transform.FuseOpsByPattern(clml_pattern_table()),
    ]
    for step in steps:
        mod = step(mod)
    functions = [
        function for _, function in mod.functions_items() if function.attrs is not None and "Composite" in function.attrs
    ]
    return sorted(str(function.attrs["Composite"]) for function in functions)


def _twice(x):
    """A value that a pattern ends with, and that is read besides."""
    return x + nn.relu(x)


@pytest.mark.parametrize(
    ("make", "tvms", "ours"),
    [
        (lambda x: relax.op.clip(conv(x, 8), 0, 6), ["openclml.nn.conv2d"], ["openclml.clip.nn.conv2d"]),
        (lambda x: relax.op.clip(x, -1, 1), [], ["openclml.relax.clip"]),
        (
            lambda x: nn.relu(norm(conv(x, 8), 8)[0]),
            ["openclml.bn.nn.conv2d", "openclml.relax.nn.relu", "openclml.reshape"],
            ["openclml.relu.tuple.bn.nn.conv2d"],
        ),
        (lambda x: conv(x, 8, inputs=2, groups=2), ["openclml.nn.conv2d"], []),
        (
            lambda x: _twice(conv(x, 8)),
            ["openclml.relax.add", "openclml.relu.nn.conv2d"],
            ["openclml.nn.conv2d", "openclml.relax.nn.relu", "openclml.relax.add"],
        ),
        (lambda x: nn.softmax(x, 2), ["openclml.relax.nn.softmax"], []),
        (lambda x: nn.max_pool2d(x, (2, 2), dilation=(2, 2)), ["openclml.nn.max_pool2d"], []),
        (
            lambda x: conv(nn.pad(x, (0, 0, 0, 0, 1, 1, 1, 1), pad_value=1.0), 8),
            ["openclml.pad.nn.conv2d"],
            ["openclml.nn.conv2d"],
        ),
    ],
)
def test_where_tvms_own_table_goes_wrong(make, tvms, ours):
    """What docs/clml.md says of TVM 0.27: patterns that match nothing, and parts that its runtime refuses or gets wrong."""
    assert _tvms_composites(module(make, IMAGE)) == tvms
    assert _composites(_everything(fold_batch_norm=False).partition(module(make, IMAGE))) == ours


def test_tvms_pass_for_normalisations_fails_where_functions_call_each_other():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(IMAGE, "float32"))
    with builder.function("inner", [x], private=True):
        with builder.dataflow():
            result = builder.emit_output(nn.relu(x))
        builder.emit_func_output(result)
    inner = builder.get().get_global_var("inner")
    y = relax.Var("y", relax.TensorType(IMAGE, "float32"))
    with builder.function("main", [y]):
        with builder.dataflow():
            result = builder.emit_output(inner(y))
        builder.emit_func_output(result)
    with pytest.raises(AttributeError, match="name"):
        AppendReshapeToBNRewriterPass()(builder.get())
    assert _composites(partition_for_clml(builder.get())) == ["openclml.relax.nn.relu"]
