"""A client whose bytes make no sense: the server fails the command or ends the session with one line, and never crashes."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from fake_shim import Shim, buffer, launch_body, sealed_file, value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adreno_sim.icd import protocol
from adreno_sim.icd.commands import Commands, Executor
from adreno_sim.icd.device_lock import DeviceLock
from adreno_sim.icd.finding_log import FindingLog
from adreno_sim.icd.objects import Objects
from adreno_sim.icd.protocol import Command, Request
from adreno_sim.icd.requests import Requests
from adreno_sim.icd.ring import BrokenLinkError, Ring
from adreno_sim.icd.server import Server, open_device
from adreno_sim.icd.settings import DriverSettings
from adreno_sim.results.run_report import ProcessReport

SOURCE = "kernel void f(global int *a, int n, read_only image2d_t i, sampler_t s, local int *l) { if (n < 4) a[n] = 1; }"
SETTINGS = DriverSettings("sim:adreno-740,timeout=5", "full", "", False)
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Here:
    """A server's half of the ring in this process."""

    def __init__(self) -> None:
        self.device, heap = open_device(SETTINGS)
        self.objects = Objects(self.device, heap)
        self.objects.create((1, 0, 0, 4096, *[0] * 8, 0, 0, 0))
        self.objects.create((2, 4, 0, 0, 0x10B5, 0x10DE, 8, 8, 0, 0, 0, 0, 0, 0, 0))
        self.objects.build(1, SOURCE, "")
        self.report = ProcessReport("test", 1, "", "")
        self.log = FindingLog(self.report, say=lambda text: None)
        self.fresh()

    def fresh(self) -> None:
        link, staging = sealed_file(protocol.LINK_BYTES), sealed_file(protocol.STAGING_BYTES)
        self.ring = Ring(link, staging)
        self.executor = Executor(self.ring, Commands(self.objects, self.log, self.ring.staging), DeviceLock())
        self.head = 0
        os.close(link)
        os.close(staging)

    def run(self, data: bytes, head: int) -> None:
        """Put bytes into the ring and run what they say. BrokenLinkError as of the server."""
        memory = self.ring._memory
        at = protocol.RING_AT + self.head % protocol.RING_BYTES
        data = data[: protocol.RING_AT + protocol.RING_BYTES - at]
        memory[at : at + len(data)] = data
        self.head = head
        struct.pack_into("<Q", memory, 0, head % 2**64)
        while self.ring.publish():
            self.executor.run_next()


@pytest.fixture(scope="module")
def here() -> Iterator[Here]:
    made = Here()
    yield made
    assert not [what for what in made.report.unsupported if "internal error" in what]


NUMBERS = st.one_of(st.integers(0, 3), st.integers(0, 2**64 - 1), st.sampled_from([4096, 2**32, 2**63, 2**64 - 8]))


@QUICK
@given(
    kind=st.sampled_from(list(Command)),
    numbers=st.lists(NUMBERS, max_size=24),
    tail=st.binary(max_size=40),
    waits=st.lists(NUMBERS, max_size=3),
)
def test_bodies_of_any_numbers_fail_or_run(here: Here, kind, numbers, tail, waits) -> None:
    body = struct.pack(f"<{len(numbers)}Q", *numbers) + tail
    body += bytes(-len(body) % 8)
    size = protocol.COMMAND.size + 8 * len(waits) + len(body)
    number = here.ring.completed + (kind is not Command.PAD)
    head = protocol.COMMAND.pack(size, kind, len(waits), number, 1, 2, 3) + struct.pack(f"<{len(waits)}Q", *waits)
    if here.head % protocol.RING_BYTES + size > protocol.RING_BYTES or kind in (Command.FREE, Command.FREE_PROGRAM):
        return
    here.run(head + body, here.head + size)
    assert here.ring.completed == number
    assert here.report.unsupported == []


@QUICK
@given(
    args=st.lists(st.tuples(st.integers(0, 7), NUMBERS, st.integers(0, 64)), max_size=7),
    place=st.integers(0, 1),
    sizes=st.lists(NUMBERS, min_size=9, max_size=9),
    dimensions=st.integers(0, 4),
)
def test_launches_of_any_arguments_fail_or_run(here: Here, args, place, sizes, dimensions) -> None:
    small = [number % 6 for number in sizes]  # a launch of many items takes long at level full
    given_bytes = b"".join(struct.pack("<IIQ", kind, nbytes, number) for kind, number, nbytes in args)
    body = protocol.LAUNCH_BODY.pack(1, place, dimensions, len(args), *small) + given_bytes
    size = protocol.COMMAND.size + len(body)
    if here.head % protocol.RING_BYTES + size > protocol.RING_BYTES:
        return
    here.run(protocol.COMMAND.pack(size, Command.LAUNCH, 0, here.ring.completed + 1, 1, 2, 3) + body, here.head + size)
    assert here.report.unsupported == []


