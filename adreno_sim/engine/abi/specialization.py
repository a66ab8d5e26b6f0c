"""What a kernel is compiled for: everything besides the kernel that may change its machine code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Union

from ...base.run_options import Checks
from ...base.specs import BufferExtent, Sampler
from ...base.stored.cached_hash import CachedHash
from ...records import dataclass


@dataclass(frozen=True)
class ShadowSpec:
    """What level full records of an argument besides definedness: race cells of `cell_words` 64-bit words for each `granularity`
    bytes.

    No words: nobody writes it in this launch. One: nobody reads it. Four: it is read and written.

    written_whole: the launch writes all of it and reads nothing of it. Code with deferred checks marks no byte as written then:
    it runs to its end, or its results are dropped.
    """

    cell_words: int = 0
    granularity: int = 1
    written_whole: bool = False


@dataclass(frozen=True)
class BufferArg:
    """A __global or __constant pointer; address and length come with each launch. shadow: None if there is nothing to check,
    because all of it is initialised and nobody writes it. extent: of the tensor in it, if level full is to check that."""

    shadow: ShadowSpec | None = None
    extent: BufferExtent | None = None


@dataclass(frozen=True)
class LocalArg:
    """A __local pointer argument of `nbytes`, which is part of the code because local memory is laid out at compile time."""

    nbytes: int


@dataclass(frozen=True)
class ImageArg:
    """An image of known format; extents and pitches come with each launch. Fields as in `device.ImageSpec`; shadow and extent
    as in BufferArg."""

    kind: str
    order: str
    channel_type: str
    shadow: ShadowSpec | None = None
    extent: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class SamplerArg:
    sampler: Sampler


@dataclass(frozen=True)
class ScalarArg:
    """A scalar, vector or struct passed by value in `nbytes` bytes, the kernel's own size of that type."""

    nbytes: int


Emitter = Literal["scalar", "spmd"]
ArgSpec = Union[BufferArg, LocalArg, ImageArg, SamplerArg, ScalarArg]


def shadow_of(arg: ArgSpec) -> ShadowSpec | None:
    """Returns what level full records of an argument."""
    return arg.shadow if isinstance(arg, (BufferArg, ImageArg)) else None


def with_shadow(arg: ArgSpec, shadow: ShadowSpec | None) -> ArgSpec:
    """Returns an argument whose `shadow` is recorded; one that has none unchanged."""
    return replace(arg, shadow=shadow) if isinstance(arg, (BufferArg, ImageArg)) else arg


def bounds_of_grid(global_size: Sequence[int], local_size: Sequence[int]) -> tuple[int, int, int]:
    """Returns bounds for `most_groups`: powers of two, so that launches of similar size share their code."""
    x, y, z = (1 << (-(-whole // part) - 1).bit_length() for whole, part in zip(global_size, local_size, strict=True))
    return x, y, z


ROOM = 1 << 24
"""How far the values of two lanes may be apart for `Proofs.narrow` to say that neither wraps."""
ROOM_24 = 1 << 16
"""The same, for neither to leave 24 bits."""


@dataclass(frozen=True)
class Proofs:
    """Numbers of instructions, counted through the kernel's blocks, for which something is proven in a launch.

    in_range: every access is inside its object. aligned: a load or store begins at a multiple of the alignment that it claims,
    counted from the start of its object; those are named whose pointer's form does not say so. nsw: the integer result does not
    wrap as signed. narrow: the operand, 32 bits that are extended to 64, is at least ROOM from the ends of a signed integer, and
    not negative where it is unsigned; or both factors of a mul24 or mad24 that is signed are ROOM_24 from the ends of 24 bits.
    race_free_locals: local arrays, by kind and name (`provenance.ObjectId`), in which no two work-items race.
    written_locals: those in which work-items read only bytes that their group wrote before; vector code does not mark them.
    factors: of a product, the number of its instruction, which operand is the same number in all work-items, and that number.

    ends_soon: so few iterations are made that nothing need stop the launch, although its text leaves the length of a loop open.
    """

    in_range: frozenset[int] = frozenset()
    nsw: frozenset[int] = frozenset()
    narrow: frozenset[int] = frozenset()
    race_free_locals: frozenset[tuple[str, object]] = frozenset()
    written_locals: frozenset[tuple[str, object]] = frozenset()
    aligned: frozenset[int] = frozenset()
    factors: frozenset[tuple[int, int, int]] = frozenset()
    ends_soon: bool = False


NOTHING = Proofs()


@dataclass(frozen=True, kw_only=True)
class Specialization(CachedHash):
    """One compiled variant of a kernel.

    local_size: work-items of a group along x, y, z. uniform: False if the global size is not a multiple of it, so that groups at
    the edge are smaller. args: parallel to the kernel's parameters. watch: record stores into a range of memory. contract:
    whether a*b+c becomes an fma. wave_size: work-items of a sub-group. srgb_writes: whether the device writes sRGB images.
    filter_bits: fractional bits of a texel to which linear filtering rounds coordinates, 0 = none.
    most_groups: bounds of the number of groups along each axis, if the code may rely on them (`bounds_of_grid`); every launch
    then has global offset 0.

    proofs: what the code may rely on (`prove`). deferred_checks: a failed check only sets the launch's fault flag, and the
    launch runs again with code that reports (`run.optimistic`); its results are the same.

    emitter: "scalar" for a loop over work-items, "spmd" for vectors of work-items where the kernel allows. count: count
    executed accesses, which only the scalar emitter does. counters: count what `abi.counting` holds, which only it does too; such
    code judges nothing (`run.counted`). sampled: it counts chosen groups, in the order of the launch's table, and no distinct
    bytes; it is compiled quickly, because it runs for little. texel_blocks: lines of images that are read are blocks of texels
    (`abi.counting.TEXEL_BLOCK`), not parts of rows.

    debug: the code runs under the debugger (`abi.debugging`), groups in the order of the launch's table; scalar code alone.

    unoptimised: LLVM optimises nothing (`run.second_run`, `run.counted.trace_touched`).

    merged: how many groups of the launch one of these is (`engine/coarsen`). overlapping: groups at the edge along x are as large
    as others, and begin where they then end with the grid.
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
    filter_bits: int = 0
    most_groups: tuple[int, int, int] | None = None
    proofs: Proofs = NOTHING
    deferred_checks: bool = False
    emitter: Emitter = "scalar"
    count: bool = False
    counters: bool = False
    debug: bool = False
    sampled: bool = False
    texel_blocks: bool = False
    unoptimised: bool = False
    merged: int = 1
    overlapping: bool = False

    __hash__ = CachedHash.__hash__

    @property
    def items(self) -> int:
        """The work-items of a full group."""
        x, y, z = self.local_size
        return x * y * z

    @property
    def one_by_one(self) -> bool:
        """Whether each work-item runs by itself, those too that have nothing to do."""
        return self.counters or self.debug

    @property
    def full(self) -> bool:
        return self.checks == "full"
