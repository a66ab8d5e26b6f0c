"""A kernel of a device in the machine code of chips, and the groups that these have registers for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..base.errors import OptionError, UnsupportedError
from ..device.protocol import Device, Kernel
from ..findings import Finding
from ..ir import ir
from ..isa.chips import Chip, chip_of_profile, find_chip
from .sim.group_limits import find_own_chip, make_warning
from .sim.program import SimKernel

if TYPE_CHECKING:
    from ..device.machine_code import KernelCode, RegisterUse

_REAL = "a real device does not show how it compiles a kernel; expected a simulated one"


def compile_for_chips(device: Device, kernel: Kernel, chips: Sequence[str]) -> tuple[KernelCode, ...]:
    """Returns a kernel in the machine code of these chips, of its device's own where none is named.

    Raises MissingPackageError without the extra `isa`; UnsupportedError for what the chip or its compiler does not have;
    OptionError for a chip that is not known, and for a kernel of a real device.
    """
    function = _function_of(kernel)
    from ..isa.compile import compile_kernel  # the translation, which few launches need

    return compile_kernel(function, list(map(find_chip, chips)) or [require_chip(device)])


def compile_all(device: Device, kernels: Iterable[Kernel], chips: Sequence[str]) -> tuple[tuple[KernelCode, ...], list[str]]:
    """Returns kernels in the machine code of these chips, and a sentence for each that there is none of. Raises the errors
    of `compile_for_chips`, except for a feature that a chip or its compiler does not have."""
    found: list[KernelCode] = []
    missing: list[str] = []
    for kernel in kernels:
        try:
            found += compile_for_chips(device, kernel, chips)
        except UnsupportedError as error:
            missing.append(f"machine code of {kernel.name}: {error}")
    return tuple(found), missing


def find_kernel_registers(device: Device, kernel: Kernel) -> RegisterUse:
    """Returns what a kernel takes on the chip of its device. Raises as `require_chip`."""
    from ..isa.register_use import find_register_use

    return find_register_use(_function_of(kernel), require_chip(device))


def require_chip(device: Device) -> Chip:
    """Returns the chip of a device. OptionError for a real one, UnsupportedError for one whose registers are not known."""
    if device.info.profile is None:
        raise OptionError("isa", _REAL)
    return chip_of_profile(device.info.profile.name)


def _function_of(kernel: Kernel) -> ir.Function:
    if not isinstance(kernel, SimKernel):
        raise OptionError("isa", _REAL)
    return kernel.function


def find_refused_groups(
    device: Device, kernel: Kernel, chips: Sequence[str], local_size: Sequence[int] | None
) -> Iterator[Finding]:
    """Yields a warning for each of these chips that may refuse a group. Of the device's own chip its launch tells; a group that
    the driver chooses (None) fits."""
    if not chips:
        return
    from ..isa.register_use import find_register_use

    assert isinstance(kernel, SimKernel)
    assert device.info.profile is not None
    own, items = device.info.profile.name, math.prod(local_size or (1,))
    for chip in map(find_chip, chips):
        use = find_register_use(kernel.function, chip)
        if chip is not find_own_chip(own) and use.may_refuse(items):
            yield make_warning(use, items, kernel.function)
