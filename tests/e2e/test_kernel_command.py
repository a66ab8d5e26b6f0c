"""`adreno-sim kernel` and `adreno-sim reproduce`, and what `check` writes for machines: bad input, every form of output."""

import json
from pathlib import Path

import numpy as np
import pytest
from validators import validator

from adreno_sim.cli.main import main

pytestmark = pytest.mark.e2e

SOURCE = """// Doubles its input; the last work-item has no element.
kernel void twice(global const float* x, global float* y) {
  int i = get_global_id(0);
  y[i] = 2 * x[i];
}
"""
LAUNCH = """source = "twice.cl"
global_size = [{size}]
[[argument]]
kind = "buffer"
dtype = "float32"
data = {{file = "x.npy"}}
[[argument]]
kind = "buffer"
dtype = "float32"
count = 8
[[output]]
argument = 1
data = {{fill = "arange", step = 2}}
"""
ALLOW = """[[allow]]
kernel = "twice"
kind = "{kind}"
reason = "padding"
expires = {expires}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a kernel and a launch that reads and writes past the end, the current one."""
    monkeypatch.chdir(tmp_path)
    Path("twice.cl").write_text(SOURCE)
    Path("launch.toml").write_text(LAUNCH.format(size=9))
    Path("clean.toml").write_text(LAUNCH.format(size=8))
    np.save("x.npy", np.arange(8, dtype=np.float32))
    return tmp_path


def run(capsys, *args):
    code = main([str(arg) for arg in args])
    return code, *capsys.readouterr()


def test_every_form_of_output(folder, capsys):
    code, out, err = run(
        capsys,
        "kernel",
        "twice.cl",
        "--launch",
        "launch.toml",
        "--explain",
        "--annotations",
        "--sarif",
        "x.sarif",
        "--json",
        "x.json",
    )
    assert code == 1
    assert not err
    assert "twice.cl:4:8: error: writes 4 bytes" in out
    assert " 4 |   y[i] = 2 * x[i];" in out
    assert "y: 8 elements right" in out
    assert "::error file=twice.cl,line=4,col=8,title=out-of-bounds-write::kernel twice: writes" in out
    report, sarif = json.loads(Path("x.json").read_text()), json.loads(Path("x.sarif").read_text())
    kinds = ["out-of-bounds-write", "out-of-bounds-read"]
    assert [f["kind"] for f in report["findings"]] == kinds == [r["ruleId"] for r in sarif["runs"][0]["results"]]
    assert {path.name for path in folder.iterdir()} == {"twice.cl", "launch.toml", "clean.toml", "x.npy", "x.sarif", "x.json"}


def test_json_on_standard_output_is_nothing_but_json(folder, capsys):
    code, out, err = run(capsys, "kernel", "--launch", "launch.toml", "--json", "-", "--annotations")
    assert code == 1
    assert json.loads(out)["exit_code"] == 1
    assert "::error" in err
    assert "findings: 2 errors" in err


def test_a_clean_launch(folder, capsys):
    code, out, _ = run(capsys, "kernel", "--launch", "clean.toml", "--annotations", "--strict")
    assert code == 0
    assert out.splitlines()[-1] == "ok: 0 errors, 0 warnings, 1 of 1 outputs right"
    assert "::" not in out


@pytest.mark.parametrize(("level", "said"), [("off", "memory accesses"), ("bounds", "uninitialised reads, data races"), ("", "")])
def test_what_a_level_leaves_out_is_said(folder, capsys, level, said):
    """The default leaves nothing out, whatever a launch file says; a device string is the command line's."""
    Path("clean.toml").write_text(
        Path("clean.toml").read_text().replace("[[argument]]", '[run]\nchecks = "bounds"\n[[argument]]', 1)
    )
    for words in [["--checks", level], ["--device", f"sim:adreno-650,checks={level}"]] if level else [[]]:
        code, out, _ = run(capsys, "kernel", "--launch", "clean.toml", "--json", "x.json", *words)
        report = json.loads(Path("x.json").read_text())
        assert code == 0
        assert report["checks"] == (level or "full")
        assert f"not checked: {said}" in out if said else "not checked" not in out
        assert [line.startswith(said) for line in report["unchecked"]] == [True] * bool(said)


