"""What is asked of a launch to see which readings can matter to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..backends.sim.limits import Size, work_size
from ..backends.simulated import require_variable
from ..base.run_options import RunOptions
from ..base.specs import BufferSpec, ImageSpec, Sampler
from ..device.protocol import Device, Kernel
from ..ir import ir, llvm_types
from ..ir.mod_ref import read_arguments
from ..memory.storage import StorageView
from ..profiles.profile import Profile
from ..records import dataclass
from .elements import find_element_type


@dataclass(frozen=True)
class Subject:
    """A launch. group: its work-group, along x, y and z, which the device has chosen where `chooses_group`. arguments: as the
    device takes them. find_conflicts: asks for the reasons why work-items may meet in one place of memory, "" for each argument
    in which none do."""

    function: ir.Function
    profile: Profile
    options: RunOptions
    build_options: str
    source: str
    total: Size
    group: Size
    chooses_group: bool
    arguments: Sequence[Any]
    find_conflicts: Callable[[], Sequence[str]]

    @cached_property
    def instrs(self) -> list[ir.Instr]:
        """All instructions of the kernel."""
        return [instr for block in self.function.blocks for instr in block.instrs]

    def calls(self, *names: str) -> bool:
        """Returns whether the kernel calls one of these built-ins."""
        return any(instr.callee is not None and instr.callee.name in names for instr in self.instrs)

    def rounds_to_integers(self) -> bool:
        """Returns whether the kernel makes integers of floats."""
        return any(instr.op in ("fptosi", "fptoui") or _converts_float(instr) for instr in self.instrs)

    @property
    def views(self) -> list[StorageView]:
        """The arguments that are buffers or images."""
        return [argument for argument in self.arguments if isinstance(argument, StorageView)]

    @property
    def reads_floats(self) -> bool:
        """Whether the kernel reads an argument that holds floats, as far as its type or the kernel's code says."""
        read = read_arguments(self.function)
        pairs = zip(self.function.params, self.arguments, strict=True)
        return any(
            param.index in read and isinstance(view, StorageView) and _holds_floats(self.function, param, view)
            for param, view in pairs
        )

    @property
    def samplers(self) -> list[Sampler]:
        """The arguments that are samplers."""
        return [argument for argument in self.arguments if isinstance(argument, Sampler)]

    @property
    def images_over_buffers(self) -> list[StorageView]:
        """The images whose bytes another argument has too, or whose pitch the host gives."""
        storages = [view.storage for view in self.views]
        found = [view for view in self.views if isinstance(view.spec, ImageSpec)]
        return [view for view in found if storages.count(view.storage) > 1 or view.spec.row_pitch]  # type: ignore[union-attr]

    @property
    def shares_storage(self) -> bool:
        """Whether two arguments are in one storage."""
        storages = [view.storage for view in self.views]
        return len(set(storages)) < len(storages)

    def is_given(self, *keys: str) -> bool:
        """Returns whether the user has set one of these values of the device."""
        return any(self.profile.marks[key] == "given" for key in keys)


def _holds_floats(function: ir.Function, param: ir.Param, view: StorageView) -> bool:
    if isinstance(view.spec, BufferSpec) and np.dtype(view.spec.dtype).kind == "f":
        return True
    return find_element_type(function, param, view, stores=False).kind == "f"


def _converts_float(instr: ir.Instr) -> bool:
    name = instr.callee.name if instr.callee is not None else ""
    given = [llvm_types.elem_of(ir.type_of(operand)) for operand in instr.operands]
    return name.startswith("convert_") and any(isinstance(type, ir.Float) for type in given)


def make_subject(
    device: Device,
    kernel: Kernel,
    sizes: tuple[Sequence[int], Sequence[int] | None],
    arguments: Sequence[Any],
    find_conflicts: Callable[[], Sequence[str]],
) -> Subject:
    """Returns a launch of `kernel` of a simulated device over `sizes`: global, and local or None. DeviceError if the sizes are
    none."""
    ours: Any = kernel
    profile = require_variable(device).profile
    total, group = work_size(ours, *sizes, profile)
    return Subject(
        ours.function,
        profile,
        device.options,
        ours.options,
        ours.source,
        total,
        group,
        sizes[1] is None,
        arguments,
        find_conflicts,
    )
