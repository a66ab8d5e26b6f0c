"""The driver's shim in Python, for tests of the server: it starts a server process, speaks on the socket, writes ring records."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from adreno_sim.icd import messages, protocol
from adreno_sim.icd.messages import Body
from adreno_sim.icd.protocol import COUNTERS, Argument, Command, Request

T = TypeVar("T")
_FUTEX, _WAIT, _WAKE = 202, 0, 1
_libc = ctypes.CDLL(None)


class RefusedError(Exception):
    """A reply with an error: its code, and its text."""

    def __init__(self, code: int, text: str):
        super().__init__(f"{code}: {text}")
        self.code, self.text = code, text


def sealed_file(nbytes: int, seal: bool = True) -> int:
    descriptor = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, nbytes)
    if seal:
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return descriptor


class Shim:
    """A client with a server of its own. `settings` are environment variables of the server without ADRENO_SIM_ICD_."""

    def __init__(self, seal: bool = True, **settings: str):
        ours, theirs = socket.socketpair()
        variables = {f"ADRENO_SIM_ICD_{name.upper()}": value for name, value in settings.items()}
        self.server = subprocess.Popen(
            [sys.executable, "-m", "adreno_sim.icd", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        self.socket = ours
        self.link, self.staged = sealed_file(protocol.LINK_BYTES, seal), sealed_file(protocol.STAGING_BYTES)
        self.memory = mmap.mmap(self.link, protocol.LINK_BYTES)
        self._words = memoryview(self.memory)[: protocol.PAGE].cast("Q")
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.staging = np.frombuffer(mmap.mmap(self.staged, protocol.STAGING_BYTES), np.uint8)
        self.head = self.number = 0
        self.calls = 0

    # -- the socket

    def hello(self, program: str = "test") -> tuple[dict[int, bytes], dict[int, bytes], list[tuple[int, ...]]]:
        """Answers of the platform and of the device, and image formats."""
        data = struct.pack("<I", protocol.VERSION) + messages.encode_text(program)
        frame = protocol.REQUEST.pack(len(data), Request.HELLO, 0) + data
        socket.send_fds(self.socket, [frame], [self.link, self.staged])
        head, found = self._wait(lambda: socket.recv_fds(self.socket, protocol.REPLY.size, 1)[:2])
        if not head:
            raise EOFError
        length, status = protocol.REPLY.unpack(head)
        assert status == 0
        body = Body(self._receive(length))
        nbytes, _ = body.fields(struct.Struct("<QQ"))
        self.heap = np.frombuffer(mmap.mmap(found[0], nbytes), np.uint8)
        platform, device = (dict(body.list(lambda: (body.number(), body.piece()))) for _ in range(2))
        formats = body.list(lambda: body.fields(struct.Struct("<III")))
        body.end()
        return platform, device, formats

    def ask(self, kind: int, data: bytes = b"") -> bytes:
        """The reply's body. RefusedError for an error, EOFError where the server has gone."""
        self.calls += 1
        self.socket.sendall(protocol.REQUEST.pack(len(data), kind, self.calls) + data)
        length, status = protocol.REPLY.unpack(self._receive(protocol.REPLY.size))
        reply = self._receive(length)
        if status:
            raise RefusedError(status, reply.decode())
        return reply

    def _receive(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self._wait(partial(self.socket.recv, count - len(data)))
            if not part:
                raise EOFError
            data += part
        return data

    def _wait(self, receive: Callable[[], T]) -> T:
        """What `receive` gives. It asks again, since a wait for the end of a server once went on for minutes behind that end."""
        for _ in range(12):
            self.socket.settimeout(10)
            with contextlib.suppress(TimeoutError):
                return receive()
        raise TimeoutError("the server did not answer within two minutes")

    def buffer(self, number: int, nbytes: int, parent: int = 0, offset: int = 0) -> tuple[int, ...]:
        """MEMORY_REPLY of a new buffer."""
        body = protocol.MEMORY_BODY.pack(number, 0, 0, nbytes, *[0] * 8, parent, 0, offset)
        return protocol.MEMORY_REPLY.unpack(self.ask(Request.MEMORY, body))

    def image(self, number: int, kind: str, extents: Sequence[int], format: Sequence[int], **more: int) -> tuple[int, ...]:
        """MEMORY_REPLY of a new image of width, height, depth, layers."""
        place, pitches = protocol.KINDS.index(kind), (more.get("row_pitch", 0), more.get("slice_pitch", 0))
        body = protocol.MEMORY_BODY.pack(
            number, place, 0, 0, *format, *extents, *pitches, more.get("parent", 0), 0, more.get("offset", 0)
        )
        return protocol.MEMORY_REPLY.unpack(self.ask(Request.MEMORY, body))

    def build(self, number: int, source: str, options: str = "") -> tuple[str, list[dict[str, Any]]]:
        """The log, and the kernels."""
        return _program(self.ask(Request.BUILD, _source(number, source, options, {})))

    def compile(self, number: int, source: str, options: str = "", headers: Mapping[str, str] | None = None) -> str:
        return _program(self.ask(Request.COMPILE, _source(number, source, options, headers or {})))[0]

    def link_programs(self, number: int, inputs: Sequence[int], options: str = "") -> list[dict[str, Any]]:
        data = struct.pack("<I", number) + messages.encode_text(options)
        data += messages.encode_list(struct.pack("<I", each) for each in inputs)
        return _program(self.ask(Request.LINK, data))[1]

    def group_limit(self, program: int, kernel: int) -> int:
        """What CL_KERNEL_WORK_GROUP_SIZE is."""
        (limit,) = struct.unpack("<I", self.ask(Request.GROUP_LIMIT, struct.pack("<II", program, kernel)))
        return int(limit)

    # -- the ring

    def put(self, kind: int, body: bytes = b"", waits: Sequence[int] = ()) -> int:
        """Write a command; returns its number."""
        body += bytes(-len(body) % 8)
        nbytes = protocol.COMMAND.size + 8 * len(waits) + len(body)
        at = self.head % protocol.RING_BYTES
        if at + nbytes > protocol.RING_BYTES:
            self.put_raw(protocol.COMMAND.pack(protocol.RING_BYTES - at, Command.PAD, 0, 0, 0, 0, 0), protocol.RING_BYTES - at)
        rest = protocol.RING_BYTES - self.head % protocol.RING_BYTES - nbytes
        if 0 < rest < protocol.COMMAND.size:  # no PAD would fit there
            body, nbytes = body + bytes(rest), nbytes + rest
        self.number += 1
        self.calls += 1
        head = protocol.COMMAND.pack(nbytes, kind, len(waits), self.number, self.calls, threading.get_native_id(), 1)
        self.put_raw(head + struct.pack(f"<{len(waits)}Q", *waits) + body)
        return self.number

    def put_raw(self, data: bytes, nbytes: int = 0) -> None:
        """Write bytes where the next command goes, and tell the server."""
        while self.head + (nbytes or len(data)) - self.counter("tail") > protocol.RING_BYTES:
            if self.server.poll() is not None:
                raise EOFError
            time.sleep(1e-5)
        at = protocol.RING_AT + self.head % protocol.RING_BYTES
        self.memory[at : at + len(data)] = data
        self.head += nbytes or len(data)
        self.set_head(self.head)

    def set_head(self, head: int) -> None:
        self._words[COUNTERS["head"] // 8] = head  # in one store: pack_into would write zeros first
        work = COUNTERS["work"]
        struct.pack_into("<I", self.memory, work, (struct.unpack_from("<I", self.memory, work)[0] + 1) & 0xFFFFFFFF)
        if struct.unpack_from("<I", self.memory, COUNTERS["server_sleeps"])[0]:
            _libc.syscall(_FUTEX, ctypes.c_void_p(self._address + work), _WAKE, 1, None, None, 0)

    def counter(self, name: str) -> int:
        return int(struct.unpack_from("<Q", self.memory, COUNTERS[name])[0])

    def finish(self, number: int = 0, seconds: float = 60) -> int:
        """Wait for a command (the last); returns its status."""
        number = number or self.number
        end = time.monotonic() + seconds
        while self.counter("completed") < number:
            if time.monotonic() > end or self.server.poll() is not None:
                raise EOFError(f"command {number} did not complete")
            time.sleep(0)
        return self.result(number)[2]

    def result(self, number: int) -> tuple[int, ...]:
        """Start, end, status."""
        at = protocol.RESULTS_AT + number % protocol.RESULTS * protocol.RESULT.size
        return protocol.RESULT.unpack_from(self.memory, at)[:3]

    def written(self, memory: int, offset: int, nbytes: int) -> int:
        return self.put(Command.WRITTEN, protocol.RANGE.pack(memory, offset, nbytes))

    def host_read(self, memory: int, offset: int, nbytes: int) -> int:
        return self.put(Command.HOST_READ, protocol.RANGE.pack(memory, offset, nbytes))

    def launch(
        self, program: int, kernel: int, size: Sequence[int], group: Sequence[int], args: Sequence[bytes], **more: Any
    ) -> int:
        """Enqueue a launch; `args` are of `value`, `buffer`, ..."""
        return self.put(
            Command.LAUNCH, launch_body(program, kernel, size, group, args, more.get("offset", ())), more.get("waits", ())
        )

    def transfer(self, kind: Command, memory: int, at: int, shape: Sequence[int], **more: Any) -> int:
        """Enqueue READ or WRITE of a region; staging is dense from byte `at` on unless `staged` says otherwise."""
        body = protocol.TRANSFER.pack(
            memory, at, *shape, *more.get("origin", (0, 0, 0)), *more.get("pitches", (0, 0)),
            *more.get("staged_origin", (0, 0, 0)), *more.get("staged", (0, 0)),
        )  # fmt: skip
        return self.put(kind, body)

    # -- the end

    def close(self, seconds: float = 10) -> tuple[int, str, str]:
        """Close the socket; the server's status, standard output and error."""
        self.socket.close()
        out, error = self.server.communicate(timeout=seconds)
        return self.server.returncode, out.decode(), error.decode()


def launch_body(
    program: int, kernel: int, size: Sequence[int], group: Sequence[int], args: Sequence[bytes], offset: Sequence[int] = ()
) -> bytes:
    triples = [tuple(numbers) + (0,) * (3 - len(numbers)) for numbers in (offset, size, group)]
    return protocol.LAUNCH_BODY.pack(program, kernel, len(size), len(args), *sum(triples, ())) + b"".join(args)


def value(data: bytes) -> bytes:
    return protocol.ARGUMENT.pack(Argument.VALUE, len(data)) + data + bytes(-len(data) % 8)


def buffer(memory: int) -> bytes:
    return protocol.ARGUMENT.pack(Argument.BUFFER, 8) + struct.pack("<Q", memory)


def image(memory: int) -> bytes:
    return protocol.ARGUMENT.pack(Argument.IMAGE, 8) + struct.pack("<Q", memory)


def sampler(bits: int) -> bytes:
    return protocol.ARGUMENT.pack(Argument.SAMPLER, 8) + struct.pack("<Q", bits)


def local(nbytes: int) -> bytes:
    return protocol.ARGUMENT.pack(Argument.LOCAL, 8) + struct.pack("<Q", nbytes)


def null() -> bytes:
    return protocol.ARGUMENT.pack(Argument.NULL, 0)


def _source(number: int, source: str, options: str, headers: Mapping[str, str]) -> bytes:
    listed = messages.encode_list(messages.encode_text(name) + messages.encode_text(text) for name, text in headers.items())
    return struct.pack("<I", number) + messages.encode_text(source) + messages.encode_text(options) + listed


def _program(reply: bytes) -> tuple[str, list[dict[str, Any]]]:
    body = Body(reply)
    log, kernels = body.text(), body.list(lambda: _kernel(body))
    body.end()
    return log, kernels


def _kernel(body: Body) -> dict[str, Any]:
    name, attributes = body.text(), body.text()
    local_bytes, private, x, y, z, sure, multiple, wave = body.fields(struct.Struct("<QQ6I"))
    params = body.list(lambda: (*body.fields(struct.Struct("<5I")), body.text(), body.text()))
    facts = {"local": local_bytes, "private": private, "required": (x, y, z), "sure": sure, "wave": wave}
    return {"name": name, "attributes": attributes, "multiple": multiple, "params": params, **facts}
