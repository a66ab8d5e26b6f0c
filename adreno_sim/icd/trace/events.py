"""The events of a recorded session, as bytes.

A session is MAGIC, then events in the order in which they took place. An event is EVENT, then its body, deflated where that
saves something. Bodies are those of `protocol`, so that a replay takes the way of the recorded session; bytes that the client
wrote are STORE events with the data itself. A session may be cut short: a server that was killed wrote the rest to no one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import IO

from ...base.archive import require_memory
from ...records import dataclass
from ..protocol import Command, Request

MAGIC = b"adreno-sim trace 1\n"

EVENT = struct.Struct("<BBHIIIQQQ")
"""Kind, whether the body is deflated, the place in the host's program (0: not known), CRC-32 of the body as stored; numbers of
the host's call, its thread and the queue; bytes of the body as stored and as it is."""

STORE = struct.Struct("<Q QQQ QQQ QQ")
"""memory; region; origin, row pitch, slice pitch in the memory, as of protocol.TRANSFER. The data is dense."""

SEEN = struct.Struct("<BBHIQ")
"""Kind of a command, whether it runs, 0, how many it waits for, its number; then their numbers, then its body."""

_LEAST_DEFLATED = 256
_LEVEL = 1
_MOST_RATIO = 1100
"""Deflated zeros shrink 1,030 times."""


class EventKind(IntEnum):
    """MEMORY, BUILD, COMPILE, LINK, MISUSE, CLOSE, REFUSED, PLACE: bodies of requests; LAUNCH, COPY, FILL, FREE, FREE_PROGRAM: of
    commands; STORE: itself, then the data; SEEN: any command as the search for commands that nothing orders sees it, before it
    runs; FAILED: an event before it ended with an error; LOOKED: the host reads of a memory. A session that holds these begins
    with an empty one."""

    MEMORY = 1
    BUILD = 2
    COMPILE = 3
    LINK = 4
    STORE = 5
    LAUNCH = 6
    COPY = 7
    FILL = 8
    FREE = 9
    FREE_PROGRAM = 10
    MISUSE = 11
    CLOSE = 12
    SEEN = 13
    FAILED = 14
    LOOKED = 15
    REFUSED = 16
    PLACE = 17


_OF_REQUESTS = (
    EventKind.MEMORY,
    EventKind.BUILD,
    EventKind.COMPILE,
    EventKind.LINK,
    EventKind.MISUSE,
    EventKind.CLOSE,
    EventKind.REFUSED,
    EventKind.PLACE,
)
REQUESTS = {kind: Request[kind.name] for kind in _OF_REQUESTS}
COMMANDS = {
    kind: Command[kind.name]
    for kind in (EventKind.LAUNCH, EventKind.COPY, EventKind.FILL, EventKind.FREE, EventKind.FREE_PROGRAM)
}
"""What the bodies of events are of. STORE, SEEN, FAILED and LOOKED are neither."""

LOOK = struct.Struct("<Q")
"""The kind of the command, READ or HOST_READ; then its body."""

FAILURE = struct.Struct("<B3xi")
"""The body of FAILED: kind of the event, and OpenCL's error."""


@dataclass(frozen=True)
class Event:
    """One event. call, thread, queue: of the client, as findings name them. place: from which its call came."""

    kind: EventKind
    body: bytes
    call: int
    thread: int = 0
    queue: int = 0
    place: int = 0

    @property
    def told_call(self) -> int:
        """The call that it is about: MISUSE and REFUSED are about another one than made the request."""
        at = {EventKind.MISUSE: 4, EventKind.REFUSED: 0}.get(self.kind)
        return self.call if at is None or len(self.body) < at + 4 else int.from_bytes(self.body[at : at + 4], "little")


def encode_event(event: Event) -> bytes:
    """Returns the bytes of an event."""
    stored, deflated = event.body, False
    if len(stored) >= _LEAST_DEFLATED:
        smaller = zlib.compress(stored, _LEVEL)
        if len(smaller) < len(stored):
            stored, deflated = smaller, True
    sizes = len(stored), len(event.body)
    head = EVENT.pack(event.kind, deflated, event.place, zlib.crc32(stored), event.call, event.thread, event.queue, *sizes)
    return head + stored


