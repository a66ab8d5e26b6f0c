"""Failing launches of a model's run, written as folders that the kernel command runs to the same finding or wrong value."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from validators import validator

from adreno_sim import AdrenoSimError, open_device
from adreno_sim.base.errors import DeviceError
from adreno_sim.base.launch_folder import WrittenArgument, WrittenLaunch, toml_value, write_folder
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.cli.main import main
from adreno_sim.compiler.artifact.host_function import BufferParam, BufferRef, Const, HostFunction, Launch
from adreno_sim.compiler.artifact.model import KernelCode, KernelParamInfo
from adreno_sim.compiler.check.reproduce import Reproducer, Snapshot, describe_launch
from adreno_sim.compiler.run.observer import FunctionCall, LaunchCall
from adreno_sim.device.protocol import LaunchResult
from adreno_sim.findings import Finding, Kind
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.launch_spec.run import run_launch

SOURCE = """kernel void scale(global const float* x, write_only image2d_t y, global float* scratch, float factor, long past) {
  int i = get_global_id(0);
  scratch[i + past] = x[i];
  write_imagef(y, (int2)(i, 0), (float4)(factor * x[i]));
}
"""
PARAMS = (
    KernelParamInfo("x", "buffer", "float32", "read"), KernelParamInfo("y", "image", "float32", "write"),
    KernelParamInfo("scratch", "buffer", "float32", "write"), KernelParamInfo("factor", "scalar", "float32"),
    KernelParamInfo("past", "scalar", "int64"),
)  # fmt: skip


def launch_call(device, past=0, source=SOURCE, factor=2.0):
    """One launch of `scale`, x and scratch in one storage."""
    storage, image = device.allocate(4096), device.allocate(4096)
    x = device.view(storage, BufferSpec(16, "float32"))
    scratch = device.view(storage, BufferSpec(16, "float32"), 128)
    y = device.view(image, ImageSpec("image2d", 4, 1))
    device.write(x, np.array([1, np.inf, -3, 0.1], np.float32))
    dims = (Const(4, "int64"),)
    function = HostFunction(
        "host",
        tuple(
            BufferParam(name, dims, "float32", access=access) for name, access in (("a", "read"), ("b", "write"), ("c", "write"))
        ),
        (Launch("scale", (BufferRef("a"),), (Const(1, "int64"),) * 3, (Const(1, "int64"),) * 3),),
    )
    call = FunctionCall(function, (0, 0, 0), {}, 3, 0, device)
    code = KernelCode("scale", source, PARAMS, "-cl-std=CL2.0")
    args = (x, y, scratch, np.float32(factor), np.int64(past))
    kernel = device.build(source, code.options)["scale"]
    return LaunchCall(call, code, kernel, (4, 1, 1), (2, 1, 1), args, ("a", "b", "c", "", ""), 7)


def launched(device, launch):
    return device.launch(launch.kernel, launch.global_size, launch.local_size, launch.args)


def same(a, b):
    return a.tobytes() == b.tobytes()


def test_a_finding_comes_back(tmp_path, capsys):
    device, folder = open_device("sim:adreno-650", seed=5), tmp_path / "case"
    launch = launch_call(device, past=2)
    reproducer = Reproducer(folder)
    reproducer.before_launch(launch)
    result = launched(device, launch)
    reproducer.after_launch(launch, result)
    (found,) = result.findings
    assert reproducer.written.startswith("kernel scale: out-of-bounds-write: writes 4 bytes")
    assert sorted(path.name for path in folder.iterdir()) == ["argument0.npy", "kernel.cl", "launch.toml"]
    spec = read_launch(folder / "launch.toml")
    assert spec.device == "sim:adreno-650"
    assert spec.run == {"seed": 5}
    assert list(spec.storages.values()) == [4096]
    report = run_launch(spec)
    (again,) = report.findings
    assert (again.kind, again.line, again.column, again.count) == (found.kind, found.line, found.column, found.count)
    assert again.work_item == found.work_item
    assert again.access == found.access
    assert report.exit_code == 1
    assert main(["kernel", "--launch", str(folder / "launch.toml")]) == 1
    assert "out-of-bounds-write" in capsys.readouterr().out


def test_a_wrong_value_comes_back(tmp_path):
    device, folder = open_device("sim:adreno-740"), tmp_path / "case"
    launch = launch_call(device, factor=3.0)
    reproducer = Reproducer(folder)
    reproducer.before_launch(launch)
    reproducer.after_launch(launch, launched(device, launch))
    assert reproducer.written == ""
    assert not folder.exists()
    golden = np.repeat(np.array([2, np.inf, -6, 0.2], np.float32), 4).reshape(1, 1, 4, 4)
    reproducer.wrong_value(launch.call, 1, golden, Finding(Kind.WRONG_VALUE, "b is wrong\nand more"))
    report = run_launch(read_launch(folder / "launch.toml"))
    (finding,) = report.findings
    assert finding.kind is Kind.WRONG_VALUE
    assert finding.line == 4
    assert report.outputs[0].wrong == 12
    assert same(np.load(folder / "expected1.npy"), golden.reshape(-1))
    validator("launch").validate(_plain(folder / "launch.toml"))


@pytest.mark.parametrize(("named", "said"), [((0, 0, 3, 1), "[0, 0, 3, 1]: got 0.3"), ((0, 0, 1, 0), "[0, 0, 2, 0]: got -9")])
def test_the_element_that_the_finding_names_is_named_again(named, said, tmp_path):
    """By the tensor's shape, if it is wrong: not the one with the largest error."""
    launch = launch_call(open_device("sim:adreno-740"), factor=3.0)
    reproducer = Reproducer(tmp_path / "case")
    reproducer.before_launch(launch)
    golden = np.repeat(np.array([2, np.inf, -6, 0.2], np.float32), 4).reshape(1, 1, 4, 4)
    reproducer.wrong_value(launch.call, 1, golden, Finding(Kind.WRONG_VALUE, "b is wrong", detail={"index": named}))
    report = run_launch(read_launch(tmp_path / "case" / "launch.toml"))
    assert f"worst at {said}" in report.findings[0].message
    assert report.findings[0].detail["index"] == (np.ravel_multi_index(tuple(map(int, said[1:11].split(","))), golden.shape),)
    validator("launch").validate(_plain(tmp_path / "case" / "launch.toml"))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("shape = [1, 1, 4, 4]", "shape = [1, 1, 4, 5]", "shape [1, 1, 4, 5]: the argument has 16 elements"),
        ("element = [0, 0, 3, 1]", "element = [0, 0, 4, 1]", "an index of the shape [1, 1, 4, 4]"),
        ("element = [0, 0, 3, 1]", "element = [3]", "a list of 4 to 4 whole numbers"),
        ("shape = [1, 1, 4, 4]\nelement = [0, 0, 3, 1]", "element = [16]", "element 16: the argument has 16 elements"),
    ],
)
def test_an_element_that_there_is_not_is_refused(before, after, said, tmp_path):
    launch = launch_call(open_device("sim:adreno-740"), factor=3.0)
    reproducer, file = Reproducer(tmp_path / "case"), tmp_path / "case" / "launch.toml"
    reproducer.before_launch(launch)
    golden = np.ones((1, 1, 4, 4), np.float32)
    reproducer.wrong_value(launch.call, 1, golden, Finding(Kind.WRONG_VALUE, "b is wrong", detail={"index": (0, 0, 3, 1)}))
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after))
    with pytest.raises(AdrenoSimError, match=re.escape(said)):
        run_launch(read_launch(file))


