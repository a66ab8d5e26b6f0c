"""The machine code of the kernels in a file, which are not run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..backends.machine_code import compile_for_chips
from ..backends.open import open_device
from ..base.errors import UnsupportedError
from ..base.trust.device_string import default_device
from ..device.inspection import require_inspectable
from ..device.machine_code import KernelCode
from ..device.protocol import Device
from ..results.machine_code import MachineCodeReport, RefusedKernel
from .build_errors import name_source
from .include_folders import add_source_folder
from .kernel_file import read_source, require_kernels


def compile_machine_code(
    source: str | os.PathLike[str],
    *,
    options: str = "",
    device: str | Device | None = None,
    chips: Sequence[str] = (),
    kernel: str = "",
    max_registers: int | None = None,
    min_waves: int | None = None,
    against: str | os.PathLike[str] | None = None,
) -> MachineCodeReport:
    """Compiles the kernels of an OpenCL C file to Adreno machine code, by Mesa's ir3. Needs the extra `isa`.

    options: of the build. device: whose compiler reads the source, and whose chip it is where no `chips` are named ("a630",
    "a740"). kernel: one of them alone. max_registers, min_waves: limits; a kernel beyond one, with loops unrolled or left, is
    named in `beyond`. against: another file, whose kernels of the same names are laid beside these; one that has fewer waves than
    there is named in `beyond`. A kernel that these GPUs or their compiler do not take is one of `refused`. Raises BuildError,
    OptionError for a chip that is not known or a real device, MissingPackageError.
    """
    opened = open_device(device or default_device()) if device is None or isinstance(device, str) else device
    require_inspectable(opened, opened.info.name, "isa")
    found, refused = _compile(Path(source), options, opened, chips, kernel)
    before = [] if against is None else _compile(Path(against), options, opened, chips, kernel)[0]
    beyond = [*_find_beyond(found, max_registers, min_waves), *_find_fewer_waves(found, before, str(against))]
    return MachineCodeReport(str(source), tuple(found), tuple(refused), tuple(beyond), tuple(before))


def _compile(
    path: Path, options: str, device: Device, chips: Sequence[str], kernel: str
) -> tuple[list[KernelCode], list[RefusedKernel]]:
    text = read_source(path)
    with name_source(path):
        program = device.build(text, add_source_folder(options, text, path))
    found: list[KernelCode] = []
    refused: list[RefusedKernel] = []
    require_kernels(program.kernel_names(), path)
    for name in [kernel] if kernel else program.kernel_names():
        try:
            found += compile_for_chips(device, program[name], chips)
        except UnsupportedError as error:
            refused.append(RefusedKernel(name, str(error)))
    return found, refused


def _find_fewer_waves(kernels: Sequence[KernelCode], before: Sequence[KernelCode], file: str) -> Iterator[str]:
    known = {(one.kernel, one.chip): one for one in before}
    for one in kernels:
        other = known.get((one.kernel, one.chip))
        waves = min(one.unrolled.waves, one.rolled.waves)
        if other is not None and waves < (most := min(other.unrolled.waves, other.rolled.waves)):
            yield f"{one.kernel} for {one.chip}: {waves} waves, {most} in {file} (--against)"


def _find_beyond(kernels: Sequence[KernelCode], max_registers: int | None, min_waves: int | None) -> Iterator[str]:
    for one in kernels:
        registers = max(one.unrolled.registers, one.rolled.registers)
        waves = min(one.unrolled.waves, one.rolled.waves)
        if max_registers is not None and registers > max_registers:
            yield f"{one.kernel} for {one.chip}: {registers} registers, more than {max_registers} (--max-registers)"
        if min_waves is not None and waves < min_waves:
            yield f"{one.kernel} for {one.chip}: {waves} waves, fewer than {min_waves} (--min-waves)"
