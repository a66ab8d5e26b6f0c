"""What can be wrong with a kernel, a launch or a plan: kinds, severities, places."""

from __future__ import annotations

import enum
import re
from dataclasses import field

from .records import dataclass


class Severity(enum.IntEnum):
    NOTE = 0
    WARNING = 1
    ERROR = 2

    def __str__(self) -> str:
        return self.name.lower()


class Kind(enum.Enum):
    """Every kind of finding: its stable name (used in JSON, allow-lists and tests), its severity, and what is wrong in one
    sentence."""

    OUT_OF_BOUNDS_READ = ("out-of-bounds-read", Severity.ERROR, "A read outside its buffer or array; here it gives 0.")
    OUT_OF_BOUNDS_WRITE = ("out-of-bounds-write", Severity.ERROR, "A write outside its buffer or array; here nothing is written.")
    IMAGE_READ_OUT_OF_RANGE = (
        "image-read-out-of-range",
        Severity.ERROR,
        "An image read outside the extents where the addressing mode leaves the result undefined.",
    )
    IMAGE_WRITE_OUT_OF_RANGE = (
        "image-write-out-of-range",
        Severity.ERROR,
        "An image write outside the extents, even where the allocation has room; nothing is written.",
    )
    SUB_OBJECT_OVERRUN = (
        "sub-object-overrun",
        Severity.WARNING,
        "An index beyond a row or a field that is an array, into what lies behind it in the same object.",
    )
    OUTSIDE_EXTENT_READ = (
        "outside-extent-read",
        Severity.WARNING,
        "A read inside its buffer or image, but outside the tensor that is in it.",
    )
    TENSOR_NOT_READ = (
        "tensor-not-read",
        Severity.ERROR,
        "An argument where a launch reads only bytes outside the tensor in it, as if the offset of a view is lost.",
    )
    OUTSIDE_EXTENT_WRITE = (
        "outside-extent-write",
        Severity.ERROR,
        "A write inside its buffer or image, but outside the tensor that is in it: into padding, or into another tensor.",
    )
    MISALIGNED_ACCESS = (
        "misaligned-access",
        Severity.ERROR,
        "An access at an address that is not a multiple of the alignment its type needs.",
    )
    UNINITIALIZED_READ = (
        "uninitialized-read",
        Severity.ERROR,
        "Something depends on memory that nothing has written, or on a variable that nothing has set.",
    )
    ON_CHIP_LOST = (
        "on-chip-contents-lost",
        Severity.ERROR,
        "On-chip memory that is used beyond the kernel, or the enqueue of a recording, for which it keeps its contents.",
    )
    DATA_RACE = (
        "data-race",
        Severity.ERROR,
        "Two work-items access one place without synchronisation, at least one writing, with different values.",
    )
    STORE_OVERWRITTEN = (
        "store-overwritten",
        Severity.ERROR,
        "A work-item overwrites its own store with another value before anything read it.",
    )
    DIVERGENT_BARRIER = ("divergent-barrier", Severity.ERROR, "Not every work-item of a group reaches the same barrier.")
    WRONG_ACCESS_QUALIFIER = ("wrong-access-qualifier", Severity.ERROR, "An image is used against its access qualifier.")
    WRONG_ARGUMENT = (
        "wrong-argument",
        Severity.ERROR,
        "An argument, option or work size that the OpenCL call refuses, or a printf whose arguments do not fit.",
    )
    PRINTED_SIZE = (
        "printf-argument-size",
        Severity.WARNING,
        "An integer that printf gets in another size than its conversion takes: what is printed is up to the device.",
    )
    FORMAT_MISMATCH = ("format-mismatch", Severity.ERROR, "An image function of another kind than the image's channel type.")
    UNDEFINED_SAMPLER = (
        "undefined-sampler",
        Severity.ERROR,
        "A sampler whose combination of settings leaves the read undefined.",
    )
    GROUP_MAY_BE_REFUSED = (
        "group-may-be-refused",
        Severity.WARNING,
        "A group for which the registers of the chip may not suffice, by Mesa's compiler or an estimate: a phone may refuse the "
        "launch.",
    )
    LIMIT_EXCEEDED = ("limit-exceeded", Severity.ERROR, "More than the device's limit.")
    VIEW_TOO_LARGE = ("view-larger-than-storage", Severity.ERROR, "A buffer or image that is larger than the storage under it.")
    STORAGE_REUSED_LIVE = (
        "storage-reused-while-live",
        Severity.ERROR,
        "Storage that is used for something else while its contents are needed.",
    )
    IMAGE_READ_AND_WRITTEN = (
        "image-read-and-written",
        Severity.ERROR,
        "One image that a launch gets as read_only and as write_only argument: what it reads there is undefined.",
    )
    STORAGE_UNALLOCATED = (
        "storage-used-unallocated",
        Severity.ERROR,
        "Storage that is used where its allocation does not dominate: on some way to there nothing allocates it.",
    )
    PAGE_LEAKED = (
        "page-leaked",
        Severity.WARNING,
        "A page of a KV cache that is neither free nor of a sequence: it is lost until the cache is cleared.",
    )
    MISALIGNED_VIEW = (
        "misaligned-view",
        Severity.ERROR,
        "A buffer or image at an offset in its storage that the device does not allow.",
    )
    USE_AFTER_RELEASE = (
        "use-after-release",
        Severity.ERROR,
        "A call of OpenCL with an object to which the program has given up its last reference.",
    )
    CALL_REFUSED = ("call-refused", Severity.ERROR, "A call of OpenCL that returns an error: its request is not done.")
    PROBE_REFUSED = (
        "probe-refused",
        Severity.NOTE,
        "A call of OpenCL that returns an error, as where a program only asks what there is, or tries a build in several ways.",
    )
    LEAK_GROWS = (
        "leak-grows",
        Severity.WARNING,
        "Objects that a program never releases, while one place makes more of them with every launch.",
    )
    NEWER_THAN_DEVICE = (
        "newer-than-device",
        Severity.ERROR,
        "A call of a function of a later OpenCL than the device has: its driver does not have it, and the call ends the program.",
    )
    EXTENSION_NOT_LISTED = (
        "extension-not-listed",
        Severity.WARNING,
        "An extension that a source enables, or whose function is called, and that the device does not list.",
    )
    NOTHING_LAUNCHED = (
        "nothing-launched",
        Severity.WARNING,
        "A process that made memory or programs on the device and launched no kernel.",
    )
    LAUNCHES_LEFT_OUT = (
        "launches-left-out",
        Severity.WARNING,
        "Launches that nobody checked, as a filter of the command line leaves them out.",
    )
    ARGUMENT_NOT_SET = ("argument-not-set", Severity.ERROR, "A launch with an argument that was never set: nothing runs.")
    USED_WHILE_MAPPED = (
        "used-while-mapped",
        Severity.ERROR,
        "A command that begins on memory which the host has mapped for writing and not unmapped.",
    )
    HOST_MEMORY_CHANGED = (
        "host-memory-changed",
        Severity.ERROR,
        "Memory of CL_MEM_USE_HOST_PTR, or coarse-grained shared memory, that the host changed without mapping it, or memory of "
        "a transfer that it did not know to be complete: a device may not see the change, or overwrite it.",
    )
    UNORDERED_TRANSFER = (
        "unordered-transfer",
        Severity.ERROR,
        "Two commands on the same memory of the host, one of them writing, without an order between them.",
    )
    UNORDERED_ACCESS = (
        "unordered-access",
        Severity.ERROR,
        "Two commands on the same bytes of a buffer or image, one of them writing; neither waits for the other.",
    )
    UNWRITTEN_READ_BACK = (
        "unwritten-read-back",
        Severity.WARNING,
        "Bytes that no kernel and no call wrote, and that the host reads.",
    )
    AGAINST_MEMORY_FLAGS = (
        "against-memory-flags",
        Severity.WARNING,
        "A kernel that writes a buffer made CL_MEM_READ_ONLY, or reads one made CL_MEM_WRITE_ONLY.",
    )
    QUEUE_NOT_FLUSHED = (
        "queue-not-flushed",
        Severity.NOTE,
        "Many launches without a flush: a driver may keep them all in memory of the host, and run out of it.",
    )
    WAIT_NOT_FLUSHED = (
        "wait-not-flushed",
        Severity.WARNING,
        "A wait for a command that waits for one of another queue, which nothing has flushed: on some drivers it never ends.",
    )
    READ_MAP_WRITTEN = (
        "read-map-written",
        Severity.ERROR,
        "Memory that the host maps for reading only, and changes: a device may get the change, or lose it.",
    )
    NEVER_UNMAPPED = ("never-unmapped", Severity.WARNING, "A memory object that is released while it is mapped.")
    DIVISION_BY_ZERO = ("division-by-zero", Severity.ERROR, "An integer division or remainder by zero.")
    DIVISION_OVERFLOW = (
        "division-overflow",
        Severity.ERROR,
        "The smallest signed integer divided by -1, or the remainder: no integer is the quotient.",
    )
    OVERWIDE_SHIFT = (
        "overwide-shift",
        Severity.NOTE,
        "A shift by at least the width of the type: the amount is taken modulo the width.",
    )
    UNDEFINED_CONVERSION = ("undefined-conversion", Severity.WARNING, "A conversion of a value that the target type cannot hold.")
    WATCHDOG = ("watchdog", Severity.ERROR, "A launch that did not end in its time: 60 s, or `timeout=` of the device string.")
    WRONG_VALUE = ("wrong-value", Severity.ERROR, "A result that differs from its reference.")
    LARGE_ROUNDING = (
        "large-rounding",
        Severity.WARNING,
        "A result with a larger error than expected, only from rounding: in wider types it is right.",
    )
    DEPENDS_ON_READING = (
        "depends-on-reading",
        Severity.WARNING,
        "A result that depends on a choice which OpenCL or Qualcomm leaves to the device.",
    )
    DEVICES_DIFFER = ("devices-differ", Severity.ERROR, "A result that differs between two devices given the same inputs.")
    DEVICE_CRASHED = ("device-crashed", Severity.ERROR, "The process that ran the device ended by a signal: its driver crashed.")
    DEVICE_HUNG = ("device-hung", Severity.ERROR, "The process that ran the device did not end in its time.")
    TOO_SLOW = (
        "too-slow",
        Severity.ERROR,
        "A predicted time if even the lower end of its interval is beyond the limit that was set (`--max-time`).",
    )
    SLOWER = (
        "slower-than-before",
        Severity.WARNING,
        "A predicted time that is longer than that of the baseline (`--compare`) by more than the model's own error.",
    )
    SLOW_BUILTIN = (
        "slow-builtin",
        Severity.WARNING,
        "A call of a function that Adreno emulates, or computes by many instructions, where something cheaper may do.",
    )
    UNFIT_DEVICE = (
        "unfit-device",
        Severity.WARNING,
        "A real device that does not give the known answer of a small kernel: its results are not to be believed.",
    )
    REINTERPRETED_FORMAT = (
        "format-reinterpreted",
        Severity.WARNING,
        "An image function of another kind than the channel type, though every bit passes unchanged.",
    )
    PITCH_DIFFERS = (
        "pitch-differs",
        Severity.WARNING,
        "The device's pitch, base or layer rule differs from what the memory plan assumes.",
    )
    PITCH_RULES_DISAGREE = (
        "pitch-rules-disagree",
        Severity.WARNING,
        "An image over a buffer whose pitch the host computed: by one reading of the pitch alignment a phone takes it, by "
        "another not.",
    )
    DRIVER_ERRATUM = (
        "driver-erratum",
        Severity.WARNING,
        "A construct that the device's driver is known to compile wrongly, or not at all.",
    )
    NO_IMAGE_FROM_BUFFER = (
        "no-image-from-buffer",
        Severity.WARNING,
        "An image over a buffer that the device does not have; it is emulated with copies.",
    )
    REUSE_RULE = (
        "reuse-rule-broken",
        Severity.WARNING,
        "A storage that tensors share though the planner's own rules do not let them.",
    )
    PLAN_INFLATED = ("plan-inflated", Severity.WARNING, "A memory plan with more bytes than its tensors need.")
    UNINFORMATIVE = ("vacuous-comparison", Severity.WARNING, "A comparison whose agreement says nothing.")
    NONFINITE_INTRODUCED = ("nonfinite-born", Severity.WARNING, "NaN or infinity that occurs though no input holds any.")
    CLAMPED_READ = ("clamped-read", Severity.NOTE, "An image read outside the extents that the addressing mode makes defined.")
    SAME_VALUE_RACE = (
        "same-value-race",
        Severity.NOTE,
        "Two work-items access one place without synchronisation, and no value depends on which comes first.",
    )

    def __init__(self, label: str, severity: Severity, sentence: str):
        self.label = label
        self.severity = severity
        self.sentence = sentence


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

    @property
    def is_turned(self) -> bool:
        """Whether the coordinate of an image with two axes lies inside it when x and y are exchanged."""
        at, extent = self.coordinate or (), self.extent or ()
        return len(extent) == 2 and len(at) >= 2 and 0 <= at[1] < extent[0] and 0 <= at[0] < extent[1]


