"""Tries a memory plan on a device: allocates all storages together, writes every byte, creates every tensor's view."""

from __future__ import annotations

import contextlib
import time

import numpy as np

from ...base.errors import AdrenoSimError, DeviceError
from ...base.specs import BufferSpec, Storage, TensorSpec, ViewSpec
from ...device.protocol import Device
from ...records import dataclass
from ..artifact.memory_plan import MemoryPlan, PlannedTensor
from ..run.texture_views import device_view

CHUNK = 1 << 24
"""Bytes written at a time. A driver may take memory only when it is written to."""


@dataclass(frozen=True)
class Refusal:
    """A storage or a tensor's view that the device does not make: OpenCL's code ("" if it is not a driver's) and why.

    planned: a planner placed it; else it is so under every plan.
    """

    what: str
    code: str
    message: str
    planned: bool


@dataclass(frozen=True)
class DeviceTrial:
    """What a device made of a plan. Sizes are bytes.

    storages, views: how many the plan has; the device made those that `refused` does not name. asked: of all storages.
    taken: what the device's pool grew by (0: storages that it had kept). apart: images that the device makes as separate memory,
    since it has none over a buffer; apart_bytes: their dense texels, beside what was taken. peak: the most bytes in use at one
    time when the model ran under the plan; None if it did not run, and not_run then says why.
    """

    planner: str
    storages: int
    views: int
    asked: int
    taken: int
    apart: int
    apart_bytes: int
    seconds: float
    refused: tuple[Refusal, ...]
    peak: int | None = None
    not_run: str = ""

    @property
    def planner_refusals(self) -> list[Refusal]:
        """Refusals of what the planner placed."""
        return [refusal for refusal in self.refused if refusal.planned]


def try_plan(plan: MemoryPlan, device: Device, planner: str) -> DeviceTrial:
    """Allocate the plan's storages on `device`, write them, make and release a view for every tensor, free them again.

    Constants, inputs and workspaces are left out: no planner places them.
    """
    begun = time.perf_counter()
    before = device.pool_stats().reserved
    made: dict[str, Storage] = {}
    refused: list[Refusal] = []
    sizes = {s.id: s.planned_bytes for s in plan.storages}
    placed = {s.id for s in plan.storages if s.planned}
    try:
        for name, nbytes in sizes.items():
            try:
                if name in plan.on_chip:
                    made[name] = device.on_chip.storage()
                    continue
                made[name] = storage = device.allocate(nbytes)
                _fill(device, storage, nbytes)
            except AdrenoSimError as error:
                refused.append(_refusal(f"storage {name} of {nbytes:,} bytes", error, name in placed))
        taken = device.pool_stats().reserved - before
        apart = 0
        apart_bytes = 0
        for tensor in plan.tensors:
            if tensor.storage not in made:
                continue
            try:
                view = device.view(made[tensor.storage], _spec(tensor, device), tensor.offset)
            except AdrenoSimError as error:
                what = f"{tensor.id} ({tensor.dtype} {'x'.join(map(str, tensor.shape))})"
                refused.append(_refusal(what, error, tensor.storage in placed))
                continue
            if getattr(view, "separate", None):
                apart += 1
                apart_bytes += tensor.dense_bytes
            view.release()
    finally:
        for storage in made.values():
            with contextlib.suppress(AdrenoSimError):
                device.free(storage)
    seconds = time.perf_counter() - begun
    counts = (len(plan.storages), len(plan.tensors), sum(n for name, n in sizes.items() if name not in plan.on_chip))
    return DeviceTrial(planner, *counts, taken, apart, apart_bytes, round(seconds, 6), tuple(refused))


def _fill(device: Device, storage: Storage, nbytes: int) -> None:
    for offset in range(0, nbytes, CHUNK):
        size = min(CHUNK, nbytes - offset)
        view = device.view(storage, BufferSpec(size, "uint8"), offset)
        device.write(view, np.zeros(size, "uint8"))
        view.release()


def _spec(tensor: PlannedTensor, device: Device) -> ViewSpec:
    """The tensor's view as TVM's runtime asks for it; one whose shape is not known (of a trace) is bytes."""
    if not tensor.shape:
        return BufferSpec(tensor.right_bytes, "uint8")
    return device_view(TensorSpec(tensor.shape, tensor.dtype, tensor.scope), device)


def _refusal(what: str, error: AdrenoSimError, planned: bool) -> Refusal:
    code = error.code if isinstance(error, DeviceError) else ""
    return Refusal(what, code, str(error).splitlines()[0], planned)
