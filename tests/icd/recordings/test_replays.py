"""`adreno-sim run --record` and `adreno-sim replay`: the same findings without the program, and a real device beside."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import judges
import pytest
from fake_shim import __file__ as fake_shim_file
from recorded_client import BUILT_NOT, GOOD, SCALE, record, replay, rewrite, with_source

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.cli.main import main
from adreno_sim.icd.trace.events import EventKind

MANY = """
shim.compile(1, '#include "h.h"\\nkernel void f(global int *o) { o[get_global_id(0)] += N; }', headers={"h.h": "#define N 5"})
shim.link_programs(2, [1])
shim.build(3, '''kernel void g(read_only image2d_t i, sampler_t s, global uchar4 *o, global const int *part, local int *l) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  l[get_local_id(0)] = part[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  o[at.y * 4 + at.x] = convert_uchar4(read_imageui(i, s, at)) + (uchar)l[3 - get_local_id(0)];
}''')
(place, *_) = shim.buffer(1, 256)
shim.put(Command.FILL, FILL_BODY.pack(1, 4, 0, 0, 0, 0, 256, 1, 1) + struct.pack("<i", 2))
shim.launch(2, 0, (16,), (), [buffer(1)])
shim.buffer(2, 16, parent=1, offset=128)
shim.image(3, "image2d", (4, 3, 1, 1), (0x10B5, 0x10DA))
shim.staging[:48] = np.arange(48)
shim.transfer(Command.WRITE, 3, 0, (4, 3, 1))
shim.buffer(4, 256)
shim.put(Command.COPY, COPY_BODY.pack(1, 4, 16, 1, 1, 0, 0, 0, 0, 0, 48, 0, 0, 0, 0))
shim.finish()
shim.launch(3, 0, (4, 3), (4, 1), [image(3), sampler(1 << 8), buffer(4), buffer(2), local(16)])
shim.launch(3, 0, (4, 4), (4, 1), [image(3), sampler(1 << 8), buffer(4), null(), local(16)])
"""


def launches(data: dict) -> dict[str, int]:
    return {name: count["launches"] for name, count in data["processes"][0]["kernels"].items()}


@pytest.mark.each_value
@pytest.mark.parametrize(("body", "values"), [(SCALE, {"ITEMS": 16}), (SCALE, {"ITEMS": 20}), (MANY, {})])
@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_a_replay_finds_what_the_run_found(tmp_path, body, values, checks) -> None:
    status, recorded, trace = record(tmp_path, body, "--checks", checks, **values)
    assert recorded["unsupported"] == []
    assert all(process["unchecked"] == [] for process in recorded["processes"])
    again, replayed = replay(tmp_path, trace)
    assert again == status == (0 if values.get("ITEMS") == 16 else 1)
    assert replayed["findings"] == recorded["findings"]
    assert replayed["command"] == recorded["command"]
    counts = [
        {name: count["launches"] for name, count in data["processes"][0]["kernels"].items()} for data in (recorded, replayed)
    ]
    assert counts[0] == counts[1]
    assert replayed["unchecked"] == recorded["unchecked"]
    assert replayed["unsupported"] == []


def test_a_replay_looks_closer_and_on_another_device(tmp_path) -> None:
    body = SCALE.replace("host(1, place, np.arange(16, dtype=np.float32))", "")
    status, _, trace = record(tmp_path, body, "--checks", "bounds", ITEMS=16)
    assert status == 0
    status, data = replay(tmp_path, trace, "--checks", "full", "--device", "sim:adreno-650")
    assert status == 1
    assert data["device"] == "sim:adreno-650"
    assert {found["kind"] for found in data["findings"]} == {"uninitialized-read"}


def test_a_source_takes_its_files_along(tmp_path) -> None:
    header = tmp_path / "h.h"
    header.write_text("\n\nint at(global int *o, int i) { return o[i + 1]; }\n")
    body = f"""
shim.build(1, '#include "h.h"\\nkernel void f(global int *o) {{ o[0] = at(o, get_global_id(0)); }}', "-I {tmp_path}")
shim.buffer(1, 16)
shim.launch(1, 0, (4,), (), [buffer(1)])
"""
    _, recorded, trace = record(tmp_path, body, "--checks", "bounds")
    header.unlink()
    status, replayed = replay(tmp_path, trace)
    assert status == 1
    place = [[(f["kind"], f["file"], f["line"], f["column"]) for f in data["findings"]] for data in (recorded, replayed)]
    assert place[0] == place[1] == [("out-of-bounds-read", str(header), 3, 39)]


def test_programs_that_do_not_build_are_said_to(tmp_path) -> None:
    body = """
