"""On-chip global memory of a simulated device: its bytes, when they are lost, and what is wrong about its use.

The rules and their sources are in `device.on_chip`. Lost bytes hold NaNs, and are unwritten to level full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.errors import DeviceError, UnsupportedError
from ...device.on_chip import why_none
from ...device.protocol import LaunchResult
from ...findings import Finding, Kind
from ...ir import ir
from ...ir.builtins import is_printf
from ...memory.storage import Bytes, DeviceMemory, MemoryBlock, Storage, StorageView
from ...profiles.profile import Profile
from .program import SimKernel

_RULE = "on-chip memory keeps its contents for one kernel, or for one enqueue of a recording (80-NB295-11, 9.1.6)"


class SimOnChip:
    """The on-chip memory of a device. found: findings about its use outside launches. in_use: somebody has it."""

    def __init__(self, profile: Profile, memory: DeviceMemory, storages: set[Storage]):
        """storages: those of the device that live."""
        self._profile, self._memory, self._storages = profile, memory, storages
        self._block: MemoryBlock | None = None
        self._storage: Storage | None = None
        self._recording = self._acting = self._touched = False
        self._lost: Bytes | None = None  # 1 for each byte that a kernel wrote before contents were lost, and none since
        self.found: list[Finding] = []

    @property
    def in_use(self) -> bool:
        return self._storage is not None

    def storage(self) -> Storage:
        """See `OnChip.storage`. CL_MEM_OBJECT_ALLOCATION_FAILURE while there is one."""
        profile = self._profile
        size = int(profile["ONCHIP_GLOBAL_MEM_SIZE"])
        if reason := why_none(profile.name, profile.extensions, size):
            raise UnsupportedError(f"unsupported: {reason}")
        if self._storage is not None:
            raise DeviceError("CL_MEM_OBJECT_ALLOCATION_FAILURE", "on-chip memory: somebody has it already, and there is one")
        if self._block is None:
            self._block = self._memory.make_apart(size)
            self._lost = np.zeros(self._block.nbytes, np.uint8) if self._block.valid is not None else None
        self._storage = Storage(size, self._block, on_chip=True)
        self._storages.add(self._storage)
        self._lose()
        return self._storage

    def release(self, storage: Storage) -> bool:
        """Whether a storage that is freed was this memory; nobody has it then."""
        if storage is not self._storage:
            return False
        self._storage, self._recording = None, False
        self._lose()
        if self._lost is not None:
            self._lost[:] = 0
        return True

    def begin_recording(self) -> None:
        """See `OnChip.begin_recording`. CL_INVALID_OPERATION inside a recording."""
        if self._recording:
            raise DeviceError("CL_INVALID_OPERATION", "a recording inside a recording")
        self._recording = True
        self._lose()

    def end_recording(self) -> None:
        if self._recording:
            self._recording = False
            self._lose()

    def holds(self, view: Any) -> bool:
        """Whether a view is of this memory."""
        return isinstance(view, StorageView) and view.storage is self._storage

    def launch(self, kernel: SimKernel, args: Sequence[Any], run: Callable[[], LaunchResult]) -> LaunchResult:
        """What a launch gives, under the rules of the memory, which is in use."""
        if self._recording and _prints(kernel.function):
            raise UnsupportedError(f"unsupported: kernel {kernel.name} in a recording: it has printf (80-NB295-11, 9.1.3)")
        inside = [index for index, arg in enumerate(args) if self.holds(arg)]
        before = {index: self._lost_of(args[index]) for index in inside}
        result = run()
        if inside and self._lost is not None and self._block is not None and self._block.valid is not None:
            self._lost[self._block.valid == 1] = 0
        if inside and not self._recording:
            self._lose()
        names = {kernel.params[index].name for index in inside if before[index]}
        result.findings = [_explained(finding, names) for finding in result.findings]
        return result

    @contextmanager
    def acting(self) -> Iterator[None]:
        """See `OnChip.acting`."""
        self._acting, self._touched = True, False
        try:
            yield
        finally:
            self._acting = False
            if self._touched and not self._recording:
                self._lose()

    def note_host(self, view: StorageView, does: str) -> None:
        """The host reads or writes a view. Inside a recording, reading is an inspection of the device, as whoever checks a run
        does.
        """
        if self._acting:
            self._touched |= self.holds(view)
            return
        if not self.holds(view) or (self._recording and does == "reads"):
            return
        what = "after they were lost" if does == "reads" else "where no kernel will find it"
        message = f"the host {does} {view.nbytes:,} bytes of on-chip memory at {view.offset:,}, {what}: {_RULE}"
        if message not in {finding.message for finding in self.found}:
            self.found.append(Finding(Kind.ON_CHIP_LOST, message))
        if does != "reads":
            self._lose()

    def take_warnings(self) -> list[Finding]:
        """What was found outside launches since it was asked last."""
        taken, self.found = self.found, []
        return taken

    def _lose(self) -> None:
        block = self._block
        if block is None:
            return
        if self._lost is not None and block.valid is not None:
            self._lost[block.valid != 0] = 1
        block.poison()

    def _lost_of(self, view: StorageView) -> bool:
        """Whether a view has bytes that were lost."""
        return self._lost is not None and bool(self._lost[view.offset : view.offset + view.nbytes].any())


def _explained(finding: Finding, names: set[str]) -> Finding:
    """A read of unwritten memory as what it is where that memory held something before."""
    view = finding.access.view if finding.access is not None else ""
    if finding.kind is not Kind.UNINITIALIZED_READ or view not in names:
        return finding
    return replace(finding, kind=Kind.ON_CHIP_LOST, message=f"{finding.message}; a kernel had written it before, but {_RULE}")


def _prints(function: ir.Function) -> bool:
    return any(is_printf(instr) for block in function.blocks for instr in block.instrs)
