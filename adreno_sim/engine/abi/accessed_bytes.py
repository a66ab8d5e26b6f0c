"""Which bytes of an argument a launch may access."""

from __future__ import annotations

from ...ir.builtins import Effect
from ...records import dataclass

ByteRange = tuple[int, int]
"""The first byte, and the byte behind the last."""


@dataclass(frozen=True)
class AccessedBytes:
    """Of one argument. None: no byte."""

    read: ByteRange | None = None
    written: ByteRange | None = None

    def joined(self, effect: Effect, found: ByteRange) -> AccessedBytes:
        """Returns these bytes and those of one more access."""
        reads, writes = effect in ("read", "read_write"), effect in ("write", "read_write")
        return AccessedBytes(_join(self.read, found if reads else None), _join(self.written, found if writes else None))

    @property
    def any(self) -> ByteRange | None:
        return _join(self.read, self.written)


def _join(a: ByteRange | None, b: ByteRange | None) -> ByteRange | None:
    if a is None or b is None:
        return a or b
    return min(a[0], b[0]), max(a[1], b[1])
