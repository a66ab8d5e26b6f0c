"""A recording does not decide how long its replay takes: each launch has a limit, all together have the command line's."""

from __future__ import annotations

import pytest
from recorded_client import SCALE, record, replay

from adreno_sim.cli.main import main
from adreno_sim.icd.trace.archive import open_session, open_trace, write_trace

ENDLESS = """
shim.build(1, "kernel void f(global volatile int *o) { while (1) o[0]++; }")
shim.buffer(1, 64)
for _ in range(4):
    try:
        shim.launch(1, 0, (1,), (), [buffer(1)])
    except RefusedError:
        pass
"""


def test_launches_that_never_end_are_cut_off_together(tmp_path, capfd) -> None:
    _, recorded, trace = record(tmp_path, ENDLESS, "--device", "sim:adreno-740,timeout=0.4")
    assert recorded["processes"][0]["kernels"]["f"]["launches"] == 4
    whole = replay(tmp_path, trace)[1]
    assert whole["processes"][0]["kernels"]["f"]["launches"] == 4
    assert "--time-limit" not in whole["verdict"]
    _, data = replay(tmp_path, trace, "--time-limit", "0.5")
    assert data["processes"][0]["kernels"]["f"]["launches"] in (1, 2)
    assert [finding["kind"] for finding in data["findings"]] == ["watchdog"]
    assert "--time-limit" in data["verdict"]
    assert any("what was recorded from call" in said and "0.5 s (--time-limit" in said for said in data["unchecked"])
    assert "what was recorded from call" in capfd.readouterr().err


def test_processes_share_the_limit(tmp_path) -> None:
    _, _, trace = record(tmp_path, SCALE, ITEMS=16)
    with open_trace(trace) as (made, archive), open_session(archive, made.sessions[0]) as stream:
        files = [tmp_path / f"events-{number}" for number in range(3)]
        events = stream.read()
    for file in files:
        file.write_bytes(events)
    first = made.sessions[0]
    sessions = tuple(type(first)(first.program, number, f"session-{number}") for number in range(3))
    write_trace(trace, type(made)(made.command, made.device, made.checks, sessions), files)
    status, data = replay(tmp_path, trace)
    assert (status, len(data["processes"])) == (0, 3)
    status, data = replay(tmp_path, trace, "--time-limit", "1e-9")
    assert (status, len(data["processes"])) == (2, 1)
    assert "--time-limit" in data["verdict"]
    assert any("2 of 3 processes" in said for said in data["unchecked"])


@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "x"])
def test_a_limit_is_seconds(text, capsys) -> None:
    assert main(["replay", "x.asim", f"--time-limit={text}"]) == 2
    assert "expected seconds" in capsys.readouterr().err
