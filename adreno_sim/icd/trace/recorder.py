"""Writes a session while it goes on. What may crash the server is on the disk before it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..calls.places import Places
from ..protocol import Command
from ..ring import Header
from ..transfers import Transfers
from .events import COMMANDS, FAILURE, LOOK, MAGIC, Event, EventKind, encode_event, encode_seen

_KINDS = {command: kind for kind, command in COMMANDS.items()}


class Recorder:
    """Events go to `path`. places: where calls come from. stopped: called once with the reason why nothing more is recorded, if
    the disk is full."""

    def __init__(self, path: Path, stopped: Callable[[str], None]):
        self._stopped, self._lock = stopped, threading.Lock()
        self._file = None
        self.places = Places()
        try:
            self._file = open(path, "wb")  # noqa: SIM115 (until the process ends)
        except OSError as error:
            stopped(f"nothing is recorded: {error.strerror}")
            return
        self._write(MAGIC)
        self._add(Event(EventKind.LOOKED, b"", 0))

    def add_request(self, kind: EventKind, call: int, body: bytes) -> None:
        """A request that is about to be answered, or MEMORY, which was."""
        self._add(Event(kind, body, call), flush=kind is not EventKind.MEMORY)

    def add_seen(self, header: Header, body: bytes, runs: bool) -> None:
        """A command that is about to run, or, not `runs`, fails, where others may run before or after it."""
        seen = encode_seen(header.kind, header.number, header.waits, body, runs)
        self._add(Event(EventKind.SEEN, seen, header.call, header.thread, header.queue))

    def add_command(self, header: Header, body: bytes) -> None:
        """A command that is about to run. Those that neither change nor read anything are left out."""
        if header.kind in (Command.READ, Command.HOST_READ):
            self._add(Event(EventKind.LOOKED, LOOK.pack(header.kind) + body, header.call, header.thread, header.queue))
        kind = _KINDS.get(header.kind)
        if kind is not None:
            self._add(Event(kind, body, header.call, header.thread, header.queue), flush=kind is EventKind.LAUNCH)

    def add_failed_request(self, kind: EventKind, call: int, status: int) -> None:
        """A request that was added has ended with an error."""
        self._add(Event(EventKind.FAILED, FAILURE.pack(kind, status), call), flush=True)

    def add_failed_command(self, header: Header, status: int) -> None:
        """A command that was added has ended with an error."""
        kind = _KINDS.get(header.kind)
        if kind is not None:
            self._add(Event(EventKind.FAILED, FAILURE.pack(kind, status), header.call, header.thread, header.queue), flush=True)

    def add_store(self, header: Header, body: bytes, transfers: Transfers) -> None:
        """WRITE or WRITTEN, which ran: the bytes that it left."""
        if header.kind in (Command.WRITE, Command.WRITTEN):
            stored = transfers.encode_store(header.kind, body)
            self._add(Event(EventKind.STORE, stored, header.call, header.thread, header.queue))

    def close(self) -> None:
        self._write(b"", flush=True)

    def _add(self, event: Event, flush: bool = False) -> None:
        if self._file is not None:
            event = replace(event, place=self.places.number_of(event.told_call))
            self._write(encode_event(event), flush)

    def _write(self, data: bytes, flush: bool = False) -> None:
        with self._lock:
            if self._file is None:
                return
            try:
                self._file.write(data)
                if flush:
                    self._file.flush()
            except OSError as error:
                self._file = None
                self._stopped(f"the recording stops here: {error.strerror}")
