"""Launch facts: what an analysis may rely on, namely the grid, integer arguments, and the sizes of buffers and images."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.specs import Size3
from ...base.stored.cached_hash import CachedHash
from ...ir import ir
from ...records import dataclass
from .bound import Bound, BoundBuffer, BoundImage
from .specialization import ImageArg, Specialization


@dataclass(frozen=True)
class LaunchFacts(CachedHash):
    """The facts of one launch: its grid, and the known values of each argument.

    arguments: the bytes of a buffer; (width, height, depth or layers) of an image; the value of an integer or vector of
    integers, as bytes; None for all others.
    """

    local_size: Size3
    groups: Size3
    global_size: Size3
    offset: Size3
    uniform: bool
    wave_size: int
    arguments: tuple[int | Size3 | bytes | None, ...]

    __hash__ = CachedHash.__hash__


def facts_of(
    kernel: ir.Function, spec: Specialization, global_size: Sequence[int], offset: Sequence[int], args: Sequence[Bound]
) -> LaunchFacts:
    """Returns the facts of a launch of `kernel` with `args`."""
    groups = tuple(-(-whole // part) for whole, part in zip(global_size, spec.local_size, strict=True))
    known = tuple(map(_known, kernel.params, args))
    return LaunchFacts(spec.local_size, groups, tuple(global_size), tuple(offset), spec.uniform, spec.wave_size, known)  # type: ignore[arg-type]


def _known(param: ir.Param, arg: Bound) -> int | Size3 | bytes | None:
    if isinstance(arg, BoundBuffer):
        return arg.nbytes
    if isinstance(arg, BoundImage):
        return arg.width, arg.height, arg.depth_or_layers
    elem = param.type.elem if isinstance(param.type, ir.Vector) else param.type
    return arg if isinstance(arg, bytes) and isinstance(elem, ir.Int) else None


def extents_of(arg: ImageArg, extents: Size3) -> tuple[int, ...]:
    """Returns the number of texels (or layers) along each coordinate of an access."""
    width, height, depth = extents
    return {
        "image1d": (width,), "image1d_buffer": (width,), "image1d_array": (width, depth), "image2d": (width, height),
        "image2d_array": (width, height, depth), "image3d": (width, height, depth),
    }.get(arg.kind, ())  # fmt: skip
