"""pyopencl errors as DeviceError with OpenCL's code name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyopencl as cl

from ...base.errors import DeviceError


def code_name(error: cl.Error) -> str:
    """ "CL_INVALID_IMAGE_SIZE" and so on."""
    codes: Any = cl.status_code
    return "CL_" + str(codes.to_string(error.code, "unknown error %d")).removeprefix("CL_")


@contextmanager
def device_errors(what: str) -> Iterator[None]:
    """Turn pyopencl's errors into DeviceError: code, then `what` was tried and the driver's words."""
    try:
        yield
    except cl.Error as error:
        raise DeviceError(code_name(error), f"{what}: {error}") from error
    except MemoryError as error:
        raise DeviceError("CL_OUT_OF_HOST_MEMORY", what) from error
