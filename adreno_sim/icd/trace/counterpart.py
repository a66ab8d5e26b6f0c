"""A real device beside the simulated one: each recorded launch runs on both from the same memory, then they are compared.

The simulator's memory is what counts: every launch begins with it on both devices, so that a difference is the launch's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.errors import AdrenoSimError
from ...base.specs import BufferSpec, ImageSpec, View
from ...device.protocol import Device, KernelParam, Program, may_write
from ...findings import Finding, Kind
from ...frontend.file_options import require_no_access
from ...memory.storage import Storage, StorageView
from ...results.comparison import compare
from ..commands import Commands
from ..finding_log import FindingLog
from ..launches import Launch
from ..messages import Body
from ..ring import Header
from ..status import SUCCESS
from . import events
from .elements import SCALARS, as_elements


class Counterpart:
    """Runs launches of a session on `device` too. A launch that cannot is named in the log as not compared."""

    def __init__(self, device: Device, log: FindingLog):
        self._device, self._log, self.name = device, log, device.info.name
        self._sources: dict[int, tuple[str, str]] = {}
        self._programs: dict[int, Program] = {}
        self.compared = 0

    def note_request(self, event: events.Event) -> None:
        """Keep the source of a program."""
        if event.kind not in (events.Kind.BUILD, events.Kind.COMPILE, events.Kind.LINK):
            return
        body = Body(event.body)
        number = body.number()
        self._programs.pop(number, None)
        self._sources.pop(number, None)
        if event.kind is events.Kind.BUILD:
            self._sources[number] = body.text(), body.text()

    def run_beside(self, header: Header, body: bytes, commands: Commands) -> int:
        """Run a LAUNCH, which can be parsed, on both devices, but on the real one only without errors. A difference is a
        `wrong-value` of the real one. Returns the status on the simulated one, as `run_whole`."""
        launch = commands.launches.parse(body)
        try:
            made, arguments = self._prepare(launch)
        except AdrenoSimError as error:
            self._log.note(f"kernel {launch.kernel.name}: not run on {self.name}: {error}")
            return commands.run_whole(header, body)
        try:
            status = commands.run_whole(header, body)
            if status == SUCCESS and not commands.has_error:
                self._launch(header, launch, arguments)
            else:
                self._log.note(f"kernel {launch.kernel.name}: not run on {self.name}: its launch has errors")
            return status
        finally:
            for argument in arguments:
                if hasattr(argument, "release"):
                    argument.release()
            for storage in made:
                self._device.free(storage)

    def _launch(self, header: Header, launch: Launch, arguments: Sequence[Any]) -> None:
        name = launch.kernel.name
        try:
            kernel = self._programs[launch.program][name]
            self._device.launch(kernel, launch.global_size, launch.local_size, arguments, offset=launch.offset)
        except AdrenoSimError as error:
            self._log.note(f"kernel {name}: not run on {self.name}: {error}")
            return
        self.compared += 1
        for param, ours, theirs in zip(launch.kernel.params, launch.arguments, arguments, strict=True):
            if isinstance(ours, StorageView) and may_write(param):
                message = _difference(self._device.read(theirs), ours.array(), param)
                if message:
                    text = f"{param.name} on {self.name} differs from the simulated device's: {message}"
                    found = Finding(Kind.WRONG_VALUE, text, kernel=name)
                    self._log.add(found, launch.source, lambda: launch.describe_call(header))

    def _prepare(self, launch: Launch) -> tuple[list[Any], list[Any]]:
        """The storages made for a launch, and its arguments for the device, which hold what the simulator's hold."""
        number = launch.program
        if number not in self._programs:
            if number not in self._sources:
                raise AdrenoSimError("its program was linked of compiled ones")
            require_no_access(*self._sources[number])
            self._programs[number] = self._device.build(*self._sources[number])
        views = [value for value in launch.arguments if isinstance(value, StorageView)]
        made: dict[Storage | StorageView, Any] = {}
        arguments: list[Any] = []
        try:
            for param, value in zip(launch.kernel.params, launch.arguments, strict=True):
                if isinstance(value, StorageView):
                    arguments.append(self._copy(value, views, made))
                else:
                    arguments.append(_scalar(param, value) if isinstance(value, bytes) else value)
        except BaseException:
            for storage in made.values():
                self._device.free(storage)
            raise
        return list(made.values()), arguments

    def _copy(self, ours: StorageView, views: Sequence[StorageView], made: dict[Any, Any]) -> View:
        """A view on the device with the bytes of one on the simulator; buffers that share a storage share one there too."""
        together = [view for view in views if view.storage is ours.storage]
        spec: BufferSpec | ImageSpec = ours.spec
        key: Storage | StorageView = ours.storage
        offset, nbytes = ours.offset, ours.storage.nbytes
        if isinstance(spec, ImageSpec) and len(together) == 1:
            spec, key, offset = replace(spec, row_pitch=None, slice_pitch=None), ours, 0
            nbytes = self._device.view_nbytes(spec)
        elif any(isinstance(view.spec, ImageSpec) for view in together):
            raise AdrenoSimError("an image shares its memory with another argument, whose bytes lie elsewhere on another device")
        if key not in made:
            made[key] = self._device.allocate(nbytes)
        theirs = self._device.view(made[key], spec, offset)
        self._device.write(theirs, np.array(ours.array()))
        return theirs


def _scalar(param: KernelParam, value: bytes) -> Any:
    """An argument by value, of its type where that is a scalar."""
    dtype = SCALARS.get(param.spelled)
    if dtype is not None and len(value) == np.dtype(dtype).itemsize:
        return np.frombuffer(value, dtype)[0]
    return np.frombuffer(value, np.uint8)


def _difference(got: np.ndarray, expected: np.ndarray, param: KernelParam) -> str:
    """How what a device left differs from the simulator's, "" where it does not. Bytes are compared as what the kernel's pointer
    points to, floats within their type's tolerance."""
    got, expected = as_elements(got, param), as_elements(expected, param)
    result = compare(got, np.ascontiguousarray(expected))
    return "" if result.ok else str(result)
