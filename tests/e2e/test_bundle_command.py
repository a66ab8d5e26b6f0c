"""`adreno-sim bundle`, and checking what it wrote where there is no TVM."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import handmade
import judges
import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.cli.main import main
from adreno_sim.compiler.artifact.model import CompiledModel

pytestmark = [pytest.mark.e2e, pytest.mark.tvm]

WITHOUT_TVM = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tvm", "tvm_ffi", "onnx", "onnxruntime"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
from adreno_sim.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

HALF = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"


@pytest.fixture(scope="module")
def bundle(small_onnx, tmp_path_factory):
    path = tmp_path_factory.mktemp("bundle") / "small.asim"
    assert main(["bundle", str(small_onnx), "-o", str(path), "--golden"]) == 0
    return path


@pytest.fixture
def check(tmp_path):
    """check(file, *args) in a process without TVM: the process, and the report where there is one."""

    def run(file, *args):
        path = os.pathsep.join(filter(None, [str(Path(adreno_sim.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-c", WITHOUT_TVM, "check", str(file), "--json", str(tmp_path / "report.json"), *args]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": path})
        report = tmp_path / "report.json"
        return done, json.loads(report.read_text()) if report.exists() else None

    return run


def changed(bundle, folder, name, old, new):
    """The bundle with `old` replaced in the source of the first kernel that has it and whose name starts with `name`."""
    model = CompiledModel.load(bundle)
    key = next(key for key, code in model.kernels.items() if key.startswith(name) and old in code.source)
    code = model.kernels[key]
    kernels = {**model.kernels, key: replace(code, source=code.source.replace(old, new))}
    path = folder / "changed.asim"
    replace(model, kernels=kernels).save(path)
    return path, key


def statuses(report):
    return {kernel["name"]: kernel["status"] for kernel in report["kernels"]}


def test_every_kernel_is_judged_without_tvm(bundle, check):
    done, report = check(bundle)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("ok: ")
    assert "TVM llvm agrees" in done.stdout
    assert set(statuses(report).values()) <= {"ok", "part"}
    assert len(report["kernels"]) == report["kernels_in_model"]
    assert {output["reference"] for output in report["outputs"]} >= {"TVM llvm"}


def test_a_wrong_kernel_is_named_and_those_after_it_are_judged_on_golden_inputs(bundle, check, tmp_path):
    path, name = changed(bundle, tmp_path, "softmax", "exp(", "2.0f * exp(0.5f * ")
    done, report = check(path, "--keep-going")
    assert done.returncode == 1
    found = statuses(report)
    assert found.pop(name) == "wrong"
    assert set(found.values()) <= {"ok", "part"}
    path, name = changed(bundle, tmp_path, "fused_conv2d", "max(", "3.0f * max(")
    done, report = check(path, "--keep-going")
    found = statuses(report)
    assert found.pop(name) == "wrong"
    assert set(found.values()) <= {"ok", "part"}
    assert not all(output["ok"] for output in report["outputs"])


def test_other_inputs_than_the_recorded_are_run_and_not_judged(bundle, check, tmp_path):
    np.savez(tmp_path / "in.npz", data=np.ones((1, 4, 16, 16), "float32"))
    done, report = check(bundle, "--input", str(tmp_path / "in.npz"))
    assert done.returncode == 0
    assert "ok, in part" in done.stdout
    assert any("golden results are for other inputs" in sentence for sentence in report["unchecked"])


WITHOUT_HALVES = '[profile.plain]\nbase = "adreno-740"\nwithout_extensions = ["cl_khr_fp16"]\n'


@pytest.mark.device
@pytest.mark.parametrize("device", ["sim:plain.toml", "cl:pocl"])
def test_what_a_device_lacks_is_said_before_anything_runs(bundle, check, tmp_path, request, device):
    (tmp_path / "plain.toml").write_text(WITHOUT_HALVES)
    if device == "cl:pocl":
        judges.skip_without(request.node, "pocl")
    device = device.replace("plain.toml", str(tmp_path / "plain.toml"))
    path, name = changed(bundle, tmp_path, "softmax", "__kernel", HALF + "__kernel")
    done, report = check(path, "--device", device)
    assert done.returncode == 3, done.stdout + done.stderr
    assert report["schema"].startswith("adreno-sim/failure/"), done.stdout + done.stderr
    assert done.stderr.startswith(f"error: kernel {name}: unsupported: asks for arithmetic in half")
    assert "--keep-going" in done.stderr
    done, report = check(path, "--device", device, "--keep-going")
    assert done.returncode == 3
    assert "unsupported" in done.stdout.splitlines()[-1]
    assert name not in statuses(report)
    assert set(statuses(report).values()) <= {"ok", "part"}
    assert len(report["kernels"]) == report["kernels_in_model"] - 1


def test_golden_survives_saving_and_is_checked(bundle, tmp_path):
    model = CompiledModel.load(bundle)
    assert model.golden is not None
    assert model.golden.calls
    model.save(tmp_path / "again.asim")
    again = CompiledModel.load(tmp_path / "again.asim")
    assert again.golden == model.golden
    assert again.digest() == replace(model, golden=None).digest()
    assert all((again.golden.arrays[key] == array).all() for key, array in model.golden.arrays.items())
    short = dict(list(model.golden.arrays.items())[:-3])
    replace(model, golden=replace(model.golden, arrays={k: v for k, v in short.items() if not k.startswith("0/")})).save(
        tmp_path / "short.asim"
    )
    with pytest.raises(AdrenoSimError, match=r"result . of call 0 is missing"):
        CompiledModel.load(tmp_path / "short.asim")


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["-o", "x.zip"], "expected a name that ends in .asim"),
        (["-o", "nowhere/x.asim"], "cannot write"),
        (["-o", "x.asim", "--input", "a.npz"], "--golden"),
        (["-o", "x.asim", "--shape", "data"], "expected NAME=DxDx"),
    ],
)
def test_bad_usage(small_onnx, capsys, tmp_path, monkeypatch, args, expected):
    monkeypatch.chdir(tmp_path)
    assert main(["bundle", str(small_onnx), *args]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert expected in error
    assert error.count("\n") == 1


def test_two_devices_side_by_side(bundle, check, tmp_path):
    done, report = check(bundle, "--compare-with", "sim:reference")
    assert done.returncode == 0, done.stdout + done.stderr
    assert report["compared_with"] == "reference"
    assert "beside reference" in done.stdout
    peers = [kernel["peer"] for kernel in report["kernels"] if kernel["peer"]]
    assert peers
    assert all(peer["compared"] > 0 == peer["differ"] for peer in peers)
    assert any(peer["equal"] == peer["compared"] for peer in peers)


def test_the_side_that_is_wrong_is_named(bundle, check, tmp_path):
    """The source asks for the version that only one of the two devices has: it alone computes something else."""
    guarded = "#if __OPENCL_VERSION__ >= 300\n#define exp(x) native_exp(2 * (x))\n#endif\n__kernel"
    path, name = changed(bundle, tmp_path, "softmax", "__kernel", guarded)
    done, report = check(path, "--keep-going", "--device", "sim:adreno-630", "--compare-with", "sim:adreno-740")
    assert done.returncode == 1, done.stdout + done.stderr
    (differ,) = [finding for finding in report["findings"] if finding["kind"] == "devices-differ"]
    assert differ["kernel"] == name
    assert "adreno-740 not as golden" in differ["message"]
    assert statuses(report)[name] == "ok"


CRASH = "float lost(float x) { ((volatile __global float *)(ulong)64)[0] = x; return x; }\n"
HANG = "float lost(float x) { volatile int never = 0; while (never == 0) {} return x; }\n"


@pytest.mark.share()
@pytest.mark.device
@pytest.mark.parametrize(
    ("body", "kind", "limit"), [(CRASH, "device-crashed", 120), (HANG, "device-hung", 7)], ids=["crash", "hang"]
)
def test_a_driver_that_is_lost_is_a_finding(check, tmp_path, body, kind, limit):
    model = handmade.symbolic()
    code = model.kernels["add_one"]
    source = body + code.source.replace("x[i] + 1.0f", "lost(x[i])")
    path = tmp_path / "lost.asim"
    replace(model, kernels={"add_one": replace(code, source=source)}).save(path)
    done, report = check(path, "--device", "cl:portable", "--isolate", "--time-limit", str(limit))
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("findings: "), done.stdout + done.stderr
    (finding,) = report["findings"]
    assert finding["kind"] == kind
    assert "it was at run: add_one" in finding["message"]


def test_an_isolated_run_that_ends_is_as_any_other(bundle, check):
    done, report = check(bundle, "--isolate")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("ok: ")
    assert report["ok"]
    done, _ = check(bundle, "--isolate", "--device", "sim:nothing")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    done, _ = check(bundle, "--isolate", "--time-limit", "0")
    assert done.returncode == 2
    assert "expected seconds" in done.stderr
