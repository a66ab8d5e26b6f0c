"""The Device protocol, what both backends take and return, and `open_device`.

Sizes are bytes unless a name says otherwise; image extents are texels. Work sizes are (x, y, z) with 1 for
unused dimensions. Names and error codes are OpenCL's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from ..base.errors import OptionError
from ..base.run_options import RunOptions
from ..base.specs import Argument, Storage, View, ViewSpec
from ..findings import Finding
from ..records import dataclass
from .counters import LaunchCounters
from .on_chip import OnChip

if TYPE_CHECKING:
    from ..mlops.engine import GraphRun
    from ..mlops.graph import Graph
    from ..mlops.onchip import OnChipPlan
    from ..mlops.steps import Steps
    from ..profiles.ml import MLCapabilities
    from ..profiles.profile import Profile


@dataclass(frozen=True)
class KernelParam:
    """What a kernel expects.

    kind: "buffer", "image", "sampler", "local" or "scalar". spelled: the type in the source. access: of images.
    space: "global", "constant", "local" or "private"; qualifiers: const, restrict, volatile; nbytes: of a scalar. Where the
    backend knows them; of buffers it knows space and const.
    """

    name: str
    kind: str
    spelled: str
    access: str = "none"
    space: str = ""
    qualifiers: tuple[str, ...] = ()
    nbytes: int = 0


def may_write(param: KernelParam) -> bool:
    """Whether a kernel may write what this parameter refers to, by its declaration: an image or global memory, not const."""
    if param.kind == "image":
        return param.access != "read_only"
    return param.kind == "buffer" and param.space != "constant" and "const" not in param.qualifiers


class Kernel(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def params(self) -> Sequence[KernelParam]: ...
    def writes(self, index: int) -> bool:
        """Whether the kernel may write what argument `index` refers to."""
        ...


class MLProgram(Protocol):
    """A graph of OpenCL ML operators made ready on a device; `close` ends it."""

    @property
    def graph(self) -> Graph: ...
    @property
    def plan(self) -> OnChipPlan: ...
    @property
    def tuned(self) -> str: ...
    @property
    def steps(self) -> Steps: ...
    def run_step(self, number: int, reads: Sequence[View], writes: Sequence[View]) -> None: ...
    def report_run(self, seconds: float) -> GraphRun: ...
    def run(self, inputs: Sequence[View], outputs: Sequence[View]) -> GraphRun: ...
    def trace(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]: ...
    def close(self) -> None: ...


class Program(Protocol):
    def __getitem__(self, name: str) -> Kernel: ...
    def kernel_names(self) -> list[str]: ...


@dataclass(frozen=True)
class Watch:
    """Ask a launch to record every store that touches `nbytes` at `offset` of `view`'s logical (dense) element order."""

    view: View
    element: int  # index into the flattened dense array


@dataclass(frozen=True)
class StoreEvent:
    """One store seen by a Watch: place, work-item, value written to the element, and its order among the events."""

    line: int
    column: int
    work_item: object  # findings.WorkItem
    value: float | int
    order: int


@dataclass(frozen=True)
class AccessCounts:
    """Accesses to memory of a launch at level bounds. Accesses proven in range are not checked while it runs.

    places: instructions that touch memory. executed, executed_proven: how often they ran, None if it was not counted.
    """

    places: int
    proven_places: int
    executed: int | None = None
    executed_proven: int | None = None


@dataclass(frozen=True)
class LaunchCode:
    """Code that a launch ran, as LLVM text before LLVM's passes. description: how it was made, in words."""

    description: str
    text: str = field(repr=False)


@dataclass
class LaunchResult:
    """findings of one launch; device_seconds where the backend times launches; stores where a Watch was set.

    printed: what the kernel's printf wrote, where the backend captures it. accesses: where the backend checks them.
    failures: sentences, each something that was not found out: by an analysis that failed, or that does not follow what the
    kernel does. code: what ran, in order,
    where the backend makes the code: the second, if there are two, started over after a check had failed in the first.
    counters: where they were asked for (the option counters). left: undefined values that the launch stored and left in memory,
    each with the view, of a device that defers them; of other devices they are findings.
    """

    findings: list[Finding] = field(default_factory=list)
    device_seconds: float | None = None
    stores: list[StoreEvent] = field(default_factory=list)
    printed: str = ""
    accesses: AccessCounts | None = None
    failures: tuple[str, ...] = ()
    code: tuple[LaunchCode, ...] = field(default=(), repr=False)
    counters: LaunchCounters | None = None
    left: Sequence[tuple[View, Finding]] = ()


