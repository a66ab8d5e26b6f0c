"""One session: a client's socket, the device that it uses, and the report when it ends."""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import threading
from pathlib import Path
from typing import Any, NoReturn

from ..backends.sim.device import SimDevice
from ..backends.sim.open import open_sim
from ..base.errors import AdrenoSimError
from ..base.processes.descendants import find_descendants, signal_all
from ..memory.heap import Heap
from ..records import dataclass
from ..results.readings import ReadingsReport
from ..results.run_report import ProcessReport
from . import identity, messages
from .ahead import CompileAhead
from .calls.places import Places
from .commands import Commands, Executor
from .device_lock import DeviceLock
from .finding_log import FindingLog, print_line
from .launches import LaunchObserver
from .messages import Body, MalformedError
from .objects import Objects
from .protocol import BEAT, REPLY, REQUEST, VERSION, Request
from .report_files import ReportFile
from .requests import Requests
from .ring import BrokenLinkError, Ring
from .settings import DriverSettings
from .status import SUCCESS
from .trace.recorder import Recorder
from .watches.launch_readings import ReadingsWatch

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

    requests: Requests
    executor: Executor


class Server:
    """Serves the client at `connection` until it goes."""

    def __init__(self, connection: socket.socket, settings: DriverSettings):
        self._connection, self._settings = connection, settings
        pid = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
        self.report = ProcessReport(_program_of(pid), pid, settings.device, settings.checks)
        self._file = self._announce()
        self._log = FindingLog(self.report, journal=self._file.journal if self._file else None, most_said=settings.max_findings)
        self._lock = DeviceLock()
        self._session: _Session | None = None
        self._stopping = threading.Event()
        self._idle, self._noticed = threading.Event(), threading.Event()
        self._ending = threading.Lock()
        self._descriptors: list[int] = []
        self._recorder = self._start_recorder()

    def serve(self) -> None:
        """Answer requests until the client goes, then write the report. Nothing is raised: what went wrong is in the report."""
        threading.Thread(target=self._watch_client, daemon=True).start()
        try:
            while True:
                self._answer()
        except SessionEndedError:
            pass
        except (BrokenLinkError, MalformedError) as error:
            self._fail(f"the driver's two halves disagree: {error}")
        except AdrenoSimError as error:
            self._fail(str(error))
        except (BrokenPipeError, ConnectionResetError):  # the client has ended while it waited for an answer
            pass
        except OSError as error:
            self._fail(f"the client's socket: {error.strerror}")
        except Exception as error:  # a bug of ours: the report says so, and what was found before
            self._fail_inside(error)
        self._end()

    # -- the ends of a session

    def _announce(self) -> ReportFile | None:
        """Say in the folder of reports that this session is there."""
        if not self._settings.reports:
            return None
        try:
            return ReportFile(self._settings.reports, self.report)
        except AdrenoSimError as error:
            print_line(f"adreno-sim: {error}")
            return None

    def _keep(self, field: str) -> None:
        if self._file is not None:
            self._file.journal.add(field, getattr(self.report, field))

    def _start_recorder(self) -> Recorder | None:
        if not self._settings.record or self._file is None:
            return None
        return Recorder(self._file.trace, self._log.note)

    def _fail(self, reason: str) -> None:
        if not self.report.failed:
            self.report.failed = reason
            self._keep("failed")
            print_line(f"adreno-sim: {reason}")

    def _fail_inside(self, error: Exception) -> None:
        """A bug of ours ends the session."""
        self._fail(f"internal error: {type(error).__name__}: {error} (a bug)")

    def _watch_client(self) -> None:
        """End the session also where the client has ended in the middle of a long request, as a build."""
        poll = select.poll()
        poll.register(self._connection, select.POLLRDHUP)
        poll.poll()
        if not self._noticed.wait(GRACE):
            self._log.note("a request that had not ended when the client did")
            self._end()
            end_session()

    def _end(self) -> None:
        self._noticed.set()
        with self._ending:
            if not self._stopping.is_set():
                self._write_report()

    def _write_report(self) -> None:
        self._stopping.set()
        if self._session is not None:
            self._session.executor.wake()
            if not self._idle.wait(GRACE):
                self._log.note("commands that had not run when the client ended")
        try:
            self._connection.close()
            if self._recorder is not None:
                self._recorder.close()
        except Exception as error:  # nothing must keep the report from being written
            self._fail_inside(error)
        if self._session is not None:
            self._session.requests.note_end()
        self._log.freeze()
        if self._file is not None:
            try:
                self._file.write(self.report)
            except AdrenoSimError as error:
                print_line(f"adreno-sim: {error}")

    def _show_life(self, ring: Ring) -> None:
        """The thread that tells the client, amid builds and launches, that its server lives."""
        while not self._stopping.wait(BEAT):
            ring.show_life()

    def _run_commands(self, session: _Session) -> None:
        """The ring's thread."""
        try:
            session.executor.serve(self._stopping.is_set)
        except BrokenLinkError as error:
            self._fail(f"the driver's two halves disagree: {error}")
            self._connection.shutdown(socket.SHUT_RDWR)
        except Exception as error:
            self._fail_inside(error)
            self._connection.shutdown(socket.SHUT_RDWR)
        finally:
            self._idle.set()

    # -- requests

    def _answer(self) -> None:
        nbytes, kind, call = REQUEST.unpack(self._receive(REQUEST.size))
        if nbytes > messages.MOST_BYTES or kind not in iter(Request):
            raise MalformedError(f"request {kind} of {nbytes} bytes")
        data = self._receive(nbytes)
        if kind == Request.HELLO:
            self._hello(Body(data))
            return
        if self._session is None:
            raise MalformedError(f"request {Request(kind).name} before HELLO")
        status, reply = self._session.requests.answer(Request(kind), call, data)
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
        threading.Thread(target=self._show_life, args=(ring,), daemon=True).start()
        device, heap = open_device(self._settings)
        self.report.checks, self.report.opened = device.options.checks, True
        for field in ("program", "checks", "opened"):
            self._keep(field)
        objects = Objects(device, heap)
        recorder = self._recorder
        self._log.places = Places(ring.place_of)
        if recorder is not None:
            recorder.places = self._log.places
        made = self._settings.make_filter()
        commands = Commands(objects, self._log, ring.staging, self._settings.strict, recorder, made)
        times = self._watch_times(device)
        commands.launches.observer = times
        if device.options.checks == "full":
            commands.launches.observer = ReadingsWatch(objects, self._log, False, ReadingsReport(), times)
        executor = Executor(ring, commands, self._lock, CompileAhead(ring, objects, commands.launches))
        self._session = _Session(Requests(objects, self._log, self._lock, recorder), executor)
        parts = [
            struct.pack("<QQ", heap.nbytes, heap.address),
            messages.encode_list(_encode_answer(*row) for row in identity.platform_answers(device.profile).items()),
            messages.encode_list(_encode_answer(*row) for row in identity.device_answers(device.profile).items()),
            messages.encode_list(struct.pack("<III", *row) for row in identity.image_formats()),
        ]
        reply = b"".join(parts)
        data = REPLY.pack(len(reply), SUCCESS) + reply
        sent = socket.send_fds(self._connection, [data], [heap.descriptor])
        self._connection.sendall(data[sent:])
        threading.Thread(target=self._run_commands, args=(self._session,), daemon=True).start()

    def _watch_times(self, device: SimDevice) -> LaunchObserver | None:
        """What predicts the times of launches, where they are asked for."""
        if not self._settings.times:
            return None
        from .watches.launch_times import TimesWatch

        watch = TimesWatch(device)
        self.report.time = watch.report
        return watch

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


