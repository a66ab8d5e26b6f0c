"""Programs and kernels of the simulated device, and what a launch must know of them."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from ...base.errors import AdrenoSimError, DeviceError
from ...device.protocol import Kernel, KernelParam
from ...engine.run.program_facts import data_bytes
from ...ir import ir
from ...ir.layout import size_of
from ...ir.mod_ref import written_arguments
from ...profiles.profile import Profile
from ...records import dataclass
from .sub_groups import choose_size


@dataclass(frozen=True, eq=False)
class SimKernel:
    """A kernel of a program, built by `device` from `source` with `options`. non_uniform: the source allows smaller groups at the
    edge."""

    name: str
    function: ir.Function
    device: object
    non_uniform: bool
    source: str = ""
    options: str = ""

    @cached_property
    def params(self) -> list[KernelParam]:
        return [
            KernelParam(
                p.name, kind_of(p.type), p.spelled or str(p.type), p.access, _address_space(p.type), p.qualifiers, _value_bytes(p)
            )
            for p in self.function.params
        ]

    @property
    def local_bytes(self) -> int:
        """Bytes of the __local variables the kernel uses."""
        return self._data_bytes.get(ir.LOCAL, 0)

    @property
    def private_bytes(self) -> int:
        """Bytes of the private variables of a work-item that are in memory: arrays, and variables whose address is taken."""
        return self._data_bytes.get(ir.PRIVATE, 0)

    @property
    def constant_bytes(self) -> int:
        """Bytes of the program-scope __constant data the kernel uses."""
        return self._data_bytes.get(ir.CONSTANT, 0)

    @property
    def _data_bytes(self) -> Counter[int]:
        return data_bytes(self.function)

    @property
    def required_work_group_size(self) -> tuple[int, int, int] | None:
        """What reqd_work_group_size asks for."""
        return self.function.required_work_group_size

    @property
    def sub_group_size(self) -> int:
        """Work-items of a full sub-group, which is also the multiple that work-groups should have."""
        profile: Profile = self.device.profile  # type: ignore[attr-defined]
        return choose_size(self.function, profile)

    def writes(self, index: int) -> bool:
        """Returns True if the kernel may write what argument `index` refers to."""
        return index in written_arguments(self.function)


def require_kernel(kernel: Kernel, device: object) -> SimKernel:
    """A kernel of `device`. DeviceError CL_INVALID_KERNEL for anything else."""
    if not isinstance(kernel, SimKernel) or kernel.device is not device:
        what = f"kernel {kernel.name} was built by another device" if hasattr(kernel, "name") else f"{kernel!r} is not a kernel"
        raise DeviceError("CL_INVALID_KERNEL", what)
    return kernel


@dataclass(frozen=True, eq=False)
class SimProgram:
    """A built program; `program[name]` is a kernel. `warnings` are the compiler's."""

    module: ir.Module
    device: object
    non_uniform: bool
    options: str = ""

    def __getitem__(self, name: str) -> SimKernel:
        """Raises AdrenoSimError naming the kernels there are."""
        if name not in self.module.kernels:
            known = ", ".join(self.module.kernels) or "none"
            raise AdrenoSimError(f"kernel {name!r} is not in the program; there are: {known}")
        return SimKernel(name, self.module.kernels[name], self.device, self.non_uniform, self.module.source, self.options)

    def kernel_names(self) -> list[str]:
        return list(self.module.kernels)

    @property
    def warnings(self) -> list[object]:
        return self.module.warnings


_SPACES = {ir.GLOBAL: "global", ir.CONSTANT: "constant", ir.LOCAL: "local"}


def _address_space(type: ir.Type) -> str:
    if isinstance(type, ir.Image):
        return "global"
    return _SPACES.get(type.space, "private") if isinstance(type, ir.Pointer) else "private"


def _value_bytes(param: ir.Param) -> int:
    return size_of(param.type) if kind_of(param.type) == "scalar" else 0


def kind_of(type: ir.Type) -> str:
    """Returns the kind of argument that a parameter of `type` takes."""
    if isinstance(type, ir.Image):
        return "image"
    if isinstance(type, ir.Sampler):
        return "sampler"
    if isinstance(type, ir.Pointer) and type.space in (ir.GLOBAL, ir.CONSTANT, ir.LOCAL):
        return "local" if type.space == ir.LOCAL else "buffer"
    return "scalar"


def allows_non_uniform(options: str) -> bool:
    """Returns whether a program of these build options may be launched with groups that do not fill the NDRange."""
    words = options.split()
    return "-cl-uniform-work-group-size" not in words and any(word in words for word in ("-cl-std=CL2.0", "-cl-std=CL3.0"))