@QUICK
@given(data=st.binary(min_size=0, max_size=200), head=st.one_of(st.integers(0, 4096), st.integers(0, 2**64 - 1)))
def test_a_ring_of_any_bytes_ends_the_session_or_runs(here: Here, data, head) -> None:
    here.fresh()
    try:
        here.run(data, head)
    except BrokenLinkError as error:
        assert "expected" in str(error)
        assert "\n" not in str(error)


@QUICK
@given(
    kind=st.integers(1, 7),
    body=st.one_of(st.binary(max_size=200), st.lists(NUMBERS, max_size=20).map(lambda n: struct.pack(f"<{len(n)}Q", *n))),
)
def test_requests_of_any_bytes_are_answered(here: Here, kind, body) -> None:
    if kind == Request.HELLO:
        return
    ours, theirs = socket.socketpair()
    server = Server(theirs, SETTINGS)
    server._log.say = lambda text: None
    requests = Requests(here.objects, server._log, DeviceLock())
    server._session = type("Session", (), {"requests": requests, "executor": here.executor})()
    ours.sendall(protocol.REQUEST.pack(len(body), kind, 1) + body)
    server._answer()
    length, status = protocol.REPLY.unpack(ours.recv(protocol.REPLY.size))
    assert length == len(ours.recv(length) if length else b"")
    assert status <= 0
    assert server.report.unsupported == []
    ours.close()
    theirs.close()


@QUICK
@given(data=st.binary(max_size=100))
def test_a_socket_of_any_bytes_ends_the_session_in_one_line(data) -> None:
    ours, theirs = socket.socketpair()
    server = Server(theirs, SETTINGS)
    ours.sendall(data)
    ours.close()
    server.serve()
    assert "\n" not in server.report.failed
    assert not server.report.opened


def test_memory_files_that_could_shrink_are_refused() -> None:
    shim = Shim(seal=False)
    with pytest.raises(EOFError):
        shim.hello()
    status, _, said = shim.close()
    assert status == 0
    assert said.count("\n") == 1
    assert "sealed against shrinking" in said


def test_a_device_that_is_none_ends_the_session_in_one_line() -> None:
    shim = Shim(device="sim:adreno-741")
    with pytest.raises(EOFError):
        shim.hello()
    _, _, said = shim.close()
    assert said.startswith("adreno-sim: device profile 'adreno-741' does not exist (did you mean")
    assert said.count("\n") == 1


def test_a_broken_ring_is_said_in_one_line_and_in_the_report(connect, report) -> None:
    shim = connect()
    shim.put_raw(struct.pack("<IHHQIIQ", 32, 99, 0, 1, 0, 0, 0))
    shim.server.wait(timeout=10)
    data = report(shim)
    assert "command 1 of kind 99" in data["failed"]
    assert data["said"].count("\n") == 1


def test_a_client_that_goes_in_a_long_launch_is_not_waited_for(connect, report) -> None:
    shim = connect()
    shim.build(1, "kernel void f(global volatile int *a) { while (a[0] == 0) a[1]++; }")
    (place, *_) = shim.buffer(1, 8)
    shim.heap[place : place + 8] = 0
    shim.launch(1, 0, (1,), (), [buffer(1)])
    threading.Event().wait(0.3)
    shim.socket.close()
    shim.server.wait(timeout=10)
    assert "commands that had not run when the client ended" in report(shim)["unchecked"]


def test_what_a_client_enqueued_before_it_went_is_run(connect, report) -> None:
    shim = connect()
    shim.build(1, "kernel void f(global int *a) { a[get_global_id(0)] = 1; }")
    shim.buffer(1, 8)
    shim.buffer(2, 4)
    shim.launch(1, 0, (2,), (), [buffer(1)])
    assert shim.finish() == 0  # compiled: what waits behind has a second at the most
    shim.launch(1, 0, (2,), (), [buffer(2)])
    assert [found["kind"] for found in report(shim)["findings"]] == ["out-of-bounds-write"]


def test_many_commands_wrap_around_the_ring(connect) -> None:
    shim = connect(checks="off")
    shim.build(1, "kernel void f(global int *a, int16 x) { a[0] += 1; }")
    (place, *_) = shim.buffer(1, 4)
    shim.heap[place : place + 4] = 0
    body = launch_body(1, 0, (1,), (1,), [buffer(1), value(bytes(64))])
    count = protocol.RING_BYTES // 400
    for _ in range(2 * count):
        shim.put(Command.NOTHING, bytes(400))
    for _ in range(100):
        shim.put(Command.LAUNCH, body)
    assert shim.finish() == 0
    assert shim.heap[place : place + 4].view(np.int32)[0] == 100
