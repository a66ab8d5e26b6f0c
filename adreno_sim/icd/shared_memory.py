"""What the host does to shared virtual memory beside OpenCL's calls: it writes fine-grained memory at any time, coarse-grained
only while that is mapped."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from ..findings import Finding, Kind
from ..memory.storage import StorageView
from ..results.run_report import HostCall
from .finding_log import FindingLog
from .objects import Objects
from .protocol import SHARE_BODY
from .ring import Header

MOST_BYTES = 64 << 20
"""Larger coarse-grained allocations are not compared: it would cost more than the commands on them."""


class SharedMemory:
    """Knows the contents of coarse-grained allocations from one command to the next, at a level that checks values.

    The caller holds the device's lock.
    """

    def __init__(self, objects: Objects, log: FindingLog):
        self._objects, self._log = objects, log
        self._looks = objects.device.options.checks == "full"
        self._mapped: set[int] = set()
        self._known: dict[int, int] = {}

    def set_mapped(self, body: bytes) -> None:
        """Note what a SHARE says. DeviceError for a memory that is not there."""
        number, is_mapped = SHARE_BODY.unpack_from(body)
        self._objects.memory(number)
        (self._mapped.add if is_mapped else self._mapped.discard)(number)
        self._known.pop(number, None)
        self.note_state()

    def check(self, header: Header, kernel: str = "") -> None:
        """A command is about to run: what the host wrote to fine-grained memory is there, and it wrote to no other."""
        if not self._looks or not self._objects.shared:
            return
        for number, is_fine in self._objects.shared.items():
            if is_fine:
                self._objects.memory(number).block.note_foreign_writes()
            elif number not in self._mapped and self._is_changed(number):
                self._tell(number, header, kernel)

    def note_state(self, written: Iterable[StorageView] = ()) -> None:
        """A command has run that may write these views: this is what coarse-grained memory holds until the next one, or until it
        is mapped. Digests of other memory are those from before."""
        if not self._looks or not self._objects.shared:
            return
        watched = [number for number, is_fine in self._objects.shared.items() if not is_fine and number not in self._mapped]
        views = {number: self._objects.memory(number) for number in watched}
        changed = {id(view.storage) for view in written}
        self._known = {
            number: self._digest(number) if number not in self._known or id(view.storage) in changed else self._known[number]
            for number, view in views.items()
            if view.nbytes <= MOST_BYTES
        }

    def _is_changed(self, number: int) -> bool:
        if number in self._known:
            return self._known[number] != self._digest(number)
        view = self._objects.memory(number)
        return view.nbytes <= MOST_BYTES and view.block.has_foreign_writes()

    def _digest(self, number: int) -> int:
        view = self._objects.memory(number)
        return zlib.crc32(view.block.bytes[view.offset : view.offset + view.nbytes].data)

    def _tell(self, number: int, header: Header, kernel: str) -> None:
        self._known[number] = self._digest(number)
        message = (
            f"coarse-grained shared memory {number} was changed by the host, which had not mapped it: a device may not see it"
        )
        self._log.add(
            Finding(Kind.HOST_MEMORY_CHANGED, message, kernel), "", lambda: HostCall(header.call, header.thread, header.queue)
        )