SILENT = """kernel void twice(global const float* x, global float* y) {
  local float tile[4];
  tile[get_local_id(0)] = 2 * x[get_global_id(0)];
  y[get_global_id(0)] = tile[get_local_id(0) ^ 1];
}
"""


def test_a_race_is_found_without_asking(folder, capsys):
    """The clean twin has a barrier."""
    launch = (
        Path("clean.toml")
        .read_text()
        .replace("global_size = [8]", "global_size = [8]\nlocal_size = [4]")
        .partition("[[output]]")[0]
    )
    Path("race.toml").write_text(launch)
    for barrier, wanted in [("", 1), ("  barrier(CLK_LOCAL_MEM_FENCE);\n", 0)]:
        Path("twice.cl").write_text(SILENT.replace("  y[", barrier + "  y["))
        code, out, _ = run(capsys, "kernel", "--launch", "race.toml")
        assert code == wanted
        assert ("data-race" in out) == bool(wanted)


@pytest.mark.parametrize(
    ("factor", "why"), [("0 *", "every element is 0.0"), ("3e38f * 1e9f *", "elements are infinite or NaN"), ("2 *", "")]
)
def test_a_result_that_says_nothing_is_not_right(folder, capsys, factor, why):
    Path("twice.cl").write_text(SOURCE.replace("2 *", factor))
    expected = {"0 *": '"zeros"', "2 *": '{fill = "arange", step = 2}'}.get(factor, "[nan, inf, inf, inf, inf, inf, inf, inf]")
    Path("clean.toml").write_text(Path("clean.toml").read_text().replace('{fill = "arange", step = 2}', expected))
    code, out, _ = run(capsys, "kernel", "--launch", "clean.toml", "--json", "x.json")
    report = json.loads(Path("x.json").read_text())
    kinds = [found["kind"] for found in report["findings"] if found["kind"] != "nonfinite-born"]
    assert code == 0
    assert kinds == ["vacuous-comparison"] * bool(why)
    if why:
        assert out.splitlines()[-1].startswith("ok, in part: 0 errors, ")
        assert out.splitlines()[-1].endswith("0 of 1 outputs right, 1 that says nothing")
        assert why in out
        assert "elements right" not in out
        assert any("output y" in line for line in report["unchecked"])
    assert run(capsys, "kernel", "--launch", "clean.toml", "--strict")[0] == bool(why)


def test_an_infinite_error_is_not_told_as_none(folder, capsys):
    Path("twice.cl").write_text(SOURCE.replace("2 *", "3e38f * 1e9f *"))
    code, out, _ = run(capsys, "kernel", "--launch", "clean.toml")
    assert code == 1
    assert "y: 8 of 8 elements WRONG (max abs inf)" in out


@pytest.mark.parametrize("expires, code", [("2999-01-01", 1), ("2020-01-01", 1)])
def test_allow_lists(folder, capsys, expires, code):
    Path("adreno-sim.toml").write_text(ALLOW.format(kind="out-of-bounds-write", expires=expires))
    found, out, _ = run(capsys, "kernel", "--launch", "launch.toml")
    assert found == code
    if expires > "2026":
        assert "allowed: error: out-of-bounds-write at twice.cl:twice:4:8: padding" in out
        assert "1 error, " in out.splitlines()[-1]
    else:
        assert "expired allow-list entry: " in out
        assert "2 errors, " in out.splitlines()[-1]


def test_everything_allowed_is_ok_but_listed(folder, capsys):
    both = ALLOW.format(kind="out-of-bounds-write", expires="2999-01-01") + ALLOW.format(
        kind="out-of-bounds-read", expires="2999-01-01"
    )
    Path("adreno-sim.toml").write_text(both)
    code, out, _ = run(capsys, "kernel", "--launch", "launch.toml", "--sarif", "x.sarif")
    assert code == 0
    assert out.count("allowed: error: ") == 2
    assert "2 allowed" in out.splitlines()[-1]
    results = json.loads(Path("x.sarif").read_text())["runs"][0]["results"]
    assert len(results) == 2
    assert all(result["suppressions"] for result in results)


