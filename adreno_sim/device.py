"""The Device protocol, what both backends take and return, and `open_device`.

Sizes are bytes unless a name says otherwise; image extents are texels. Work sizes are (x, y, z) with 1 for
unused dimensions. Names and error codes are OpenCL's.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Union, runtime_checkable

import numpy as np

from .base.errors import AdrenoSimError, OptionError, UnsupportedError
from .findings import Finding

if TYPE_CHECKING:
    from .mlops.capabilities import MLCapabilities
    from .mlops.engine import GraphRun
    from .mlops.graph import Graph
    from .mlops.onchip import MemoryPlan

Checks = Literal["off", "bounds", "full"]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a device runs kernels; fixed when the device is opened.

    checks: "off" none, "bounds" every buffer and image access (default), "full" adds uninitialised reads, races and more.
    seed: order of groups and work-items at level full, poison pattern (default 0).
    threads: worker threads; 0 = as many as this process may use (default).
    timeout: seconds one launch may run before the watchdog stops it (default 60).
    contract: "on" fuses a*b+c inside one expression (llvm.fma), "off" rounds twice (default "on", as GPUs do).
    flush_denormals: None = as the profile says (default).
    pitch_rule: None = the profile's; else "bytes", "pixels" or "hardware".
    pool: what keeps freed memory: "paged" as TVM's OpenCL runtime (default), "none", or "legacy" with its 2D texture pool.
    cache: keep compiled kernels on disk (default True).
    emitter: "spmd" (default) runs work-items in vectors where a kernel allows, "scalar" writes the code of one work-item in a
        loop. Results are the same to the bit, but for kernels whose work-items race.
    count_accesses: count executed memory accesses, and those of them proven in range; slower (default False).
    """

    checks: Checks = "bounds"
    seed: int = 0
    threads: int = 0
    timeout: float = 60.0
    contract: Literal["on", "off"] = "on"
    flush_denormals: bool | None = None
    pitch_rule: Literal["bytes", "pixels", "hardware"] | None = None
    pool: Literal["paged", "none", "legacy"] = "paged"
    cache: bool = True
    emitter: Literal["scalar", "spmd"] = "spmd"
    count_accesses: bool = False


@dataclass(frozen=True)
class BufferSpec:
    """A buffer view: `nbytes` of memory holding `count` elements of `dtype` (numpy name)."""

    nbytes: int
    dtype: str = "uint8"

    @property
    def count(self) -> int:
        return self.nbytes // np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class ImageSpec:
    """An image view: OpenCL's cl_image_format and cl_image_desc.

    kind: "image1d", "image1d_buffer", "image1d_array", "image2d", "image2d_array", "image3d".
    depth_or_layers: depth of a 3D image, layers of an array, else 1.
    order: "RGBA", "R", "RG", "BGRA", "A", "sRGBA", ...; channel_type: "FLOAT", "HALF_FLOAT", "UNORM_INT8",
    "SIGNED_INT32", ... (the CL_ constants without prefix). row_pitch and slice_pitch in bytes; None = the device's rule.
    """

    kind: str
    width: int
    height: int = 1
    depth_or_layers: int = 1
    order: str = "RGBA"
    channel_type: str = "FLOAT"
    row_pitch: int | None = None
    slice_pitch: int | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.width} x {self.height} x {self.depth_or_layers} {self.order} {self.channel_type}"


ViewSpec = Union[BufferSpec, ImageSpec]

TEXTURE_SEPARATOR = {"global.texture": -2, "global.texture-weight": 1, "global.texture-nhwc": 2}
"""Axis before which a texture shape is split into rows and columns (TVM's `DefaultTextureLayoutSeparator`)."""

IMAGE_CHANNEL_TYPE = {
    "float32": "FLOAT", "float16": "HALF_FLOAT",
    "int8": "SIGNED_INT8", "int16": "SIGNED_INT16", "int32": "SIGNED_INT32",
    "uint8": "UNSIGNED_INT8", "uint16": "UNSIGNED_INT16", "uint32": "UNSIGNED_INT32",
}  # fmt: skip


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of the model: logical shape, numpy dtype name, TVM storage scope ("global", "global.texture*")."""

    shape: tuple[int, ...]
    dtype: str
    scope: str = "global"

    @property
    def nbytes(self) -> int:
        """Bytes of the dense tensor."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def lower(self, device: Device | None = None) -> ViewSpec:
        """The view that holds this tensor: a buffer, or the RGBA image2d_array of TVM's texture flattening.

        With separator a: layers = prod(shape[:a-1]), height = shape[a-1], width = prod(shape[a:-1]); the last
        axis (4) is the texel.
        """
        if not self.scope.startswith("global.texture"):
            return BufferSpec(self.nbytes, self.dtype)
        if self.scope not in TEXTURE_SEPARATOR:
            raise UnsupportedError(f"storage scope {self.scope!r}: expected one of {sorted(TEXTURE_SEPARATOR)}")
        if not self.shape or self.shape[-1] != 4 or len(self.shape) < 3:
            raise UnsupportedError(f"texture of shape {self.shape}: expected rank >= 3 and last dimension 4 (RGBA)")
        if self.dtype not in IMAGE_CHANNEL_TYPE:
            raise UnsupportedError(f"texture of dtype {self.dtype}: no image channel type holds it")
        axis = TEXTURE_SEPARATOR[self.scope] % len(self.shape)
        return ImageSpec(
            "image2d_array",
            width=math.prod(self.shape[axis:-1]),
            height=self.shape[axis - 1],
            depth_or_layers=math.prod(self.shape[: axis - 1]),
            channel_type=IMAGE_CHANNEL_TYPE[self.dtype],
        )


