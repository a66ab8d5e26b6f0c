"""What every report says of a run whose accesses nobody looked at."""

from __future__ import annotations

LEVEL_OFF = (
    "memory accesses: level off looks at none and keeps no kernel inside its memory, so that one may read and write whatever its "
    "process may"
)
REAL_DEVICE = "memory accesses: this device does not look at them"


def find_unwatched(checks: str, looks: bool = True) -> list[str]:
    """The sentence on accesses that nobody looked at; none where somebody did. looks: whether the device can."""
    if not looks:
        return [REAL_DEVICE]
    return [LEVEL_OFF] if checks == "off" else []


def level_words(checks: str) -> list[str]:
    """What a verdict says of the level of checks: nothing but of the lowest."""
    return ["level off: no access was checked"] if checks == "off" else []


def device_in_words(name: str, checks: str) -> str:
    """A device's name, with the level of checks where that is the lowest."""
    return ", ".join([name, *level_words(checks)])