@dataclass(frozen=True)
class Note:
    """What a finding says of a second place, as a work-item that writes there, or a condition that decides.

    file: "" for the kernel's source itself. line 0: no place.
    """

    label: str
    line: int = 0
    column: int = 0
    file: str = ""


@dataclass(frozen=True)
class Finding:
    """One defect, seen `count` times; place, work-item and access are of the first occurrence.

    nodes: of the model, that its kernel or tensor belongs to. notes: other places of it. help: what to do about it, where more is
    known than its kind says. patch: a unified diff of the source with which the same launch ran without a finding.
    """

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
    nodes: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    help: str = ""
    patch: str = ""

    @property
    def severity(self) -> Severity:
        return self.kind.severity


VARIABLE = "variable"
"""The key of a finding's detail for the variable to which nothing was assigned."""


def rank(finding: Finding) -> tuple[bool, int]:
    """By this findings are listed: a device that is not to be believed before all, then the highest severity."""
    return finding.kind is not Kind.UNFIT_DEVICE, -finding.severity


def place_of(finding: Finding) -> tuple[object, ...]:
    """What tells a finding from others: kernel, kind and line first; without a line its words, except for numbers in them."""
    words = "" if finding.line else re.sub(r"\d+", "#", finding.message)
    view = finding.access.view if finding.access else ""
    return finding.kernel, finding.kind, finding.line, words, finding.file, finding.column, view
