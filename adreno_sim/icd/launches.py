"""LAUNCH commands: parsed once for equal bytes, run, and what they found logged."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

from ..backends.sim.arguments import ADDRESSING, FILTERS
from ..backends.sim.launches.launch_config import PreparedLaunch
from ..backends.sim.program import SimKernel
from ..backends.sim.shared_pointers import Reached, SharedKernels, SharedPointer
from ..base.errors import DeviceError
from ..base.specs import Local, Null, Sampler
from ..base.text.spelling import OutputGuard
from ..device.protocol import LaunchResult
from ..findings import Finding, Severity
from ..memory.storage import StorageView
from ..records import dataclass
from ..results.launch_births import explain_births
from ..results.run_report import HostCall
from .calls.launch_filter import LaunchFilter
from .finding_log import FindingLog
from .objects import Objects
from .protocol import ARGUMENT, LAUNCH_BODY, Argument
from .ring import Header
from .shared_memory import SharedMemory
from .watches.births import LaunchBirths
from .watches.left_undefined import LeftUndefined
from .watches.memory_flags import MemoryFlags
from .watches.unwritten import UnwrittenReads

MOST_KNOWN = 4096
"""Parsed launches that are kept."""
_U64 = struct.Struct("<Q")
_TAKEN = {Argument.NULL: 0, Argument.SHARED: 16}
"""Bytes of an argument that is not a value, if they are not 8."""
_SHOWN = 12
"""Bytes of an argument by value that a finding shows."""

Size = tuple[int, ...]


@dataclass(eq=False)
class DriverLaunch:
    """A parsed LAUNCH: sizes in as many dimensions as were given, local size None if none was; arguments as the device takes
    them, and in words ("" of values); own: how many of them are parameters in the source, before what the kernel reaches besides.
    program: number of the kernel's. prepared: once it ran."""

    program: int
    kernel: SimKernel
    source: str
    offset: Size | None
    global_size: Size
    local_size: Size | None
    arguments: tuple[Any, ...]
    described: tuple[str, ...]
    own: int
    prepared: PreparedLaunch | None = None

    @cached_property
    def written(self) -> list[StorageView]:
        """The memory that it may write: of what it reaches besides its own arguments, all."""
        views = ((index, value) for index, value in enumerate(self.arguments) if isinstance(value, StorageView))
        return [view for index, view in views if index >= self.own or self.kernel.writes(index)]

    @cached_property
    def births(self) -> LaunchBirths:
        return LaunchBirths(self.kernel, self.arguments)

    def describe_call(self, header: Header) -> HostCall:
        params = self.kernel.params
        pairs = zip(params, self.arguments, self.described, strict=False)
        given = tuple(f"{param.name} = {words or _value_in_words(value, param.spelled)}" for param, value, words in pairs)
        return HostCall(
            header.call, header.thread, header.queue, self.global_size, self.local_size or (), self.offset or (), given
        )


class LaunchObserver(Protocol):
    """Is notified of each launch that is checked."""

    def begin(self, number: int, launch: DriverLaunch, call: HostCall) -> None:
        """It is about to run."""
        ...

    def end(self, number: int, launch: DriverLaunch, result: LaunchResult) -> None:
        """It has run."""
        ...


