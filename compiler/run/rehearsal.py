"""Which launches a run makes, found out without any: a device on which nothing happens notes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.errors import UnsupportedError
from ...base.run_options import RunOptions
from ...base.specs import BufferSpec, Size3, ViewSpec
from ...device.protocol import Device, DeviceInfo, LaunchResult
from ...findings import Finding
from ...records import dataclass


@dataclass(frozen=True)
class NotedLaunch:
    """A launch; args: the specs of views, and the values of scalars."""

    kernel: str
    global_size: Size3
    local_size: Size3
    args: tuple[ViewSpec | np.generic, ...]


@dataclass(eq=False)
class _Storage:
    nbytes: int


@dataclass(eq=False)
class _View:
    spec: ViewSpec

    def release(self) -> None: ...


@dataclass(frozen=True)
class _Kernel:
    name: str


class _Program:
    def __getitem__(self, name: str) -> _Kernel:
        return _Kernel(name)


class _OnChip:
    """On-chip memory; only its size is known."""

    def __init__(self, nbytes: int):
        self._nbytes = nbytes

    def storage(self) -> _Storage:
        return _Storage(self._nbytes)

    def begin_recording(self) -> None: ...
    def end_recording(self) -> None: ...


class Rehearsal:
    """A device like another one, without memory or kernels: what is read of it is zeros. noted: its launches, in order.

    A run whose control flow depends on what kernels compute may launch others than a rehearsal.
    """

    def __init__(self, device: Device):
        self.info: DeviceInfo = replace(device.info, builds_in_parallel=False)
        self.options: RunOptions = device.options
        self.noted: list[NotedLaunch] = []
        self.on_chip = _OnChip(int(device.info.limits.get("ONCHIP_GLOBAL_MEM_SIZE") or 0))
        self._device = device

    def allocate(self, nbytes: int) -> _Storage:
        return _Storage(nbytes)

    def free(self, storage: _Storage) -> None: ...

    def view(self, storage: _Storage, spec: ViewSpec, offset: int = 0) -> _View:
        return _View(spec)

    def view_nbytes(self, spec: ViewSpec) -> int:
        """As of the other device."""
        return self._device.view_nbytes(spec)

    def build(self, source: str, options: str = "") -> _Program:
        return _Program()

    def launch(
        self, kernel: _Kernel, global_size: Size3, local_size: Size3, args: Sequence[_View | np.generic], **_: object
    ) -> LaunchResult:
        given = tuple(arg.spec if isinstance(arg, _View) else arg for arg in args)
        self.noted.append(NotedLaunch(kernel.name, global_size, local_size, given))
        return LaunchResult()

    def build_graph(self, graph: object, constants: Mapping[str, np.ndarray], name: str = "", given_memory: bool = False) -> Any:
        raise UnsupportedError(f"unsupported: a rehearsal of graph {name}: it launches no kernels")

    def write(self, view: _View, array: np.ndarray) -> None: ...

    def read(self, view: _View) -> np.ndarray:
        """Zeros, of as many elements as the view has, or of their bytes."""
        spec = view.spec
        return np.zeros(spec.count, spec.dtype) if isinstance(spec, BufferSpec) else np.zeros(self.view_nbytes(spec), np.uint8)

    def copy(self, source: _View, target: _View) -> None: ...

    def discard(self, view: _View) -> None: ...

    def finish(self) -> None: ...

    def take_warnings(self) -> list[Finding]:
        return []
