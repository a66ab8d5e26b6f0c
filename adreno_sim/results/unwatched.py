"""What every report says of what its level of checks leaves out."""

from __future__ import annotations

from collections.abc import Iterable

LEVEL_OFF = (
    "memory accesses: level off checks none and keeps no kernel inside its memory, so that one may read and write whatever its "
    "process may"
)
LEVEL_BOUNDS = (
    "uninitialised reads, data races, overwritten stores, accesses outside a tensor's extent: level bounds does not look for "
    "them (--checks full does)"
)
REAL_DEVICE = "memory accesses: this device does not check them"

LEVELS = ("off", "bounds", "full")
_LEFT_OUT = {"off": LEVEL_OFF, "bounds": LEVEL_BOUNDS}


def find_unwatched(checks: str, looks: bool = True) -> list[str]:
    """The sentence on what a level of checks leaves out; none of level full. looks: whether the device can check accesses."""
    if not looks:
        return [REAL_DEVICE]
    return [_LEFT_OUT[checks]] if checks in _LEFT_OUT else []


def find_lowest(levels: Iterable[str]) -> str:
    """The level that checks least, of several; "" of none."""
    return min(levels, key=lambda level: LEVELS.index(level) if level in LEVELS else len(LEVELS), default="")


def level_words(checks: str) -> list[str]:
    """What a verdict says of the level of checks: only of the lowest."""
    return ["level off: no access was checked"] if checks == "off" else []


def device_in_words(name: str, checks: str) -> str:
    """A device's name, with the level of checks where that is the lowest."""
    return ", ".join([name, *level_words(checks)])
