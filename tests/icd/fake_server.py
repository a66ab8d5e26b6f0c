"""A server for tests of the shim: memory and the ring as the real one has them, kernels that only leave a trace.

Kernels by name: `append(global int *a, int v)` adds v to the list in a, whose first element counts; `fail` fails; `pause(int ms)`
takes its time; others do nothing. A source with SLOW in it builds for 4 s. Images lie densely. Run as `python fake_server.py FD`.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import re
import socket
import struct
import sys
import threading
import time

from adreno_sim.icd import protocol
from adreno_sim.icd.protocol import BEAT, COUNTERS, KINDS, NO_PLACE, Argument, Command, Request

HEAP = 8 << 30
NANO = 10**9
TEXELS = {0x10D2: 1, 0x10DD: 2, 0x10DE: 4, 0x10DA: 1, 0x10DC: 4}
CHANNELS = {0x10B0: 1, 0x10B2: 2, 0x10B5: 4}
SIZES = {"char": 1, "int": 4, "float": 4, "float4": 16, "float16": 64, "long": 8}
_libc = ctypes.CDLL(None)


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(data)) + data


def texts(data: bytes) -> list[str]:
    """The texts side by side in `data`."""
    found = []
    while data:
        (length,) = struct.unpack_from("<I", data)
        found.append(data[4 : 4 + length].decode())
        data = data[4 + length :]
    return found


def answers(pairs: dict[int, bytes]) -> bytes:
    return struct.pack("<I", len(pairs)) + b"".join(struct.pack("<I", query) + text(answer) for query, answer in pairs.items())


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


PLATFORM = {0x0900: b"FULL_PROFILE\0", 0x0901: b"OpenCL 3.0 \0", 0x0902: b"Fake\0", 0x0903: b"nobody\0", 0x0904: b"cl_khr_icd\0"}
DEVICE = {
    0x1000: words(4), 0x1004: words(1024), 0x1005: words(1024, 1024, 64), 0x1010: words(1 << 30), 0x1016: struct.pack("<I", 1),
    0x1011: words(16384), 0x1012: words(16384), 0x1013: words(16384), 0x1014: words(16384), 0x1015: words(2048),
    0x1017: words(1024), 0x1019: struct.pack("<I", 1024), 0x1023: words(32768), 0x102A: words(3), 0x102B: b"Fake Adreno\0",
    0x102F: b"OpenCL 3.0 Fake\0", 0x1040: words(1 << 27), 0x1041: words(2048), 0x102D: b"1\0", 0x1030: b"\0", 0x102C: b"nobody\0",
}  # fmt: skip


def describe_kernels(source: str) -> bytes:
    found = []
    for name, params in re.findall(r"kernel void (\w+)\(([^)]*)\)", source):
        described = [describe_param(param) for param in filter(None, map(str.strip, params.split(",")))]
        facts = struct.pack("<QQ6I", 0, 0, 0, 0, 0, 128, 64, 64)
        found.append(text(name) + text("") + facts + struct.pack("<I", len(described)) + b"".join(described))
    return struct.pack("<I", len(found)) + b"".join(found)


def describe_param(param: str) -> bytes:
    name = re.search(r"\w+$", param)[0]
    kind, size, type_name, access = Argument.VALUE, SIZES.get(param.split()[0], 0), param.split()[0], 0x11A3
    if "image" in param:
        kind, size, access = Argument.IMAGE, 0, 0x11A1 if "write" in param else 0x11A0
    elif "sampler" in param:
        kind = Argument.SAMPLER
    elif "local" in param:
        kind, type_name = Argument.LOCAL, "int*"
    elif "*" in param:
        kind, type_name = Argument.BUFFER, "int*"
    return struct.pack("<5I", kind, size, 0x119E, access, 0) + text(name) + text(type_name)


class FakeServer:
    def __init__(self, connection: socket.socket):
        self.socket = connection
        self.memories: dict[int, tuple] = {}
        self.kernels: dict[int, list[str]] = {}
        self.failed: set[int] = set()
        self.next_place = 4096

    def receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except ConnectionResetError:  # a client that was killed with a reply unread
                part = b""
            if not part:
                self.end()
            data += part
        return data

    def end(self) -> None:
        sys.stderr.write("fake server: end\n")
        sys.stderr.flush()
        os._exit(0)

    def hello(self) -> None:
        data, files, _, _ = socket.recv_fds(self.socket, protocol.REQUEST.size, 2)
        size, kind, _ = protocol.REQUEST.unpack(data)
        body = self.receive(size)
        assert kind == Request.HELLO
        assert struct.unpack_from("<I", body)[0] == protocol.VERSION
        self.link = mmap.mmap(files[0], protocol.LINK_BYTES)
        self.staging = mmap.mmap(files[1], protocol.STAGING_BYTES)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.link))
        heap = os.memfd_create("heap")
        os.ftruncate(heap, HEAP)
        self.heap = mmap.mmap(heap, HEAP)
        threading.Thread(target=self.beat, daemon=True).start()
        formats = [(order, type_, (1 << len(KINDS)) - 2) for order in CHANNELS for type_ in TEXELS]
        reply = struct.pack("<QQ", HEAP, 0) + answers(PLATFORM) + answers(DEVICE)
        reply += struct.pack("<I", len(formats)) + b"".join(struct.pack("<3I", *entry) for entry in formats)
        socket.send_fds(self.socket, [protocol.REPLY.pack(len(reply), 0)], [heap])
        self.socket.sendall(reply)

    def beat(self) -> None:
        for beats in itertools.count(1):
            struct.pack_into("<I", self.link, COUNTERS["alive"], beats)
            time.sleep(BEAT)

    def serve(self) -> None:
        self.hello()
        threading.Thread(target=self.run_ring, daemon=True).start()
        while True:
            size, kind, _ = protocol.REQUEST.unpack(self.receive(protocol.REQUEST.size))
            status, reply = self.answer(kind, self.receive(size))
            try:
                self.socket.sendall(protocol.REPLY.pack(len(reply), status) + reply)
            except (BrokenPipeError, ConnectionResetError):
                self.end()

    def answer(self, kind: int, body: bytes) -> tuple[int, bytes]:
        if kind == Request.MEMORY:
            return 0, self.make_memory(*protocol.MEMORY_BODY.unpack(body))
        if kind in (Request.BUILD, Request.COMPILE):
            number, length = struct.unpack_from("<II", body)
            source = body[8 : 8 + length].decode()
            if "SLOW" in source:
                time.sleep(4)
            if "ERROR" in source:
                return (-11 if kind == Request.BUILD else -15), b"1: ERROR"
            self.kernels[number] = re.findall(r"kernel void (\w+)", source)
            return 0, text("a log") + describe_kernels(source)
        if kind == Request.LINK:
            number = struct.unpack_from("<I", body)[0]
            self.kernels[number] = ["append"]
            return 0, text("") + describe_kernels("kernel void append(global int *a, int v)")
        if kind == Request.GROUP_LIMIT:
            program, place = struct.unpack("<II", body)
            return 0, struct.pack("<I", 256 if self.kernels[program][place] == "pause" else 1024)
        if kind == Request.CLOSE:
            sys.stderr.write(f"fake server: {self.leaks(body)} never released\n")
            sys.stderr.flush()
            return 0, b""
        if kind == Request.MISUSE:
            name, sentence = protocol.Misuse(struct.unpack_from("<I", body)[0]).name, texts(body[12:])[1]
            sys.stderr.write(f"fake server: {name}: {sentence}\n")
            sys.stderr.flush()
            return 0, b""
        if kind == Request.PLACE:
            return 0, b""
        if kind == Request.REFUSED:
            function, kernel, why = texts(body[12:])
            sys.stderr.write(f"fake server: REFUSED: {function} of {kernel or 'nothing'}: {why}\n")
            sys.stderr.flush()
            return 0, b""
        return -59, b"unknown"

    def leaks(self, body: bytes) -> list[str]:
        return texts(body[4:])[::2]

    def make_memory(self, number, kind, _flags, size, order, type_, width, height, depth, layers, row, slice_, parent, _, offset):
        texel = TEXELS.get(type_, 0) * CHANNELS.get(order, 0)
        row = row or width * texel
        slice_ = slice_ or row * height
        size = size or slice_ * depth * layers
        place = self.memories[parent][0] + offset if parent else self.next_place
        if not parent:
            self.next_place += -(-size // 4096) * 4096
        self.memories[number] = (place, kind, texel, row, slice_ if kind != 3 else row)
        return protocol.MEMORY_REPLY.pack(NO_PLACE if kind else place, size, row, slice_, texel, 0)

    def run_ring(self) -> None:
        tail, base = 0, protocol.RING_AT
        at = COUNTERS
        idle = 0
        while True:
            (head,) = struct.unpack_from("<Q", self.link, at["head"])
            if head == tail:
                idle += 1
                time.sleep(0.00005 if idle < 200 else 0.001)
                continue
            idle = 0
            start = base + tail % protocol.RING_BYTES
            size, kind, waits, number, _, _, _ = protocol.COMMAND.unpack_from(self.link, start)
            assert size % 8 == 0, (size, tail)
            assert 0 < size <= protocol.RING_BYTES - tail % protocol.RING_BYTES, (size, tail)
            if kind != Command.PAD:
                first = start + protocol.COMMAND.size
                waited = struct.unpack_from(f"<{waits}Q", self.link, first)
                assert all(0 < other < number for other in waited), (waited, number)
                begun = time.monotonic_ns()
                status = -14 if self.failed & set(waited) else self.execute(kind, self.link[first + 8 * waits : start + size])
                if status:
                    self.failed.add(number)
                place = protocol.RESULTS_AT + number % protocol.RESULTS * protocol.RESULT.size
                protocol.RESULT.pack_into(self.link, place, begun, time.monotonic_ns(), status, 0)
                struct.pack_into("<Q", self.link, at["completed"], number)
                (done,) = struct.unpack_from("<I", self.link, at["done"])
                struct.pack_into("<I", self.link, at["done"], (done + 1) & 0xFFFFFFFF)
                _libc.syscall(202, ctypes.c_void_p(self.address + at["done"]), 1, 1 << 30, None, None, 0)
            tail += size
            struct.pack_into("<Q", self.link, at["tail"], tail)

    def execute(self, kind: int, body: bytes) -> int:
        if kind == Command.LAUNCH:
            return self.launch(body)
        if kind in (Command.READ, Command.WRITE):
            memory, staging, *rest = protocol.TRANSFER.unpack_from(body)
            ours, theirs = self.box(memory, rest[3:6], *rest[6:8]), (self.staging, staging, rest[11], rest[12])
            self.move(*((ours, theirs) if kind == Command.READ else (theirs, ours)), self.region(rest[:3], memory))
        elif kind == Command.COPY:
            source, target, *rest = protocol.COPY_BODY.unpack_from(body)
            image = source if self.memories[source][1] else target
            region = self.region(rest[:3], image)
            boxes = []
            for memory, at in ((source, 3), (target, 8)):
                is_packed = self.memories[image][1] and not self.memories[memory][1]
                pitches = (region[0], region[0] * region[1]) if is_packed else rest[at + 3 : at + 5]
                boxes.append(self.box(memory, rest[at : at + 3], *pitches))
            self.move(*boxes, region)
        elif kind == Command.FILL:
            self.fill(body)
        elif kind == Command.FREE:
            del self.memories[struct.unpack_from("<Q", body)[0]]
        elif kind == Command.FREE_PROGRAM:
            del self.kernels[struct.unpack_from("<Q", body)[0]]
        return 0

    def region(self, region: list[int], memory: int) -> tuple[int, int, int]:
        return region[0] * (self.memories[memory][2] or 1), region[1], region[2]

    def box(self, memory: int, origin: list[int], row: int, slice_: int) -> tuple:
        place, kind, texel, own_row, own_slice = self.memories[memory]
        if kind:
            row, slice_ = (own_slice if kind == 3 else own_row), own_slice
        return self.heap, place + origin[0] * (texel if kind else 1) + origin[1] * row + origin[2] * slice_, row, slice_

    def move(self, source: tuple, target: tuple, region: tuple[int, int, int]) -> None:
        for z in range(region[2]):
            for y in range(region[1]):
                a, b = source[1] + z * source[3] + y * source[2], target[1] + z * target[3] + y * target[2]
                target[0][b : b + region[0]] = source[0][a : a + region[0]]

    def fill(self, body: bytes) -> None:
        memory, size, _, *rest = protocol.FILL_BODY.unpack_from(body)
        pattern = body[protocol.FILL_BODY.size : protocol.FILL_BODY.size + size]
        if self.memories[memory][1]:
            return
        place = self.memories[memory][0] + rest[0]
        self.heap[place : place + rest[3]] = pattern * (rest[3] // size)

    def launch(self, body: bytes) -> int:
        program, place, _, count, *_ = protocol.LAUNCH_BODY.unpack_from(body)
        name, at, values = self.kernels[program][place], protocol.LAUNCH_BODY.size, []
        for _ in range(count):
            kind, size = protocol.ARGUMENT.unpack_from(body, at)
            values.append((kind, body[at + 8 : at + 8 + size]))
            at += 8 + -(-size // 8) * 8
        if name == "fail":
            return -5
        if name == "pause":
            time.sleep(struct.unpack("<i", values[0][1])[0] / 1000)
        if name == "append":
            list_at = self.memories[struct.unpack("<Q", values[0][1])[0]][0]
            (length,) = struct.unpack_from("<i", self.heap, list_at)
            struct.pack_into("<i", self.heap, list_at, length + 1)
            self.heap[list_at + 4 * length + 4 : list_at + 4 * length + 8] = values[1][1]
        return 0


if __name__ == "__main__":
    FakeServer(socket.socket(fileno=int(sys.argv[1]))).serve()
