"""`--profile-self`: stacks of this process and of a child by fork, and what stages take, from samples that are known."""

import json
import os
import time

import pytest
from fresh_process import call_in_fresh_process

from adreno_sim.base.processes.beside import doing_beside
from adreno_sim.base.processes.helper import Helper, Limits
from adreno_sim.base.profiling.sampler import find_log, note_span, sampling
from adreno_sim.base.profiling.trace import Samples, list_stages, make_trace
from adreno_sim.cli.main import main

RECORDS = [
    ["processor", 1, 0.0, 5.0],
    ["stack", 1, "MainThread", 0.0, 0.1, ["main", "read"]],
    ["stack", 1, "MainThread", 0.1, 0.2, ["main", "write"]],
    ["stack", 1, "MainThread", 0.2, 0.3, ["main", "write"]],
    ["stack", 1, "MainThread", 0.9, 1.0, ["main", "write"]],  # nothing is known of the time before
    ["span", 1, "run", 0.0, 0.4],
    ["span", 1, "judge", 0.4, 0.6],
    ["span", 1, "run", 0.6, 0.8],
    ["processor", 2, 0.2, 0.0],
    ["processor", 2, 0.6, 0.4],
    ["processor", 1, 1.0, 6.0],
]


def test_what_consecutive_stacks_share_is_one_slice():
    trace = make_trace(Samples.gather(1, RECORDS))
    slices = {(e["name"], e["ts"], e["dur"]) for e in trace["traceEvents"] if e["ph"] == "X" and e["tid"]}
    assert slices == {
        ("main", 0, 300_000), ("read", 0, 100_000), ("write", 100_000, 200_000), ("main", 900_000, 100_000),
        ("write", 900_000, 100_000),
    }  # fmt: skip
    assert [e["args"]["busy"] for e in trace["traceEvents"] if e["ph"] == "C"] == pytest.approx([1.0, 1.0])


def test_stages_have_the_processor_time_of_all_processes():
    stages = {stage.name: (stage.seconds, stage.processor) for stage in list_stages(Samples.gather(1, RECORDS))}
    assert list(stages) == ["run", "judge", "(other)"]
    assert stages["run"] == pytest.approx((0.6, 0.8))  # the child computes from 0.2 to 0.6
    assert stages["judge"] == pytest.approx((0.2, 0.4))
    assert stages["(other)"] == pytest.approx((0.2, 0.2))


def spin():
    end = time.process_time() + 0.15
    while time.process_time() < end:
        pass
    return os.getpid()


def sample_three_processes():
    helper = Helper(lambda request: b"%d" % spin(), Limits(10, 10, 1 << 30))
    assert find_log() == -1
    with sampling() as records:
        start = time.perf_counter()
        with doing_beside(spin) as finish:
            spin()
            child = finish()
        helped = int(helper.do(b""))
        time.sleep(0.15)  # it writes what it has
        note_span("spin", start, time.perf_counter())
    samples = Samples.gather(os.getpid(), records)
    spinning = {process for (process, _), found in samples.stacks.items() if any("spin (" in str(at) for *_, at in found)}
    return [spinning == {os.getpid(), child, helped}, list_stages(samples)[0].processor, len(samples.spans), find_log()]


def test_children_by_fork_are_sampled():
    all_spin, processor, spans, log = call_in_fresh_process(sample_three_processes)
    assert all_spin
    assert processor > 0.3
    assert (spans, log) == (1, -1)


def test_a_command_writes_its_trace_also_where_it_fails(tmp_path, capsys):
    (tmp_path / "k.cl").write_text("kernel void k(global int *p) { p[0] = ; }")
    trace = tmp_path / "trace.json"
    assert main(["kernel", str(tmp_path / "k.cl"), "--profile-self", str(trace)]) == 2
    said = capsys.readouterr().err
    assert "own time, of" in said
    assert "expected expression" in said
    assert json.loads(trace.read_text())["traceEvents"]
    assert main(["kernel", str(tmp_path / "k.cl"), "--profile-self", str(tmp_path / "k.cl")]) == 2
    assert "expected expression" not in capsys.readouterr().err  # the source is not overwritten