def _plain(path):
    from adreno_sim.base.toml_tables import load_toml

    return json.loads(json.dumps(load_toml(path)))


def test_a_refused_launch_comes_back(tmp_path):
    source = SOURCE.replace("kernel void", "__attribute__((reqd_work_group_size(4, 1, 1))) kernel void")
    device, folder = open_device("sim:adreno-740"), tmp_path / "case"
    launch = launch_call(device, source=source)
    reproducer = Reproducer(folder)
    reproducer.before_launch(launch)
    with pytest.raises(DeviceError) as error:
        launched(device, launch)
    reproducer.write_rejected(error.value)
    (finding,) = run_launch(read_launch(folder / "launch.toml")).findings
    assert finding.kind is Kind.LIMIT_EXCEEDED
    assert finding.detail["code"] == error.value.code


def test_only_the_first_failure_of_the_kernel_asked_for_is_written(tmp_path):
    device = open_device("sim:adreno-740")
    launch = launch_call(device, past=2)
    error = LaunchResult([Finding(Kind.OUT_OF_BOUNDS_READ, "first", "scale")])
    other = Reproducer(tmp_path / "other", kernel="else")
    other.before_launch(launch)
    other.after_launch(launch, error)
    assert not other.written
    assert not (tmp_path / "other").exists()
    reproducer = Reproducer(tmp_path / "case")
    for message in ("first", "second"):
        reproducer.before_launch(launch)
        reproducer.after_launch(launch, LaunchResult([Finding(Kind.OUT_OF_BOUNDS_READ, message, "scale")]))
    assert reproducer.written == "kernel scale: out-of-bounds-read: first"
    reproducer = Reproducer(tmp_path / "warning")
    reproducer.before_launch(launch)
    reproducer.after_launch(launch, LaunchResult([Finding(Kind.REINTERPRETED_FORMAT, "only a warning", "scale")]))
    assert not reproducer.written


def test_views_nobody_wrote_stay_unwritten():
    device = open_device("sim:adreno-740", seed=3)
    launch = launch_call(device)
    contents = [None if isinstance(arg, np.generic) else device.read(arg) for arg in launch.args]
    written = describe_launch(Snapshot(launch, contents), "why", {})
    assert [argument.table.get("data") for argument in written.arguments] == [None, "unwritten", "unwritten", None, None]
    assert written.arguments[3].table == {"kind": "scalar", "name": "factor", "type": "float", "value": 2.0}


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch])
def test_what_exists_is_not_overwritten(tmp_path, make):
    folder = tmp_path / "case"
    make(folder)
    if folder.is_dir():
        Reproducer(folder)  # an empty folder is taken
        (folder / "notes.txt").write_text("mine")
    with pytest.raises(AdrenoSimError, match="exists and is not an empty folder"):
        Reproducer(folder)
    with pytest.raises(AdrenoSimError, match="does not exist or is not writable"):
        Reproducer(tmp_path / "none" / "case")


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    bad = WrittenLaunch("kernel void k() {}", {"global_size": [1]}, [WrittenArgument({}, np.array([{}], object))])
    with pytest.raises(ValueError, match="pickle"):
        write_folder(tmp_path / "case", bad)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "value", ["", 'a "b" \\ \n\t\x01\x7f', "ünï 😀", True, 3, -1.5e-30, float("inf"), float("-inf"), [1, [2.5]], {"file": "x"}]
)
def test_values_as_toml(value, tmp_path):
    from adreno_sim.base.toml_tables import load_toml

    path = tmp_path / "x.toml"
    path.write_text(f"v = {toml_value(value)}\nn = {toml_value(float('nan'))}\n", encoding="utf-8")
    read = load_toml(path)
    assert read["v"] == value
    assert np.isnan(read["n"])
