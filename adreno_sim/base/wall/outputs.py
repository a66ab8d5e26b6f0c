"""A process that stays outside the wall and writes the outputs that the command line names, and nothing else.

A regular file is replaced as a whole, which needs rights on its folder; with them, code behind the wall could write whatever else
is there. So the process behind it gets an open file, and says when it is whole; the one outside gives it its name.

Messages are JSON, one a packet: {"open": path} -> a descriptor; {"end": whole}; {"folder": made, "as": path}. An answer
is {"error": text}, "" for none.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from .. import output_file
from ..errors import AdrenoSimError
from ..processes.parent import end_with

_MOST = 1 << 16
"""Bytes of a message."""


class Keeper:
    """The end behind the wall."""

    def __init__(self, connection: socket.socket, kept: frozenset[str]):
        self._connection, self._kept = connection, kept

    def keeps(self, path: str | os.PathLike[str]) -> bool:
        """Whether the command line names this output."""
        return os.path.abspath(path) in self._kept

    @contextlib.contextmanager
    def opened(self, path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
        """As `output_file.open_output`."""
        with contextlib.ExitStack() as whole:
            descriptor = self._ask({"open": os.path.abspath(path)})
            whole.push(lambda kind, *_: self._end(kind is None))
            with os.fdopen(descriptor, "wb") as file:
                yield file

    def place_folder(self, made: Path, target: Path) -> None:
        """As `output_file.place_folder`."""
        self._ask({"folder": str(made), "as": os.path.abspath(target)})

    def _end(self, whole: bool) -> bool:
        self._ask({"end": whole})
        return False

    def _ask(self, message: dict[str, Any]) -> int:
        self._connection.send(json.dumps(message).encode("ascii"))
        data, descriptors, _, _ = socket.recv_fds(self._connection, _MOST, 1)
        if not data:
            raise AdrenoSimError("the process that writes outputs has ended")
        if error := json.loads(data)["error"]:
            raise AdrenoSimError(error)
        return descriptors[0] if descriptors else -1


def begin_keeper(paths: Iterable[str | os.PathLike[str]], within: Path) -> None:
    """From now on a process by fork writes these outputs, for this process and those that it starts. Raises OSError.

    within: the folder below which this process makes the folders that are outputs. Nothing else is copied: the process outside
    may read what this one may not.
    """
    kept = frozenset(os.path.abspath(path) for path in paths)
    if not kept:
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = os.getpid()
    if os.fork() == 0:
        try:
            end_with(parent)
            ours.close()
            _serve(theirs, kept, within.resolve())
        finally:
            os._exit(0)
    theirs.close()
    output_file.keeper = Keeper(ours, kept)


def _serve(connection: socket.socket, kept: frozenset[str], within: Path) -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the command decides what an interrupt means for a file that it writes
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    under_way: list[contextlib.ExitStack] = []
    while data := connection.recv(_MOST):
        descriptors: list[int] = []
        error = ""
        try:
            descriptors = _answer(json.loads(data), kept, within, under_way)
        except AdrenoSimError as refused:
            error = str(refused)
        socket.send_fds(connection, [json.dumps({"error": error}).encode("ascii")], descriptors)
    while under_way:  # the process behind the wall was killed, or interrupted
        _answer({"end": False}, kept, within, under_way)


class _Incomplete(Exception):
    """Raised inside a file that is not to get its name."""


def _answer(message: dict[str, Any], kept: frozenset[str], within: Path, under_way: list[contextlib.ExitStack]) -> list[int]:
    """The descriptors of the answer."""
    if "end" in message:
        with contextlib.suppress(_Incomplete), under_way.pop():
            if not message["end"]:
                raise _Incomplete
        return []
    path = message.get("open") or message.get("as")
    if path not in kept:
        raise AdrenoSimError(f"cannot write {path}: no output that the command line names")
    if "as" in message:
        output_file.place_folder(Path(message["folder"]), Path(path), within)
        return []
    files = contextlib.ExitStack()
    file = files.enter_context(output_file.open_output(path))
    under_way.append(files)
    return [file.fileno()]
