"""Runs commands one after another: those of the ring, on a separate thread, and those of a recorded session."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..base.errors import AdrenoSimError, DeviceError
from .ahead import CompileAhead
from .calls.launch_filter import LaunchFilter
from .device_lock import DeviceLock
from .finding_log import FindingLog
from .launches import Launches
from .objects import Objects
from .ordering.unordered import UnorderedAccesses
from .protocol import COPY_BODY, FILL_BODY, ORDER_BODY, RANGE, RESULTS, SHARE_BODY, TRANSFER, Command
from .ring import Header, Ring
from .shared_memory import SharedMemory
from .status import SUCCESS, code_of
from .trace.recorder import Recorder
from .transfers import Transfers
from .watches.left_undefined import LeftUndefined
from .watches.unwritten import UnwrittenReads

_WAITED_FAILED = code_of("CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST")
_LEAST = {Command.READ: TRANSFER.size, Command.WRITE: TRANSFER.size, Command.WRITTEN: RANGE.size, Command.COPY: COPY_BODY.size,
          Command.FILL: FILL_BODY.size, Command.FREE: 8, Command.FREE_PROGRAM: 8,
          Command.HOST_READ: RANGE.size, Command.ORDER: ORDER_BODY.size, Command.SHARE: SHARE_BODY.size}  # fmt: skip
"""The least bytes of a body."""


class Commands:
    """Runs commands on the device of `objects`, whose lock the caller holds. strict: a launch with an error fails
    (CL_OUT_OF_RESOURCES). recorder: is notified of each. filter: which launches are checked. At a level of checks `see` looks for
    commands that nothing orders. has_error: of the last launch that ran."""

    def __init__(
        self,
        objects: Objects,
        log: FindingLog,
        staging: NDArray[np.uint8],
        strict: bool = False,
        recorder: Recorder | None = None,
        filter: LaunchFilter | None = None,
    ):
        self._objects, self._log, self._strict, self._recorder = objects, log, strict, recorder
        self._left = LeftUndefined(log)
        self._unwritten = UnwrittenReads(log)
        self._shared = SharedMemory(objects, log)
        self.launches = Launches(objects, log, self._left, self._unwritten, self._shared, filter)
        self.transfers = transfers = Transfers(objects, staging)
        self._unordered = None
        if objects.device.options.checks != "off":
            self._unordered = UnorderedAccesses(objects, log, self.launches, transfers)
        self._looks_at_values = objects.device.options.checks == "full"
        self._any_order = False
        self.has_error = False
        self._moves: dict[Command, Callable[[bytes], None]] = {
            Command.READ: transfers.read,
            Command.WRITE: transfers.write,
            Command.WRITTEN: transfers.mark_written,
            Command.COPY: transfers.copy,
            Command.FILL: transfers.fill,
        }

    def run(self, header: Header, body: bytes) -> int:
        """Returns the status: 0, or OpenCL's error. What went wrong is in the log."""
        status = self.run_whole(header, body)
        return code_of("CL_OUT_OF_RESOURCES") if status == SUCCESS and self._strict and self.has_error else status

    def run_whole(self, header: Header, body: bytes) -> int:
        """The same, but a launch that ran to its end has succeeded, whatever was found in it."""
        self.has_error = False
        status = self.guard(header, header.kind.name, lambda: self._execute(header, body))
        if status != SUCCESS and self._recorder is not None:
            self._recorder.add_failed_command(header, status)
        return status

    def store(self, header: Header, body: bytes) -> int:
        """Bytes that a client wrote, as a recording has them, into their memory. Returns the status, as `run`."""

        def run() -> int:
            self._shared.note_state([self.transfers.store(body)])
            return SUCCESS

        return self.guard(header, "STORE", run)

    def see(self, header: Header, body: bytes, *, runs: bool = True) -> None:
        """A command is about to run, or, not `runs`, fails without running. Before the first ORDER all are in one order."""
        self._any_order = self._any_order or header.kind is Command.ORDER
        if not self._any_order:
            return
        unordered = self._unordered
        if self._recorder is not None:
            self._recorder.add_seen(header, body, runs)
        if unordered is None:
            return

        def look() -> int:
            unordered.look(header, body, runs=runs)
            return SUCCESS

        self.guard(header, "the search for unordered commands", look)

    def guard(self, header: Header, what: str, run: Callable[[], int]) -> int:
        """Returns what `run` returns, or the status of what went wrong, which is in the log."""
        try:
            return run()
        except DeviceError as error:
            if what != Command.LAUNCH.name:
                self._log.note(f"call {header.call}: {what} failed: {error}")
            return code_of(error.code)
        except AdrenoSimError as error:
            self._log.add_unsupported(f"call {header.call}: {error}")
        except MemoryError:
            return code_of("CL_OUT_OF_HOST_MEMORY")
        except Exception as error:  # a bug of ours must not end the client's session
            self._log.add_unsupported(f"call {header.call}: internal error: {type(error).__name__}: {error} (a bug)")
        return code_of("CL_OUT_OF_RESOURCES")

    def look(self, header: Header, body: bytes) -> int:
        """The host reads of a memory, as a recording has it. Returns the status, as `run`."""

        def run() -> int:
            if len(body) < _LEAST[header.kind]:
                raise DeviceError("CL_INVALID_VALUE", f"a look of {len(body)} bytes: expected at least {_LEAST[header.kind]}")
            self._look(header, body)
            return SUCCESS

        return self.guard(header, header.kind.name, run)

    def _look(self, header: Header, body: bytes) -> None:
        if not self._looks_at_values:
            return
        for box, _ in self.transfers.boxes(header.kind, body):
            self._left.look(box)
            if len(body) == _LEAST[header.kind]:  # else the host may only write there
                self._unwritten.look(header, int.from_bytes(body[:8], "little"), box)

    def _execute(self, header: Header, body: bytes) -> int:
        kind, recorder = header.kind, self._recorder
        if recorder is not None:
            recorder.add_command(header, body)
        if kind is Command.LAUNCH:
            self.has_error = self.launches.run(header, body)
            return SUCCESS
        if len(body) < _LEAST.get(kind, 0):
            raise DeviceError("CL_INVALID_VALUE", f"{kind.name} of {len(body)} bytes: expected at least {_LEAST[kind]}")
        if kind in (Command.READ, Command.HOST_READ):
            self._look(header, body)
        if kind is Command.SHARE:
            self._shared.set_mapped(body)
        if kind in self._moves:
            if kind is not Command.WRITTEN:
                self._shared.check(header)
            self._moves[kind](body)
            if self._objects.shared:
                self._shared.note_state([box.view for box, writes in self.transfers.boxes(kind, body) if writes and box.view])
            if self._looks_at_values and kind is Command.COPY:
                (source, _), (target, _) = self.transfers.boxes(kind, body)
                self._left.copy(source, target)
                self._unwritten.copy(source, target)
            if recorder is not None:
                recorder.add_store(header, body, self.transfers)
        elif kind in (Command.FREE, Command.FREE_PROGRAM):
            free = self._objects.free if kind is Command.FREE else self._objects.free_program
            free(int.from_bytes(body[:8], "little"))
        return SUCCESS


