"""Turns a call that a device rejected with an OpenCL error code into a finding."""

from __future__ import annotations

from ..findings import Access, Finding, Kind
from .errors import DeviceError, ViewTooLargeError

_KINDS = dict.fromkeys((
    "CL_OUT_OF_RESOURCES", "CL_OUT_OF_HOST_MEMORY", "CL_MEM_OBJECT_ALLOCATION_FAILURE", "CL_INVALID_BUFFER_SIZE",
    "CL_INVALID_IMAGE_SIZE", "CL_INVALID_WORK_GROUP_SIZE", "CL_INVALID_WORK_ITEM_SIZE", "CL_INVALID_GLOBAL_WORK_SIZE",
    "CL_INVALID_WORK_DIMENSION",
), Kind.LIMIT_EXCEEDED) | {"CL_MISALIGNED_SUB_BUFFER_OFFSET": Kind.MISALIGNED_VIEW}  # fmt: skip
"""Error code -> kind of finding; every other code is a WRONG_ARGUMENT."""


def rejected_call(error: DeviceError, view: str = "") -> Finding:
    """The finding for `error`; `view`: name of the argument that the call was about, "" for none."""
    kind = Kind.VIEW_TOO_LARGE if isinstance(error, ViewTooLargeError) else _KINDS.get(error.code, Kind.WRONG_ARGUMENT)
    return Finding(kind, str(error), access=Access(view, 0) if view else None, detail={"code": error.code})