@dataclass(frozen=True)
class Local:
    """A __local pointer argument of `nbytes`."""

    nbytes: int


@dataclass(frozen=True)
class Sampler:
    """A sampler argument.

    addressing: "none", "clamp_to_edge", "clamp", "repeat" or "mirrored_repeat"; filter: "nearest" or "linear".
    """

    normalized: bool = False
    addressing: str = "clamp_to_edge"
    filter: str = "nearest"


class Storage(Protocol):
    """Device memory (a clBuffer)."""

    @property
    def nbytes(self) -> int: ...


class View(Protocol):
    """A buffer or image over the bytes of a storage."""

    @property
    def spec(self) -> ViewSpec: ...
    @property
    def storage(self) -> Storage: ...
    @property
    def offset(self) -> int: ...
    def release(self) -> None: ...


Argument = Union[View, np.generic, np.ndarray, int, float, Local, Sampler]
"""A kernel argument; an array is a vector by value (three elements take the room of four), np.void a struct."""


@dataclass(frozen=True)
class KernelParam:
    """What a kernel expects.

    kind: "buffer", "image", "sampler", "local" or "scalar". spelled: the type in the source. access: of images.
    """

    name: str
    kind: str
    spelled: str
    access: str = "none"


class Kernel(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def params(self) -> Sequence[KernelParam]: ...


class MLProgram(Protocol):
    """A graph of OpenCL ML operators made ready on a device; `close` ends it."""

    @property
    def graph(self) -> Graph: ...
    @property
    def plan(self) -> MemoryPlan: ...
    @property
    def tuned(self) -> str: ...
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
    """Accesses to memory of a launch at level bounds. Those proven in range for certain are not looked at while it runs.

    places: instructions that touch memory. executed, executed_proven: how often they ran, None where it was not counted.
    """

    places: int
    proven_places: int
    executed: int | None = None
    executed_proven: int | None = None


@dataclass
class LaunchResult:
    """findings of one launch; device_seconds where the backend times launches; stores where a Watch was set.

    printed: what the kernel's printf wrote, where the backend captures it. accesses: where the backend checks them.
    """

    findings: list[Finding] = field(default_factory=list)
    device_seconds: float | None = None
    stores: list[StoreEvent] = field(default_factory=list)
    printed: str = ""
    accesses: AccessCounts | None = None


@dataclass(frozen=True)
class DeviceInfo:
    """What a device is and can do.

    limits: OpenCL names without CL_DEVICE_ ("IMAGE2D_MAX_WIDTH", "MAX_WORK_GROUP_SIZE", ...).
    lacks: sentences, each a thing this backend cannot do and what happens instead.
    ml: OpenCL ML as far as this backend runs it; None = it runs no graphs.
    checks_accesses, records_stores: it looks at every memory access, and honours a Watch. builds_in_parallel: `build` may be
    called by several threads at once, and gains by it.
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
    def allocate(self, nbytes: int) -> Storage: ...
    def free(self, storage: Storage) -> None: ...
    def view(self, storage: Storage, spec: ViewSpec, offset: int = 0) -> View: ...
    def view_nbytes(self, spec: ViewSpec) -> int:
        """Bytes of storage a view of `spec` needs on this device, pitch padding included."""
        ...

    def build(self, source: str, options: str = "") -> Program: ...
    def launch(
        self, kernel: Kernel, global_size: Sequence[int], local_size: Sequence[int] | None, args: Sequence[Argument],
        *, watch: Watch | None = None,
    ) -> LaunchResult: ...  # fmt: skip
    def build_graph(self, graph: Graph, constants: Mapping[str, np.ndarray], name: str = "") -> MLProgram:
        """Make a graph of OpenCL ML operators ready. UnsupportedError where the device, or one of its operators, is without."""
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


def announce_devices(devices: Iterable[str]) -> None:
    """Say which devices this process will open. OpenCL's loader is set up at the first `cl` device, for those known by then:
    a later `cl:intel` is not found where only `cl:portable` was announced or opened."""
    from .backends.opencl.open import announce

    announce([rest for text in devices for backend, _, rest in [text.partition(":")] if backend == "cl"])


def open_device(device: str | None = None, **options: Any) -> Device:
    """Open `sim:PROFILE[,key=value...]` or `cl[:PLATFORM[:DEVICE]]`; None = ADRENO_SIM_DEVICE, else sim:adreno-740.

    Keyword options are RunOptions fields and win over keys in the string. Raises AdrenoSimError on an unknown
    device, profile, key or value, naming what is there.
    """
    text = device or os.environ.get("ADRENO_SIM_DEVICE") or "sim:adreno-740"
    backend, _, rest = text.partition(":")
    if backend == "sim":
        from .backends.sim import open_sim

        return open_sim(rest, **options)
    if backend == "cl":
        from .backends.opencl import open_opencl

        return open_opencl(rest, **options)
    raise AdrenoSimError(f"device {text!r}: expected sim:PROFILE or cl[:PLATFORM[:DEVICE]]")


def refuse_checks(device: Device, checks: str | None) -> None:
    """OptionError where a level that was asked for by name says nothing: on a device that looks at no accesses."""
    if checks not in (None, "off") and not device.info.checks_accesses:
        raise OptionError("checks", f"{checks}: {device.info.name} is a real device, which does not look at accesses")
