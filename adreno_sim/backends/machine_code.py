"""A kernel of a device in the machine code of chips."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.errors import OptionError
from ..device.machine_code import KernelCode
from ..device.protocol import Device, Kernel
from ..isa.chips import chip_of_profile, find_chip
from ..isa.compile import compile_kernel
from .sim.program import SimKernel


def compile_for_chips(device: Device, kernel: Kernel, chips: Sequence[str]) -> tuple[KernelCode, ...]:
    """Returns a kernel in the machine code of these chips, of its device's own where none is named.

    Raises MissingPackageError without the extra `isa`; UnsupportedError for what the chip or its compiler does not have;
    OptionError for a chip that is not known, and for a kernel of a real device.
    """
    if not isinstance(kernel, SimKernel) or device.info.profile is None:
        raise OptionError("isa", "a real device does not show how it compiles a kernel; expected a simulated one")
    chosen = list(map(find_chip, chips)) or [chip_of_profile(device.info.profile.name)]
    return compile_kernel(kernel.function, chosen)