class Launches:
    """Runs LAUNCH commands on the device of `objects`. The caller holds the device's lock. filter: which are checked;
    observer: notified of those, if there is one."""

    def __init__(
        self,
        objects: Objects,
        log: FindingLog,
        left: LeftUndefined,
        unwritten: UnwrittenReads,
        shared: SharedMemory,
        filter: LaunchFilter | None = None,
    ):
        self._objects, self._log, self._left, self._unwritten, self._shared = objects, log, left, unwritten, shared
        self._looks_at_values = objects.device.options.checks == "full"
        self.filter = filter or LaunchFilter()
        self.observer: LaunchObserver | None = None
        self._warnings: dict[str, list[Finding]] = {}
        self._kernels = SharedKernels()
        self._flags = MemoryFlags(objects)
        objects.device.defers_outputs = True
        self._known: dict[bytes, DriverLaunch] = {}
        self._generation = objects.generation

    def run(self, header: Header, body: bytes) -> bool:
        """Launch, and log what that found. Returns whether an error was found. DeviceError for a launch that the device refuses,
        which is logged as well."""
        number = self.filter.count()
        launch = self.parse(body)
        checked = self.filter.takes(launch.kernel.name)
        self._shared.check(header, launch.kernel.name)
        observer = self.observer if checked else None
        if observer is not None:
            observer.begin(number, launch, launch.describe_call(header))
        result, held = self._run(header, launch, checked)
        if observer is not None:
            observer.end(number, launch, result)
        if checked:
            return self._report(header, launch, result, held)
        self._hold_warnings()
        return False

    def _run(self, header: Header, launch: DriverLaunch, checked: bool) -> tuple[LaunchResult, set[str]]:
        """Run a launch, and count it; returns also what `LaunchBirths` is to know of the memory before. DeviceError for one that
        the device refuses, which is logged where it is checked."""
        name, log = launch.kernel.name, self._log
        log.count_checked(checked)
        try:
            prepared = self.prepare(launch)
            held = launch.births.look_before() if checked and self._looks_at_values else set()
            if checked and self._looks_at_values:
                self._compare_flags(header, launch, prepared)
            result = self._objects.device.run_prepared(prepared)
        except DeviceError as error:
            if checked:
                log.add_rejected(error, name, launch.source, lambda: launch.describe_call(header))
            raise
        self._shared.note_state(launch.written)
        if self._looks_at_values:
            self._unwritten.note_writer(name, launch.written)
        log.count_launch(name, result.device_seconds or 0.0)
        used = [value.storage for value in launch.arguments if isinstance(value, StorageView)]
        log.growth.note_launch(header.call, name, launch.kernel.source, launch.global_size, used)
        if result.printed:
            _print(result.printed)
        for sentence in result.failures:
            log.note(f"kernel {name}: {sentence}")
        return result, held

    def _report(self, header: Header, launch: DriverLaunch, result: LaunchResult, held: set[str]) -> bool:
        """Log what a launch found. held: as of `_run`. Returns whether an error was found."""
        for view, finding in result.left:
            assert isinstance(view, StorageView)
            self._left.add(view, finding, launch.source, lambda: launch.describe_call(header))
        findings = [*result.findings, *self._warnings.pop(launch.kernel.name, ()), *self._objects.device.take_warnings()]
        if self._looks_at_values and not explain_births(result.findings):
            findings += self._find_births(launch, held)
        for finding in findings:
            finding = self._with_maker(finding, launch)
            self._log.add(finding, launch.source, lambda: launch.describe_call(header))
        return any(finding.severity is Severity.ERROR for finding in result.findings)

    def _with_maker(self, finding: Finding, launch: DriverLaunch) -> Finding:
        """The finding with the call that made its memory."""
        if finding.access is None:
            return finding
        names = [param.name for param in launch.kernel.params]
        views = [view for name, view in zip(names, launch.arguments, strict=False) if name == finding.access.view]
        number = self._objects.number_of(views[0]) if views and isinstance(views[0], StorageView) else 0
        call, frames = self._objects.find_maker(number)
        if not call:
            return finding
        made = {"argument": finding.access.view, "memory": number, "call": call, "where": list(frames)}
        return replace(finding, detail={**finding.detail, "made": made})

    def _compare_flags(self, header: Header, launch: DriverLaunch, prepared: PreparedLaunch) -> None:
        for found in self._flags.find(prepared):
            if isinstance(found, str):
                self._log.note(found)
            else:
                self._log.add(found, launch.source, lambda: launch.describe_call(header))

    def _hold_warnings(self) -> None:
        """What the device warned of, once, at a launch that is not checked: of a kernel it counts at the next one that is."""
        for warning in self._objects.device.take_warnings():
            if warning.kernel:
                self._warnings.setdefault(warning.kernel, []).append(warning)
            else:
                self._log.add(warning, "", None)

    def _find_births(self, launch: DriverLaunch, held: set[str]) -> list[Finding]:
        for sentence in launch.births.left_out:
            self._log.note(sentence)
        return list(launch.births.find(held))

    def prepare(self, launch: DriverLaunch) -> PreparedLaunch:
        """The launch as the device runs it. DeviceError for one that the device refuses."""
        if launch.prepared is None:
            launch.prepared = self._objects.device.prepare(
                launch.kernel, launch.global_size, launch.local_size, launch.arguments, offset=launch.offset
            )
        return launch.prepared

    def parse(self, body: bytes) -> DriverLaunch:
        """The launch of a LAUNCH command. DeviceError for one that names what is not there, or is cut short."""
        if self._generation != self._objects.generation:  # what was parsed may name what is gone
            self._generation = self._objects.generation
            self._known.clear()
        launch = self._known.get(body)
        if launch is None:
            launch = self._parse(body)
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[body] = launch
        return launch

    def _parse(self, body: bytes) -> DriverLaunch:
        if len(body) < LAUNCH_BODY.size:
            raise DeviceError("CL_INVALID_VALUE", f"a launch of {len(body)} bytes: expected at least {LAUNCH_BODY.size}")
        program, place, dimensions, count, *sizes = LAUNCH_BODY.unpack_from(body)
        kernel = self._objects.kernel(program, place)
        if not 1 <= dimensions <= 3:
            raise DeviceError("CL_INVALID_WORK_DIMENSION", f"kernel {kernel.name}: {dimensions} dimensions: expected 1 to 3")
        offset, total, group = (tuple(sizes[first : first + dimensions]) for first in (0, 3, 6))
        given = self._parse_arguments(body, count)
        words, own = tuple(words for _, words in given), len(kernel.params)
        kernel, values = self._kernels.bind(kernel, [value for value, _ in given])
        return DriverLaunch(
            program,
            kernel,
            self._objects.program(program).source,
            offset if any(offset) else None,
            total,
            group if any(group) else None,
            tuple(values),
            words + ("",) * (len(values) - len(words)),
            own,
        )

    def _parse_arguments(self, body: bytes, count: int) -> list[tuple[Any, str]]:
        given: list[tuple[Any, str]] = []
        at = LAUNCH_BODY.size
        for index in range(count):
            if at + ARGUMENT.size > len(body):
                raise DeviceError("CL_INVALID_KERNEL_ARGS", f"argument {index} of {count}: the command ends before it")
            kind, nbytes = ARGUMENT.unpack_from(body, at)
            at += ARGUMENT.size
            taken = nbytes if kind == Argument.VALUE else _TAKEN.get(kind, 8)
            value = body[at : at + taken]
            at += -(-taken // 8) * 8
            if at > len(body):
                raise DeviceError("CL_INVALID_ARG_SIZE", f"argument {index} of {nbytes} bytes: the command ends in it")
            given.append(self._argument(index, kind, value))
        return given

    def _argument(self, index: int, kind: int, value: bytes) -> tuple[Any, str]:
        if kind == Argument.VALUE:
            return value, ""
        if kind == Argument.NULL:
            return Null(), "NULL"
        if kind in (Argument.SHARED, Argument.REACHED):
            return self._shared_argument(index, kind, value)
        if kind not in (Argument.BUFFER, Argument.IMAGE, Argument.SAMPLER, Argument.LOCAL):
            raise DeviceError("CL_INVALID_ARG_VALUE", f"argument {index} of kind {kind}: expected 0 to {max(Argument)}")
        (number,) = _U64.unpack(value)
        if kind == Argument.LOCAL:
            return Local(number), f"{number} bytes of local memory"
        if kind == Argument.SAMPLER:
            sampler = _sampler(index, number)
            return sampler, f"sampler {sampler.addressing} {sampler.filter}"
        view = self._objects.memory(number)
        return view, _view_in_words(view, number)

    def _shared_argument(self, index: int, kind: int, value: bytes) -> tuple[Any, str]:
        number, offset = _U64.unpack(value[:8])[0], _U64.unpack(value[8:])[0] if kind == Argument.SHARED else 0
        view = self._objects.memory(number)
        if number not in self._objects.shared or offset >= view.nbytes:
            raise DeviceError(
                "CL_INVALID_ARG_VALUE", f"argument {index}: byte {offset} of memory {number}: expected shared memory"
            )
        words = f"byte {offset} of shared memory {number} of {view.nbytes} bytes"
        return (Reached(view) if kind == Argument.REACHED else SharedPointer(view, offset)), words


def _view_in_words(view: StorageView, number: int) -> str:
    what = f"of {view.nbytes} bytes" if view.layout is None else str(view.spec)
    return f"{'image' if view.layout is not None else 'buffer'} {number} {what}"


def _value_in_words(value: bytes, spelled: str) -> str:
    code = {"half": "e", "float": "f", "double": "d"}.get(spelled)
    if code and len(value) == struct.calcsize(code):
        return f"{struct.unpack(code, value)[0]:.9g}"
    if len(value) in (1, 2, 4, 8):
        return str(int.from_bytes(value, "little", signed=not spelled.startswith(("u", "size_t"))))
    return f"{value[:_SHOWN].hex()}{'...' if len(value) > _SHOWN else ''} ({len(value)} bytes)"


def _sampler(index: int, bits: int) -> Sampler:
    normalized, addressing, filter = bits & 0xFF, bits >> 8 & 0xFF, bits >> 16
    if normalized > 1 or addressing >= len(ADDRESSING) or filter >= len(FILTERS):
        raise DeviceError("CL_INVALID_SAMPLER", f"argument {index}: sampler {bits:#x}")
    return Sampler(bool(normalized), ADDRESSING[addressing], FILTERS[filter])


_printed = OutputGuard(is_shared=True)


def _print(text: str) -> None:
    """What a kernel's printf wrote goes to the client's standard output, shown as everything that is not the client's own."""
    data: Sequence[int] | bytes = _printed.show(text).encode()
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(1, bytes(data)) :]