@dataclass(frozen=True)
class DeviceInfo:
    """What a device is and can do.

    limits: OpenCL names without CL_DEVICE_ ("IMAGE2D_MAX_WIDTH", "MAX_WORK_GROUP_SIZE", ...).
    lacks: sentences, each a thing this backend cannot do and what happens instead.
    ml: OpenCL ML as far as this backend runs it; None = it runs no graphs.
    checks_accesses, records_stores: it checks every memory access, and honours a Watch. builds_in_parallel: `build` may be
    called by several threads at once, and gains by it.
    image_views: kinds of images that can be views of a buffer's bytes; others are images of their own. pitch_rule: how rows
    of such views are padded (image.layout). names_params: it knows what the source calls the parameters of a kernel.
    profile: whose rules it follows; None of a real device.
    """

    name: str
    backend: str  # "sim" or "cl"
    version: str
    extensions: frozenset[str]
    limits: Mapping[str, Any]
    lacks: tuple[str, ...] = ()
    checks_accesses: bool = True
    records_stores: bool = True
    builds_in_parallel: bool = False
    image_views: frozenset[str] = frozenset()
    pitch_rule: str = "bytes"
    names_params: bool = True
    profile: Profile | None = None
    ml: MLCapabilities | None = None


@dataclass(frozen=True)
class PoolStats:
    """Bytes of the memory pool: in use by storages, reserved (in use + kept free), and the peaks of both."""

    used: int
    reserved: int
    peak_used: int
    peak_reserved: int


@runtime_checkable
class Device(Protocol):
    """A simulated or real OpenCL device. Every call raises DeviceError with OpenCL's code where a driver would fail."""

    @property
    def info(self) -> DeviceInfo: ...
    @property
    def options(self) -> RunOptions: ...
    @property
    def on_chip(self) -> OnChip: ...
    def allocate(self, nbytes: int) -> Storage: ...
    def free(self, storage: Storage) -> None: ...
    def view(self, storage: Storage, spec: ViewSpec, offset: int = 0) -> View: ...
    def view_nbytes(self, spec: ViewSpec) -> int:
        """Bytes of storage a view of `spec` needs on this device, pitch padding included."""
        ...

    def build(self, source: str, options: str = "") -> Program: ...
    def launch(
        self, kernel: Kernel, global_size: Sequence[int], local_size: Sequence[int] | None, args: Sequence[Argument],
        *, watch: Watch | None = None, offset: Sequence[int] | None = None,
    ) -> LaunchResult:  # fmt: skip
        """Run a kernel and wait for it. offset: what is added to each global id (default: nothing), as many as `global_size`."""
        ...

    def build_graph(
        self, graph: Graph, constants: Mapping[str, np.ndarray], name: str = "", given_memory: bool = False
    ) -> MLProgram:
        """Make a graph of OpenCL ML operators ready. given_memory: it only runs by steps, which say where its tensors lie.
        UnsupportedError if the device, or one of its operators, is without."""
        ...

    def write(self, view: View, array: np.ndarray) -> None: ...
    def read(self, view: View) -> np.ndarray:
        """Dense elements in logical order: shape (count,) for buffers, (layers, height, width, channels) for images."""
        ...

    def copy(self, source: View, target: View) -> None: ...
    def discard(self, view: View) -> None:
        """What `view` holds is of no use any more: a device that watches accesses makes that seen where it is read."""
        ...

    def finish(self) -> None: ...
    def pool_stats(self) -> PoolStats: ...
    def take_warnings(self) -> list[Finding]:
        """Findings about the device rather than one launch (an image over a buffer emulated with copies, ...), once each."""
        ...


def refuse_checks(device: Device, checks: str | None) -> None:
    """Raise OptionError if the user names a level of checks and the device checks no accesses."""
    if checks not in (None, "off") and not device.info.checks_accesses:
        raise OptionError("checks", f"{checks}: {device.info.name} is a real device, which does not check accesses")
