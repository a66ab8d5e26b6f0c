"""The driver's server as far as a client's bytes reach it: its requests, and its ring of commands, in this process.

Programs are not compiled: clang and LLVM have harnesses of their own. An internal error is said in the session's report, and is a
defect here.
"""

from __future__ import annotations

import fcntl
import os
import struct
from functools import cache

from adreno_sim.base.errors import DeviceError
from adreno_sim.icd import protocol
from adreno_sim.icd.commands import Commands, Executor
from adreno_sim.icd.device_lock import DeviceLock
from adreno_sim.icd.finding_log import FindingLog
from adreno_sim.icd.messages import encode_list, encode_text
from adreno_sim.icd.objects import Objects
from adreno_sim.icd.protocol import Command, Request
from adreno_sim.icd.requests import Requests
from adreno_sim.icd.ring import BrokenLinkError, Ring
from adreno_sim.icd.server import open_device
from adreno_sim.icd.settings import DriverSettings
from adreno_sim.results.run_report import ProcessReport

SOURCE = "kernel void f(global int *a, int n, read_only image2d_t i, sampler_t s, local int *l) { if (n < 4) a[n] = 1; }"
_SETTINGS = DriverSettings("sim:adreno-740,timeout=1", "bounds", "", False)
_BUFFER = (1, 0, 0, 4096, *[0] * 11)
_IMAGE = (2, 4, 0, 0, 0x10B5, 0x10DE, 8, 8, 0, 0, 0, 0, 0, 0, 0)


class Side:
    """A server's half, with a buffer, an image and a program."""

    def __init__(self) -> None:
        device, heap = open_device(_SETTINGS)
        self.objects = Objects(device, heap)
        self.objects.create(_BUFFER)
        self.objects.create(_IMAGE)
        self.objects.build(1, SOURCE, "")
        self.report = ProcessReport("fuzz", 1, "", "")
        self.log = FindingLog(self.report, say=lambda text: None)
        self.requests = Requests(self.objects, self.log, DeviceLock())
        for name in ("build", "compile", "link"):
            setattr(self.objects, name, _refuse)

    def check(self) -> None:
        """Raise what the report calls an internal error, and forget the rest."""
        wrong = [text for text in self.report.unsupported if "internal error" in text]
        for kept in (self.report.unsupported, self.report.findings, self.report.unchecked, self.report.leaks):
            kept.clear()
        self.log._places.clear()  # which count the findings, and the sentences that were said
        self.log._sentences.clear()
        assert not wrong, wrong[0]


def _refuse(*_: object) -> bytes:
    raise DeviceError("CL_BUILD_PROGRAM_FAILURE", "nothing is compiled here")


@cache
def side() -> Side:
    """The one of this process."""
    return Side()


def answer_request(data: bytes) -> None:
    """A request: a byte for its kind, and its body."""
    if data and data[0] in iter(Request) and data[0] != Request.HELLO:
        status, reply = side().requests.answer(Request(data[0]), 1, data[1:])
        assert status <= 0
        assert isinstance(reply, bytes)
        if data[0] == Request.MEMORY and status == 0:
            side().objects.free(int.from_bytes(data[1:5], "little"))  # or this process would fill with memories
        side().check()


@cache
def empty_ring() -> Ring:
    """The one of this process: a link is mapped for as long as its server is there."""
    return Ring(_sealed(protocol.LINK_BYTES), _sealed(protocol.STAGING_BYTES))


def run_ring(data: bytes) -> None:
    """What a client wrote into the ring, from its start."""
    ring, data = empty_ring(), data[: protocol.RING_BYTES]
    ring.tail = ring.completed = ring._head = 0
    ring._memory[: protocol.PAGE] = bytes(protocol.PAGE)
    ring._memory[protocol.RING_AT : protocol.RING_AT + len(data)] = data
    struct.pack_into("<Q", ring._memory, 0, len(data))
    executor = Executor(ring, Commands(side().objects, side().log, ring.staging), DeviceLock())
    try:
        while ring.publish():
            executor.run_next()
    except BrokenLinkError as error:
        assert str(error)
        assert "\n" not in str(error)
    side().check()


def _sealed(nbytes: int) -> int:
    descriptor = os.memfd_create("fuzz", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, nbytes)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return descriptor


def request_seeds() -> list[bytes]:
    """A request of each kind."""
    program = struct.pack("<I", 2) + encode_text(SOURCE) + encode_text("-DX=1") + encode_list([])
    bodies = {
        Request.MEMORY: protocol.MEMORY_BODY.pack(*_BUFFER[: len(protocol.MEMORY_BODY.unpack(bytes(protocol.MEMORY_BODY.size)))]),
        Request.BUILD: program, Request.COMPILE: program, Request.LINK: struct.pack("<I", 3) + encode_text("") + encode_list([]),
    }  # fmt: skip
    return [bytes([kind]) + bodies.get(kind, struct.pack("<3I", 1, 1, 1)) for kind in Request if kind is not Request.HELLO]


def ring_seeds() -> list[bytes]:
    """A command of each kind, and a launch."""
    arguments = b"".join(struct.pack("<IIQ", *given) for given in ((0, 8, 1), (1, 4, 2), (0, 8, 2), (2, 8, 1), (3, 8, 64)))
    launch = protocol.LAUNCH_BODY.pack(1, 0, 1, 5, 4, 1, 1, 1, 1, 1, 0, 0, 0) + arguments
    found = []
    for kind in Command:
        body = launch if kind is Command.LAUNCH else struct.pack("<8Q", 1, 2, 0, 0, 64, 64, 0, 0)
        found.append(protocol.COMMAND.pack(protocol.COMMAND.size + len(body), kind, 0, 1, 1, 2, 3) + body)
    return found
