"""The output that docs/counters.md shows is what its commands print."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from adreno_sim.cli.main import main

pytestmark = pytest.mark.e2e

PAGE = Path(__file__).parents[2] / "docs" / "counters.md"


def test_the_shown_output(tmp_path, monkeypatch, capsys):
    page = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        Path(name).write_text(text)
    (shown,) = re.findall(r"^```output\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert main(["kernel", "--launch", "transpose.toml", "--counters"]) == 0
    said = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in said if line.strip(" ─")] == shown.splitlines()


@pytest.mark.slow
@pytest.mark.tvm
def test_a_model(small_onnx, tmp_path, monkeypatch, capsys):
    """Its report is as without counters, besides them, also in a process of its own and for one PrimFunc."""
    monkeypatch.chdir(tmp_path)
    reports = []
    for flags in ([], ["--counters", "--html", "page.html"], ["--counters", "--isolate"]):
        assert main(["check", str(small_onnx), "--json", "report.json", *flags]) == 0
        report = json.loads(Path("report.json").read_text())
        reports.append([{**kernel, "seconds": 0, "device_seconds": 0} for kernel in report["kernels"]])
    plain, counted, isolated = reports
    assert counted == isolated
    assert all(kernel["counters"]["launches"] == 1 for kernel in counted)
    assert [{**kernel, "counters": None} for kernel in counted] == plain
    assert "<h2>Counters</h2>" in Path("page.html").read_text()
    (conv,) = (
        kernel["counters"]["exact"] for kernel in counted if kernel["name"].endswith("conv2d_NCHWc_OIHWo_opencl_relu_kernel_1")
    )
    products = 16 * 16 * 8 * 4 * 9  # pixels, outputs, inputs, taps of the first convolution
    relu = 16 * 16 * 8
    assert 2 * products <= conv["operations"]["float32"] <= 2 * products + relu
    assert conv["unique_written_bytes"] == 4 * relu
    capsys.readouterr()


@pytest.mark.parametrize("command", [["check", "model.onnx"], ["kernel", "--launch", "transpose.toml"]])
def test_a_real_device_is_refused(command, tmp_path, monkeypatch, capsys):
    page = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        Path(name).write_text(text)
    assert main([*command, "--counters", "--device", "cl"]) == 2
    assert capsys.readouterr().err == (
        "error: --counters: cl is a real device, which does not show what a kernel does; sim:PROFILE counts\n"
    )
