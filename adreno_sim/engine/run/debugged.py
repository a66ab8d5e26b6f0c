"""A launch under the debugger: it runs in a separate thread, and waits at each moment that the debugger inspects.

A moment is the count of statements that work-items have begun. One thread runs everything, so that a second run comes to the same
moment; memory is put back first. A checkpoint of the group that was last inspected saves running all groups before it again.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.processes.interrupts import forget_interrupt
from ...base.run_options import Checks
from ...findings import Finding, Kind
from ...ir import ir
from ...ir.mod_ref import written_arguments
from ...records import dataclass
from ..abi import debugging as abi
from ..abi.bound import Bound
from ..abi.debug_table import DebugTable
from ..abi.specialization import BufferArg, ImageArg, Specialization
from ..emit.diagnostic_sites import DiagnosticSite
from . import launch
from .compiled_kernel import specialize
from .memory_copies import copy_ranges, range_of, restore_ranges

_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64)
_STORES = 4096
"""The most stores to the watched bytes that are kept, the last ones."""
_NO_LIMIT = 1e7
"""Seconds: who debugs takes his time."""

Decide = Callable[[int], bool]
"""Gets why the debugger is asked (`abi.ASKED_AT_...`). Returns whether the launch is to wait here."""


@dataclass(frozen=True)
class Watch:
    """Bytes from `low` to `high` whose stores are recorded: addresses, or counted from the start of local memory."""

    low: int
    high: int
    local: bool = False


@dataclass(frozen=True)
class StoreRecord:
    """A store to watched bytes. count: the moment. point: of the source. value: what the watched bytes then held, at most 16."""

    count: int
    group: int
    lane: int
    point: int
    nbytes: int
    value: bytes


@dataclass(frozen=True)
class _Checkpoint:
    """Memory as it was before `group`, at moment `count`."""

    group: int
    count: int
    memory: list[np.ndarray]


@dataclass(frozen=True)
class _Block:
    """The debug block, where a launch of counted code has its counters."""

    words: np.ndarray

    def start(self, groups: int) -> int:
        """Returns its address."""
        return int(self.words.ctypes.data)


class DebugRun:
    """One launch under the debugger, from its beginning as often as is wanted. args: without shadows.

    `decide` is called in the launch's thread. While the launch waits, `words` is the debug block, and memory is as work-items see
    it. `findings` and `printed` are those of a launch that ended.
    """

    def __init__(self, kernel: ir.Function, spec: Specialization, args: Sequence[Bound], **sizes: Any):
        own = tuple(
            replace(arg, shadow=None, extent=None) if isinstance(arg, (BufferArg, ImageArg)) else arg for arg in spec.args
        )
        checks: Checks = "off" if spec.checks == "off" else "bounds"
        plain = replace(spec, args=own, checks=checks, emitter="scalar", debug=True, unoptimised=True, watch=False, count=False)
        self._compiled = specialize(kernel, plain, keep=False)
        table = self._compiled.module.debugged
        assert table is not None
        self.table: DebugTable = table
        self.words = np.zeros(abi.DEBUG_WORDS, np.uint64)
        self.flags = np.zeros(len(table.points) + 1, np.uint8)
        self.decide: Decide = lambda reason: False
        self.ended = True
        self.findings: list[Finding] = []
        self.printed = ""
        self.error: BaseException | None = None
        self._args, self._sizes = args, sizes
        self._ranges = [found for found in (range_of(args[index]) for index in sorted(written_arguments(kernel))) if found[1]]
        self._first = _Checkpoint(0, 0, copy_ranges(self._ranges))
        self._kept: _Checkpoint | None = None
        self._stores = np.zeros((_STORES, abi.STORE_WORDS), np.uint64)
        self._callback = _CALLBACK(self._ask)
        self._groups = 0
        self._stopped, self._resumed = threading.Semaphore(0), threading.Semaphore(0)
        self._thread: threading.Thread | None = None
        self._ending = False

    @property
    def count(self) -> int:
        """The moment at which the launch is."""
        return int(self.words[abi.DEBUG_COUNT])

    @property
    def group(self) -> int:
        return int(self.words[abi.DEBUG_GROUP]) - 1

    @property
    def lane(self) -> int:
        return int(self.words[abi.DEBUG_LANE])

    def start(self, before: int = 0) -> None:
        """Puts memory back and has a launch wait, which `go` sets off: from its beginning, or from the checkpoint if that lies
        before the moment `before`."""
        self.close()
        kept = self._kept
        origin = kept if kept is not None and kept.count < before else self._first
        restore_ranges(self._ranges, origin.memory)
        self.words[:] = 0
        self.words[abi.DEBUG_COUNT] = origin.count
        self.words[abi.DEBUG_FLAGS] = self.flags.ctypes.data
        self.words[abi.DEBUG_CALLBACK] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        self.words[abi.DEBUG_STORES], self.words[abi.DEBUG_STORE_MOST] = self._stores.ctypes.data, _STORES
        self.ended, self._ending, self.error = False, False, None
        self.findings, self.printed = [], ""
        self._thread = threading.Thread(target=self._launch, args=(origin.group,), daemon=True, name="debugged launch")
        self._thread.start()

    def go(self, seconds: float | None = None) -> None:
        """Lets the launch go on until `decide` stops it, or it ends. It is stopped at the next statement after `seconds`, and
        where the user interrupts."""
        self._resumed.release()
        try:
            if self._stopped.acquire(timeout=seconds):
                return
        except KeyboardInterrupt:
            forget_interrupt()
        self.interrupt()
        self._stopped.acquire()

    def interrupt(self) -> None:
        """Stops the launch at the next statement."""
        self.words[abi.DEBUG_INTERRUPT] = 1

    def forget_interrupt(self) -> None:
        """Takes back an interrupt that came while the launch waited."""
        self.words[abi.DEBUG_INTERRUPT] = 0

    def site(self, number: int) -> DiagnosticSite:
        """Returns the diagnostic site of a report."""
        return self._compiled.module.sites[number]

    def stop_before(self, group: int) -> None:
        """Has `decide` be asked before a group, of whose beginning the run then keeps a checkpoint."""
        self.words[abi.DEBUG_CHECKPOINT] = group + 1

    def watch(self, watch: Watch | None) -> None:
        """Records stores to these bytes from now on, and no others."""
        found = Watch(0, 0) if watch is None else watch
        self.words[abi.DEBUG_WATCH_LOW], self.words[abi.DEBUG_WATCH_HIGH] = found.low, found.high
        self.words[abi.DEBUG_WATCH_LOCAL], self.words[abi.DEBUG_STORE_COUNT] = found.local, 0

    def stores(self) -> tuple[list[StoreRecord], int]:
        """Returns the last stores to the watched bytes, in order, and how many there were. One that is about to happen at this
        moment is left out."""
        number = int(self.words[abi.DEBUG_STORE_COUNT])
        done = number - (self.words[abi.DEBUG_UNFINISHED] != 0)
        if self.ended and done < number:
            self._finish_store()
            done = number
        return [self._store(self._stores[n % _STORES]) for n in range(max(0, number - _STORES), done)], done

    def _finish_store(self) -> None:
        """Reads what the last store of the launch left."""
        record = self._stores[(int(self.words[abi.DEBUG_UNFINISHED]) - 1) % _STORES]
        low, high = int(self.words[abi.DEBUG_WATCH_LOW]), int(self.words[abi.DEBUG_WATCH_HIGH])
        if not self.words[abi.DEBUG_WATCH_LOCAL]:
            size = min(high - low, abi.STORE_VALUE_BYTES)
            record[abi.STORE_VALUE :].view(np.uint8)[:size] = np.frombuffer(ctypes.string_at(low, size), np.uint8)
        self.words[abi.DEBUG_UNFINISHED] = 0

    @staticmethod
    def _store(record: np.ndarray) -> StoreRecord:
        count, group, lane, point, _, nbytes = map(int, record[: abi.STORE_VALUE])
        return StoreRecord(count, group, lane, point, nbytes, record[abi.STORE_VALUE :].tobytes())

    def read(self, offset: int, nbytes: int, local: bool = False) -> bytes:
        """Returns bytes of local memory, or of what the worker keeps for the group."""
        base = int(self.words[abi.DEBUG_MEMORY if local else abi.DEBUG_ARENA])
        return ctypes.string_at(base + offset, nbytes)

    def close(self) -> None:
        """Ends the launch, wherever it waits."""
        if self._thread is None:
            return
        self._ending = True
        self.words[abi.DEBUG_AT] = self.words[abi.DEBUG_COUNT] + np.uint64(1)
        self._resumed.release()
        self._thread.join()
        self._thread = None
        self._stopped, self._resumed = threading.Semaphore(0), threading.Semaphore(0)
        self.ended = True

    # In the thread of the launch

    def _launch(self, first: int) -> None:
        self._resumed.acquire()
        try:
            if not self._ending:
                done = launch.run(
                    self._compiled, args=self._args, counters=_Block(self.words), **self._chosen(first), timeout=_NO_LIMIT
                )
                self.findings = [finding for finding in done.findings if finding.kind is not Kind.WATCHDOG]
                self.printed = done.printed
        except BaseException as error:
            self.error = error
        self.ended = True
        self._stopped.release()

    def _chosen(self, first: int) -> dict[str, Any]:
        """The sizes of the launch, and its groups from `first` on."""
        total, local = self._sizes["global_size"], self._compiled.spec.local_size
        count = 1
        for whole, part in zip(total, local, strict=True):
            count *= -(-whole // part)
        return {**self._sizes, "chosen": np.arange(first, count, dtype=np.uint32)}

    def _ask(self, reason: int) -> int:
        if self._ending:
            return 1
        if reason == abi.ASKED_AT_GROUP:
            self._kept = _Checkpoint(self.group, int(self.words[abi.DEBUG_GROUP_BEGAN]), copy_ranges(self._ranges))
            self.words[abi.DEBUG_CHECKPOINT] = 0
        try:
            if not self.decide(reason) and not self.words[abi.DEBUG_INTERRUPT]:
                return 0
        except BaseException as error:
            self.error = error
        self.words[abi.DEBUG_INTERRUPT] = 0
        self._stopped.release()
        self._resumed.acquire()
        return int(self._ending)
