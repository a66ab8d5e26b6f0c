"""`adreno-sim kernel` with other sizes, a reference, a second device, and what it keeps of the outputs."""

import json
from pathlib import Path

import numpy as np
import pytest
from validators import validator

from adreno_sim.cli.main import main

pytestmark = pytest.mark.e2e

SOURCE = "kernel void twice(global const float* x, global float* file) { int i = get_global_id(0); file[i] = 2 * x[i]; }\n"
LAUNCH = """source = "twice.cl"
global_size = ["n"]
expected = "reference.py:twice"
[values]
n = 8
[[argument]]
kind = "buffer"
dtype = "float32"
data = {fill = "random", seed = 1}
count = "n"
[[argument]]
kind = "buffer"
dtype = "float32"
count = "n"
[variant.recorded]
expected = "reference.py:none"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("twice.cl").write_text(SOURCE)
    Path("launch.toml").write_text(LAUNCH)
    Path("reference.py").write_text("def twice(x):\n    return 2 * x\n")
    return tmp_path


def run(capsys, *args):
    code = main(["kernel", "--launch", "launch.toml", *args])
    return code, *capsys.readouterr()


def test_another_size_on_two_devices_kept_in_a_file(folder, capsys):
    code, out, _ = run(
        capsys, "--set", "n=100", "--compare-with", "sim:adreno-650", "--save-outputs", "out.npz", "--json", "x.json"
    )  # fmt: skip
    assert code == 0
    assert "file: 100 elements right" in out
    assert "file: adreno-740 and adreno-650: 100 elements, same bits" in out
    report = json.loads(Path("x.json").read_text())
    validator("launch-report").validate(report)
    assert report["values"] == {"n": 100}
    assert report["compared"]["arguments"][0]["same"] is True
    saved = np.load("out.npz")
    assert saved.files == ["file"]
    assert saved["file"].shape == (100,)
    Path("launch.toml").write_text(
        LAUNCH.replace('expected = "reference.py:twice"\n', "")
        + '[variant.saved]\noutput = [{argument = 1, data = {file = "out.npz", array = "file"}}]\n'
    )
    code, out, _ = run(capsys, "--set", "n=100", "--variant", "saved")
    assert code == 0
    assert "file: 100 elements right" in out
    code, _, err = run(capsys, "--variant", "saved", "--save-outputs", "out.npz")
    assert code == 2
    assert "--save-outputs out.npz: would overwrite an input, out.npz" in err


def test_devices_that_differ_are_findings(folder, capsys):
    Path("launch.toml").write_text(LAUNCH.replace('{fill = "random", seed = 1}', '{fill = "constant", value = 3e-39}'))
    code, out, _ = run(
        capsys, "--compare-with", "sim:adreno-650,flush_denormals=false", "--device", "sim:adreno-740,flush_denormals=true"
    )
    assert code == 1
    assert "adreno-740 and adreno-650: 8 of 8 elements DIFFER" in out
    assert "adreno-740 not as expected" in out


@pytest.mark.parametrize(
    "args, message",
    [
        (("--set", "m=3"), "--set: m: launch.toml has no value of this name; its [values] are n"),
        (("--set", "n=few"), "--set: n=few: no value is named few; [values] has none"),
        (("--set", "n"), "'n': expected NAME=NUMBER, as n=2048"),
        (("--set", "n=0"), "launch.toml: [[argument]] 1: count: expected a whole number of 1 or more, got 'n', which is 0"),
        (("--save-outputs", "out.npy"), "--save-outputs: out.npy: expected a file named .npz"),
        (("--save-outputs", "none/out.npz"), "--save-outputs: cannot write none/out.npz: folder none does not exist"),
        (("--compare-with", "sim:adreno-999"), "adreno-999"),
        (("--variant", "recorded"), "launch.toml: expected: reference.py: no function none; it has twice"),
        (("--function", "f", "--set", "n=3"), "--set: is for a kernel with a launch file"),
        (("--function", "f", "--save-outputs", "x.npz"), "--save-outputs: is for a kernel with a launch file"),
    ],
)
def test_what_is_refused(folder, capsys, args, message):
    if "--function" in args:
        code = main(["kernel", "x.py", *args])
        out, err = capsys.readouterr()
    else:
        code, out, err = run(capsys, *args)
    assert code == 2
    assert not out
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(path.name for path in folder.iterdir()) == ["launch.toml", "reference.py", "twice.cl"]


def test_outputs_of_a_launch_that_is_refused(folder, capsys):
    Path("launch.toml").write_text(LAUNCH.replace("[values]", "local_size = [3]\n[values]"))
    code, out, _ = run(capsys, "--save-outputs", "out.npz")
    assert code == 1
    assert "outputs: out.npz was not written, as the kernel was not run" in out
    assert not Path("out.npz").exists()
