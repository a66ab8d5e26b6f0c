"""The kinds of values that a launch takes, before a device checks them."""

from __future__ import annotations

from typing import Any

from ..base.errors import DeviceError


def require_launch(kernel: str, global_size: Any, local_size: Any, args: Any, offset: Any = None) -> None:
    """Raise DeviceError if sizes are not lists of whole numbers, or the arguments are not a list. None: not given."""
    if not hasattr(args, "__len__") or isinstance(args, (str, bytes)):
        raise DeviceError("CL_INVALID_KERNEL_ARGS", f"kernel {kernel}: arguments: expected a list, got {args!r}")
    _require_sizes(kernel, "global size", global_size, "CL_INVALID_GLOBAL_WORK_SIZE")
    if local_size is not None:
        _require_sizes(kernel, "local size", local_size, "CL_INVALID_WORK_GROUP_SIZE")
    if offset is not None:
        _require_sizes(kernel, "offset", offset, "CL_INVALID_GLOBAL_OFFSET")


def _require_sizes(kernel: str, which: str, size: Any, code: str) -> None:
    try:
        if not isinstance(size, (str, bytes)) and all(int(number) == number for number in size):
            return
    except (TypeError, ValueError, OverflowError):
        pass
    raise DeviceError(code, f"kernel {kernel}: {which} {size!r}: expected a list of whole numbers, as (64, 4)")