@pytest.mark.parametrize(
    "change, args, message",
    [
        ({}, ("--launch", "none.toml"), "none.toml: cannot be read: No such file or directory"),
        ({}, ("none.cl", "--launch", "launch.toml"), "none.cl: cannot be read: No such file or directory"),
        ({}, ("--launch", "launch.toml", "--variant", "fast"), "launch.toml: no variant 'fast'; there are: none"),
        ({}, ("--launch", "launch.toml", "--device", "sim:adreno-999"), "adreno-999"),
        ({}, ("--launch", "launch.toml", "--json", "none/x.json"), "cannot write none/x.json: folder none does not exist"),
        ({}, (), "expected FILE.cl, --launch SPEC.toml, or FILE.py with --function NAME"),
        ({}, ("twice.cl", "--scalar", "factor=2"), "--scalar: is for a PrimFunc (--function)"),
        ({"x.npy": b"1 2 3"}, ("--launch", "launch.toml"), "[[argument]] 1: data: x.npy: not a .npy file"),
        ({"launch.toml": b"global_size = 9"}, ("--launch", "launch.toml"), "launch.toml: global_size: expected a list of 1 to 3"),
        ({"launch.toml": b"\x00"}, ("--launch", "launch.toml"), "launch.toml: not a TOML file"),
        ({"twice.cl": b"kernel void twice("}, ("--launch", "launch.toml"), "expected"),
        ({"twice.cl": b"a\0"}, ("--launch", "launch.toml"), "twice.cl: not OpenCL C: it holds zero bytes"),
        ({}, ("/dev/zero", "--launch", "launch.toml"), "/dev/zero: cannot be read: more than 16777216 bytes"),
        ({}, ("--launch", "/dev/zero"), "/dev/zero: cannot be read: more than 16777216 bytes"),
        ({"twice.cl": b""}, ("--launch", "launch.toml"), "twice.cl: no kernel in it: expected a function"),
    ],
)
def test_bad_input_is_one_error_without_traceback(folder, capsys, change, args, message):
    for name, content in change.items():
        Path(name).write_bytes(content)
    before = {path.name for path in folder.iterdir()}
    code, out, err = run(capsys, "kernel", *args)
    assert code == 2
    assert not out
    assert err.startswith(("error: ", "twice.cl:"))
    assert message in err
    assert "Traceback" not in err
    if change != {"twice.cl": b"kernel void twice("}:
        assert err.count("\n") == 1
    assert {path.name for path in folder.iterdir()} == before


def test_variables_too_large_for_any_machine_are_refused(folder, capsys):
    text = Path("twice.cl").read_text()
    body = "float huge[1000000000]; huge[get_global_id(0)] = 1.0f; if (huge[3] == 2.0f) return;"
    Path("twice.cl").write_text(text.replace("{", "{ " + body, 1))
    code, out, err = run(capsys, "kernel", "--launch", "launch.toml")
    assert code == 3
    assert not out
    assert "variable huge of 4000000000 bytes: expected at most" in err
    assert err.count("\n") == 1


@pytest.fixture
def stock(small_onnx, tmp_path, monkeypatch):
    """A model whose texture store is wrong: TVM's own pipeline from 0.26 on."""
    from adreno_sim.compiler.tvm_bridge.versions import tvm_series

    if tvm_series() == "0.25":
        pytest.skip("TVM 0.25 stores textures right")
    monkeypatch.chdir(tmp_path)
    return small_onnx


