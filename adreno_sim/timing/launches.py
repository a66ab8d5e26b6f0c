"""Times launches: counts some groups of each, and asks the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..base.specs import Argument, BufferSpec, ImageSpec, Local, Null, Sampler
from ..device.group_sample import SampledLaunch, SlowCall, Tracing, require_group_counter
from ..device.protocol import Device, Kernel
from ..image.formats import format_of
from ..records import dataclass
from .figures import LaunchFigures, figures_of
from .machines import TimedDevice, machine_of_profile
from .model import INTEGER, PARTS, WAVE, predict

BESIDE = 0.5
"""The share of a launch's time from which what the model does not know, or was never compared with, is named."""


TRACING = Tracing(texel_blocks=True, wave_items=WAVE)
"""What the model's constants are fitted to."""

_NONE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class TimeEstimate:
    """The predicted time of a launch.

    parts: seconds of what it is made of, each as if it were alone, by name. bound: the part that decides. unknown: what of the
    launch makes it a guess, in words. operations: on floats; bytes: distinct ones of arguments. slow_calls: of the kernel.
    figures: what the model was given, for another machine.
    """

    seconds: float
    parts: dict[str, float]
    bound: str
    unknown: tuple[str, ...]
    operations: float
    bytes: float
    slow_calls: tuple[SlowCall, ...] = ()
    figures: LaunchFigures | None = None


class LaunchTimer:
    """Predicts times of launches on a simulated device. Launches alike are counted once."""

    def __init__(self, device: Device):
        """Raises OptionError for a device that counts nothing, UnsupportedError for one that is not a chip."""
        self._counter = require_group_counter(device)
        assert device.info.profile is not None
        self.device: TimedDevice = machine_of_profile(device.info.profile)
        self._known: dict[object, TimeEstimate | None] = {}
        self._kernels: list[Kernel] = []  # whose ids are in the keys

    def time(
        self,
        kernel: Kernel,
        global_size: Sequence[int],
        local_size: Sequence[int] | None,
        args: Sequence[Argument],
        textures: Mapping[str, int] = _NONE,
    ) -> TimeEstimate | None:
        """Returns the time of a launch on memory as it is; None for one without work-items. Raises as `count_groups`.

        textures: parameters whose buffers stand for textures, and the bytes of their texels.
        """
        sizes = tuple(global_size), None if local_size is None else tuple(local_size)
        key = id(kernel), *sizes, *textures.items(), *map(_signature, args)
        if key not in self._known:
            self._kernels.append(kernel)
            sample = self._counter.count_groups(kernel, global_size, local_size, args, TRACING)
            self._known[key] = self._estimate(sample, kernel, args, textures) if sample.parts else None
        return self._known[key]

    def _estimate(
        self, sample: SampledLaunch, kernel: Kernel, args: Sequence[Argument], textures: Mapping[str, int]
    ) -> TimeEstimate:
        names = [param.name for param in kernel.params]
        figures = figures_of(sample, count_touched(sample, names, args), textures)
        made = predict(figures, self.device.machine)
        seconds = float(made.seconds)
        parts = {word: float(getattr(made, name)) for name, word in PARTS.items()} | {"launch": float(made.launch)}
        items = sample.add(lambda counters: counters.work_items)
        unknown = tuple(find_unknown(figures, parts, seconds, self.device))
        operations, touched = 2 * figures.multiply_adds * items, figures.touched_bytes
        return TimeEstimate(seconds, parts, made.find_bound(), unknown, operations, touched, sample.slow_calls, figures)


def find_unknown(figures: LaunchFigures, parts: dict[str, float], seconds: float, device: TimedDevice) -> list[str]:
    """Returns the parts of a launch that no measured time supports, in words."""
    waves = figures.groups * np.ceil(figures.group_items / WAVE) / device.machine.units
    found = []
    if INTEGER * device.machine.multiply_add * figures.integers * waves > BESIDE * seconds:
        found.append("what operations on integers cost is a guess, as nothing says how many of them a compiler shares or hoists")
    if parts["local memory"] > BESIDE * seconds:
        found.append("local memory is as fast as an Adreno 640's by clock, which no measured kernel confirms")
    return found


def count_touched(sample: SampledLaunch, names: Sequence[str], args: Sequence[Argument]) -> int:
    """Returns the bytes of a launch's arguments that it touches: no more than they have, nor than it accesses. Memory that
    several arguments show counts once."""
    accessed = {
        name: sample.add_rows(lambda row, name=name: row.name == name, lambda row: row.read_bytes + row.written_bytes)  # type: ignore[misc]
        for name in names
    }
    places: dict[object, tuple[int, float]] = {}
    for name, arg in zip(names, args, strict=True):
        spec = getattr(arg, "spec", None)
        if isinstance(spec, (BufferSpec, ImageSpec)):
            key = id(arg.storage), arg.offset  # type: ignore[union-attr]
            most, some = places.get(key, (0, 0.0))
            places[key] = max(most, _bytes_of(spec)), some + accessed[name]
    return int(sum(min(most, some) for most, some in places.values()))


def _bytes_of(spec: BufferSpec | ImageSpec) -> int:
    if isinstance(spec, BufferSpec):
        return spec.nbytes
    return spec.width * spec.height * spec.depth_or_layers * format_of(spec.order, spec.channel_type).texel_bytes


def _signature(arg: Argument) -> object:
    """What of an argument decides which launches are alike: all but what is in memory."""
    if isinstance(arg, (Local, Null, Sampler)):
        return arg
    spec = getattr(arg, "spec", None)
    return np.asarray(arg).tobytes() if spec is None else spec
