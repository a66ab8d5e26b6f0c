"""The output that docs/time.md shows is what its command prints, and what else `--time` does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from validators import validator

from adreno_sim.cli.main import main

pytestmark = pytest.mark.e2e

PAGE = Path(__file__).parents[2] / "docs" / "time.md"


@pytest.fixture
def files(tmp_path, monkeypatch):
    page = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        Path(name).write_text(text)
    return page


KERNEL = ["kernel", "--launch", "transpose.toml", "--time"]


def test_the_shown_output(files, capsys):
    shown = re.findall(r"^```output\n(.*?)^```$", files, re.MULTILINE | re.DOTALL)
    for command, output in zip((KERNEL, [*KERNEL, "--variant", "rows", "--variant", "square"]), shown, strict=True):
        assert main(command) == 0
        said = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        assert [line for line in said if line.strip(" ─")] == output.splitlines()


def test_files(files, capsys):
    assert main([*KERNEL, "--json", "t.json", "--html", "t.html"]) == 0
    report = json.loads(Path("t.json").read_text())
    validator("launch-report").validate(report)
    (row,) = report["time"]["kernels"]
    assert row["low"] < row["seconds"] < row["high"]
    assert row["bound"] == "buffer lines"
    assert row["error"] == "scaled"
    assert "<h2>Predicted time</h2>" in Path("t.html").read_text()
    capsys.readouterr()


def test_a_roofline_has_a_point_for_each_kernel_with_floats(files, capsys):
    Path("transpose.cl").write_text(Path("transpose.cl").read_text().replace("from[y * n + x]", "from[y * n + x] * 2.0f + 1.0f"))
    assert main([*KERNEL, "--html", "t.html"]) == 0
    page = Path("t.html").read_text()
    assert page.count("<circle") == 1
    assert "transpose: " in page
    assert "<polyline" in page
    capsys.readouterr()


def test_without_time_there_is_none(files, capsys):
    assert main(["kernel", "--launch", "transpose.toml", "--json", "t.json"]) == 0
    assert json.loads(Path("t.json").read_text())["time"] is None
    for flags in (["--max-time", "1ms"], ["--compare", "t.json"]):
        assert main(["kernel", "--launch", "transpose.toml", *flags]) == 2
        assert "needs --time" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["15", "0ms", "1h", "-1ms", "ms"])
def test_no_limit(files, text, capsys):
    assert main([*KERNEL, f"--max-time={text}"]) == 2
    assert "expected a time above 0" in capsys.readouterr().err


def test_a_baseline_that_is_none(files, capsys):
    assert main([*KERNEL, "--compare", "transpose.toml"]) == 2
    assert "not JSON" in capsys.readouterr().err


def test_a_kernel_that_became_slower(files, capsys):
    assert main([*KERNEL, "--json", "before.json"]) == 0
    Path("transpose.cl").write_text(Path("transpose.cl").read_text().replace("to[x * n + y] =", "to[x * n + y] = to[y] +"))
    before = json.loads(Path("before.json").read_text())
    for row in (before["time"], *before["time"]["kernels"]):
        row["seconds"] /= 2
    Path("before.json").write_text(json.dumps(before))
    assert main([*KERNEL, "--checks", "bounds", "--compare", "before.json"]) == 0
    assert "slower-than-before" in capsys.readouterr().out
    assert main([*KERNEL, "--checks", "bounds", "--compare", "before.json", "--strict"]) == 1
    capsys.readouterr()


def test_a_slow_function(files, capsys):
    text = Path("transpose.cl").read_text()
    for body, found in (("fma(from[y * n + x], 2.0f, 1.0f)", True), ("mad(from[y * n + x], 2.0f, 1.0f)", False)):
        Path("transpose.cl").write_text(text.replace("from[y * n + x]", body))
        assert main(KERNEL) == 0
        assert ("[slow-builtin]" in capsys.readouterr().out) == found


@pytest.mark.parametrize(("device", "code", "reason"), [
    ("cl", 2, "does not show what a kernel does"),
    ("sim:reference", 3, "is not a chip"),
])  # fmt: skip
def test_devices_without_times(files, device, code, reason, capsys):
    assert main([*KERNEL, "--device", device]) == code
    assert reason in capsys.readouterr().err


def test_kernels_are_ranked(files, capsys):
    """A wrong one wins nothing, however fast it is."""
    slow = Path("transpose.cl").read_text().replace("from[y * n + x]", "from[y * n + x] + from[(x * 97 + y * 31) % n * n] * 0")
    Path("slow.cl").write_text(slow)
    Path("wrong.cl").write_text("kernel void transpose(global const float *from, global float *to) { to[1 << 20] = 0; }")
    shared = ["--launch", "transpose.toml", "--time", "--json", "r.json", "--html", "r.html"]
    assert main(["kernel", "slow.cl", "transpose.cl", *shared]) == 0
    ranking = json.loads(Path("r.json").read_text())
    validator("time").validate(ranking)
    assert [row["name"] for row in ranking["kernels"]] == ["transpose.cl", "slow.cl"]
    assert not ranking["missing"]
    assert "to the first" in Path("r.html").read_text()
    assert main(["kernel", "transpose.cl", "wrong.cl", *shared]) == 1
    ranking = json.loads(Path("r.json").read_text())
    assert [row["name"] for row in ranking["kernels"]] == ["transpose.cl"]
    assert ranking["missing"][0].startswith("wrong.cl: findings")
    capsys.readouterr()


def test_launches_that_are_refused_have_no_time(files, capsys):
    """Neither alone nor in a ranking; a limit says nothing about them, and says so."""
    with Path("transpose.toml").open("a") as file:
        file.write("[variant.huge]\nlocal_size = [3000, 1]\n[variant.huger]\nlocal_size = [4000, 1]\n")
    assert main([*KERNEL, "--variant", "huge", "--max-time", "1ms"]) == 1
    said = capsys.readouterr().out
    assert "predicted time on adreno-640: none" in said
    assert "not checked: the limit of 1 ms" in said
    assert main([*KERNEL, "--variant", "huge", "--variant", "huger", "--json", "r.json"]) == 1
    ranking = json.loads(Path("r.json").read_text())
    assert not ranking["kernels"]
    assert len(ranking["missing"]) == 2
    capsys.readouterr()


@pytest.mark.parametrize("flags", [[], ["--time", "--counters"], ["--time", "--compare", "r.json"], ["--time", "--dump", "ir"]])
def test_what_says_nothing_of_several(files, flags, capsys):
    assert main(["kernel", "transpose.cl", "slow.cl", "--launch", "transpose.toml", *flags]) == 2
    assert "several" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.tvm
def test_a_model(small_onnx, tmp_path, monkeypatch, capsys):
    """Its report is as without times, besides them."""
    monkeypatch.chdir(tmp_path)
    assert main(["check", str(small_onnx), "--time", "--json", "report.json", "--html", "page.html"]) == 0
    report = json.loads(Path("report.json").read_text())
    validator("report").validate(report)
    times = report["time"]
    assert {row["name"] for row in times["kernels"]} == {kernel["name"] for kernel in report["kernels"]}
    assert times["seconds"] == pytest.approx(sum(row["seconds"] for row in times["kernels"]))
    assert not times["missing"]
    assert main(["check", str(small_onnx), "--time", "--compare", "report.json", "--max-time", "1us"]) == 1
    said = capsys.readouterr().out
    assert "too-slow" in said
    assert "slower-than-before" not in said
