"""One session: a client's socket, the device that it uses, and the report when it ends."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..backends.sim.device import SimDevice
from ..backends.sim.open import open_sim
from ..base.errors import AdrenoSimError, BuildError, DeviceError, UnsupportedError
from ..memory.heap import Heap
from ..results.run_report import HostCall, ProcessReport
from . import identity, messages
from .commands import Executor
from .device_lock import DeviceLock
from .finding_log import FindingLog, print_line
from .messages import Body, MalformedError
from .objects import Objects
from .protocol import MEMORY_BODY, REPLY, REQUEST, VERSION, Request
from .report_files import ReportFile
from .ring import BrokenLinkError, Ring
from .settings import Settings
from .status import SUCCESS, code_of

GRACE = 0.6
"""Seconds that commands still in the ring have when the client has gone."""
_SPARE_ADDRESSES = 2
"""The heap has this many times the device's memory in addresses, so that a fragmented one still has room."""
_CREDENTIALS = struct.Struct("iII")


class SessionEndedError(Exception):
    """The client closed its end."""


@dataclass
class _Session:
    """What HELLO makes."""

    ring: Ring
    objects: Objects
    executor: Executor


class Server:
    """Serves the client at `connection` until it goes."""

    def __init__(self, connection: socket.socket, settings: Settings):
        self._connection, self._settings = connection, settings
        pid = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
        self.report = ProcessReport(_program_of(pid), pid, settings.device, settings.checks)
        self._log = FindingLog(self.report)
        self._file = self._announce()
        self._lock = DeviceLock()
        self._session: _Session | None = None
        self._stopping = threading.Event()
        self._idle = threading.Event()
        self._descriptors: list[int] = []
        self._call = 0
        self._answers: dict[Request, Callable[[Body], bytes]] = {
            Request.MEMORY: self._create_memory,
            Request.BUILD: self._build,
            Request.COMPILE: self._compile,
            Request.LINK: self._link,
            Request.KERNELS: self._describe_kernels,
            Request.CLOSE: self._close,
        }

    def serve(self) -> None:
        """Answer requests until the client goes, then write the report. Nothing is raised: what went wrong is in the report."""
        try:
            while True:
                self._answer()
        except SessionEndedError:
            pass
        except (BrokenLinkError, MalformedError) as error:
            self._fail(f"the driver's two halves disagree: {error}")
        except AdrenoSimError as error:
            self._fail(str(error))
        except OSError as error:
            self._fail(f"the client's socket: {error.strerror}")
        except Exception as error:  # a bug of ours: the report says so, and what was found before
            self._fail(f"internal error: {type(error).__name__}: {error} (a bug)")
        self._end()

    # -- the ends of a session

    def _announce(self) -> ReportFile | None:
        """Say in the folder of reports that this session is there."""
        if not self._settings.reports:
            return None
        try:
            return ReportFile(self._settings.reports, self.report.pid, self.report.program)
        except AdrenoSimError as error:
            print_line(f"adreno-sim: {error}")
            return None

    def _fail(self, reason: str) -> None:
        if not self.report.failed:
            self.report.failed = reason
            print_line(f"adreno-sim: {reason}")

    def _end(self) -> None:
        self._stopping.set()
        if self._session is not None and not self._idle.wait(GRACE):
            self._log.note("commands that had not run when the client ended")
        self._connection.close()
        self._log.freeze()
        if self._file is not None:
            try:
                self._file.write(self.report)
            except AdrenoSimError as error:
                print_line(f"adreno-sim: {error}")

    def _run_commands(self, session: _Session) -> None:
        """The ring's thread."""
        try:
            session.executor.serve(self._stopping.is_set)
        except BrokenLinkError as error:
            self._fail(f"the driver's two halves disagree: {error}")
            self._connection.shutdown(socket.SHUT_RDWR)
        finally:
            self._idle.set()

    # -- requests

    def _answer(self) -> None:
        nbytes, kind, call = REQUEST.unpack(self._receive(REQUEST.size))
        if nbytes > messages.MOST_BYTES or kind not in iter(Request):
            raise MalformedError(f"request {kind} of {nbytes} bytes")
        body, self._call = Body(self._receive(nbytes)), call
        if kind == Request.HELLO:
            self._hello(body)
            return
        if self._session is None:
            raise MalformedError(f"request {Request(kind).name} before HELLO")
        status, reply = SUCCESS, b""
        try:
            reply = self._answers[Request(kind)](body)
        except MalformedError as error:
            status, reply = code_of("CL_INVALID_VALUE"), str(error).encode()
        except BuildError as error:
            status, reply = _build_failure(Request(kind)), "\n".join(map(str, error.diagnostics or [error])).encode()
        except DeviceError as error:
            status, reply = code_of(error.code), str(error).encode()
        except UnsupportedError as error:
            self._log.add_unsupported(f"call {call}: {error}")
            status, reply = _build_failure(Request(kind)), str(error).encode()
        except MemoryError:
            status = code_of("CL_OUT_OF_HOST_MEMORY")
        except Exception as error:  # a bug of ours must not end the client's session
            what = f"call {call}: internal error: {type(error).__name__}: {error} (a bug)"
            self._log.add_unsupported(what)
            status, reply = code_of("CL_OUT_OF_RESOURCES"), what.encode()
        self._connection.sendall(REPLY.pack(len(reply), status) + reply)

    def _hello(self, body: Body) -> None:
        """Open the device, and send what it says of itself with the descriptor of its heap."""
        version, name = body.number(), body.text()
        body.end()
        if self._session is not None or version != VERSION or len(self._descriptors) != 2:
            got = f"version {version}, {len(self._descriptors)} descriptors"
            raise MalformedError(f"HELLO with {got}: expected version {VERSION} and 2, once")
        self.report.program = name or self.report.program
        ring = Ring(*self._descriptors)
        device, heap = open_device(self._settings)
        self.report.checks, self.report.opened = device.options.checks, True
        objects = Objects(device, heap)
        self._session = _Session(ring, objects, Executor(ring, objects, self._log, self._lock, self._settings.strict))
        parts = [
            struct.pack("<Q", heap.nbytes),
            messages.encode_list(_encode_answer(*row) for row in identity.platform_answers(device.profile).items()),
            messages.encode_list(_encode_answer(*row) for row in identity.device_answers(device.profile).items()),
            messages.encode_list(struct.pack("<III", *row) for row in identity.image_formats()),
        ]
        reply = b"".join(parts)
        data = REPLY.pack(len(reply), SUCCESS) + reply
        sent = socket.send_fds(self._connection, [data], [heap.descriptor])
        self._connection.sendall(data[sent:])
        threading.Thread(target=self._run_commands, args=(self._session,), daemon=True).start()

    @property
    def _objects(self) -> Objects:
        assert self._session is not None
        return self._session.objects

    def _create_memory(self, body: Body) -> bytes:
        fields = body.fields(MEMORY_BODY)
        body.end()
        with self._lock.of_socket:
            made = self._objects.create(fields)
        for warning in self._objects.device.take_warnings():
            self._log.add(warning, "", lambda: HostCall(self._call, 0, 0))
        return made

    def _build(self, body: Body) -> bytes:
        number, source, options, headers = _program_body(body)
        if headers:
            raise DeviceError("CL_INVALID_VALUE", "headers of clBuildProgram: expected none")
        return self._objects.build(number, source, options)

    def _compile(self, body: Body) -> bytes:
        return self._objects.compile(*_program_body(body))

    def _link(self, body: Body) -> bytes:
        number, options, inputs = body.number(), body.text(), body.list(body.number)
        body.end()
        return self._objects.link(number, options, inputs)

    def _describe_kernels(self, body: Body) -> bytes:
        number = body.number()
        body.end()
        return self._objects.describe_kernels(number)

    def _close(self, body: Body) -> bytes:
        leaks = body.list(lambda: (body.text(), body.text()))
        body.end()
        self._log.add_leaks(leaks)
        return b""

    def _receive(self, count: int) -> bytes:
        """So many bytes; descriptors that come with them are kept. SessionEndedError at the end of the stream."""
        parts: list[bytes] = []
        while count:
            try:
                data, found, _, _ = socket.recv_fds(self._connection, min(count, 1 << 20), 4)
            except ConnectionResetError:
                data, found = b"", []
            self._descriptors += found
            if not data:
                raise SessionEndedError
            parts.append(data)
            count -= len(data)
        return b"".join(parts)


