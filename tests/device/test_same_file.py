"""One test file on the simulator and on every OpenCL device that can be had without root, in one run and alone."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from importlib.metadata import entry_points
from pathlib import Path

import handmade
import judges
import pytest

import adreno_sim
from adreno_sim.backends.opencl import drivers
from adreno_sim.backends.opencl.verdicts import judge_driver

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.device, pytest.mark.slow]

INSTALLED = any(entry.name == "adreno_sim" for entry in entry_points(group="pytest11"))

TVM = importlib.util.find_spec("tvm") is not None

THERE = {driver.name for driver in drivers.DRIVERS if importlib.util.find_spec("pyopencl") and drivers.is_available(driver)}

USERS_FILE = '''
import numpy as np
import handmade
import pytest

BLUR = """
kernel void blur(read_only image2d_t x, write_only image2d_t y) {
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(y, at, (read_imagef(x, s, at - (int2)(1, 0)) + read_imagef(x, s, at + (int2)(1, 0))) * 0.5f);
}
"""
HALVES = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void twice(global half *x) { int i = get_global_id(0); x[i] = x[i] * 2.0h; }
"""
TOTAL = """
kernel void total(global float *x, local float *part) {
  int i = get_local_id(0);
  part[i] = x[get_global_id(0)];
  for (int step = get_local_size(0) / 2; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < step) part[i] += part[i + step];
  }
  if (i == 0) x[get_global_id(0)] = part[0];
}
"""

def test_texture(adreno_kernel):
    texels = np.random.default_rng(0).random((1, 6, 8, 4), dtype="float32")
    source, target = adreno_kernel.Image(texels), adreno_kernel.Image(np.zeros_like(texels))
    got = adreno_kernel(BLUR, [source, target], (8, 6), (8, 1)).arrays[1]
    padded = np.pad(texels, ((0, 0), (0, 0), (1, 1), (0, 0)), mode="edge")
    np.testing.assert_allclose(got, (padded[:, :, :-2] + padded[:, :, 2:]) / 2, rtol=1e-6)

def test_barriers(adreno_kernel):
    from adreno_sim.device import Local
    (x,) = [a for a in adreno_kernel(TOTAL, [np.arange(64, dtype="float32"), Local(64)], (64,), (16,)).arrays if a is not None]
    assert x[[0, 16, 32, 48]].tolist() == [120, 376, 632, 888]

@pytest.mark.adreno(requires="fp16")
def test_halves(adreno_kernel):
    (x,) = adreno_kernel(HALVES, [np.arange(64, dtype="float16")], (64,), (16,)).arrays
    assert (x == 2 * np.arange(64)).all()

@pytest.mark.adreno(requires="stores")
def test_stores(adreno_device):
    assert adreno_device.info.records_stores

@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_network(adreno_check, target):
    pytest.importorskip("tvm")
    from models import Network
    report = adreno_check(Network, target=target)
    assert report.checked == report.kernels_in_model
