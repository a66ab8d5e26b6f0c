"""Launches that wait in a client's ring are compiled while an earlier one is."""

from __future__ import annotations

import struct
import uuid
from types import SimpleNamespace

import numpy as np
import pytest
from fake_shim import buffer, launch_body, sealed_file, value

from adreno_sim.engine import codegen
from adreno_sim.findings import Kind
from adreno_sim.icd import ahead, protocol
from adreno_sim.icd.commands import Commands, Executor
from adreno_sim.icd.device_lock import DeviceLock
from adreno_sim.icd.finding_log import FindingLog
from adreno_sim.icd.objects import Objects
from adreno_sim.icd.protocol import Command
from adreno_sim.icd.ring import Ring
from adreno_sim.icd.server import open_device
from adreno_sim.icd.settings import DriverSettings
from adreno_sim.results.run_report import ProcessReport

COUNT = 256
KERNELS = "".join(
    f"kernel void k{n}(global float *a, global const float *b, float c) {{ int i = get_global_id(0); a[i] = b[i] * {n} + c; }}\n"
    for n in range(4)
)


@pytest.fixture
def session(monkeypatch):
    """A server's half that finds four cores: its ring with what a client writes there, its commands, and what was emitted."""
    monkeypatch.setattr(ahead.os, "sched_getaffinity", lambda _: set(range(4)))
    device, heap = open_device(DriverSettings("sim:adreno-740", "full", "", False))
    objects = Objects(device, heap)
    objects.build(1, f"{KERNELS}// {uuid.uuid4()}: of no cache\n", "")
    for number in (1, 2):
        objects.create((number, 0, 0, 4 * COUNT, *[0] * 11))
    report = ProcessReport("test", 1, "", "")
    ring = Ring(sealed_file(protocol.LINK_BYTES), sealed_file(protocol.STAGING_BYTES))
    commands = Commands(objects, FindingLog(report, say=lambda text: None), ring.staging)
    made = ahead.CompileAhead(ring, objects, commands.launches)
    emitted: list[str] = []
    emit = codegen.emit_module

    def noted(kernel, spec):
        emitted.append(kernel.name)
        return emit(kernel, spec)

    monkeypatch.setattr(codegen, "emit_module", noted)
    return SimpleNamespace(
        ring=ring, objects=objects, commands=commands, ahead=made, emitted=emitted, report=report,
        executor=Executor(ring, commands, DeviceLock(), made), head=0, number=0,
    )  # fmt: skip


def put(session, kind: Command, body: bytes) -> None:
    session.number += 1
    body += bytes(-len(body) % 8)
    data = protocol.COMMAND.pack(protocol.COMMAND.size + len(body), kind, 0, session.number, session.number, 1, 1) + body
    at = protocol.RING_AT + session.head
    session.ring._memory[at : at + len(data)] = data
    session.head += len(data)
    struct.pack_into("<Q", session.ring._memory, protocol.COUNTERS["head"], session.head)


def launch(kernel: int, c: float = 1, memory: int = 1) -> bytes:
    return launch_body(1, kernel, (COUNT,), (64,), [buffer(memory), buffer(2), value(struct.pack("<f", c))])


def wait_for_jobs(session) -> None:
    for job in session.ahead._jobs:
        job.result(60)


def test_each_kind_of_launch_that_waits_is_compiled_once_and_not_again_when_it_runs(session):
    put(session, Command.WRITTEN, protocol.RANGE.pack(2, 0, 4 * COUNT))
    for body in (launch(0), launch(1), launch(1, 2), launch(2), launch(1, memory=7), launch(0, 3)):
        put(session, Command.LAUNCH, body)
    session.ahead.look(Command.WRITTEN, b"")
    assert not session.ahead._jobs, "nothing to wait for"
    session.ahead.look(Command.LAUNCH, launch(0))
    wait_for_jobs(session)
    assert sorted(session.emitted) == ["k1", "k2"]
    assert not session.report.kernels, "nothing has run"
    assert not session.report.findings
    b = session.objects.memory(2)
    session.objects.device.write(b, np.arange(COUNT, dtype=np.float32).view(np.uint8))
    while session.ring.publish():
        session.executor.run_next()
    assert sorted(session.emitted) == ["k0", "k1", "k2"]
    assert {name: kernel.launches for name, kernel in session.report.kernels.items()} == {"k0": 2, "k1": 2, "k2": 1}
    assert not session.report.unsupported
    assert (session.objects.device.read(session.objects.memory(1)).view(np.float32) == 3).all()


def test_a_launch_that_is_refused_is_reported_when_it_runs_and_not_before(session):
    too_large = launch_body(1, 3, (1 << 12,), (1 << 12,), [buffer(1), buffer(2), value(bytes(4))])
    for body in (launch(0), too_large):
        put(session, Command.LAUNCH, body)
    session.ahead.look(Command.LAUNCH, launch(0))
    wait_for_jobs(session)
    assert not session.report.findings
    while session.ring.publish():
        session.executor.run_next()
    assert (Kind.LIMIT_EXCEEDED, "k3") in [(found.kind, found.kernel) for found in session.report.findings]


def test_a_ring_that_makes_no_sense_ends_the_look_and_not_the_server(session):
    put(session, Command.LAUNCH, launch(1))
    head = session.head
    for nbytes, size in ((head, 8), (head + 4, 4), (head + 64, 1 << 20), (1 << 62, 64)):
        struct.pack_into("<I", session.ring._memory, protocol.RING_AT + head, size)
        struct.pack_into("<Q", session.ring._memory, protocol.COUNTERS["head"], nbytes)
        assert len(list(session.ring.waiting())) <= 1


def test_one_core_compiles_nothing_ahead(session, monkeypatch):
    monkeypatch.setattr(ahead.os, "sched_getaffinity", lambda _: {0})
    alone = ahead.CompileAhead(session.ring, session.objects, session.commands.launches)
    put(session, Command.LAUNCH, launch(1))
    alone.look(Command.LAUNCH, launch(0))
    assert not alone._jobs