try:
    shim.build(1, "kernel void f(global int *o) { o[0] = nothing; }")
except RefusedError:
    pass
shim.buffer(1, 16)
shim.build(2, "kernel void f(global int *o) { o[0] = 1; }")
shim.launch(2, 0, (1,), (), [buffer(1)])
"""
    _, _, trace = record(tmp_path, body)
    status, data = replay(tmp_path, trace)
    assert status == 0
    (sentence,) = data["unchecked"]
    assert "BUILD failed: CL_BUILD_PROGRAM_FAILURE: " in sentence
    assert "nothing" in sentence


@pytest.mark.parametrize("words", [(), ("--strict",)])
def test_a_replay_in_which_nothing_builds_is_not_ok(tmp_path, words) -> None:
    """By a recording whose program did not build then either, and by one that somebody changed."""
    _, _, trace = record(tmp_path, BUILT_NOT)
    status, data = replay(tmp_path, trace, *words)
    assert status == 2
    assert data["verdict"].startswith("failed: 0 errors, 0 warnings, none of 1 programs was built")
    assert not data["ok"]
    assert data["processes"][0]["differs"] == []
    _, _, trace = record(tmp_path, GOOD)
    assert replay(tmp_path, trace, *words)[0] == 0
    for manifest in ({}, {"format": 1}):
        rewrite(trace, lambda event: with_source(event, "kernel void g(global int *o) { nothing; }"), **manifest)
        status, data = replay(tmp_path, trace, *words)
        assert status == 2
        assert "none of 1 programs was built" in data["verdict"]
        assert data["processes"][0]["kernels"] == {}


def test_a_replay_in_which_nothing_runs_is_not_ok(tmp_path) -> None:
    _, _, trace = record(tmp_path, GOOD)
    rewrite(trace, lambda event: replace(event, body=event.body[:16]) if event.kind is EventKind.LAUNCH else event, format=1)
    status, data = replay(tmp_path, trace)
    assert status == 2
    assert "none of 1 launches ran" in data["verdict"]
    rewrite(trace, lambda event: None)
    status, data = replay(tmp_path, trace)
    assert status == 2
    assert "nothing in the recording runs" in data["verdict"]


def test_what_builds_or_copies_without_a_launch_is_replayed(tmp_path) -> None:
    for body in ('shim.build(1, "kernel void f(global int *o) { o[0] = 1; }")', BUILT_NOT.partition("pass")[2]):
        _, _, trace = record(tmp_path, body)
        assert replay(tmp_path, trace)[0] == 0


def test_calls_end_as_they_were_recorded(tmp_path, capfd) -> None:
    """A program that fails and goes on is replayed as it was; what ends otherwise is said, and is not ok."""
    _, _, trace = record(tmp_path, BUILT_NOT + GOOD)
    status, data = replay(tmp_path, trace)
    assert status == 0
    assert data["processes"][0]["differs"] == []
    original = trace.read_bytes()

    rewrite(trace, lambda event: with_source(event, "kernel void f(global int *o) { o[0] = 1; }"))
    status, data = replay(tmp_path, trace)
    (said,) = data["processes"][0]["differs"]
    assert status == 2
    assert "BUILD ended with success, and with CL_BUILD_PROGRAM_FAILURE when it was recorded" in said
    assert "1 call ended otherwise than recorded" in data["verdict"]
    assert said in capfd.readouterr().err
    status, data = replay(tmp_path, trace, "--device", "sim:adreno-650")
    assert status == 0
    assert said in data["unchecked"]

    trace.write_bytes(original)
    rewrite(trace, lambda event: None if event.kind is EventKind.FAILED else event)
    for words in ((), ("--device", "sim:adreno-650")):
        status, data = replay(tmp_path, trace, *words)
        (said,) = data["processes"][0]["differs"]
        assert status == 2
        assert "BUILD ended with CL_BUILD_PROGRAM_FAILURE" in said
        assert "with success when it was" in said


def test_launches_with_findings_end_as_they_were_recorded(tmp_path) -> None:
    """A launch that ran to its end has succeeded, also where --strict makes the program see an error."""
    for words in ((), ("--strict",)):
        _, _, trace = record(tmp_path, SCALE, *words, ITEMS=20)
        status, data = replay(tmp_path, trace)
        assert status == 1
        assert data["processes"][0]["differs"] == []
    refused = GOOD.replace("(1,), ()", "(4,), (3,)")
    _, recorded, trace = record(tmp_path, GOOD + refused.replace("build(2", "build(3").replace("buffer(2, 16)", "buffer(3, 16)"))
    status, data = replay(tmp_path, trace)
    assert data["processes"][0]["differs"] == []
    assert data["findings"] == recorded["findings"]


def test_nothing_is_written_of_a_command_without_opencl(tmp_path) -> None:
    trace = tmp_path / "trace.asim"
    assert main(["run", "--record", str(trace), "--", "true"]) == 2
    assert not trace.exists()


def test_findings_are_reported_where_the_recording_cannot_be_written(tmp_path, monkeypatch, capfd) -> None:
    def fail(*_args: object) -> None:
        raise AdrenoSimError("cannot write trace.asim: No space left on device")

    monkeypatch.setattr("adreno_sim.icd.trace.archive.write_trace", fail)
    status, data, trace = record(tmp_path, SCALE, ITEMS=20)
    assert status == 2
    assert not trace.exists()
    assert len(data["findings"]) == 2
    assert "No space left" in capfd.readouterr().err


def test_a_client_that_is_killed_leaves_its_recording(tmp_path) -> None:
    body = (
        SCALE.replace("ITEMS", "20")
        + "\nshim.finish()\nimport os\nos.kill(shim.server.pid, 9)\nshim.server.wait()\nos._exit(0)\n"
    )
    _, recorded, trace = record(tmp_path, body, ITEMS=20)
    assert "its server died" in recorded["processes"][0]["failed"]
    status, data = replay(tmp_path, trace)
    assert status == 1
    assert {found["kind"] for found in data["findings"]} == {"out-of-bounds-read", "out-of-bounds-write"}


def test_pyopencl_is_recorded_through_the_shim(tmp_path) -> None:
    pytest.importorskip("pyopencl")
    client, trace = Path(fake_shim_file).with_name("pyopencl_client.py"), tmp_path / "trace.asim"
    words = [sys.executable, "-m", "adreno_sim", "run", "--record", str(trace), "--", sys.executable, str(client)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 1, ran.stderr
    assert zipfile.is_zipfile(trace), ran.stderr
    status, data = replay(tmp_path, trace)
    assert status == 1
    assert {found["kind"] for found in data["findings"] if found["severity"] == "error"} == {
        "out-of-bounds-read",
        "out-of-bounds-write",
    }
    assert launches(data) == {"add": 2, "negate": 1}


DEVICE_DEPENDENT = """
shim.build(1, '''kernel void which(global int *out, global const int *in, global float *f) {
#ifdef cl_qcom_other_image
  out[get_global_id(0)] = in[get_global_id(0)];
#else
  out[get_global_id(0)] = in[get_global_id(0)] + (get_global_id(0) == BAD);
#endif
  f[get_global_id(0)] = native_exp((float)get_global_id(0) / 16);
}''')
(place, *_) = shim.buffer(1, 64)
shim.buffer(2, 256)
shim.buffer(4, 64, parent=2, offset=128)
shim.buffer(3, 64)
host(1, place, np.arange(16, dtype=np.int32))
shim.launch(1, 0, (16,), (), [buffer(4), buffer(1), buffer(3)])
shim.image(5, "image2d", (4, 4, 1, 1), (0x10B5, 0x10DE))
shim.put(Command.FILL, FILL_BODY.pack(5, 16, 0, 0, 0, 0, 4, 4, 1) + struct.pack("<4f", 1, 2, 3, 4))
shim.image(6, "image2d", (4, 4, 1, 1), (0x10B5, 0x10DE))
shim.build(2, '''kernel void twice(read_only image2d_t i, write_only image2d_t o) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(o, at, 2 * read_imagef(i, CLK_ADDRESS_NONE | CLK_FILTER_NEAREST, at));
}''')
shim.launch(2, 0, (4, 4), (), [image(5), image(6)])
"""


@pytest.mark.device
@pytest.mark.parametrize("bad", [3, 99])
def test_a_real_device_is_compared_launch_by_launch(tmp_path, bad, request) -> None:
    judges.skip_without(request.node, "intel")
    _, _, trace = record(tmp_path, DEVICE_DEPENDENT, BAD=bad)
    report = tmp_path / "replayed.json"
    words = [sys.executable, "-m", "adreno_sim", "replay", str(trace), "--device", "cl:intel", "--json", str(report)]
    status = subprocess.run(words, timeout=300, check=False).returncode
    data = json.loads(report.read_text())
    (process,) = data["processes"]
    assert process["compared"] == 2
    assert process["unchecked"] == []
    if bad == 99:
        assert status == 0
        assert data["findings"] == []
        return
    (found,) = data["findings"]
    assert status == 1
    assert (found["kind"], found["kernel"]) == ("wrong-value", "which")
    assert "1 of 16 elements" in found["message"]
    assert "out on " in found["message"]