def open_device(settings: Settings) -> tuple[SimDevice, Heap]:
    """The device of a session, and the heap in which its memory lies. AdrenoSimError for a device string that names none."""
    made: list[Heap] = []

    def make_heap(nbytes: int) -> Heap:
        try:
            made.append(Heap(_SPARE_ADDRESSES * nbytes))
        except (OSError, ValueError) as error:  # a limit on addresses or on the size of files
            raise AdrenoSimError(
                f"the device's memory of {nbytes} bytes cannot be mapped: {error} (see ulimit -v and -f)"
            ) from None
        return made[0]

    options: dict[str, Any] = {"checks": settings.checks} if settings.checks else {}
    options |= {"pool": "none", "unsafe_includes": True}  # its sources are those of a program that reads what it likes
    device = open_sim(settings.device.removeprefix("sim:"), make_heap=make_heap, **options)
    return device, made[0]


def _program_body(body: Body) -> tuple[int, str, str, list[tuple[str, str]]]:
    number, source, options = body.number(), body.text(), body.text()
    headers = body.list(lambda: (body.text(), body.text()))
    body.end()
    return number, source, options, headers


def _build_failure(kind: Request) -> int:
    names = {Request.COMPILE: "CL_COMPILE_PROGRAM_FAILURE", Request.LINK: "CL_LINK_PROGRAM_FAILURE"}
    return code_of(names.get(kind, "CL_BUILD_PROGRAM_FAILURE"))


def _encode_answer(number: int, answer: bytes) -> bytes:
    return struct.pack("<I", number) + messages.encode_bytes(answer)


def _program_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
