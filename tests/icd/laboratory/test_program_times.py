"""Predicted times of a program's launches: by kernel, of all its processes, held against a limit and an earlier run."""

from __future__ import annotations

import json

import pytest
from recorded_client import record, replay

from adreno_sim.cli.main import main

TWO = """
shim.build(1, '''kernel void add(global float *o) { o[get_global_id(0)] += 1; }
kernel void slow(global float *o, float f) { int i = get_global_id(0); o[i] = CALL; }''')
(place, *_) = shim.buffer(1, 64)
host(1, place, np.arange(16, dtype=np.float32))
for _ in range(3):
    shim.launch(1, 0, (16,), (8,), [buffer(1)])
shim.launch(1, 1, (16,), (8,), [buffer(1), value(struct.pack("<f", 3))])
shim.launch(1, 1, (16,), (8,), [buffer(1), value(struct.pack("<f", 3))], offset=OFFSET)
shim.host_read(1, 0, 64)
"""
FAST = {"CALL": "o[i] * f + f", "OFFSET": "(0,)"}


def test_a_run_has_the_same_times_as_its_replay(tmp_path, capfd) -> None:
    status, data, trace = record(tmp_path, TWO, "--time", **FAST)
    assert status == 0
    assert "predicted time on adreno-740" in capfd.readouterr().err
    assert {one["name"]: one["launches"] for one in data["time"]["kernels"]} == {"add": 3, "slow": 2}
    assert data["time"]["low"] < data["time"]["seconds"] < data["time"]["high"]
    assert not data["time"]["missing"]
    assert replay(tmp_path, trace, "--time")[1]["time"] == data["time"]
    halved = {**data["time"], "kernels": [{**row, "seconds": row["seconds"] / 2} for row in data["time"]["kernels"]]}
    before, page = tmp_path / "before.json", tmp_path / "page.html"
    before.write_text(json.dumps(halved))
    status, data = replay(tmp_path, trace, "--time", "--max-time", "1ns", "--compare", str(before), "--html", str(page))
    assert status == 1
    assert [(one["kind"], one.get("kernel")) for one in data["findings"]] == [
        ("too-slow", None),
        ("slower-than-before", "add"),
        ("slower-than-before", "slow"),
    ]
    assert data["time"]["before"] == halved["seconds"]
    assert "Predicted times" in page.read_text()


def test_what_has_no_time_and_what_is_slow_is_said(tmp_path, capfd) -> None:
    status, data, _ = record(tmp_path, TWO, "--time", "--max-time", "1s", CALL="fma(o[i], f, f)", OFFSET="(4,)")
    found = [one["kind"] for one in data["findings"]]
    assert status == 1
    assert "slow-builtin" in found
    assert "too-slow" not in found
    assert data["time"]["missing"] == ["slow: launches with a global offset have no time"]
    assert any("the limit of 1 s" in sentence for sentence in data["unchecked"])


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--max-time", "1ms"], 2, "needs --time"),
        (["--time", "--device", "sim:reference"], 3, "is not a chip"),
        (["--time", "--compare", "BEFORE"], 2, "holds no predicted times"),
        (["--time", "--max-time", "1"], 2, "expected a time above 0"),
    ],
)
def test_bad_words_are_refused_before_the_program_runs(tmp_path, capfd, words, status, said) -> None:
    before = tmp_path / "before.json"
    before.write_text("{}")
    given = [word.replace("BEFORE", str(before)) for word in words]
    assert main(["run", *given, "--", "sh", "-c", "echo it ran"]) == status
    shown = capfd.readouterr()
    assert said in shown.err
    assert "it ran" not in shown.out
    assert shown.err.strip().count("\n") == 0
