"""What a session has found is there whatever becomes of its server, and a client that ends in a build ends its session."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from fake_shim import _source, buffer

from adreno_sim.findings import Finding, Kind
from adreno_sim.icd import protocol
from adreno_sim.icd.finding_log import FindingLog
from adreno_sim.icd.journal import Journal, read_journal
from adreno_sim.icd.protocol import Request
from adreno_sim.icd.report_files import collect_reports
from adreno_sim.results.run_encode import process_to_json
from adreno_sim.results.run_report import HostCall, ProcessReport

SOURCE = "kernel void f(global int *a) {\n  a[get_global_id(0)] = 1;\n}"
MANY = "\n".join(f"kernel void k{n}(global float *a) {{ a[{n}] = sin(a[{n}]) + {n}; }}" for n in range(4000))


def test_a_journal_says_what_the_report_does(tmp_path: Path) -> None:
    report = ProcessReport("a\udce9\n program", 7, "sim:adreno-740", "full", opened=True)
    journal = Journal(tmp_path / "j", report)
    journal.add("opened", True)
    log = FindingLog(report, say=lambda text: None, journal=journal)
    for line in (1, 2, 1, 1):
        log.count_launch("f", 0.5)
        log.add(Finding(Kind.OUT_OF_BOUNDS_READ, "reads é\x1b", kernel="f", line=line), SOURCE, lambda: HostCall(1, 2, 3, (4,)))
    log.add_unsupported("unsupported: this")
    log.note("that")
    log.add_leaks([("buffer", "call 3")])
    journal._next = 0
    log.count_launch("f", 0.5)
    found = read_journal(tmp_path / "j", 7, "sim:adreno-740")
    assert process_to_json(found) == process_to_json(report)
    with (tmp_path / "j").open("a") as file:
        file.write('["findings", {"ki')  # the server was killed here
    assert process_to_json(read_journal(tmp_path / "j", 7, "sim:adreno-740")) == process_to_json(report)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_findings_outlive_a_server_that_dies(connect, tmp_path: Path, number: signal.Signals) -> None:
    shim = connect(checks="full")
    shim.build(1, SOURCE)
    shim.buffer(1, 16)
    shim.launch(1, 0, (5,), (), [buffer(1)])
    shim.finish()
    shim.server.send_signal(number)
    shim.server.wait()
    (report,) = collect_reports(tmp_path, "sim:adreno-740", 0)
    (found,) = report.findings
    assert (found.kind, found.line, report.opened, report.program) == (Kind.OUT_OF_BOUNDS_WRITE, 2, True, "test")
    assert report.kernels["f"].launches == 1
    assert report.sources == {"f": SOURCE}
    assert report.checks == "full"
    assert report.failed.startswith("its server died")
    assert report.failed.endswith("and not what was to come")


def test_a_client_that_ends_in_a_long_build_ends_its_session(connect, report) -> None:
    shim = connect()
    shim.build(1, SOURCE)
    shim.buffer(1, 16)
    shim.launch(1, 0, (5,), (), [buffer(1)])
    shim.finish()
    data = _source(2, MANY, "", {})
    shim.socket.sendall(protocol.REQUEST.pack(len(data), Request.BUILD, 9) + data)
    time.sleep(0.5)
    data = report(shim)
    assert [found["kind"] for found in data["findings"]] == ["out-of-bounds-write"]
    assert data["failed"] == ""
    assert "socket" not in data["said"]
    assert data["unchecked"] == ["a request that had not ended when the client did"]
