"""Subgraphs of OpenCL ML and kernels under one plan: compiled by TVM, checked, compared by `footprint`."""

import json

import clml_modules as modules
import pytest
from clml_modules import conv, nn
from validators import validator

import adreno_sim
from adreno_sim.cli.main import main
from adreno_sim.compiler.compile import compile_model
from adreno_sim.render.report import offload_text
from adreno_sim.results import encode

pytestmark = pytest.mark.tvm

CLML = {"target": "clml", "clml_min_flops": 0}


def test_every_plan_has_both_and_gives_the_same(mixed):
    digests, planned = set(), {}
    for plan in (None, "tvm-fixed", "arena", "arena-onchip"):
        report = adreno_sim.check(mixed, device="sim:adreno-740,ONCHIP_GLOBAL_MEM_SIZE=20480", plan=plan, **CLML)
        assert report.ok, str(report)
        assert report.checked == report.kernels_in_model == 3, str(report)
        assert not report.findings, str(report)
        validator("report").validate(json.loads(json.dumps(encode.report_to_json(report))))
        digests.add(report.digests["output"])
        planned[plan] = report.plan
        text = "\n".join(offload_text.lines(report))
        assert ("device buffers" in text, "tensors in the memory plan" in text) == (plan is None, plan is not None)
    assert len(digests) == 1
    assert planned["arena"].planned < planned["tvm-fixed"].planned + planned["tvm-fixed"].unplanned
    assert planned["arena-onchip"].on_chip > 0


def test_footprint_compares_them(mixed, tmp_path, capsys):
    model = compile_model(mixed, **CLML)
    model.save(tmp_path / "mixed.asim")
    path = tmp_path / "footprint.json"
    names = "tvm-fixed,arena,arena-onchip"
    assert main(["footprint", str(tmp_path / "mixed.asim"), "--planners", names, "--measure", "--json", str(path)]) == 0
    data = json.loads(path.read_text())
    validator("footprint").validate(data)
    rows = {row["planner"]: row for row in data["planners"]}
    assert all(rows[trial["planner"]]["peak"] == trial["peak"] for trial in data["measured"])
    assert rows["arena"]["peak"] < rows["as compiled"]["peak"]
    assert data["findings"] == []
    assert rows["arena-onchip"]["on_chip_traffic"] >= rows["arena"]["on_chip_traffic"] > 0
    assert any(life["id"].startswith("clml_0_") for life in data["lives"])
    assert "traffic there" in capsys.readouterr().out
    path.unlink()
    drawn = ["--plan-json", str(path), "--draw", "arena-onchip", "--html", str(tmp_path / "plan.html")]
    assert main(["footprint", str(tmp_path / "mixed.asim"), "--planners", names, *drawn]) == 0
    report = adreno_sim.check(model, device="sim:adreno-740", plan=str(path))
    assert report.ok, str(report)
    assert report.plan.on_chip == rows["arena-onchip"]["on_chip"], str(report)


def test_kernels_alone_use_the_chip():
    net = modules.module(lambda x: nn.relu(conv(nn.relu(conv(x, 8, padding=1)), 8, inputs=8, padding=1)), (1, 4, 8, 8))
    for plan, device, checks in (("arena", "sim:adreno-640", "bounds"), ("arena-onchip", "sim:adreno-740", "full")):
        report = adreno_sim.check(net, device=device, target="buffer", plan=plan, checks=checks)
        assert report.ok, str(report)
        assert not report.findings, str(report)
    assert report.plan.on_chip > 0
    with pytest.raises(adreno_sim.UnsupportedError, match="adreno-640 has no cl_qcom_onchip_global_memory"):
        adreno_sim.check(net, device="sim:adreno-640", target="buffer", plan="arena-onchip")
