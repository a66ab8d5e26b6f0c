"""Answers requests; the server's socket and a replayed trace ask alike."""

from __future__ import annotations

import struct
from collections.abc import Callable

from ..backends.sim.info import front_end_target
from ..base.errors import BuildError, DeviceError, UnsupportedError
from ..base.text.spelling import encode_exactly
from ..findings import Finding, Severity
from ..findings import Kind as FindingKind
from ..frontend.driver import inline_files
from ..frontend.unlisted_extensions import find_unlisted_extensions
from ..results.run_report import HostCall
from .device_lock import DeviceLock
from .finding_log import FindingLog
from .messages import Body, MalformedError, encode_list, encode_text
from .objects import Objects
from .protocol import MEMORY_BODY, Misuse, Request
from .refusals import Refusals
from .status import SUCCESS, code_of
from .trace.events import REQUESTS, EventKind
from .trace.recorder import Recorder

_MISUSES = {misuse: FindingKind[misuse.name] for misuse in Misuse}
_MADE = {Request.MEMORY: "memory objects", Request.BUILD: "programs", Request.COMPILE: "programs", Request.LINK: "programs"}
_OF_SOURCES = (Request.BUILD, Request.COMPILE)
_KINDS = {request: kind for kind, request in REQUESTS.items()}


