"""Every kind of finding in one sentence: what is wrong."""

from __future__ import annotations

from ..findings import Kind

TEXT: dict[Kind, str] = {
    Kind.OUT_OF_BOUNDS_READ: "A read outside its buffer or array; here it gives 0.",
    Kind.OUT_OF_BOUNDS_WRITE: "A write outside its buffer or array; here nothing is written.",
    Kind.IMAGE_READ_OUT_OF_RANGE: "An image read outside the extents where the addressing mode leaves the result undefined.",
    Kind.IMAGE_WRITE_OUT_OF_RANGE: "An image write outside the extents, even where the allocation has room; nothing is written.",
    Kind.SUB_OBJECT_OVERRUN: "An index beyond a row or a field that is an array, into what lies behind it in the same object.",
    Kind.MISALIGNED_ACCESS: "An access at an address that is no multiple of the alignment its type needs.",
    Kind.MISALIGNED_VIEW: "A buffer or image at an offset in its storage that the device does not allow.",
    Kind.REUSE_RULE: "A storage that tensors share though the planner's own rules do not let them.",
    Kind.UNINITIALIZED_READ: "A read of memory that nothing has written.",
    Kind.DATA_RACE: "Two work-items access one place without synchronisation, at least one writing, with different values.",
    Kind.STORE_OVERWRITTEN: "A work-item overwrites its own store with another value before anything read it.",
    Kind.DIVERGENT_BARRIER: "Not every work-item of a group reaches the same barrier.",
    Kind.WRONG_ACCESS_QUALIFIER: "An image is used against its access qualifier.",
    Kind.WRONG_ARGUMENT: "An argument, option or work size that the OpenCL call refuses, or too few arguments of a printf.",
    Kind.FORMAT_MISMATCH: "An image function of another kind than the image's channel type.",
    Kind.UNDEFINED_SAMPLER: "A sampler whose combination of settings leaves the read undefined.",
    Kind.LIMIT_EXCEEDED: "More than the device's limit.",
    Kind.VIEW_TOO_LARGE: "A buffer or image that is larger than the storage under it.",
    Kind.STORAGE_REUSED_LIVE: "Storage that is used for something else while its contents are needed.",
    Kind.DIVISION_BY_ZERO: "An integer division or remainder by zero.",
    Kind.DIVISION_OVERFLOW: "The smallest signed integer divided by -1, or the remainder: no integer is the quotient.",
    Kind.OVERWIDE_SHIFT: "A shift by at least the width of the type: the amount is taken modulo the width.",
    Kind.UNDEFINED_CONVERSION: "A conversion of a value that the target type cannot hold.",
    Kind.WATCHDOG: "A launch that did not end in its time.",
    Kind.WRONG_VALUE: "A result that differs from its reference.",
    Kind.LARGE_ROUNDING: "A result further off than expected by nothing but rounding: in wider types it is right.",
    Kind.DEVICES_DIFFER: "A result that differs between two devices given the same inputs.",
    Kind.DEVICE_CRASHED: "The process that ran the device ended by a signal: its driver crashed.",
    Kind.DEVICE_HUNG: "The process that ran the device did not end in its time.",
    Kind.UNFIT_DEVICE: "A real device that does not give the known answer of a small kernel: its results are not to be believed.",
    Kind.REINTERPRETED_FORMAT: "An image function of another kind than the channel type, though every bit passes unchanged.",
    Kind.PITCH_DIFFERS: "The device's pitch, base or layer rule differs from what the memory plan assumes.",
    Kind.NO_IMAGE_FROM_BUFFER: "An image over a buffer that the device does not have; it is emulated with copies.",
    Kind.PLAN_INFLATED: "A memory plan with more bytes than its tensors need.",
    Kind.UNINFORMATIVE: "A comparison whose agreement says nothing.",
    Kind.NONFINITE_INTRODUCED: "NaN or infinity in a result though every input is finite.",
    Kind.CLAMPED_READ: "An image read outside the extents that the addressing mode makes defined.",
    Kind.SAME_VALUE_RACE: "Two work-items write the same value to one place without synchronisation.",
}
"""Of every kind; a test holds the two to each other."""