class Executor:
    """Runs what is in `ring`. A command that waits for one which has failed fails as well."""

    def __init__(self, ring: Ring, commands: Commands, lock: DeviceLock, ahead: CompileAhead | None = None):
        self._ring, self._commands, self._lock, self._ahead = ring, commands, lock, ahead
        self._failed: dict[int, None] = {}

    def serve(self, stopped: Callable[[], bool]) -> None:
        """Run commands until `stopped`, which is asked when there is none. BrokenLinkError if the ring makes no sense."""
        while True:
            if self._ring.wait():
                self.run_next()
            elif stopped():
                return

    def wake(self) -> None:
        """Have `serve` ask now whether it is to stop."""
        self._ring.wake()

    def run_next(self) -> None:
        """Take a command and run it."""
        taken = self._ring.read()
        if taken is None:
            return
        header, body = taken
        started = time.monotonic_ns()
        status = self._run(header, body)
        if status != SUCCESS:
            self._note_failure(header.number)
        self._ring.complete(header.number, started, time.monotonic_ns(), status)

    def _run(self, header: Header, body: bytes) -> int:
        if header.waits:
            if max(header.waits) >= header.number:
                return code_of("CL_INVALID_EVENT_WAIT_LIST")
            if not self._failed.keys().isdisjoint(header.waits):
                self._commands.see(header, body, runs=False)
                return _WAITED_FAILED
        with self._lock.of_ring:
            if self._ahead is not None:
                self._ahead.look(header.kind, body)
            self._commands.see(header, body)
            return self._commands.run(header, body)

    def _note_failure(self, number: int) -> None:
        """Commands in the ring wait for at most RESULTS earlier ones, so that older failures are forgotten."""
        self._failed[number] = None
        while len(self._failed) > RESULTS:
            del self._failed[next(iter(self._failed))]
