"""What a launch is: source, kernel, work sizes, arguments in order, what is expected of it."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Any, Union

from ..base.allow import AllowEntry
from ..base.specs import BufferExtent, ImageSpec, Sampler
from ..records import dataclass
from .data import Data
from .expected import ExpectedFinding


@dataclass(frozen=True)
class ArgumentPlacement:
    """The storage of a view: byte `offset` of the shared storage `storage`, or a separate storage ("")."""

    storage: str = ""
    offset: int = 0


@dataclass(frozen=True)
class BufferArgument:
    """A buffer of `count` elements of `dtype` (numpy name); count None: as many as `data` has. extent: of the tensor in it, None
    if it fills the buffer. undefined: for each byte its undefined bits, None if `data` says it."""

    dtype: str
    count: int | None
    data: Data
    place: ArgumentPlacement = ArgumentPlacement()
    name: str = ""
    extent: BufferExtent | None = None
    undefined: Data | None = None


@dataclass(frozen=True)
class ImageArgument:
    """An image; `data` are texels as stored, in the order layer, row, column, channel. undefined: as of BufferArgument."""

    spec: ImageSpec
    data: Data
    place: ArgumentPlacement = ArgumentPlacement()
    name: str = ""
    undefined: Data | None = None


@dataclass(frozen=True)
class ScalarArgument:
    """A scalar, vector or struct by value. type: OpenCL's name ("float4"), "bytes", or "" = as the kernel declares it."""

    value: Any
    type: str = ""
    name: str = ""


@dataclass(frozen=True)
class LocalArgument:
    nbytes: int
    name: str = ""


@dataclass(frozen=True)
class SamplerArgument:
    sampler: Sampler
    name: str = ""


@dataclass(frozen=True)
class NullArgument:
    """A NULL pointer in a buffer's place."""

    name: str = ""


ArgumentSpec = Union[BufferArgument, ImageArgument, ScalarArgument, LocalArgument, SamplerArgument, NullArgument]


@dataclass(frozen=True)
class OutputSpec:
    """What argument `argument` (its position) must hold after the launch.

    tolerance: allowed error relative to max(|expected|, rms); None: the element type's (integers exact). shape: by which its
    elements are named, () for a flat one. element: the index by that shape of the element that is named if it is wrong, before a
    worse one; () for none.
    """

    argument: int
    data: Data
    tolerance: float | None = None
    shape: tuple[int, ...] = ()
    element: tuple[int, ...] = ()


@dataclass(frozen=True)
class ReferenceSpec:
    """A Python function that says what the launch should leave. where: the entry in errors; tolerance: as of OutputSpec.
    below: the folder in which its file must lie."""

    file: Path
    function: str
    where: str
    tolerance: float | None = None
    below: Path | None = None


@dataclass(frozen=True)
class LaunchSpec:
    """A launch as its file describes it; `file` is that file, and paths in it start at its folder.

    kernel "": the only one of the program. device "": not said. run: RunOptions fields. storages: bytes of shared
    storages by name. findings: None if the launch is not expected to have any; else exactly these are expected.
    refused: part of the message with which the launch must be refused, "" if it must run. values: [values] by name.
    reference: the function that says what arguments hold after the launch, None if outputs alone do.
    below: the folder in which its source must lie. global_offset: of the ids, None if they begin at 0.
    """

    file: Path
    source: Path | None
    kernel: str
    options: str
    device: str
    run: dict[str, Any]
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    arguments: tuple[ArgumentSpec, ...]
    storages: dict[str, int] = field(default_factory=dict)
    outputs: tuple[OutputSpec, ...] = ()
    findings: tuple[ExpectedFinding, ...] | None = None
    refused: str = ""
    allow: tuple[AllowEntry, ...] = ()
    values: dict[str, int] = field(default_factory=dict)
    reference: ReferenceSpec | None = None
    below: Path | None = None
    global_offset: tuple[int, ...] | None = None

    @property
    def files(self) -> list[Path]:
        """Every file that the launch reads: its own, the source, the reference's, and arrays."""
        data = [
            part.data
            for part in (*self.arguments, *self.outputs)
            if isinstance(part, (BufferArgument, ImageArgument, OutputSpec))
        ]
        views = [part for part in self.arguments if isinstance(part, (BufferArgument, ImageArgument))]
        data += [view.undefined for view in views if view.undefined is not None]
        reference = self.reference.file if self.reference else None
        named = [self.source, reference, *(item.file for item in data)]
        return [self.file, *(file for file in named if file is not None)]

    @property
    def folder(self) -> Path:
        return self.file.parent