def encode_seen(kind: Command, number: int, waits: Sequence[int], body: bytes, runs: bool) -> bytes:
    """Returns the body of a SEEN event."""
    return SEEN.pack(kind, runs, 0, len(waits), number) + struct.pack(f"<{len(waits)}Q", *waits) + body


def decode_seen(body: bytes) -> tuple[Command, int, tuple[int, ...], bytes, bool]:
    """Returns what `encode_seen` was given. Raises ValueError for what it does not make."""
    try:
        kind, runs, _, count, number = SEEN.unpack_from(body)
        return Command(kind), number, struct.unpack_from(f"<{count}Q", body, SEEN.size), body[SEEN.size + 8 * count :], bool(runs)
    except struct.error:
        raise ValueError(f"a command of {len(body)} bytes: expected its kind, number and waits") from None


def decode_look(body: bytes) -> tuple[Command, bytes]:
    """Returns the command of a LOOKED event, and its body. Raises ValueError for what is none."""
    kind = LOOK.unpack_from(body)[0] if len(body) >= LOOK.size else 0
    if kind not in (Command.READ, Command.HOST_READ):
        raise ValueError(f"a look by command {kind}: expected {Command.READ:d} or {Command.HOST_READ:d}")
    return Command(kind), body[LOOK.size :]


def decode_failure(body: bytes) -> tuple[EventKind, int]:
    """Returns the kind of an event that failed, and OpenCL's error. Raises ValueError for what is none."""
    try:
        kind, status = FAILURE.unpack(body)
    except struct.error:
        raise ValueError(f"a failure of {len(body)} bytes: expected {FAILURE.size}") from None
    return EventKind(kind), status


def read_events(stream: IO[bytes]) -> Iterator[Event | None]:
    """Yields the events of a session; None, as the last, where it is cut short. Raises ValueError for anything but a session."""
    if stream.read(len(MAGIC)) != MAGIC:
        raise ValueError(f"expected a session that begins with {MAGIC.decode().strip()!r}")
    place = 0
    while head := stream.read(EVENT.size):
        place += 1
        if len(head) < EVENT.size:
            yield None
            return
        kind, deflated, from_place, checksum, call, thread, queue, nstored, nbytes = EVENT.unpack(head)
        if kind not in iter(EventKind) or deflated > 1 or nbytes > (nstored * _MOST_RATIO if deflated else nstored):
            raise ValueError(f"event {place}: kind {kind}, {nstored} bytes for {nbytes}: expected an event of this version")
        require_memory(f"event {place}", nstored + nbytes)
        stored = stream.read(nstored)
        if len(stored) < nstored:
            yield None
            return
        if zlib.crc32(stored) != checksum:
            raise ValueError(f"event {place}: its bytes differ from its checksum")
        body = _inflate(stored, nbytes, place) if deflated else stored
        if len(body) != nbytes:
            raise ValueError(f"event {place}: {len(body)} bytes: expected {nbytes}")
        yield Event(EventKind(kind), body, call, thread, queue, from_place)


def count_launches(stream: IO[bytes]) -> int:
    """How many LAUNCH events a session has, as far as it goes. Raises ValueError for anything but a session."""
    if stream.read(len(MAGIC)) != MAGIC:
        raise ValueError(f"expected a session that begins with {MAGIC.decode().strip()!r}")
    count = 0
    while len(head := stream.read(EVENT.size)) == EVENT.size:
        nstored = EVENT.unpack(head)[7]
        require_memory("an event", nstored)
        if len(stream.read(nstored)) < nstored:
            break
        count += head[0] == EventKind.LAUNCH
    return count


def _inflate(stored: bytes, nbytes: int, place: int) -> bytes:
    """At most `nbytes` and one more, which shows the caller that there are too many."""
    try:
        return zlib.decompressobj().decompress(stored, nbytes + 1)
    except zlib.error as error:
        raise ValueError(f"event {place}: {error}") from None
