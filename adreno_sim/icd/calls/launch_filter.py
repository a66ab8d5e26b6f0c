"""Which launches of a program are checked. The others run, for what they leave, and nothing that they do is reported."""

from __future__ import annotations

from dataclasses import replace

from ...base.text.name_pattern import NamePattern
from ...records import dataclass


@dataclass
class LaunchFilter:
    """Launches are numbered from 1 as they come.

    kernels: those whose kernel's name matches; None: all. skip: of those so many are left out first; most: then so many are
    checked, None: all. first, last: numbers of the first and last launch that is checked. number: of the last that came.
    """

    kernels: NamePattern | None = None
    skip: int = 0
    most: int | None = None
    first: int = 1
    last: int | None = None
    number: int = 0
    _matched: int = 0

    @property
    def is_over(self) -> bool:
        """Whether no launch that comes is checked."""
        return self.last is not None and self.number >= self.last

    def begin_process(self) -> None:
        """The launches of another process come: skip and most are of each."""
        self._matched = 0

    def count(self) -> int:
        """Another launch comes; returns its number."""
        self.number += 1
        return self.number

    def would_take(self, kernel: str) -> bool:
        """Whether the launch that comes next, if it is of this kernel, is checked."""
        return replace(self, number=self.number + 1).takes(kernel)

    def takes(self, kernel: str) -> bool:
        """Whether the launch that came last, of this kernel, is checked. Asked once of each."""
        if self.number < self.first or (self.last is not None and self.number > self.last):
            return False
        if self.kernels is not None and not self.kernels.is_in(kernel):
            return False
        self._matched += 1
        return self._matched > self.skip and (self.most is None or self._matched <= self.skip + self.most)
