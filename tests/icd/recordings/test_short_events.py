"""Events of a recording whose bodies are of any length: each is played or fails, and none is an internal error."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from adreno_sim.cli.main import main
from adreno_sim.icd.protocol import Command, Order
from adreno_sim.icd.trace.archive import RecordedSession, Trace, write_trace
from adreno_sim.icd.trace.events import MAGIC, STORE, Event, EventKind, encode_event, encode_seen

MOST = 130
"""Bytes: longer than the longest fixed part of a body."""


def replay(folder: Path, events: list[Event]) -> tuple[int, dict[str, Any]]:
    """The exit code, and the report of the replay's only process."""
    (folder / "events").write_bytes(MAGIC + b"".join(map(encode_event, events)))
    trace = Trace(("x",), "sim:adreno-740", "bounds", (RecordedSession("x", 1, "session-0"),))
    write_trace(folder / "x.asim", trace, [folder / "events"])
    code = main(["replay", str(folder / "x.asim"), "--json", str(folder / "x.json")])
    (process,) = json.loads((folder / "x.json").read_text())["processes"]
    return code, process


@pytest.mark.parametrize("kind", [kind for kind in EventKind if kind not in (EventKind.SEEN, EventKind.FAILED, EventKind.LOOKED)])
def test_bodies_of_any_length(kind: EventKind, tmp_path: Path) -> None:
    dice = random.Random(kind)
    lengths = [*range(0, MOST, 3), 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 80]
    bodies = [body for length in lengths for body in (bytes(length), dice.randbytes(length))]
    code, process = replay(tmp_path, [Event(kind, body, number) for number, body in enumerate(bodies, 1)])
    assert code in (0, 2)
    assert not process["unsupported"]


def test_commands_that_were_seen_of_any_length(tmp_path: Path) -> None:
    """They are looked at after the first that orders others."""
    numbers = iter(range(1, 1 << 20))
    orders = [(Command.ORDER, Order.QUEUE.to_bytes(4, "little") + bytes(12))]
    seen = [*orders, *((kind, bytes(length)) for kind in Command for length in range(0, MOST, 7))]
    events = [Event(EventKind.SEEN, encode_seen(kind, next(numbers), (), body, True), 1, 1, 1) for kind, body in seen]
    assert not replay(tmp_path, events)[1]["unsupported"]


def test_a_store_of_no_memory_is_told(tmp_path: Path) -> None:
    """The clean twin is a whole one, whose memory is not there."""
    for body, expected in ((bytes(8), "a store of 8 bytes: expected at least 72"), (bytes(STORE.size), "memory 0")):
        _, process = replay(tmp_path, [Event(EventKind.STORE, body, 5)])
        assert any("call 5: STORE failed" in note and expected in note for note in process["unchecked"]), process["unchecked"]
