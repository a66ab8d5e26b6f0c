"""The bytes that a launch touches, as those who compare launches ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...engine.run.counted import Touched, trace_touched
from ...ir.data_dependence import accesses_depend_on_memory
from .arguments import bind_argument
from .launch_config import PreparedLaunch

if TYPE_CHECKING:
    from ...device.protocol import Device
    from .device import SimDevice
    from .program import SimKernel

TIME_LIMIT = 5.0
"""Seconds that looking may take."""


def find_touched_bytes(device: SimDevice, launch: PreparedLaunch, *, has_run: bool) -> Touched | None:
    """Returns which bytes of its buffers and images a launch reads and writes, by running it once more without effect; None where
    that is not known: it takes too long or too much memory, a view was released, or, of one that has run, what it touches depends
    on memory as it was then."""
    config = launch.config
    if config.analysis is None:
        return {}
    if not all(launch.args[index].live for index in config.views):
        return None
    if has_run and accesses_depend_on_memory(launch.kernel.function):
        return None
    return trace_touched(
        config.analysis,
        [bind_argument(arg) for arg in launch.args],
        device.options.cache,
        timeout=min(TIME_LIMIT, device.options.timeout),
        **launch.sizes,
    )


def find_bytes_of_launch(
    device: Device, kernel: SimKernel, global_size: Sequence[int], local_size: Sequence[int] | None, args: Sequence[Any]
) -> Touched | None:
    """The same of a launch that has not run. device: a simulated one. DeviceError where it refuses the launch."""
    from .device import SimDevice

    assert isinstance(device, SimDevice), device.info.name
    return find_touched_bytes(device, device.prepare(kernel, global_size, local_size, args), has_run=False)