class Requests:
    """Answers all requests except HELLO. recorder: notified of those that make something: of a memory while the lock is held, of
    a program before it is built.
    """

    def __init__(self, objects: Objects, log: FindingLog, lock: DeviceLock, recorder: Recorder | None = None):
        self._objects, self._log, self._lock, self._recorder = objects, log, lock, recorder
        self._is_recorded = False
        self._made: set[str] = set()
        self._refusals = Refusals(log)
        self._answers: dict[Request, Callable[[Body], bytes]] = {
            Request.BUILD: self._build,
            Request.COMPILE: self._compile,
            Request.LINK: self._link,
            Request.KERNELS: self._describe_kernels,
            Request.CLOSE: self._close,
            Request.IMAGE_BYTES: self._tell_image_bytes,
            Request.GROUP_LIMIT: self._tell_group_limit,
            Request.MISUSE: self._tell_misuse,
            Request.REFUSED: self._tell_refusal,
            Request.PLACE: self._tell_place,
        }

    def answer(self, kind: Request, call: int, data: bytes) -> tuple[int, bytes]:
        """Returns the status, 0 or OpenCL's error, and the body of the reply. What this project lacks is in the log."""
        self._is_recorded = False
        if kind in _MADE:
            self._made.add(_MADE[kind])
        status, reply = self._try(kind, call, data)
        if status != SUCCESS and self._recorder is not None and self._is_recorded:
            self._recorder.add_failed_request(_KINDS[kind], call, status)
        return status, reply

    def note_end(self) -> None:
        """The session ends: did the device do anything? Where something went wrong, that says why it did not."""
        report = self._log.report
        if self._made and not report.kernels and not any(found.severity is Severity.ERROR for found in report.findings):
            made = " and ".join(sorted(self._made))
            sentence = f"the process made {made} on the device, and launched no kernel"
            self._log.add(Finding(FindingKind.NOTHING_LAUNCHED, sentence), "", None)

    def _try(self, kind: Request, call: int, data: bytes) -> tuple[int, bytes]:
        try:
            return SUCCESS, self._answer(kind, call, data)
        except MalformedError as error:
            return code_of("CL_INVALID_VALUE"), encode_exactly(str(error))
        except BuildError as error:
            return _failure_of(kind), encode_exactly("\n".join(map(str, error.diagnostics or [error])))
        except DeviceError as error:
            return code_of(error.code), encode_exactly(str(error))
        except UnsupportedError as error:
            self._log.add_unsupported(f"call {call}: {error}")
            return _failure_of(kind), encode_exactly(str(error))
        except MemoryError:
            return code_of("CL_OUT_OF_HOST_MEMORY"), b""
        except Exception as error:  # a bug of ours must not end the client's session
            what = f"call {call}: internal error: {type(error).__name__}: {error} (a bug)"
            self._log.add_unsupported(what)
            return code_of("CL_OUT_OF_RESOURCES"), encode_exactly(what)

    def _answer(self, kind: Request, call: int, data: bytes) -> bytes:
        if kind is Request.MEMORY:
            return self._create_memory(call, data)
        if self._recorder is not None and kind in _KINDS:
            self._recorder.add_request(_KINDS[kind], call, self._with_files(data) if kind in _OF_SOURCES else data)
            self._is_recorded = True
        reply = self._answers[kind](Body(data))
        if kind in (Request.BUILD, Request.LINK):
            self._tell_extensions(Body(data).number(), call)
        return reply

    def _tell_extensions(self, number: int, call: int) -> None:
        """What a program, which was built, enables and the device does not list."""
        program = self._objects.program(number)
        if program.built is not None:
            listed = self._objects.device.info.extensions
            for finding in find_unlisted_extensions(program.built.warnings, listed):
                self._log.add(finding, program.source, lambda: HostCall(call, 0, 0))

    def _with_files(self, data: bytes) -> bytes:
        """A BUILD or COMPILE whose source holds the files that it includes, except for headers that come with it."""
        number, source, options, headers = _read_program(Body(data))
        if headers:
            return data
        device = self._objects.device
        whole = inline_files(source, options, front_end_target(device.profile, device.options))
        if whole == source:
            return data
        return struct.pack("<I", number) + encode_text(whole) + encode_text(options) + encode_list([])

    def _create_memory(self, call: int, data: bytes) -> bytes:
        body = Body(data)
        fields = body.fields(MEMORY_BODY)
        body.end()
        with self._lock.of_socket:
            made = self._objects.create(fields)
            frames = self._log.places.find(call)
            self._objects.note_maker(fields[0], call, frames)
            self._log.growth.note_memory(self._objects.memory(fields[0]).storage, call, frames)
            if self._recorder is not None:
                self._recorder.add_request(EventKind.MEMORY, call, data)
        for warning in self._objects.device.take_warnings():
            self._log.add(warning, "", lambda: HostCall(call, 0, 0))
        return made

    def _build(self, body: Body) -> bytes:
        number, source, options, headers = _read_program(body)
        if headers:
            raise DeviceError("CL_INVALID_VALUE", "headers of clBuildProgram: expected none")
        return self._note_build(source, lambda: self._objects.build(number, source, options))

    def _compile(self, body: Body) -> bytes:
        number, source, options, headers = _read_program(body)
        return self._note_build(source, lambda: self._objects.compile(number, source, options, headers))

    def _note_build(self, source: str, build: Callable[[], bytes]) -> bytes:
        made = None
        try:
            made = build()
            return made
        finally:
            self._refusals.note_build(source, succeeded=made is not None)

    def _link(self, body: Body) -> bytes:
        number, options, inputs = body.number(), body.text(), body.list(body.number)
        body.end()
        return self._objects.link(number, options, inputs)

    def _describe_kernels(self, body: Body) -> bytes:
        number = body.number()
        body.end()
        return self._objects.describe_kernels(number)

    def _tell_image_bytes(self, body: Body) -> bytes:
        fields = body.fields(MEMORY_BODY)
        body.end()
        return struct.pack("<Q", self._objects.image_bytes(fields))

    def _tell_group_limit(self, body: Body) -> bytes:
        program, kernel = body.number(), body.number()
        body.end()
        with self._lock.of_socket:
            return struct.pack("<I", self._objects.group_limit(program, kernel))

    def _close(self, body: Body) -> bytes:
        leaks = body.list(lambda: (body.text(), body.text()))
        body.end()
        self._log.add_leaks(leaks)
        return b""

    def _tell_misuse(self, body: Body) -> bytes:
        number, call, thread, kernel, sentence = body.number(), body.number(), body.number(), body.text(), body.text()
        body.end()
        if number not in _MISUSES:
            raise DeviceError("CL_INVALID_VALUE", f"misuse {number}: expected one of {', '.join(map(str, _MISUSES))}")
        self._log.add(Finding(_MISUSES[Misuse(number)], sentence, kernel), "", lambda: HostCall(call, thread, 0))
        return b""

    def _tell_place(self, body: Body) -> bytes:
        number, frames = body.number(), body.list(body.text)
        body.end()
        try:
            self._log.places.add(number, frames)
        except ValueError as error:
            raise DeviceError("CL_INVALID_VALUE", str(error)) from None
        return b""

    def _tell_refusal(self, body: Body) -> bytes:
        call, thread, code = body.number(), body.number(), body.signed()
        function, kernel, why = body.text(), body.text(), body.text()
        body.end()
        if code >= 0 or not function.startswith("cl"):
            raise DeviceError(
                "CL_INVALID_VALUE", f"a refusal of {function!r} with {code}: expected a function of OpenCL and its error"
            )
        self._refusals.add(function, code, kernel, why, HostCall(call, thread, 0))
        return b""


def _read_program(body: Body) -> tuple[int, str, str, list[tuple[str, str]]]:
    number, source, options = body.number(), body.text(), body.text()
    headers = body.list(lambda: (body.text(), body.text()))
    body.end()
    return number, source, options, headers


def _failure_of(kind: Request) -> int:
    names = {Request.COMPILE: "CL_COMPILE_PROGRAM_FAILURE", Request.LINK: "CL_LINK_PROGRAM_FAILURE",
             Request.MEMORY: "CL_OUT_OF_RESOURCES"}  # fmt: skip
    return code_of(names.get(kind, "CL_BUILD_PROGRAM_FAILURE"))
