"""`kernel FILE.cl` without a launch file: mistakes are found, correct kernels of common shapes are clean over all launches.

`pytest --slow tests/kernels/inferred` runs every kernel.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from validators import validator

from adreno_sim.cli.main import main
from adreno_sim.launch_spec.inferred import infer
from adreno_sim.launch_spec.inferred.run import MARK, Wanted, run_inferred
from adreno_sim.results.launch_report import LaunchReport

from .right_kernels import RIGHT
from .wrong_kernels import WRONG

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def some(table: dict, nth: int) -> list:
    """Every name, most of them slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (place % nth > 0)) for place, name in enumerate(table)]


def run(folder: Path, source: str, **options) -> tuple[LaunchReport, str]:
    path = folder / "k.cl"
    path.write_text(source)
    return run_inferred(path, folder / "k.failing.toml", Wanted(**options))


@pytest.mark.share(4.5)
@pytest.mark.parametrize("name", some(RIGHT, 3))
def test_a_right_kernel_is_clean(tmp_path, name):
    report, failing = run(tmp_path, RIGHT[name])
    assert [finding.message for finding in report.findings if finding.severity] == []
    assert not failing
    assert report.ok
    assert len(report.tried) > 1
    assert report.checks == "full"


@pytest.mark.share(5)
@pytest.mark.parametrize("name", some(WRONG, 3))
def test_a_mistake_is_found(tmp_path, monkeypatch, name):
    monkeypatch.setattr(infer, "SECONDS", 0.5)
    source, kinds = WRONG[name]
    report, failing = run(tmp_path, source)
    told = [finding for finding in report.findings if finding.kind.label in kinds]
    assert told
    assert all("work-item" in finding.message for finding in told if finding.severity)
    assert failing.startswith(MARK) == bool(report.counting)


@pytest.mark.representative
def test_the_smallest_launch_that_fails_is_a_file(tmp_path, monkeypatch, capsys):
    """It fails alone as well; the mended kernel does not, under any launch."""
    monkeypatch.chdir(tmp_path)
    Path("k.cl").write_text(WRONG["a guard with <="][0])
    assert main(["kernel", "k.cl", "--json", "r.json"]) == 1
    out, report = capsys.readouterr().out, json.loads(Path("r.json").read_text())
    validator("launch-report").validate(report)
    assert "wrote k.failing.toml" in out
    assert report["kernel"] == "k"
    assert report["launch"] == "k.failing.toml"
    first = next(launch for launch in report["tried"] if launch["failures"])
    assert report["values"] == first["values"] == {"n": 5}
    assert first["global_size"] == [8]
    assert all(finding["detail"]["launch"] == first["assumed"] for finding in report["findings"])
    launch = tomllib.loads(Path("k.failing.toml").read_text())
    validator("launch").validate(launch)
    assert {argument.get("count") for argument in launch["argument"]} == {"n", None}
    assert main(["kernel", "--launch", "k.failing.toml"]) == 1
    Path("k.cl").write_text(WRONG["a guard with <="][0].replace("<=", "<"))
    assert main(["kernel", "--launch", "k.failing.toml"]) == 0
    assert main(["kernel", "k.cl"]) == 0
    assert "8 inferred launches of 5 to 104 work-items" in capsys.readouterr().out


def test_another_file_is_left_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("k.cl").write_text(WRONG["the next element"][0])
    Path("k.failing.toml").write_text("mine")
    assert main(["kernel", "k.cl", "--sizes", "8"]) == 1
    assert Path("k.failing.toml").read_text() == "mine"
    assert "is another file (--failing FILE" in capsys.readouterr().out
    assert main(["kernel", "k.cl", "--sizes", "8", "--failing", "f.toml"]) == 1
    assert MARK in Path("f.toml").read_text()


def test_sizes_bound_launches(tmp_path):
    for least, most in [(1, 6), (200, 300)]:
        report, _ = run(tmp_path, RIGHT["add with a guard"], sizes=(least, most))
        assert {launch.values["n"] for launch in report.tried} <= set(range(least, most + 1))


def test_every_kernel_of_a_file_is_run(tmp_path):
    both = RIGHT["add with a guard"] + "\n" + WRONG["the next element"][0].replace("kernel void k", "kernel void wrong")
    report, failing = run(tmp_path, both)
    assert {finding.kernel for finding in report.findings} == {"wrong"}
    assert 'kernel = "wrong"' in failing
    assert report.kernel == "k, wrong"
    assert "of 2 kernels" in report.verdict
    assert run(tmp_path, both, kernel="k")[0].ok


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["k.cl", "--variant", "a"], "--variant: is for a launch"),
        (["k.cl", "--counters"], "--counters: is for a launch"),
        (["k.cl", "--kernel", "x"], "--kernel: x: the kernels of k.cl are k"),
        (["k.cl", "--sizes", "9:3"], "expected MOST or LEAST:MOST"),
        (["--launch", "x.toml", "--sizes", "3"], "--sizes: is for launches that are inferred"),
        (["k.cl", "--isa", "--sizes", "3"], "--sizes: is for launches"),
        ([], "expected FILE.cl"),
        (["k.cl", "--device", "cl:0"], "expected a simulated device"),
    ],
)
def test_what_says_nothing_is_refused(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    Path("k.cl").write_text(RIGHT["add with a guard"])
    assert main(["kernel", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
