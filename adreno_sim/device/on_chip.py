"""On-chip global memory of a device (cl_qcom_onchip_global_memory): what a program may do with it.

The public rules are those of Qualcomm's guide "Snapdragon Mobile Platform OpenCL General Programming and Optimization"
(80-NB295-11 Rev. C, 9.1.3 and 9.1.6) and of TVM's runtime for OpenCL ML (clml_runtime.cc, clml_utils.cc):

* Buffers and images may be there. Whoever creates one names its offset, so that several may be over the same bytes. The device
  tells the size (CL_DEVICE_ONCHIP_GLOBAL_MEM_SIZE_QCOM).
* Kernels use them as any global memory. What is in them is lost when a kernel exits.
* Within one enqueue of a recording (cl_qcom_recordable_queues) it stays, from the first kernel to the last. The first must take
  the memory for uninitialised, also when the recording is enqueued again.
* Only kernels are recorded, and none with printf. (TVM records operators of OpenCL ML as well.)

Whatever else could matter has no public text: values of the extension's tokens, the layout of images there, alignment of offsets,
what a driver answers to a host that reads it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from ..base.errors import UnsupportedError
from ..base.specs import Storage
from ..profiles.ml import ONCHIP_EXTENSION, RECORDABLE_EXTENSION


class OnChip(Protocol):
    """On-chip global memory of a device. UnsupportedError from `storage` of a device that has none, or cannot be asked for it."""

    def storage(self) -> Storage:
        """All of it as one storage, over which views are made; freed like any other. There is one at a time."""
        ...

    def begin_recording(self) -> None:
        """The launches from here to `end_recording` are one enqueue of a recording, at whose first the memory holds nothing."""
        ...

    def end_recording(self) -> None: ...
    def acting(self) -> AbstractContextManager[None]:
        """What is read and written in its block an operator of the device does, not the host."""
        ...


class NoOnChip:
    """Of a device that has none, or that this backend cannot ask for it: `why`."""

    def __init__(self, why: str):
        self._why = why

    def storage(self) -> Storage:
        raise UnsupportedError(f"unsupported: {self._why}")

    def begin_recording(self) -> None:
        raise UnsupportedError(f"unsupported: {self._why}")

    def end_recording(self) -> None: ...
    def acting(self) -> AbstractContextManager[None]:
        return nullcontext()


def why_none(device: str, extensions: frozenset[str], nbytes: int) -> str:
    """Why a device has no on-chip memory that a plan may use, in words; "" if it has."""
    for needed in (ONCHIP_EXTENSION, RECORDABLE_EXTENSION):
        if needed not in extensions:
            what = "no memory on the chip for buffers" if needed == ONCHIP_EXTENSION else "contents would be lost between kernels"
            return f"{device} has no {needed}: {what}"
    return "" if nbytes else f"{device} has {ONCHIP_EXTENSION}, but its profile gives ONCHIP_GLOBAL_MEM_SIZE = 0"


def why_not_asked(device: str) -> str:
    """Why a real device is not asked for on-chip memory."""
    tokens = "the values of CL_MEM_ONCHIP_GLOBAL_QCOM and similar constants are in no public text"
    return f"on-chip memory of {device}: {tokens}, so that a real device is never asked for it"