'''

MODEL = """
from tvm.script.parser import ir as I
from tvm.script.parser import relax as R

@I.ir_module
class Network:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32"), w: R.Tensor((4, 4, 3, 3), "float32")):
        with R.dataflow():
            a: R.Tensor((1, 4, 4, 4), "float32") = R.nn.conv2d(x, w, out_dtype="float32")
            b: R.Tensor((1, 4, 4, 4), "float32") = R.nn.relu(a)
            R.output(b)
        return b
"""

LACKS = {
    "sim:adreno-740": [],
    "cl:pocl": ["makes no image2d or image2d_array over a buffer", "has no cl_khr_fp16", "does not check accesses"],
    "cl:intel": ["makes no image2d_array over a buffer", "does not check accesses"],
    "cl:oclgrind": ["makes no image2d or image2d_array over a buffer", "has no cl_khr_fp16", "does not check accesses"],
}
"""What the run must say of each device."""


@pytest.fixture
def run(pytester, monkeypatch):
    for variable in (drivers.VARIABLE, drivers.OURS, "ADRENO_SIM_DEVICE"):
        monkeypatch.delenv(variable, raising=False)
    for module in (handmade, adreno_sim):  # the users' file imports both
        folder = Path(module.__file__).parents[1 if module is adreno_sim else 0]
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    pytester.makepyfile(test_users=USERS_FILE, models=MODEL)
    pytester.makeini("[pytest]\npythonpath = .")
    plugin = () if INSTALLED else ("-p", "adreno_sim.pytest.plugin")
    return lambda *devices: pytester.runpytest_subprocess(*plugin, "-rs", *(f"--adreno-device={text}" for text in devices))


def said_of(device: str, text: str) -> str:
    """The part of the summary on one device."""
    found = re.search(rf"^{re.escape(device)}: .*\n(?:  .*\n)*", text, re.MULTILINE)
    assert found, text
    return found[0]


def judge_run(result, lacks):
    text = result.stdout.str()
    assert result.ret == 0, text
    assert "failed" not in result.parseoutcomes(), text
    for device, sentences in lacks.items():
        said = said_of(device, text)
        skipped = (not device.startswith("sim")) + ("has no cl_khr_fp16" in said) + (0 if TVM else 2)
        assert f"{device}: 6 tests, 0 failed, {skipped} skipped" in said
        for sentence in sentences:
            assert sentence in said


def test_all_fit_devices_in_one_run(run, judge, intel):
    """cl:portable is one of them by another name, opened beside those that are asked for by their own."""
    fit = dict.fromkeys([judge.name, intel.name])
    devices = ["sim:adreno-740", *(f"cl:{name}" for name in fit)]
    judge_run(run(*devices), {device: LACKS[device] for device in devices})


def test_the_portable_device_is_one_of_the_others(run, judge):
    judge_run(run("cl:portable"), {"cl:portable": LACKS[f"cl:{judge.name}"]})


@pytest.mark.parametrize("name", ["intel", "oclgrind"])
def test_one_device_alone(run, name, request):
    judges.skip_without(request.node, name)
    judge_run(run(f"cl:{name}"), {f"cl:{name}": LACKS[f"cl:{name}"]})


def test_an_unfit_device_says_so_in_the_summary(run, request):
    judges.skip_without(request.node, "pocl")
    wrong = judge_driver(drivers.icd_texts(drivers.get_driver("pocl"))[0]).against
    said = said_of("cl:pocl", run("cl:pocl").stdout.str())
    assert wrong in said if wrong else "gets" not in said


def test_the_command_names_them_all(opencl_child):
    assert THERE, "no OpenCL driver: pip install -e '.[opencl,oracle]'"
    code = "import sys; from adreno_sim.cli.main import main; sys.exit(main(['devices']))"
    shown = opencl_child("cl", code=code, env={drivers.VARIABLE: "", drivers.OURS: ""}).stdout
    assert all(re.search(rf"^  cl:{name} ", shown, re.MULTILINE) for name in THERE), shown
    assert re.search(r"^cl:portable is cl:\w+$", shown, re.MULTILINE), shown


@pytest.mark.parametrize("name", ["pocl", "intel", "oclgrind"])
def test_plans_allocated_for_real(opencl_child, name, tmp_path, request):
    judges.skip_without(request.node, name)
    path = tmp_path / "model.asim"
    handmade.texture().save(path)
    code = "import sys; from adreno_sim.cli.main import main; sys.exit(main(sys.argv[2:]))"
    args = ["footprint", str(path), "--measure", "--planners", "tvm-fixed,tflite", "--json", str(tmp_path / "out.json")]
    done = opencl_child("cl", *args, "--device", f"cl:{name}", code=code)
    assert done.returncode == 0, done.stdout + done.stderr
    for trial in json.loads((tmp_path / "out.json").read_text())["measured"]:
        assert trial["taken"] > 0
        assert trial["apart"] == 4
        assert not trial["refused"]
