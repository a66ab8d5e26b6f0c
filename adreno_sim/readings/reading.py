"""A reading: something that OpenCL or Qualcomm leaves to the device, and the choices that devices make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from ..records import dataclass
from .subject import Subject


@dataclass(frozen=True)
class Choice:
    """What another device may choose. label: in words, as a device string sets it where one can. profile, options: what differs
    from the given device. group: another work-group, where that is the choice."""

    label: str
    profile: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    group: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Reading:
    """name: as reports have it. leaves_open: what is left to the device, a clause. source: where that is said. present: what the
    given device chooses. choices: what others choose. why_not: why it cannot matter to a launch, "" if it can. is_of_order:
    it changes the order of work alone. may_refuse: under another choice a device may rightly refuse the launch."""

    name: str
    leaves_open: str
    source: str
    present: Callable[[Subject], str]
    choices: Callable[[Subject], Sequence[Choice]]
    why_not: Callable[[Subject], str]
    is_of_order: bool = False
    may_refuse: bool = False
