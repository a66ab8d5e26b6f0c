"""What can be wrong with a kernel, a launch or a plan: kinds, severities, places."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


class Severity(enum.IntEnum):
    NOTE = 0
    WARNING = 1
    ERROR = 2

    def __str__(self) -> str:
        return self.name.lower()


class Kind(enum.Enum):
    """Every kind of finding: its stable name (used in JSON, allow-lists and tests) and its severity."""

    OUT_OF_BOUNDS_READ = ("out-of-bounds-read", Severity.ERROR)
    OUT_OF_BOUNDS_WRITE = ("out-of-bounds-write", Severity.ERROR)
    IMAGE_READ_OUT_OF_RANGE = ("image-read-out-of-range", Severity.ERROR)  # addressing mode leaves it undefined
    IMAGE_WRITE_OUT_OF_RANGE = ("image-write-out-of-range", Severity.ERROR)
    SUB_OBJECT_OVERRUN = ("sub-object-overrun", Severity.WARNING)  # into the next row or field of the same object
    MISALIGNED_ACCESS = ("misaligned-access", Severity.ERROR)
    UNINITIALIZED_READ = ("uninitialized-read", Severity.ERROR)
    DATA_RACE = ("data-race", Severity.ERROR)
    STORE_OVERWRITTEN = ("store-overwritten", Severity.ERROR)  # same work-item, other value, before any read
    DIVERGENT_BARRIER = ("divergent-barrier", Severity.ERROR)
    WRONG_ACCESS_QUALIFIER = ("wrong-access-qualifier", Severity.ERROR)
    WRONG_ARGUMENT = ("wrong-argument", Severity.ERROR)
    FORMAT_MISMATCH = ("format-mismatch", Severity.ERROR)
    UNDEFINED_SAMPLER = ("undefined-sampler", Severity.ERROR)
    LIMIT_EXCEEDED = ("limit-exceeded", Severity.ERROR)
    VIEW_TOO_LARGE = ("view-larger-than-storage", Severity.ERROR)
    STORAGE_REUSED_LIVE = ("storage-reused-while-live", Severity.ERROR)
    MISALIGNED_VIEW = ("misaligned-view", Severity.ERROR)  # a planned offset that the device takes no view at
    DIVISION_BY_ZERO = ("division-by-zero", Severity.ERROR)
    DIVISION_OVERFLOW = ("division-overflow", Severity.ERROR)  # the smallest number by -1, and its remainder: as by zero
    OVERWIDE_SHIFT = ("overwide-shift", Severity.NOTE)  # OpenCL C takes the amount modulo the width: defined
    UNDEFINED_CONVERSION = ("undefined-conversion", Severity.WARNING)
    WATCHDOG = ("watchdog", Severity.ERROR)
    WRONG_VALUE = ("wrong-value", Severity.ERROR)  # golden mismatch
    LARGE_ROUNDING = ("large-rounding", Severity.WARNING)  # golden mismatch that wider types mend
    DEVICES_DIFFER = ("devices-differ", Severity.ERROR)
    DEVICE_CRASHED = ("device-crashed", Severity.ERROR)  # the process that ran the device's driver ended by a signal
    DEVICE_HUNG = ("device-hung", Severity.ERROR)
    UNFIT_DEVICE = ("unfit-device", Severity.WARNING)  # it does not give an answer that is known
    REINTERPRETED_FORMAT = ("format-reinterpreted", Severity.WARNING)  # undefined, but every bit passes unchanged
    PITCH_DIFFERS = ("pitch-differs", Severity.WARNING)
    NO_IMAGE_FROM_BUFFER = ("no-image-from-buffer", Severity.WARNING)
    REUSE_RULE = ("reuse-rule-broken", Severity.WARNING)  # a storage shared as its planner does not share
    PLAN_INFLATED = ("plan-inflated", Severity.WARNING)
    UNINFORMATIVE = ("vacuous-comparison", Severity.WARNING)
    NONFINITE_INTRODUCED = ("nonfinite-born", Severity.WARNING)
    CLAMPED_READ = ("clamped-read", Severity.NOTE)
    SAME_VALUE_RACE = ("same-value-race", Severity.NOTE)

    # Earlier names of members; an enum takes a second name of one value as an alias.
    VACUOUS = ("vacuous-comparison", Severity.WARNING)
    NONFINITE_BORN = ("nonfinite-born", Severity.WARNING)

    def __init__(self, label: str, severity: Severity):
        self.label = label
        self.severity = severity


@dataclass(frozen=True)
class WorkItem:
    """Ids of one work-item; unused dimensions are 0."""

    global_id: tuple[int, int, int]
    local_id: tuple[int, int, int]
    group_id: tuple[int, int, int]


@dataclass(frozen=True)
class Access:
    """A memory access: `view` names the argument; images give `coordinate`, buffers `offset` (bytes); `size` in bytes."""

    view: str
    size: int
    offset: int | None = None
    coordinate: tuple[int, ...] | None = None
    extent: tuple[int, ...] | None = None  # bytes of the buffer, or the image's (width, height, layers)


@dataclass(frozen=True)
class Finding:
    """One defect, seen `count` times; place, work-item and access are of the first occurrence."""

    kind: Kind
    message: str
    kernel: str = ""
    line: int = 0
    column: int = 0
    work_item: WorkItem | None = None
    access: Access | None = None
    count: int = 1
    tensor: str = ""  # name in the model, where there is one
    file: str = ""
    detail: dict[str, object] = field(default_factory=dict)

    @property
    def severity(self) -> Severity:
        return self.kind.severity


def rank(finding: Finding) -> tuple[bool, int]:
    """By this findings are listed: a device that is not to be believed before all, then the highest severity."""
    return finding.kind is not Kind.UNFIT_DEVICE, -finding.severity
