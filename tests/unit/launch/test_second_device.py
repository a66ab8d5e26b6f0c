"""A launch beside a second device: what both left, who is right, and what is kept of it."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim.findings import Kind
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.launch_spec.run import run_launch

HALVES = """kernel void halve(global float* y, global const float* x) {
  int i = get_global_id(0);
  if (i % 2) y[i] = x[i] / 2;
}
"""
LAUNCH = """
global_size = [16]
[[argument]]
kind = "buffer"
dtype = "float32"
count = 16
{output}
[[argument]]
kind = "buffer"
dtype = "float32"
count = 16
data = {data}
"""
SMALL = '{fill = "constant", value = 1e-38}'
FLUSHING, KEEPING = "sim:adreno-740,flush_denormals=true", "sim:adreno-650,flush_denormals=false"


@pytest.fixture
def run(tmp_path):
    def judge(second, source=HALVES, data='"random"', output="", launch=LAUNCH, **options):
        (tmp_path / "k.cl").write_text(source)
        (tmp_path / "launch.toml").write_text(launch.format(data=data, output=output))
        return run_launch(read_launch(tmp_path / "launch.toml"), tmp_path / "k.cl", compare_with=second, **options)

    return judge


def test_devices_that_agree(run):
    """Elements that nobody writes agree too: both devices begin with what the first one held, another seed or not."""
    report = run("sim:adreno-650,seed=3", checks="full", keep_arrays=True)
    (compared,) = report.compared.arguments
    assert report.ok
    assert report.compared.device == "adreno-650"
    assert not report.compared.refused
    assert (compared.argument, compared.elements, compared.same, compared.differ) == ("y", 16, True, 0)
    assert list(report.arrays) == ["y"]
    assert report.arrays["y"].shape == (16,)


def test_devices_that_differ(run):
    report = run(KEEPING, data=SMALL, device=FLUSHING)
    (compared,) = report.compared.arguments
    (finding,) = report.findings
    assert compared.differ == 8
    assert not compared.same
    assert finding.kind is Kind.DEVICES_DIFFER
    assert finding.message.startswith(
        "y: adreno-740 and adreno-650 differ, and nothing says which is right: 8 of 16 elements; worst"
    )
    assert report.exit_code == 1
    assert run(FLUSHING, data=SMALL, device=FLUSHING).ok


def test_what_is_expected_says_who_is_right(run, tmp_path):
    expected = np.zeros(16, np.float32)
    expected[1::2] = 5e-39
    np.save(tmp_path / "y.npy", expected)
    launch = LAUNCH + '[[output]]\nargument = 0\ndata = {{file = "y.npy"}}\n'
    report = run(KEEPING, data=SMALL, output='data = "zeros"', launch=launch, device=FLUSHING)
    messages = {finding.kind: finding.message for finding in report.findings}
    assert set(messages) == {Kind.WRONG_VALUE, Kind.DEVICES_DIFFER}
    assert "differ, adreno-740 not as expected: 8 of 16" in messages[Kind.DEVICES_DIFFER]


def test_a_device_that_cannot_run_it_is_named(run):
    launch = LAUNCH.replace("[16]", "[256]\nlocal_size = [256]").replace("count = 16", "count = 256")
    report = run("sim:adreno-740,MAX_WORK_GROUP_SIZE=64", launch=launch)
    assert report.ok
    assert not report.compared.arguments
    assert "256" in report.compared.refused
    assert f"the comparison: the launch did not run on adreno-740: {report.compared.refused}" in report.unchecked


def test_a_launch_that_is_refused_here_is_compared_nowhere(run):
    report = run("sim:adreno-650", launch=LAUNCH.replace("[16]", "[16]\nlocal_size = [5]"), keep_arrays=True)
    assert report.compared is None
    assert report.arrays is None
    assert not report.ok


def test_an_image_over_shared_memory_is_not_compared(run):
    source = "kernel void k(read_only image2d_t x, global float* y) { y[0] = read_imagef(x, (int2)(0, 0)).x; }\n"
    launch = """
global_size = [1]
[storage.pool]
nbytes = 4096
[[argument]]
kind = "image2d"
width = 4
height = 4
storage = "pool"
data = {data}
[[argument]]
kind = "buffer"
dtype = "float32"
count = 4
storage = "pool"
offset = 2048
data = "zeros"
{output}
"""
    report = run("sim:adreno-650", source, launch=launch)
    assert report.compared.refused.startswith("an image shares its storage with another argument")
