"""A launch that is written as a folder gives what it gave in the recording: findings, values, definedness."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from recorded_client import record, replay

from adreno_sim.cli.main import main
from adreno_sim.icd.trace.launch_point import open_launch

ALL_KINDS = """
shim.build(1, '''#define MORE N
typedef struct { int a; float b[3]; } pair;
kernel void all(global float *o, global const float *i, read_only image2d_t t, sampler_t s, local float *l, pair p, float4 v,
                global int *none) {
  int x = get_global_id(0) - get_global_offset(0);
  l[get_local_id(0)] = i[x];
  barrier(CLK_LOCAL_MEM_FENCE);
  o[x] = l[get_local_id(0)] + read_imagef(t, s, (int2)(x % 4, x / 4)).x + p.b[1] + v.w + MORE + (none != 0) + get_global_id(0);
}
kernel void half_written(global float *o) { if (get_global_id(0) % 2) o[get_global_id(0)] = 1; }
kernel void reads(global float *o, global const float *i) { o[get_global_id(0)] = i[get_global_id(0)] > 0 ? 2 : 3; }''', "-DN=3")
(place, *_) = shim.buffer(1, 256)
host(1, place, np.arange(64, dtype=np.float32))
shim.buffer(2, 64, parent=1, offset=128)
shim.buffer(3, 64)
shim.image(4, "image2d", (4, 4, 1, 1), (0x10B5, 0x10DE))
shim.put(Command.FILL, FILL_BODY.pack(4, 16, 0, 0, 0, 0, 4, 4, 1) + struct.pack("<4f", 9, 2, 3, 4))
fields = struct.pack("<i3f", 1, 2, 30, 4)
vector = struct.pack("<4f", 1, 2, 3, 400)
args = [buffer(3), buffer(2), image(4), sampler(1 << 8), local(32), value(fields), value(vector), null()]
shim.launch(1, 0, (16,), (8,), args, offset=(5,))
shim.launch(1, 0, (16,), (8,), [buffer(1), *args[1:]])
shim.buffer(5, 64)
shim.launch(1, 1, (16,), (), [buffer(5)])
shim.launch(1, 2, (16,), (), [buffer(3), buffer(5)])
shim.host_read(3, 0, 64)
shim.launch(1, 2, (20,), (), [buffer(3), buffer(2)])
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return record(tmp_path_factory.mktemp("kinds"), ALL_KINDS)[2]


@pytest.mark.share()
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_a_folder_gives_what_the_recording_does(trace, tmp_path, number, checks, capsys) -> None:
    folder, report, outputs = tmp_path / "case", tmp_path / "kernel.json", tmp_path / "left.npz"
    words = ["--launch", str(number), "--checks", checks]
    assert main(["replay", str(trace), *words, "--export", str(folder)]) == 0
    assert str(folder / "launch.toml") in capsys.readouterr().out
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)
    main(["kernel", "--launch", str(moved / "launch.toml"), "--json", str(report), "--save-outputs", str(outputs)])
    _, replayed = replay(tmp_path, trace, *words)
    found = json.loads(report.read_text())["findings"]
    assert places(found) == places(one for one in replayed["findings"] if one["kind"] != "launches-left-out")
    assert bool(found) == (number == 5 or (number == 4 and checks == "full"))
    with open_launch(str(trace), number, checks=checks) as point, np.load(outputs) as left:
        point.device.run_prepared(point.prepare())
        view = point.launch.arguments[0]
        assert left["o"].tobytes() == view.array().tobytes()


def places(findings) -> list[tuple]:
    return sorted((one["kind"], one["kernel"], one.get("line"), one.get("column"), one["count"]) for one in findings)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "expected --launch N"),
        (["--launch", "9"], "launch 9: expected one of its launches, which are numbered 1 to 5"),
        (["--launch", "1", "--list"], "--list: is for launches that run"),
        (["--launch", "1", "--device", "cl:0"], "--export takes a simulated device"),
    ],
)
def test_what_cannot_be_exported_is_refused(trace, tmp_path, words, said, capsys) -> None:
    assert main(["replay", str(trace), "--export", str(tmp_path / "case"), *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "case").exists()


def test_a_linked_program_makes_no_folder(tmp_path, capsys) -> None:
    body = """
shim.compile(1, 'kernel void f(global int *o) { o[get_global_id(0)] = 1; }')
shim.link_programs(2, [1])
shim.buffer(1, 64)
shim.launch(2, 0, (16,), (), [buffer(1)])
"""
    trace = record(tmp_path, body)[2]
    assert main(["replay", str(trace), "--launch", "1", "--export", str(tmp_path / "case")]) == 2
    assert "linked of compiled ones" in capsys.readouterr().err
    assert not (tmp_path / "case").exists()


def test_a_folder_is_written_through_the_wall(trace, tmp_path) -> None:
    """A command of its own has one; it opens the folder, an allow-list and a page to what it writes."""
    folder, known = tmp_path / "case", tmp_path / "known.toml"
    command = [sys.executable, "-m", "adreno_sim", "replay", str(trace)]
    exported = subprocess.run([*command, "--launch", "5", "--export", str(folder)], capture_output=True, text=True, check=False)
    assert exported.returncode == 0, exported.stderr
    assert (folder / "kernel.cl").is_file(), exported.stderr
    listed = subprocess.run([*command, "--list", "--write-allow", str(known)], capture_output=True, text=True, check=False)
    assert listed.returncode == 1
    assert "out-of-bounds-read" in known.read_text()
    assert "half_written" in listed.stdout