def end_session() -> NoReturn:
    """End this process without the interpreter's own end, as a thread may be inside a launch, and with it what it started."""
    signal_all(find_descendants(os.getpid()), signal.SIGKILL)
    os._exit(0)


def open_device(settings: DriverSettings, *, unsafe_includes: bool = True) -> tuple[SimDevice, Heap]:
    """The device of a session, and the heap in which its memory lies. AdrenoSimError for a device string that names none.

    unsafe_includes: sources may include any file: those of a program that runs here read what it likes.
    """
    made: list[Heap] = []

    def make_heap(nbytes: int) -> Heap:
        try:
            made.append(Heap(_SPARE_ADDRESSES * nbytes))
        except (OSError, ValueError, OverflowError) as error:  # a limit on addresses or on the size of files
            raise AdrenoSimError(
                f"the device's memory of {nbytes} bytes cannot be mapped: {error} (see ulimit -v and -f)"
            ) from None
        return made[0]

    options: dict[str, Any] = {"checks": settings.checks} if settings.checks else {}
    options |= {"pool": "none", "unsafe_includes": unsafe_includes}
    device = open_sim(settings.device.removeprefix("sim:"), make_heap=make_heap, **options)
    return device, made[0]


def _encode_answer(number: int, answer: bytes) -> bytes:
    return struct.pack("<I", number) + messages.encode_bytes(answer)


def _program_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return ""
