"""The link memory as the server sees it: commands are read from the ring, results and progress are written.

Nothing in it is believed: a command is copied before it is examined, and a ring that makes no sense is a BrokenLinkError.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..memory.far_mapping import map_far
from .protocol import (
    CALLS,
    CALLS_AT,
    COMMAND,
    COUNTERS,
    LINK_BYTES,
    RESULT,
    RESULTS,
    RESULTS_AT,
    RING_AT,
    RING_BYTES,
    STAGING_BYTES,
    Command,
)
from .waiting import load_waiting

SPINS = 2000
"""Reads the ring before the server sleeps: some 50 us, as long as a client takes between two commands."""
SLEEP = 100_000_000
"""Nanoseconds after which a sleeping server looks whether it is to end."""


class BrokenLinkError(Exception):
    """The client's half says what the protocol does not allow; its text is what."""


class Header(NamedTuple):
    """A command except for its body: kind, number, numbers of the host's call, its thread and the queue, what it waits for."""

    kind: Command
    number: int
    call: int
    thread: int
    queue: int
    waits: tuple[int, ...]


class Ring:
    """The ring of one client. `tail` and `completed` are the server's own; what the client writes there does not count."""

    def __init__(self, link: int, staging: int):
        """Map the two memory files. BrokenLinkError for files that are too small, or could shrink."""
        self._link = map_sealed(link, LINK_BYTES, "link memory")
        self.staging = map_sealed(staging, STAGING_BYTES, "staging")
        self._address = int(self._link.ctypes.data)
        self._memory = memoryview(self._link.data).cast("B")
        waiting = load_waiting()
        self._advance, self._wake = waiting.advance, waiting.wake
        self.tail = self.completed = 0
        self._head = self._beats = 0

    def wait(self) -> bool:
        """Publish progress, and wait a while for a command. Returns whether there is one."""
        spins, sleep = (SPINS, SLEEP) if self._head == self.tail else (0, 0)
        self._head = int(self._advance(self._address, self.tail, self.completed, spins, sleep))
        return self._head != self.tail

    def wake(self) -> None:
        """End the sleep of another thread in `wait`."""
        self._wake(self._address)

    def publish(self) -> bool:
        """Publish progress. Returns whether there is a command."""
        self._head = int(self._advance(self._address, self.tail, self.completed, 0, 0))
        return self._head != self.tail

    def waiting(self) -> Iterator[tuple[int, bytes]]:
        """Kinds and bodies of the commands that wait behind the last one that was read, without taking any. It ends at what makes
        no sense, which is an error only where it is taken."""
        at, head = self.tail, struct.unpack_from("<Q", self._memory, COUNTERS["head"])[0]
        while COMMAND.size <= head - at <= RING_BYTES:
            place = at % RING_BYTES
            if RING_BYTES - place < COMMAND.size:
                return
            nbytes, kind, waits, *_ = COMMAND.unpack_from(self._memory, RING_AT + place)
            start = COMMAND.size + 8 * waits
            if nbytes % 8 or not COMMAND.size <= nbytes <= min(head - at, RING_BYTES - place):
                return
            yield kind, bytes(self._memory[RING_AT + place + start : RING_AT + place + nbytes])
            at += nbytes

    def read(self) -> tuple[Header, bytes] | None:
        """Take the next command; None for a PAD. `wait` or `publish` has said that there is one."""
        at, ready = self.tail % RING_BYTES, self._head - self.tail
        if not 0 <= ready <= RING_BYTES or ready % 8 or ready < COMMAND.size:
            raise BrokenLinkError(f"ring: head {self._head}, tail {self.tail}: expected whole commands in {RING_BYTES} bytes")
        room = min(ready, RING_BYTES - at)
        if room < COMMAND.size:
            raise BrokenLinkError(f"ring: a command of {room} bytes at {at}: expected a header of {COMMAND.size}")
        (nbytes,) = struct.unpack_from("<I", self._memory, RING_AT + at)
        if nbytes % 8 or not COMMAND.size <= nbytes <= room:
            raise BrokenLinkError(f"ring: a command of {nbytes} bytes at {at}: expected {COMMAND.size} to {room}")
        data = bytes(self._memory[RING_AT + at : RING_AT + at + nbytes])
        self.tail += nbytes
        return self._parse(data)

    def _parse(self, data: bytes) -> tuple[Header, bytes] | None:
        _, kind, waits, number, call, thread, queue = COMMAND.unpack_from(data)
        if kind == Command.PAD:
            return None
        start = COMMAND.size + 8 * waits
        if kind not in _KINDS or number != self.completed + 1 or start > len(data):
            expected = f"one of {len(_KINDS)} kinds, number {self.completed + 1}"
            raise BrokenLinkError(f"ring: command {number} of kind {kind} with {waits} waits: expected {expected}")
        waited = struct.unpack_from(f"<{waits}Q", data, COMMAND.size) if waits else ()
        return Header(_KINDS[kind], number, call, thread, queue, waited), data[start:]

    def place_of(self, call: int) -> int:
        """The number of the place from which a call of the host came; 0 where that is not known any more."""
        number, place = struct.unpack_from("<II", self._memory, CALLS_AT + call % CALLS * 8)
        return place if number == call else 0

    def show_life(self) -> None:
        """Add 1 to what tells the client that this process lives."""
        self._beats = (self._beats + 1) & 0xFFFFFFFF
        struct.pack_into("<I", self._memory, COUNTERS["alive"], self._beats)

    def complete(self, number: int, started: int, ended: int, status: int) -> None:
        """Note the result of a command; `wait` and `publish` tell the client."""
        RESULT.pack_into(self._memory, RESULTS_AT + number % RESULTS * RESULT.size, started, ended, status, 0)
        self.completed = number


_KINDS = {int(kind): kind for kind in Command}


def map_sealed(descriptor: int, nbytes: int, what: str) -> NDArray[np.uint8]:
    """The first `nbytes` of a memory file, writable. BrokenLinkError for one that could be cut off under the server."""
    try:
        seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
        size = os.fstat(descriptor).st_size
        if size < nbytes or not seals & fcntl.F_SEAL_SHRINK:
            raise BrokenLinkError(f"{what}: {size} bytes, seals {seals:#x}: expected at least {nbytes}, sealed against shrinking")
        return map_far(descriptor, nbytes)
    except OSError as error:
        raise BrokenLinkError(f"{what}: expected a sealed memory file: {error.strerror}") from None
