"""Whole networks with target clml: subgraphs and kernels in one program, reports, bundles, what a device lacks."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import clml_modules as modules
import onnx
import pytest
import relax_models
from clml_modules import constant, conv, module, nn
from operators import OPERATORS
from tvm import relax
from validators import validator

import adreno_sim
from adreno_sim.base.errors import UnsupportedError
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.check.bundle import make_bundle
from adreno_sim.compiler.compile import compile_model
from adreno_sim.compiler.plan.graphs import graph_plans
from adreno_sim.render.report import offload_text
from adreno_sim.results import encode

pytestmark = pytest.mark.tvm

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


PAGE = (Path(__file__).parents[3] / "docs" / "clml.md").read_text(encoding="utf-8")


def _row(name, report):
    """The network's row in the table of docs/clml.md."""
    (graph,) = report.subgraphs
    copies = f"{graph.copies_in} in, {graph.copies_out} out"
    figures = f"{graph.copied_bytes:,} | {graph.on_chip_peak:,} | {graph.buffers:,}"
    return f"| {name} | {offload_text.count_names(graph.operators)} | {copies} | {figures} |"


def test_subgraphs_and_kernels_in_one_program(mixed, adreno):
    report = adreno_sim.check(mixed, device=adreno, target="clml", clml_min_flops=0)
    assert report.ok, str(report)
    assert report.checked == report.kernels_in_model == 3, str(report)
    assert [row.name for row in report.kernels] == ["clml_0", "tir_sin_kernel", "clml_1"]
    first, second = report.subgraphs
    assert first.operators == ("conv2d", "max_pool2d")
    assert second.operators == ("conv2d", "add", "relu")
    assert (first.copies_in, first.copies_out, second.copies_in, second.copies_out) == (1, 1, 1, 1)
    assert first.copied_bytes == 4 * (4 * 24 * 24 + 8 * 12 * 12)
    assert first.interface == 4
    assert first.on_chip_peak <= first.on_chip == 4 * 8 * 24 * 24 < first.on_chip_size
    assert [(kept.operators, kept.name) for kept in report.kept] == [(("sin",), "")]


def test_report_as_json_and_text(mixed, adreno):
    report = adreno_sim.check(mixed, device=adreno, target="clml", clml_min_flops=100_000)
    data = json.loads(json.dumps(encode.report_to_json(report)))
    validator("report").validate(data)
    text = "\n".join(offload_text.lines(report))
    assert "offloaded clml_0 (OpenCL ML 4): conv2d, max_pool2d; 336,384 operations, at least 100,000; copies 1 in, 1 out" in text
    assert "kept in kernels: sin: OpenCL ML has no such operator" in text


def test_wrong_constants_are_found(mixed, adreno):
    """What runs is judged by the subgraph's own reference: one weight more shows."""
    model = compile_model(mixed, target="clml", clml_min_flops=0)
    report = adreno_sim.check(mixed, device=adreno, target="clml", clml_min_flops=0)
    digest = report.digests["output"]
    key = next(iter(model.graphs["clml_0"].constants.values()))
    changed = model.constants[key].copy()
    changed.reshape(-1)[0] += 1
    model.constants[key] = changed
    assert adreno_sim.check(model, device=adreno).digests["output"] != digest


def test_wrong_operator_is_named(mixed, adreno, monkeypatch):
    from adreno_sim.mlops import pooling

    monkeypatch.setattr(pooling, "round_to_storage", lambda values, mode: values.astype("float32") * 1.01)
    report = adreno_sim.check(mixed, device=adreno, target="clml", clml_min_flops=0)
    assert report.first_wrong is not None
    assert report.first_wrong.kernel == "clml_0"
    assert "is not what its subgraph computes" in report.first_wrong.message
    assert "; first in node 4: " in report.first_wrong.message


def test_overlapping_tensors_are_told_from_a_wrong_operator(adreno, monkeypatch):
    """Where the plan lets two tensors overlap, values are wrong though each operator alone is right."""
    from adreno_sim.mlops import onchip

    monkeypatch.setattr(onchip._Planner, "_on_chip", lambda self, nbytes, number: 0)
    monkeypatch.setattr(onchip._Planner, "_free", lambda self, number: None)

    def make(x):
        first = conv(x, 8, padding=1)
        return nn.relu(conv(first, 8, inputs=8, padding=1)) + first

    report = adreno_sim.check(module(make, (1, 4, 24, 24)), device=adreno, target="clml", clml_min_flops=0)
    assert report.first_wrong is not None
    assert "; each operator alone is right" in report.first_wrong.message


def test_bundle_runs_and_is_judged_without_tvm(mixed, adreno, tmp_path):
    path = tmp_path / "model.asim"
    model = make_bundle(mixed, path, golden=True, device=adreno, target="clml", clml_min_flops=0)
    loaded = CompiledModel.load(path)
    assert loaded.graphs == model.graphs
    assert loaded.offload == model.offload
    assert loaded.digest() == model.digest()
    report = adreno_sim.check(str(path), device=adreno)
    assert report.ok, str(report)
    assert report.checked == 3, str(report)


