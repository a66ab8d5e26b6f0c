"""Runs the kernels of a calibration on a real device, by the times of its events."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...base.errors import DeviceError, UnsupportedError
from ...base.specs import Argument, BufferSpec, ImageSpec, Storage, ViewSpec
from ...device.protocol import Device, Kernel
from .probes import NAME, TEXEL, Probe, chain, multiply, read_buffer, read_image, start
from .rates import Measured

LIVE = (1, 16, 32, 64, 96, 128, 160, 192, 224, 256)
"""Floats that live in the chains, which no compiler may keep in memory unseen."""
LIMITED = (4, 8, 16, 24, 32, 48, 64, 96, 128, 192)
"""The same of ten kernels whose CL_KERNEL_WORK_GROUP_SIZE is asked for."""
MOST_UNITS = 32
MOST_REPEATS = 1 << 22


class Calibration:
    """Measures one device. least: seconds from which a time is taken; say: called with each step before it begins. largest: bytes
    of the largest footprint. limits: of `measure`, CL_KERNEL_WORK_GROUP_SIZE of kernels, by the floats that live in them.

    A launch is repeated with twice the work until it takes long enough, so that none runs into the limit of a driver.
    """

    def __init__(self, device: Device, *, least: float, largest: int, say: Callable[[str], None]):
        self._device, self._least, self._largest, self._say = device, least, largest, say
        self.limits: dict[int, int] = {}
        self._built: dict[str, Kernel] = {}

    def measure(self) -> Measured:
        """Returns what the device takes for each kernel. Raises DeviceError, and UnsupportedError for a device without times."""
        self._say("launch")
        launch = self._time(start(), 1)
        self._say("multiply-adds")
        many = multiply()
        repeats, seconds = self._repeat(many)
        flops = many.amount * repeats / seconds
        self._say("groups on units")
        repeats, seconds = self._repeat(multiply(1))
        groups = {count: self._time(multiply(count), repeats) for count in range(2, MOST_UNITS + 1)}
        self._say("registers")
        chains = {live: self._rate(chain(live), inverse=True) for live in LIVE}
        self._say("reads of buffers")
        buffers = {size: self._rate(read_buffer(size)) for size in self._footprints(256)}
        self._say("reads of images")
        images = {size: self._rate(read_image(size)) for size in (256, 512, 1024)}
        self._say("groups of kernels")
        self.limits = self._ask_limits()
        return Measured(buffers, images, {1: seconds, **groups}, chains, flops, launch)

    def _footprints(self, least: int) -> list[int]:
        sizes = [least]
        while sizes[-1] < self._largest:
            sizes.append(2 * sizes[-1])
        return sizes

    def _rate(self, probe: Probe, inverse: bool = False) -> float:
        """Amount a second; inverse: seconds for one."""
        repeats, seconds = self._repeat(probe)
        rate = probe.amount * repeats / seconds
        return 1 / rate if inverse else rate

    def _repeat(self, probe: Probe) -> tuple[int, float]:
        """How often the work was repeated, and how long that took."""
        repeats = 16
        while (seconds := self._time(probe, repeats)) < self._least and repeats < MOST_REPEATS:
            repeats *= 2
        return repeats, seconds

    def _time(self, probe: Probe, repeats: int) -> float:
        """The shorter of two launches; the first one may pay for what it is the first of."""
        storages: list[Storage] = []
        try:
            args = self._make_arguments(probe, storages)
            sizes = (probe.groups * probe.items,), (probe.items,)
            kernel = self._build(probe.source)
            times = [self._device.launch(kernel, *sizes, [*args, np.int32(repeats)]).device_seconds for _ in range(2)]
        finally:
            for storage in storages:
                self._device.free(storage)
        found = [seconds for seconds in times if seconds]
        if not found:
            raise UnsupportedError(f"unsupported: calibrate: {self._device.info.name}: its events have no times")
        return min(found)

    def _make_arguments(self, probe: Probe, storages: list[Storage]) -> list[Argument]:
        """All but the last argument. storages: gets what is to be freed."""
        out: ViewSpec = BufferSpec(4 * probe.groups * probe.items, "float32")
        specs = [out]
        if probe.footprint:
            image = ImageSpec("image2d", probe.footprint // TEXEL)
            specs.append(image if probe.image else BufferSpec(probe.footprint, "float32"))
        views: list[Argument] = []
        for spec in specs:
            storages.append(self._device.allocate(self._device.view_nbytes(spec)))
            views.append(self._device.view(storages[-1], spec))
        return [*views, *([np.int32(probe.footprint // TEXEL - 1)] if probe.footprint else [])]

    def _build(self, source: str) -> Kernel:
        if source not in self._built:
            self._built[source] = self._device.build(source)[NAME]
        return self._built[source]

    def _ask_limits(self) -> dict[int, int]:
        """CL_KERNEL_WORK_GROUP_SIZE of kernels, by the floats that live in them; those that do not build are left out."""
        found = {}
        for live in LIMITED:
            try:
                found[live] = self._build(chain(live).source).group_limit  # type: ignore[attr-defined]
            except DeviceError as error:
                self._say(f"kernel with {live} floats: {error}")
        return found
