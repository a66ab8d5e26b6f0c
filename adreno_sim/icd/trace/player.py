"""Runs a recorded session again: on the simulated device, by the code that ran it, and beside it on a real one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import IO

import numpy as np

from ...base.errors import DeviceError
from ...base.text.spelling import decode
from ...device.protocol import Device
from ...records import dataclass
from ...results.readings import ReadingsReport
from ...results.run_report import ProcessReport
from ..calls.launch_filter import LaunchFilter
from ..commands import Commands
from ..device_lock import DeviceLock
from ..finding_log import FindingLog
from ..objects import Objects
from ..protocol import Command
from ..requests import Requests
from ..ring import Header
from ..server import open_device
from ..settings import DriverSettings
from ..status import NAMES, code_of
from ..watches.launch_readings import ReadingsWatch
from .archive import RecordedSession
from .counterpart import Counterpart
from .events import COMMANDS, REQUESTS, Event, EventKind, decode_look, decode_seen, read_events
from .launch_watch import LaunchWatch
from .outcomes import Outcomes
from .own_files import drop_folders
from .time_limit import TimeLimit


class Player:
    """Plays events on the device of `objects`; what that finds goes to `log`, how they ended to `outcomes`. limit: of its time.
    counterpart: a real device, on which each launch runs too. filter: which launches are checked. why_ended: what kept it from
    playing all, "" if nothing did."""

    def __init__(
        self,
        objects: Objects,
        log: FindingLog,
        limit: TimeLimit,
        counterpart: Counterpart | None = None,
        filter: LaunchFilter | None = None,
    ):
        self._log, self._limit, self._counterpart = log, limit, counterpart
        self._requests = Requests(objects, log, DeviceLock())
        self.commands = Commands(objects, log, np.zeros(0, np.uint8), filter=filter)
        self._filter = self.commands.launches.filter
        self._begun_late = self._filter.is_over
        self.objects, self.device, self._last_seen = objects, objects.device, 0
        self.device.defers_outputs = False
        self.outcomes = Outcomes()
        self.why_ended = ""

    def play(self, events: Iterable[Event | None]) -> None:
        """Play all events. Raises ValueError if they are damaged."""
        for event in events:
            if self._ends_before(event):
                self._log.note(self.why_ended)
                return
            assert event is not None
            if self._filter.is_over and not self._looks_on:
                self._pass_by(event)
            else:
                self._play(event)

    @property
    def _looks_on(self) -> bool:
        """Whether what follows the last launch that is checked may say something of it: the host reads what it left."""
        return self.device.options.checks == "full" and not self._begun_late

    def _pass_by(self, event: Event) -> None:
        """An event behind the last launch that is checked: nothing depends on it."""
        if event.kind is EventKind.FAILED:
            self.outcomes.add_recorded(event)
            return
        self.outcomes.pass_by(event)
        if event.kind is EventKind.LAUNCH:
            self._filter.count()
            self._log.count_checked(False)

    def play_to_launch(self, events: Iterable[Event | None], number: int) -> Event | None:
        """Play the events before LAUNCH `number`, from 1, and return that; None if it does not come, for `why_ended`. Raises
        ValueError if they are damaged."""
        for event in events:
            if self._ends_before(event):
                return None
            assert event is not None
            if event.kind is EventKind.LAUNCH:
                number -= 1
                if number == 0:
                    return event
            self._play(event)
        self.why_ended = "the recording ends before it"
        return None

    def _ends_before(self, event: Event | None) -> bool:
        """Whether the playing ends here, for `why_ended`."""
        if event is None:
            self.why_ended = "the recording is cut short: its server was killed"
        elif self._limit.is_over():
            self.why_ended = f"what was recorded from call {event.call} on: {self._limit}"
            self.outcomes.stopped = True
        return bool(self.why_ended)

    def _play(self, event: Event) -> None:
        self.outcomes.go_on()
        self._log.places.note(event.told_call, event.place)
        if event.kind is EventKind.SEEN:
            self._see(event)
        elif event.kind is EventKind.LOOKED:
            self._look(event)
        elif event.kind is EventKind.FAILED:
            self.outcomes.add_recorded(event)
        elif event.kind in REQUESTS:
            self._answer(event)
        else:
            self.outcomes.add(event, *self._run(event))

    def _answer(self, event: Event) -> None:
        if event.kind in (EventKind.BUILD, EventKind.COMPILE):
            event = replace(event, body=drop_folders(event.body))
        status, reply = self._requests.answer(REQUESTS[event.kind], event.call, event.body)
        why = decode(reply) if status else ""
        if status:
            self._note_failure(event, status, why)
        if event.kind not in (EventKind.CLOSE, EventKind.MISUSE, EventKind.REFUSED, EventKind.PLACE):
            self.outcomes.add(event, status, why.partition("\n")[0])
        if self._counterpart is not None:
            self._counterpart.note_request(event)

    def _run(self, event: Event) -> tuple[int, str]:
        """The status of a command, and what is said of an error."""
        header = header_of(event)
        if event.kind is EventKind.STORE:
            return self.commands.store(header, event.body), ""
        if event.kind is not EventKind.LAUNCH:
            return self.commands.run_whole(header, event.body), ""
        try:
            launch = self.commands.launches.parse(event.body)
        except DeviceError as error:  # of a program that did not build
            self._filter.count()
            self._note_failure(event, code_of(error.code), str(error))
            return code_of(error.code), str(error)
        if self._counterpart is not None and self._filter.would_take(launch.kernel.name):
            return self._counterpart.run_beside(header, event.body, self.commands), ""
        return self.commands.run_whole(header, event.body), ""

    def _look(self, event: Event) -> None:
        """The host reads. In a session that does not say so, the results of launches count as read at once."""
        self.device.defers_outputs = True
        if event.body:
            kind, body = decode_look(event.body)
            self.commands.look(Header(kind, 0, event.call, event.thread, event.queue, ()), body)

    def _see(self, event: Event) -> None:
        kind, number, waits, body, runs = decode_seen(event.body)
        if number <= self._last_seen or max(waits, default=0) >= number:
            raise ValueError(f"command {number} behind {self._last_seen}, waits for {waits}: expected numbers that grow")
        self._last_seen = number
        self.commands.see(Header(kind, number, event.call, event.thread, event.queue, waits), body, runs=runs)

    def _note_failure(self, event: Event, status: int, why: str = "") -> None:
        first = why.partition("\n")[0]
        self._log.note(f"call {event.call}: {event.kind.name} failed: {NAMES.get(status, status)}{first and ': ' + first}")


def header_of(event: Event) -> Header:
    """The header of the command that an event is."""
    return Header(COMMANDS.get(event.kind, Command.WRITE), 0, event.call, event.thread, event.queue, ())


@dataclass(frozen=True)
class Playing:
    """How the sessions of a recording are played.

    settings: of the simulated device, which each has for itself; real: beside it. limit: of the time of all, beyond which nothing
    begins. compare: with how calls ended when they were recorded; alike: on the recorded device, so that what failed then fails
    again. filter: which launches are checked, counted through all sessions; watch: notified of those. most_said: as of
    `FindingLog`. every_reading: launches run again under all readings, else at level full under the cheap ones; readings: what
    was tried.
    """

    settings: DriverSettings
    limit: TimeLimit
    real: Device | None = None
    compare: bool = False
    alike: bool = True
    filter: LaunchFilter = field(default_factory=LaunchFilter)
    watch: LaunchWatch | None = None
    most_said: int | None = None
    every_reading: bool = False
    readings: ReadingsReport = field(default_factory=ReadingsReport)


def play_session(stream: IO[bytes], session: RecordedSession, how: Playing) -> tuple[ProcessReport, Outcomes]:
    """Play a session on a simulated device of its own; the report, and how its calls ended. Raises ValueError if the session
    is damaged."""
    device, heap = open_device(how.settings, unsafe_includes=False)  # who recorded it may be a stranger: its files are in it
    report = ProcessReport(session.program, session.pid, how.settings.device, device.options.checks, opened=True)
    log = FindingLog(report, most_said=how.most_said)
    counterpart = None if how.real is None else Counterpart(how.real, log, device)
    how.filter.begin_process()
    objects = Objects(device, heap)
    player = Player(objects, log, how.limit, counterpart, how.filter)
    if how.watch is not None:
        log.calls = {} if how.watch.lists else None
        player.commands.launches.observer = observer = how.watch.of_process(device, log.note)
        report.launches = observer.rows
    if how.every_reading or device.options.checks == "full":
        launches = player.commands.launches
        launches.observer = ReadingsWatch(objects, log, how.every_reading, how.readings, launches.observer)
    player.play(read_events(stream))
    log.freeze()
    for row in report.launches:
        row.findings = dict((log.calls or {}).get(row.call, {}))
    for sentence, is_new in player.outcomes.differences() if how.compare else ():
        if is_new or how.alike:
            report.differs.append(sentence)
        else:
            log.note(sentence)
    if counterpart is not None:
        report.compared_with, report.compared = counterpart.name, counterpart.compared
        if report.kernels and not counterpart.compared:
            log.add_unsupported(f"no launch could be compared with {counterpart.name}")
    return report, player.outcomes
