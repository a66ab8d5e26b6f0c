"""One launch out of a recording, at its moment: all that came before it has been played, and it has not run yet.

Launches of a recording are numbered from 1, through all its processes, in the order in which they were enqueued.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from ...backends.sim.device import SimDevice
from ...backends.sim.launches.launch_config import PreparedLaunch
from ...base.errors import AdrenoSimError, DeviceError
from ...records import dataclass
from ...results.run_report import HostCall, ProcessReport
from ..commands import Commands
from ..finding_log import FindingLog
from ..launches import DriverLaunch
from ..objects import Objects
from ..ring import Header
from ..server import open_device
from ..settings import DriverSettings
from .archive import RecordedSession, open_session, open_trace
from .events import count_launches, read_events
from .player import Player, header_of
from .replay_settings import choose_settings
from .time_limit import TimeLimit


@dataclass(frozen=True)
class LaunchPoint:
    """A launch that is to run next.

    number: among the launches of its recording. session: the process that it is of. launch: its kernel (with source and build
    options), sizes, and arguments, whose views hold what they held when it was recorded, with the marks of level full. It may run
    more than once: who does that keeps the bytes before. objects: the programs and memories of its process. settings: what its
    device was opened with. notes: what of the recording's own settings was not taken over.
    """

    number: int
    session: RecordedSession
    device: SimDevice
    commands: Commands
    header: Header
    body: bytes
    launch: DriverLaunch
    objects: Objects
    settings: DriverSettings
    notes: tuple[str, ...] = ()

    @property
    def call(self) -> HostCall:
        """The host's call that enqueued it."""
        return self.launch.describe_call(self.header)

    def prepare(self) -> PreparedLaunch:
        """The launch as the device runs it. Raises DeviceError for one that the device refuses."""
        return self.commands.launches.prepare(self.launch)


@contextlib.contextmanager
def open_launch(
    path: str | os.PathLike[str], number: int, *, device: str | None = None, time_limit: float = 600.0, **options: Any
) -> Iterator[LaunchPoint]:
    """The launch of this number of the recording at `path`, on a separate device, which is closed behind the block.

    device, options: as of `choose_settings` (checks, seed, ...); what is not given is as recorded. time_limit: seconds for all
    that comes before. What the launch leaves counts as read at once, as with `adreno-sim kernel`. Raises AdrenoSimError in one
    line: for a file that is not a recording, a number that it does not have, a launch whose program did not build, or where the
    time is over first.
    """
    name = os.fspath(path)
    with open_trace(name) as (trace, archive):
        settings, _, notes = choose_settings(trace, name, device, **options)
        try:
            session, place = _find_session(archive, trace.sessions, number)
            player = _open_player(session, settings, TimeLimit(time_limit))
            with open_session(archive, session) as stream:
                event = player.play_to_launch(read_events(stream), place)
        except ValueError as error:
            raise AdrenoSimError(f"{name}: {error}") from None
        if event is None:
            raise AdrenoSimError(f"{name}: launch {number}: {player.why_ended}")
        try:
            launch = player.commands.launches.parse(event.body)
        except DeviceError as error:
            raise AdrenoSimError(f"{name}: launch {number}: {error}") from None
        opened = player.device
        opened.defers_outputs = False
        objects, commands, header = player.objects, player.commands, header_of(event)
        yield LaunchPoint(number, session, opened, commands, header, event.body, launch, objects, settings, tuple(notes))


def _find_session(archive: Any, sessions: tuple[RecordedSession, ...], number: int) -> tuple[RecordedSession, int]:
    """The process of a launch, and its number among those of the process. Raises ValueError if there is none."""
    before = 0
    for session in sessions:
        with open_session(archive, session) as stream:
            count = count_launches(stream)
        if before < number <= before + count:
            return session, number - before
        before += count
    raise ValueError(f"launch {number}: expected one of its launches, which are numbered 1 to {before}" if before else
                     f"launch {number}: there is no launch in it")  # fmt: skip


def _open_player(session: RecordedSession, settings: DriverSettings, limit: TimeLimit) -> Player:
    """A player that says nothing: what earlier launches do wrong is not asked for."""
    device, heap = open_device(settings, unsafe_includes=False)
    report = ProcessReport(session.program, session.pid, settings.device, device.options.checks, opened=True)
    log = FindingLog(report, say=lambda text: None)
    return Player(Objects(device, heap), log, limit)
