"""A launch that left something else on a real device: is that a wrong value, or one that OpenCL leaves open?

The launch runs once more on a simulated device at level full, on the memory that it found. That tells which elements are
undefined, so that they may be anything. Images of normalized integers are floats there, so that the exact value is known that is
rounded: OpenCL allows 0.6 of a step where full precision would give 0.5 (OpenCL C 3.0, conversion rules for normalized integers).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...backends.sim.device import SimDevice
from ...base.specs import ImageSpec
from ...device.protocol import KernelParam, may_write
from ...findings import Finding, Kind, Severity
from ...image.formats import combined_with
from ...memory.storage import StorageView
from ...memory.undefined_bits import ALL, find_undefined, set_undefined_bits
from ...records import dataclass
from ...results.comparison import compare, tolerated
from ...results.expected import Expected
from ..launches import DriverLaunch
from .elements import as_elements
from .launch_copy import Contents, LaunchCopy

ROUNDING = 0.6
"""Steps of a normalized integer by which the conversion of a float may be off."""


@dataclass(frozen=True)
class Judged:
    """What level full says of an argument. allowed: how far each element may be off, infinite where it is undefined; value: what
    that is measured from, None: what the simulated device left. undefined: how many elements may be anything."""

    allowed: np.ndarray
    value: np.ndarray | None
    undefined: int


@dataclass(frozen=True)
class Look:
    """What level full says of a launch. arguments: of those that it may write, by position. errors: what is wrong with
    the launch itself, so that devices may differ."""

    arguments: dict[int, Judged]
    errors: tuple[Finding, ...]


class SecondLook:
    """Looks again at launches of a session on `device`, on a simulated device of its own at level full."""

    def __init__(self, device: SimDevice):
        self._first = device
        self._device: SimDevice | None = None
        self._programs: dict[tuple[str, str], Any] = {}

    def look(self, launch: DriverLaunch, source: tuple[str, str], before: Mapping[StorageView, Contents]) -> Look:
        """Run the launch again. source: of its program, with the options. before: what its views held. Raises AdrenoSimError
        if it does not run."""
        device = self._open()
        if source not in self._programs:
            self._programs[source] = device.build(*source)
        kernel = self._programs[source][launch.kernel.name]
        pairs = list(zip(launch.kernel.params, launch.arguments, strict=True))
        views = [(param, view) for param, view in pairs if isinstance(view, StorageView)]
        widened = {view: wide for param, view in views if (wide := _widen(param, view, before[view]))}
        copy = LaunchCopy(device, launch, before, widened)
        try:
            for ours, theirs in zip(launch.arguments, copy.arguments, strict=True):
                if isinstance(theirs, StorageView):
                    set_undefined_bits(theirs, _spread(before[ours], theirs))
            result = device.launch(kernel, launch.global_size, launch.local_size, copy.arguments, offset=launch.offset)
            found = {
                index: _judge(param, ours, copy.arguments[index], ours in widened)
                for index, (param, ours) in enumerate(pairs)
                if isinstance(ours, StorageView) and may_write(param)
            }
        finally:
            copy.free()
        errors = [one for one in result.findings if one.severity is Severity.ERROR and one.kind is not Kind.UNINITIALIZED_READ]
        return Look(found, tuple(errors))

    def _open(self) -> SimDevice:
        if self._device is None:
            self._device = SimDevice(self._first.profile, replace(self._first.options, checks="full", counters=False))
        return self._device


def _steps(view: StorageView) -> int:
    """The steps of a normalized image's integers from 0 to 1; 0 for other views."""
    if view.format is None or view.format.meaning not in ("unorm", "snorm") or view.format.srgb:
        return 0
    return int(np.iinfo(view.format.dtype).max)


def _widen(param: KernelParam, view: StorageView, held: Contents) -> tuple[ImageSpec, np.ndarray] | None:
    """A normalized image that a kernel only writes as one of floats, and what that holds; None if it cannot be."""
    spec, steps = view.spec, _steps(view)
    if not steps or not isinstance(spec, ImageSpec) or param.access != "write_only" or "FLOAT" not in combined_with(spec.order):
        return None
    return replace(spec, channel_type="FLOAT"), held.array.astype(np.float32) / np.float32(steps)


def _spread(held: Contents, view: StorageView) -> np.ndarray:
    """The undefined bits of a view's bytes, of elements that were narrower: all bits of an element if some are undefined."""
    size = view.array().itemsize
    if held.array.itemsize == size:
        return held.undefined
    some = held.undefined.reshape(-1, held.array.itemsize).any(1)
    return np.repeat(np.where(some, np.uint8(ALL), np.uint8(0)), size)


def _judge(param: KernelParam, ours: StorageView, theirs: Any, is_widened: bool) -> Judged:
    """How far the elements of an argument may be off what the simulated device left in it, which `theirs` holds at level full."""
    bits, left = find_undefined(theirs), theirs.array()
    golden = as_elements(np.ascontiguousarray(ours.array()), param)
    undefined = bits.reshape(golden.size, -1).any(1).reshape(golden.shape)
    value = None
    if is_widened:
        steps = _steps(ours)
        lowest = 0.0 if golden.dtype.kind == "u" else -1.0
        exact = np.nan_to_num(left.astype(np.float64), nan=0.0, posinf=1.0, neginf=lowest)
        value = np.clip(exact, lowest, 1.0) * steps
        allowed = ROUNDING + steps * tolerated(np.clip(left, lowest, 1.0))
    elif golden.dtype.kind == "f":
        allowed = tolerated(golden)
    else:
        allowed = np.full(golden.shape, 1.0 if _steps(ours) else 0.0)  # read as well, or sRGB: not rounded from a known value
    return Judged(np.where(undefined, np.inf, allowed), value, int(np.count_nonzero(undefined)))


def compare_again(got: np.ndarray, golden: np.ndarray, judged: Judged) -> str:
    """How what a device left differs from the simulator's for all that level full says; "" if it does not."""
    if judged.value is not None:  # integers that differ are off by one at least
        got, golden = got.astype(np.float64), golden.astype(np.float64)
    result = compare(got, Expected(golden, value=judged.value, allowed=judged.allowed))
    return "" if result.ok else str(result)
