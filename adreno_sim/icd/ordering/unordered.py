"""Finds two commands that touch the same bytes, one of them writing, if neither happens before the other.

A pair is reported if there is a byte that both are known to touch. Which bytes those of a launch are is found out by running it
once more without effect, and only where its arguments share memory with a command that is not ordered with it.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable
from dataclasses import field

import numpy as np

from ...base.errors import DeviceError
from ...findings import Finding, Kind
from ...memory.storage import MemoryBlock
from ...records import dataclass
from ...results.run_report import HostCall
from ..finding_log import FindingLog
from ..launches import Launches
from ..objects import Objects
from ..protocol import ORDER_BODY, Command, Mark, Order
from ..ring import Header
from ..transfers import Transfers
from .happens_before import WINDOW, HappensBefore
from .touches import Bytes, Touch, TouchingCommand, narrow, touch_of_box, touches_of_launch

MOST_COMPARED = 64
"""Commands with which one is compared, the latest first."""
MOST_BYTES = 64 << 20
"""Bytes of a memory that are compared, the first ones."""
MOST_ITEMS = 1 << 24
"""Work-items of launches, of a session, that run once more for this."""
MOST_KEPT = 64 << 20
"""The most bytes that the records of touched bytes take, those of the latest launches."""
_MOST_PAIRS = 4096

_WORDS = {Command.COPY: "a copy", Command.FILL: "a fill"}
_HOST = "the host"


@dataclass
class _Users:
    """The commands that may read and write a block, as sets of a HappensBefore with this base."""

    block: MemoryBlock
    base: int
    readers: int = 0
    writers: int = 0

    def slide(self, base: int) -> None:
        self.readers >>= base - self.base
        self.writers >>= base - self.base
        self.base = base


@dataclass(eq=False)
class UnorderedAccesses:
    """Examines all commands of a session when they are about to run. The caller holds the device's lock."""

    objects: Objects
    log: FindingLog
    launches: Launches
    transfers: Transfers
    _order: HappensBefore = field(default_factory=HappensBefore)
    _commands: dict[int, TouchingCommand] = field(default_factory=dict)
    _users: dict[int, _Users] = field(default_factory=dict)
    _judged: dict[tuple[Hashable, Hashable], Finding | None] = field(default_factory=dict)
    _items_left: int = MOST_ITEMS
    _traced: list[TouchingCommand] = field(default_factory=list)

    def look(self, header: Header, body: bytes, *, runs: bool = True) -> None:
        """A command is about to run, or, not `runs`, fails without running."""
        if header.kind is Command.ORDER:
            self._note_order(header, body)
        elif header.kind is Command.FREE:
            self._release(int.from_bytes(body[:8], "little"))
        elif header.queue:
            marks = int.from_bytes(body[:8], "little") if header.kind is Command.NOTHING else 0
            before = self._order.add(
                header.number,
                header.queue,
                header.waits,
                all_before=bool(marks & Mark.ALL_BEFORE),
                barrier=bool(marks & Mark.BARRIER),
            )
            command = self._describe(header, body) if runs else None
            if command is not None and command.touches:
                self._compare(command, before)
                command.has_run = True
                self._keep(command)

    def _note_order(self, header: Header, body: bytes) -> None:
        if len(body) < ORDER_BODY.size:
            return  # the command fails, and says so
        what, in_order, which = ORDER_BODY.unpack_from(body)
        if what == Order.QUEUE:
            self._order.make_queue(which, bool(in_order))
        elif what == Order.KNOWN:
            self._order.note_known(which)
        elif what == Order.KNOWN_QUEUE:
            self._order.note_queue_known(header.queue, min(which, header.number))

    def _describe(self, header: Header, body: bytes) -> TouchingCommand | None:
        """What a command touches; None for one that fails, which others report."""
        place = header.number, header.call, header.thread, header.queue
        try:
            if header.kind is Command.LAUNCH:
                launch = self.launches.parse(body)
                self.launches.prepare(launch)
                return TouchingCommand(*place, launch.kernel.name, launch, touches_of_launch(launch), launch)
            touches = [touch_of_box(*box) for box in self.transfers.boxes(header.kind, body) if box[0].nbytes]
        except (DeviceError, struct.error):
            return None
        own = body[:8] + body[16:] if header.kind in (Command.READ, Command.WRITE) else body  # without the place in staging
        return TouchingCommand(*place, _WORDS.get(header.kind, _HOST), (header.kind, own), touches)

    def _keep(self, command: TouchingCommand) -> None:
        own = self._order.set_of(command.number)
        for touch in command.touches:
            users = self._users_of(touch.block)
            users.readers |= own if touch.reads else 0
            users.writers |= own if touch.writes else 0
        self._commands[command.number] = command
        if len(self._commands) > 2 * WINDOW:
            self._forget()

    def _forget(self) -> None:
        """Give up what is too old to be compared, and blocks that nobody known uses."""
        oldest = self._order.base
        self._commands = {number: command for number, command in self._commands.items() if number >= oldest}
        for users in self._users.values():
            users.slide(oldest)
        self._users = {key: users for key, users in self._users.items() if users.readers or users.writers}

    def _release(self, memory: int) -> None:
        """A memory is given up, which no command uses any more; its records must not keep it."""
        view = self.objects.find(memory)
        users = None if view is None or self.objects.is_part(memory) else self._users.pop(id(view.block), None)
        if users is not None:
            users.slide(self._order.base)
            for number in self._order.numbers(users.readers | users.writers):
                self._commands.pop(number, None)
            self._judged.clear()

    def _users_of(self, block: MemoryBlock) -> _Users:
        users = self._users.get(id(block))
        if users is None:
            users = self._users[id(block)] = _Users(block, self._order.base)
        users.slide(self._order.base)
        return users

    def _compare(self, command: TouchingCommand, before: int) -> None:
        unordered = 0
        for touch in command.touches:
            users = self._users_of(touch.block)
            unordered |= (users.writers | (users.readers if touch.writes else 0)) & ~before
        numbers = list(self._order.numbers(unordered))[-MOST_COMPARED:]
        for other in (self._commands[number] for number in reversed(numbers) if number in self._commands):
            pair = other.key, command.key
            if pair in self._judged:
                finding = self._judged[pair]
            else:
                finding = self._judge(other, command)
                if other.is_repeatable and command.is_repeatable:
                    self._judged[pair] = finding
            self._tell(finding, command)
        if len(self._judged) > _MOST_PAIRS:
            self._judged.clear()

    def _tell(self, finding: Finding | None, command: TouchingCommand) -> None:
        if finding is None:
            return
        launch, place = command.launch, (command.call, command.thread, command.queue)
        header = Header(Command.NOTHING, command.number, *place, ())
        described = launch.describe_call(header) if launch is not None else HostCall(*place)
        self.log.add(finding, launch.source if launch is not None else "", lambda: described)

    def _judge(self, first: TouchingCommand, second: TouchingCommand) -> Finding | None:
        """Returns the finding for two unordered commands; `second` has not run."""
        if not _meeting(first, second):
            return None
        narrow(first)
        narrow(second)
        for one, other in _meeting(first, second):
            low, high = max(one.low, other.low), min(one.high, other.high)
            high = min(high, low + MOST_BYTES)
            self._look(first)
            self._look(second)
            earlier, later = first.find(one, low, high), second.find(other, low, high)
            if earlier is None or later is None:
                unknown = first if earlier is None else second
                self.log.note(
                    f"whether kernel {unknown.what} touches the same bytes as commands that nothing orders with it: which those "
                    "are depends on memory, or takes too long to find out"
                )
                continue
            (read, written), (reads, writes) = earlier, later
            for shared, what, did in (
                (written & writes, "writes", "writes"),
                (written & reads, "reads", "writes"),
                (read & writes, "writes", "reads"),
            ):
                if shared.any():
                    return self._finding(first, second, other, shared, low, (what, did))
        return None

    def _look(self, command: TouchingCommand) -> None:
        launch = command.launch
        if command.looked or launch is None or launch.prepared is None:
            return
        items = int(np.prod(launch.prepared.config.total, dtype=np.float64))
        if items > self._items_left:
            command.looked = True
            return
        self._items_left -= items
        command.look(self.objects.device)
        self._traced.append(command)
        while sum(each.kept_bytes for each in self._traced[:-1]) > MOST_KEPT:
            self._traced.pop(0).touched = None

    def _finding(
        self, first: TouchingCommand, second: TouchingCommand, touch: Touch, shared: Bytes, low: int, verbs: tuple[str, str]
    ) -> Finding:
        start = 0 if touch.view.separate else touch.view.offset
        places = np.flatnonzero(shared) + low - start
        what = f"{'image' if touch.view.layout is not None else 'buffer'} {self.objects.number_of(touch.view)}"
        whose = f"call {first.call} of thread {first.thread}, queue {first.queue}"
        kernel = second.launch.kernel.name if second.launch is not None else ""
        return Finding(
            Kind.UNORDERED_ACCESS,
            f"{second.what} {verbs[0]} {_range_in_words(places)} of {what}, which {first.what} {verbs[1]} ({whose}): "
            "neither waits for the other",
            kernel,
        )


def _meeting(first: TouchingCommand, second: TouchingCommand) -> list[tuple[Touch, Touch]]:
    """The touches of two commands that may share a byte, if sharing it matters."""
    return [
        (one, other)
        for one in first.touches
        for other in second.touches
        if one.block is other.block
        and (one.writes or other.writes)
        and not (one.atomic and other.atomic)
        and one.low < other.high
        and other.low < one.high
    ]


def _range_in_words(places: np.ndarray) -> str:
    first, last = int(places[0]), int(places[-1]) + 1
    if last - first == len(places):
        return f"bytes {first} to {last}"
    return f"{len(places)} bytes between {first} and {last}"