def test_footprint_has_the_places(mixed, adreno):
    model = compile_model(mixed, target="clml", clml_min_flops=0)
    plans = graph_plans(model, adreno.info.ml)
    assert [found.name for found in plans] == ["clml_0", "clml_1"]
    assert {place["memory"] for place in plans[1].as_json()["places"]} == {"on-chip", "device"}
    small = graph_plans(model, dataclasses.replace(adreno.info.ml, onchip_bytes=2048))
    assert all(found.plan.on_chip_peak <= 2048 and found.plan.rejected > 0 for found in small)


def test_small_on_chip_memory_gives_the_same_result(mixed, adreno):
    """Tensors lie in the memory planned for them; where it is short they lie elsewhere."""
    digests = {
        adreno_sim.check(mixed, device=f"sim:adreno-740,ONCHIP_GLOBAL_MEM_SIZE={size}", target="clml", clml_min_flops=0).digests[
            "output"
        ]
        for size in (0, 5000, 20000, 3 << 20)
    }
    assert len(digests) == 1


def test_device_without_the_extension(mixed):
    with pytest.raises(UnsupportedError, match="adreno-640 has no cl_qcom_ml_ops"):
        adreno_sim.check(mixed, device="sim:adreno-640", target="clml", clml_min_flops=0)


def test_mobile_network(adreno):
    report = adreno_sim.check(relax_models.mobilenet(96), device=adreno, target="clml")
    assert report.ok, str(report)
    assert [graph.operators.count("depthwise_conv2d") for graph in report.subgraphs] == [3], str(report)
    assert _row("mobilenet (of the tests)", report) in PAGE


@pytest.mark.parametrize("name", ["private_function", "three_branches", "squeeze_and_excite"])
def test_module_of_the_operator_table(name, adreno):
    report = adreno_sim.check(OPERATORS[name](), device=adreno, target="clml", clml_min_flops=0)
    assert report.ok, str(report)
    assert report.subgraphs, str(report)


@pytest.mark.parametrize("name", [key for key in modules.OPERATORS if key in ("conv2d + other clip", "pad + conv2d", "divide")])
def test_stock_pipeline_has_tvms_subgraphs_or_none(name, adreno):
    """The stock pipeline partitions as the fixed one does: TVM's own pass needs a code generator that its wheels have not."""
    report = adreno_sim.check(modules.OPERATORS[name][1](), device=adreno, target="clml", pipeline="stock", clml_min_flops=0)
    assert report.ok
    assert report.fixes == ()
    assert report.subgraphs


@pytest.mark.slow
@pytest.mark.parametrize(("file", "operators"), [("squeezenet", 26), ("resnet50", 53)])
def test_network(file, operators, adreno):
    report = adreno_sim.check(str(LIGHT / f"light_{file}.onnx"), device=adreno, target="clml")
    assert report.ok, str(report)
    assert len(report.subgraphs) == 1, str(report)
    assert report.subgraphs[0].operators.count("conv2d") == operators
    assert not report.kept
    assert _row(file, report) in PAGE


def test_subgraphs_textures_and_buffers_in_one_program(adreno):
    """A grouped convolution stays with kernels on textures, between subgraphs; buffers lie between all of them."""

    def make(x):
        y = nn.relu(conv(x, 8, padding=1) + constant(1, 8, 1, 1))
        y = relax.op.sin(nn.relu(conv(y, 8, inputs=4, groups=2, padding=1)))
        return nn.relu(conv(y, 8, inputs=8, padding=1))

    mod = module(make, (1, 4, 24, 24))
    model = compile_model(mod, target="clml-texture", clml_min_flops=0)
    assert model.target == "clml-texture"
    assert len(model.graphs) == 3
    assert {param.kind for code in model.kernels.values() for param in code.params} == {"image", "buffer"}
    report = adreno_sim.check(mod, device=adreno, target="clml-texture", clml_min_flops=0)
    assert report.ok, str(report)
    assert report.checked == report.kernels_in_model == 3 + len(model.kernels), str(report)


@pytest.mark.slow
def test_network_in_halves(adreno):
    report = adreno_sim.check(str(LIGHT / "light_squeezenet.onnx"), device=adreno, target="clml", dtype="float16")
    assert report.ok, str(report)
    assert [graph.operators.count("conv2d") for graph in report.subgraphs] == [26], str(report)


def test_results_of_a_subgraph_end_where_they_are_last_used(adreno):
    """TVM binds several results to a tuple that nothing reads again: it must not keep them from ending."""

    def make(x):
        first = conv(x, 8, padding=1)
        both = relax.op.sin(first) + relax.op.sin(nn.relu(first))
        for _ in range(4):
            both = relax.op.sin(relax.op.cos(both))
            both = nn.relu(conv(both, 8, inputs=8, padding=1))
        return relax.op.sin(both)

    mod = module(make, (1, 4, 16, 16))
    report = adreno_sim.check(mod, device=adreno, target="clml", clml_min_flops=0)
    assert max(graph.copies_out for graph in report.subgraphs) == 2
    assert report.ok, str(report)
