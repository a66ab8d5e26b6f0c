"""What a device shows of the inside of a launch: kernel IR, what is proven of each access, the code that ran, and a GPU's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ..base.errors import OptionError
from ..base.specs import Argument
from ..records import dataclass
from .protocol import Kernel, LaunchCode

if TYPE_CHECKING:
    from .machine_code import KernelCode

IR, LLVM, PROOFS, ISA = "ir", "llvm", "proofs", "isa"
PARTS = (IR, LLVM, PROOFS, ISA)
"""What can be asked for."""


@dataclass(frozen=True)
class AccessProof:
    """What is proven of one access in one launch: that it stays inside its memory, its array or its vector.

    place: line:column, and the lines of the calls through which an inlined helper came; "-" if unknown. access: "load",
    "store" or the name of the built-in; "index" of an array inside an object, "element" of a vector. target: the argument
    or variable. index: in elements, or as the text says; "" if there is no affine form. proof: how it is proven, ""
    if it is not; reason: then why not, in one line. memory: it accesses memory, and counts as an access. line: in the
    kernel's own file, else 0.
    """

    place: str
    access: str
    target: str
    index: str
    proof: str
    reason: str
    memory: bool = True
    line: int = 0


@dataclass(frozen=True)
class SharingProof:
    """Whether an argument has one writer work-item for each byte, or a local array no race. reason: why not, "" if proven."""

    target: str
    what: str
    reason: str


@dataclass(frozen=True)
class LaunchProofs:
    """What is proven of a launch. failures: why nothing is, where an analysis failed."""

    kernel: str
    accesses: tuple[AccessProof, ...] = ()
    sharing: tuple[SharingProof, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def unproven(self) -> list[AccessProof]:
        """The accesses that are checked while the kernel runs."""
        return [access for access in self.accesses if access.reason]


@dataclass
class Inside:
    """The parts that are `wanted` of one launch, filled as they become known: a launch that is refused has shown its IR."""

    wanted: frozenset[str]
    ir: str = ""
    proofs: LaunchProofs | None = None
    code: tuple[LaunchCode, ...] = field(default=(), repr=False)
    machine_code: tuple[KernelCode, ...] = field(default=(), repr=False)


@runtime_checkable
class Inspectable(Protocol):
    """A device that makes the code of its kernels itself, and shows how."""

    def print_ir(self, kernel: Kernel) -> str:
        """The kernel as the code generator gets it."""
        ...

    def explain(
        self,
        kernel: Kernel,
        global_size: Sequence[int],
        local_size: Sequence[int] | None,
        args: Sequence[Argument],
        *,
        offset: Sequence[int] | None = None,
    ) -> LaunchProofs:
        """What is proven of a launch, which is not run. Errors as of `Device.launch`."""
        ...

    def nonfinite_constants(self, kernel: Kernel) -> tuple[str, ...]:
        """Which kinds of floats that are not finite occur in the code of a kernel, as of `ir.nonfinite_constants`."""
        ...


def find_inspectable(device: object) -> Inspectable | None:
    """Returns `device` as one that shows its inside; None for a real device."""
    return device if isinstance(device, Inspectable) else None


def require_inspectable(device: object, name: str, option: str) -> Inspectable:
    """Returns `device` as one that shows its inside. OptionError, naming `option`, for a real device `name`."""
    found = find_inspectable(device)
    if found is None:
        raise OptionError(option, f"{name} is a real device, which does not show how it compiles a kernel")
    return found