@pytest.mark.tvm
def test_a_failing_launch_of_a_model_is_reproduced(stock, capsys):
    code, out, _ = run(capsys, "reproduce", stock, "--pipeline", "stock", "--to", "case", "--annotations", "--sarif", "x.sarif")
    assert code == 1
    assert next(line for line in out.splitlines() if line.startswith("reproduction: ")).startswith("reproduction: case: kernel ")
    assert f"::error file={stock},line=1,title=wrong-value::kernel " in out
    (artifact, *_) = json.loads(Path("x.sarif").read_text())["runs"][0]["artifacts"]
    assert artifact["location"]["uri"].endswith(".cl")
    assert "kernel void" in artifact["contents"]["text"]
    code, out, _ = run(capsys, "kernel", "--launch", "case/launch.toml", "--explain")
    assert code == 1
    assert "[wrong-value]" in out
    assert "write_image" in out
    code, _, err = run(capsys, "reproduce", stock, "--to", "case")
    assert code == 2
    assert "exists and is not an empty folder" in err


@pytest.mark.tvm
def test_check_writes_a_reproduction_only_where_something_fails(stock, capsys):
    code, _, _ = run(capsys, "check", stock, "--pipeline", "stock", "--reproduce", "case", "--json", "x.json")
    assert code == 1
    assert json.loads(Path("x.json").read_text())["reproduction"].startswith("case: kernel ")
    assert {"kernel.cl", "launch.toml"} <= {path.name for path in Path("case").iterdir()}
    code, out, _ = run(capsys, "reproduce", stock, "--to", "none")
    assert code == 0
    assert not Path("none").exists()
    assert "no launch failed: nothing was written to none" in out


@pytest.mark.tvm
def test_what_check_allows_is_listed(stock, capsys):
    Path("adreno-sim.toml").write_text(ALLOW.format(kind="wrong-value", expires="2999-01-01").replace('"twice"', '"*"'))
    code, out, _ = run(capsys, "check", stock, "--pipeline", "stock", "--json", "x.json")
    report = json.loads(Path("x.json").read_text())
    assert code == 0
    assert "allowed: error: wrong-value" in out
    assert len(report["allowed"]) > 1  # the kernels behind the first wrong value are judged too
    assert f"{len(report['allowed'])} allowed" in report["verdict"]
    assert {each["reason"] for each in report["allowed"]} == {"padding"}
    assert "wrong-value" not in [finding["kind"] for finding in report["findings"]]


@pytest.mark.parametrize(
    ("change", "code", "said", "places"),
    [
        ("kernel void twice(", 2, "twice.cl:1:", 1),
        ("kernel void other(global float* x, global float* y) {}", 2, "", 0),
        ("kernel void twice(global const float* x, global float* y) { queue_t q = get_default_queue(); y[0] = x[0]; }", 2, "", 1),
    ],
)
def test_an_end_without_a_report_is_written_where_reports_are(folder, capsys, change, code, said, places):
    Path("twice.cl").write_text(change)
    Path("clean.toml").write_text('kernel = "twice"\n' + Path("clean.toml").read_text())
    found, out, err = run(
        capsys, "kernel", "--launch", "clean.toml", "--json", "x.json", "--sarif", "x.sarif", "--html", "x.html", "--annotations"
    )
    assert found == code
    assert err.startswith(said) if said else True
    report, sarif = json.loads(Path("x.json").read_text()), json.loads(Path("x.sarif").read_text())["runs"][0]
    validator("failure").validate(report)
    assert report["exit_code"] == code
    assert report["error"] == err.rstrip("\n")
    told = sarif["invocations"][0]
    assert not told["executionSuccessful"]
    assert len(told["toolExecutionNotifications"]) >= 1
    assert not sarif["results"]
    assert sum("locations" in each for each in told["toolExecutionNotifications"]) >= places == min(1, len(report["diagnostics"]))
    assert "exit code 2" in Path("x.html").read_text()
    found, out, _ = run(capsys, "kernel", "--launch", "clean.toml", "--json", "-")
    assert found == code
    assert json.loads(out)["exit_code"] == code
    found, _, err = run(capsys, "kernel", "--launch", "clean.toml", "--json", "clean.toml")  # a refused output stays as it is
    assert found == 2
    assert "would overwrite" in err
    assert "twice" in Path("clean.toml").read_text()
