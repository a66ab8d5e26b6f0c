"""What a kernel is compiled for: everything that may change the machine code besides the kernel itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Union

from ...base.cached_hash import CachedHash
from ...base.run_options import Checks
from ...base.specs import Sampler


@dataclass(frozen=True)
class ShadowSpec:
    """What level full records of an argument's memory besides its valid bytes: race cells of `cell_words` 64-bit words for
    each `grain` bytes. No words: nobody writes it in this launch. One: nobody reads it. Four: both."""

    cell_words: int = 0
    grain: int = 1


@dataclass(frozen=True)
class BufferArg:
    """A __global or __constant pointer: address and length come with each launch. shadow: None where there is nothing to
    find, as all of it is initialised and nobody writes it."""

    shadow: ShadowSpec | None = None


@dataclass(frozen=True)
class LocalArg:
    """A __local pointer argument of `nbytes` (part of the code: local memory is laid out when compiling)."""

    nbytes: int


@dataclass(frozen=True)
class ImageArg:
    """An image of known format; extents and pitches come with each launch. Fields as in `device.ImageSpec`; shadow as in
    BufferArg."""

    kind: str
    order: str
    channel_type: str
    shadow: ShadowSpec | None = None


@dataclass(frozen=True)
class SamplerArg:
    sampler: Sampler


@dataclass(frozen=True)
class ScalarArg:
    """A scalar, vector or struct passed by value in `nbytes` bytes (the kernel's own size of that type)."""

    nbytes: int


Emitter = Literal["scalar", "spmd"]
ArgSpec = Union[BufferArg, LocalArg, ImageArg, SamplerArg, ScalarArg]


def bounds_of_grid(global_size: Sequence[int], local_size: Sequence[int]) -> tuple[int, int, int]:
    """Bounds for `most_groups`: powers of two, so that launches of like size share their code."""
    x, y, z = (1 << (-(-whole // part) - 1).bit_length() for whole, part in zip(global_size, local_size, strict=True))
    return x, y, z


@dataclass(frozen=True)
class Proofs:
    """Numbers of instructions, counted through the kernel's blocks, of which something is certain in a launch.

    in_range: every access it makes lies inside its object. exact: its integer result is the mathematical one, as signed.
    apart: local arrays, by kind and name (`provenance.ObjectId`), in which no two work-items can race.
    """

    in_range: frozenset[int] = frozenset()
    nsw: frozenset[int] = frozenset()
    race_free_locals: frozenset[tuple[str, object]] = frozenset()


NOTHING = Proofs()


@dataclass(frozen=True, kw_only=True)
class Specialization(CachedHash):
    """One compiled variant of a kernel.

    local_size: work-items of a group along x, y, z. uniform: False where the global size is no multiple of it, so that
    groups at the edge are smaller. args: parallel to the kernel's parameters. watch: record stores into a range of memory.
    contract: what a*b+c becomes. wave_size: work-items of a sub-group. srgb_writes: whether the device writes sRGB images.
    most_groups: bounds of the number of groups along each axis, where the code may rely on them (`bounds_of_grid`); then
    every launch has global offset 0.

    proofs: what the code may take for certain (`prove`). sticky: a failed check only raises the launch's flag, and the
    launch is run again with code that reports (`run.optimistic`); its results are the same.

    emitter: "scalar" for the code of one work-item in a loop, "spmd" for vectors of work-items where a kernel allows.
    count: count executed accesses; only the code of one work-item does.
    """

    local_size: tuple[int, int, int]
    args: tuple[ArgSpec, ...]
    checks: Checks = "bounds"
    watch: bool = False
    uniform: bool = True
    contract: Literal["on", "off"] = "on"
    flush_denormals: bool = False
    wave_size: int = 64
    srgb_writes: bool = True
    most_groups: tuple[int, int, int] | None = None
    proofs: Proofs = NOTHING
    deferred_checks: bool = False
    emitter: Emitter = "scalar"
    count: bool = False

    __hash__ = CachedHash.__hash__

    @property
    def items(self) -> int:
        """Work-items in a full group."""
        x, y, z = self.local_size
        return x * y * z

    @property
    def full(self) -> bool:
        return self.checks == "full"
