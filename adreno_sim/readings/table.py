"""The table of readings, in the order in which they are tried, and as the table of its page."""

from __future__ import annotations

from .arithmetic import CONTRACTION, DENORMALS, FILTER_BITS, FINITE_MATH
from .device_values import MEMORY, PITCH_RULE, VERSION
from .execution import GROUP_SIZE, ORDER, WAVE_SIZE
from .reading import Reading

READINGS: tuple[Reading, ...] = (
    WAVE_SIZE, GROUP_SIZE, ORDER, CONTRACTION, FINITE_MATH, DENORMALS, FILTER_BITS, PITCH_RULE, MEMORY, VERSION,
)  # fmt: skip

CHEAP: tuple[Reading, ...] = (WAVE_SIZE,)
"""Those that level full tries unasked: they matter to few launches, and cost one launch or two."""


def markdown() -> str:
    """The table for docs/readings.md."""
    rows = [f"| `{reading.name}` | {reading.leaves_open} | {reading.source} |" for reading in READINGS]
    return "\n".join(["| Reading | Leaves open | Where that is said |", "|---|---|---|", *rows])


if __name__ == "__main__":
    print(markdown())
