"""Asks what the kernels of a candidate take of a chip's registers, while it is checked."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...backends.machine_code import find_kernel_registers
from ...device.machine_code import RegisterUse
from ...device.protocol import Device
from ..run.observer import LaunchCall, Observer


class CandidateRegisters(Observer):
    """Examines the kernel of every launch except those in `copies`."""

    def __init__(self, device: Device, copies: frozenset[int]):
        self._device, self._copies = device, copies
        self._found: list[RegisterUse] = []
        self._number = 0

    @property
    def register_use(self) -> dict[str, Any] | None:
        """What the kernel takes that takes most, with the fields of `RegisterUse`."""
        return asdict(max(self._found, key=lambda use: use.registers[::-1])) if self._found else None

    def before_launch(self, launch: LaunchCall) -> None:
        """Raises UnsupportedError for a device whose registers are not known."""
        if self._number not in self._copies:
            self._found.append(find_kernel_registers(self._device, launch.kernel))
        self._number += 1
