"""A real device beside the simulated one: each recorded launch runs on both from the same memory, then they are compared.

The simulator's memory is what counts: every launch begins with it on both devices, so that a difference is the launch's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...backends.sim.device import SimDevice
from ...base.errors import AdrenoSimError
from ...device.protocol import Device, Program, may_write
from ...findings import Finding, Kind
from ...frontend.file_options import require_no_access
from ...memory.storage import StorageView
from ...records import dataclass
from ...results.comparison import compare
from ..commands import Commands
from ..finding_log import FindingLog
from ..launches import DriverLaunch
from ..messages import Body
from ..ring import Header
from ..status import SUCCESS
from . import events
from .elements import as_elements
from .launch_copy import Contents, LaunchCopy, take_contents
from .second_look import SecondLook, compare_again


class Counterpart:
    """Runs launches of a session, on the simulated device `simulated`, on `device` too. A launch that cannot is named in the log
    as not compared."""

    def __init__(self, device: Device, log: FindingLog, simulated: SimDevice):
        self._device, self._log, self.name = device, log, device.info.name
        self._second = SecondLook(simulated)
        self._sources: dict[int, tuple[str, str]] = {}
        self._programs: dict[int, Program] = {}
        self.compared = 0

    def note_request(self, event: events.Event) -> None:
        """Keep the source of a program."""
        if event.kind not in (events.EventKind.BUILD, events.EventKind.COMPILE, events.EventKind.LINK):
            return
        body = Body(event.body)
        number = body.number()
        self._programs.pop(number, None)
        self._sources.pop(number, None)
        if event.kind is events.EventKind.BUILD:
            self._sources[number] = body.text(), body.text()

    def run_beside(self, header: Header, body: bytes, commands: Commands) -> int:
        """Run a LAUNCH, which can be parsed, on both devices, but on the real one only without errors. A difference is a
        `wrong-value` of the real one. Returns the status on the simulated one, as `run_whole`."""
        launch = commands.launches.parse(body)
        try:
            program = self._build(launch.program)
            before = take_contents(launch.arguments)
            copy = LaunchCopy(self._device, launch, before)
        except AdrenoSimError as error:
            self._log.note(f"kernel {launch.kernel.name}: not run on {self.name}: {error}")
            return commands.run_whole(header, body)
        try:
            status = commands.run_whole(header, body)
            if status == SUCCESS and not commands.has_error:
                self._launch(header, launch, program, copy.arguments, before)
            else:
                self._log.note(f"kernel {launch.kernel.name}: not run on {self.name}: its launch has errors")
            return status
        finally:
            copy.free()

    def _build(self, number: int) -> Program:
        if number not in self._programs:
            if number not in self._sources:
                raise AdrenoSimError("its program was linked of compiled ones")
            require_no_access(*self._sources[number])
            self._programs[number] = self._device.build(*self._sources[number])
        return self._programs[number]

    def _launch(
        self,
        header: Header,
        launch: DriverLaunch,
        program: Program,
        arguments: Sequence[Any],
        before: Mapping[StorageView, Contents],
    ) -> None:
        name = launch.kernel.name
        try:
            self._device.launch(program[name], launch.global_size, launch.local_size, arguments, offset=launch.offset)
        except AdrenoSimError as error:
            self._log.note(f"kernel {name}: not run on {self.name}: {error}")
            return
        self.compared += 1
        differing: list[_Differing] = []
        for index, (param, ours) in enumerate(zip(launch.kernel.params, launch.arguments, strict=True)):
            if isinstance(ours, StorageView) and may_write(param):
                got = as_elements(self._device.read(arguments[index]), param)
                expected = np.ascontiguousarray(as_elements(ours.array(), param))
                result = compare(got, expected)
                differing += [] if result.ok else [_Differing(index, param.name, got, expected, str(result))]
        for finding in self._look_again(launch, differing, before) if differing else ():
            self._log.add(finding, launch.source, lambda: launch.describe_call(header))

    def _look_again(
        self, launch: DriverLaunch, differing: Sequence[_Differing], before: Mapping[StorageView, Contents]
    ) -> list[Finding]:
        """What of the differences is wrong: the real device's values, or the launch itself, on which devices may then differ."""
        name = launch.kernel.name
        try:
            look = self._second.look(launch, self._sources[launch.program], before)
        except AdrenoSimError as error:
            self._log.note(f"kernel {name}: what level full says of its differences: {error}")
            return [self._wrong(name, each, each.message) for each in differing]
        if look.errors:
            self._log.note(f"kernel {name}: not compared with {self.name}, on which it differs, as level full finds errors in it")
            return list(look.errors)
        found = []
        for each in differing:
            judged = look.arguments[each.index]
            if judged.undefined:
                self._log.note(f"kernel {name}: elements of {each.name} that are undefined at level full were not compared")
            if message := compare_again(each.got, each.expected, judged):
                found.append(self._wrong(name, each, message))
        return found

    def _wrong(self, kernel: str, each: _Differing, message: str) -> Finding:
        text = f"{each.name} on {self.name} differs from the simulated device's: {message}"
        return Finding(Kind.WRONG_VALUE, text, kernel=kernel)


@dataclass(frozen=True)
class _Differing:
    """An argument, by position, in which the real device left something else. message: how, in words."""

    index: int
    name: str
    got: np.ndarray
    expected: np.ndarray
    message: str
