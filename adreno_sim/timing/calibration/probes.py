"""Kernels of a calibration. Each repeats its work `n` times, which is an argument, so that any device takes long enough.
Footprints are powers of two: no division is timed beside the reads."""

from __future__ import annotations

from ...records import dataclass

ITEMS = 128
"""Work-items of a group: two waves of 64, or one."""
GROUPS = 768
"""Groups that keep all units of a chip busy."""
SUMS = 8
"""Products of a work-item that do not wait for each other."""
TEXEL = 16
"""Bytes of a texel, and of a vector, of four floats."""


@dataclass(frozen=True)
class Probe:
    """A kernel and its launch. Its arguments are `out`, memory of `footprint` bytes as a buffer or an image and `mask` of its
    places where it reads some, and `n`. amount: what one repetition does in all work-items, as operations or bytes."""

    source: str
    groups: int
    items: int
    amount: float
    footprint: int = 0
    image: bool = False


NAME = "probe"
_HEAD = "kernel void probe(global float *out, "
_BEGIN = "int n) {\n  int id = get_global_id(0), lane = get_local_id(0);\n"


def multiply(groups: int = GROUPS) -> Probe:
    """Multiply-adds, 32 a repetition, in chains that a wave runs side by side."""
    sums = range(SUMS)
    step = "".join(f"    s{number} = mad(s{number}, a, b);\n" for number in sums)
    source = (
        f"{_HEAD}{_BEGIN}  float a = 0.5f + lane * 1e-6f, b = id * 1e-6f;\n"
        + "".join(f"  float s{number} = {number}.0f;\n" for number in sums)
        + f"  for (int i = 0; i < n; ++i) {{\n{step * 4}  }}\n"
        + f"  out[id] = {' + '.join(f's{number}' for number in sums)};\n}}\n"
    )
    return Probe(source, groups, ITEMS, 2.0 * 4 * SUMS * groups * ITEMS)


def chain(live: int) -> Probe:
    """Products of a single work-item that each wait for the one before, over so many floats that live all along."""
    source = (
        f"{_HEAD}{_BEGIN}"
        + "".join(f"  float r{number} = 1.0f + (n + {number}) * 1e-9f;\n" for number in range(live))
        + "  for (int i = 0; i < n; ++i) {\n"
        + "".join(f"    r{number} *= r{(number - 1) % live};\n" for number in range(live))
        + "  }\n"
        + f"  out[id] = {' + '.join(f'r{number}' for number in range(live))};\n}}\n"
    )
    return Probe(source, 1, 1, float(live))


def read_buffer(footprint: int) -> Probe:
    """Vectors of four floats, side by side, from a part of memory that all groups share."""
    return _read(footprint, False, "global const float4 *from, ", "from[at]")


def read_image(footprint: int) -> Probe:
    """The same of texels, in one row."""
    sampler = "constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    return _read(footprint, True, "read_only image2d_t from, ", "read_imagef(from, nearest, (int2)(at, 0))", sampler)


def _read(footprint: int, image: bool, parameter: str, read: str, above: str = "") -> Probe:
    source = (
        f"{above}{_HEAD}{parameter}int mask, {_BEGIN}  float4 sum = 0;\n  int at = id & mask;\n"
        f"  for (int i = 0; i < n; ++i) {{\n    sum += {read};\n    at = (at + {ITEMS}) & mask;\n  }}\n"
        "  out[id] = sum.x + sum.y + sum.z + sum.w + lane;\n}\n"
    )
    return Probe(source, GROUPS, ITEMS, float(GROUPS * ITEMS * TEXEL), footprint, image)


def start() -> Probe:
    """Only a store: what a launch takes."""
    return Probe(f"{_HEAD}{_BEGIN}  out[id] = n;\n}}\n", 1, 1, 1.0)
