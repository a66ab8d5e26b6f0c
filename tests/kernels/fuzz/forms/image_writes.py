"""Images that are written, of every kind and several orders of channels, and those that are read and written.

Each work-item has a texel of its own.
"""

from __future__ import annotations

import math

import numpy as np
import oracle

from ..generator import Generator
from ..parameters import Parameter, input_values
from ..productions import in_kernel, statement
from ..scope import Name
from ..tree import Expr, Stmt
from ..value_types import Type
from .images import CHANNELS, colour_of, suffix, vector
from .simple_statements import DEPTH

_WIDTH, _ROWS = 3, 2
FENCE = "atomic_work_item_fence(CLK_IMAGE_MEM_FENCE, memory_order_acq_rel, memory_scope_work_item);"
_STEPS = {"UNORM_INT8": 255, "UNORM_INT16": 65535, "SNORM_INT8": 127}
"""Formats of fractions: values are written as whole steps, so that no rounding decides."""

_WHOLE = ("FLOAT", "SIGNED_INT8", "SIGNED_INT16", "SIGNED_INT32", "UNSIGNED_INT8", "UNSIGNED_INT16", "UNSIGNED_INT32")
_STORED = {**CHANNELS, "UNORM_INT8": "uchar", "UNORM_INT16": "ushort", "SNORM_INT8": "char"}
_ORDERS = {"R": 1, "RG": 2, "RGBA": 4}


def _extents(kind: str, items: int) -> tuple[int, int, int]:
    """(layers or depth, height, width), with a texel for each work-item at least."""
    rows = -(-items // _WIDTH)
    if kind in ("image1d", "image1d_buffer"):
        return 1, 1, items
    if kind in ("image1d_array", "image2d"):
        return (rows, 1, _WIDTH) if kind == "image1d_array" else (1, rows, _WIDTH)
    return -(-rows // _ROWS), _ROWS, _WIDTH


def _own(kind: str) -> str:
    """The work-item's coordinate."""
    if kind in ("image1d", "image1d_buffer"):
        return "gid"
    if kind in ("image1d_array", "image2d"):
        return vector(kind, [f"gid % {_WIDTH}", f"gid / {_WIDTH}"])
    return vector(kind, [f"gid % {_WIDTH}", f"gid / {_WIDTH} % {_ROWS}", f"gid / {_WIDTH * _ROWS}"])


def _kinds(g: Generator) -> list[str]:
    kinds = ["image1d", "image1d_array", "image2d", "image2d_array"]
    kinds += ["image1d_buffer"] * ("buffer images" in g.features.can) + ["image3d"] * ("3D writes" in g.features.can)
    return kinds


def _image(g: Generator, access: str, channels: tuple[str, ...]) -> tuple[str, str, str]:
    """A parameter: its name, kind and channel type."""
    kind, channel = g.choices.pick(_kinds(g)), g.choices.pick(channels)
    order = g.choices.weighted([(3, "RGBA"), (1, "R"), (1, "RG" if "RG images" in g.features.can else "R")])
    shape = (*_extents(kind, g.features.items), _ORDERS[order])
    random = np.random.default_rng(g.choices.number(0, 2**31))
    array = input_values(_STORED[channel], random, False, math.prod(shape)).reshape(shape)
    name = g.name("m")
    g.choices.note(f"image/{access} {kind}")
    g.choices.note(f"image/{access} {channel} {order}")
    g.parameter(Parameter(f"{access} {kind}_t {name}", name, oracle.Image(array, kind, order, channel)))
    return name, kind, channel


def _colour_to_write(g: Generator, channel: str) -> tuple[Type, tuple[str | Expr, ...]]:
    colour = colour_of(channel)
    if channel not in _STEPS:
        return colour, (g.expression(colour, DEPTH),)
    steps = _STEPS[channel]
    value = ("convert_float4(", g.expression(Type("uint", 4), DEPTH), f" % (uint4){steps + 1}u) / {steps}.0f")
    return colour, value


@statement("image of any kind written", 0.7, lambda g: in_kernel(g) and g.scope.loops == 0)
def _write(g: Generator, nesting: int) -> Stmt:
    name, kind, channel = _image(g, "write_only", (*_WHOLE, *_STEPS))
    colour, value = _colour_to_write(g, channel)
    return Stmt((f"write_image{suffix(colour)}({name}, {_own(kind)}, ", *value, ");"), whole=True)


@statement("image read and written", 0.7, lambda g: in_kernel(g) and g.scope.loops == 0 and "read_write images" in g.features.can)
def _read_write(g: Generator, nesting: int) -> Stmt:
    """The own texel is read, changed, and read again behind a fence."""
    name, kind, channel = _image(g, "read_write", _WHOLE)
    colour = colour_of(channel)
    before, after = g.name("v"), g.name("v")
    read = f"read_image{suffix(colour)}({name}, {_own(kind)})"
    g.scope.add(Name(colour, before))
    value = g.expression(colour, DEPTH)
    g.scope.add(Name(colour, after))
    write = f"{colour} {before} = {read}; write_image{suffix(colour)}({name}, {_own(kind)}, "
    return Stmt((write, value, f"); {FENCE} {colour} {after} = {read};"), whole=True)


@statement("image of fractions", 0.4, in_kernel)
def _fractions(g: Generator, nesting: int) -> Stmt:
    """Reads of normalised formats as whole steps; a sampler with normalised coordinates at the centres of texels."""
    channel, kind = g.choices.pick(tuple(_STEPS)), g.choices.pick(("image1d", "image2d", "image3d"))
    axes = {"image1d": (6,), "image2d": (6, 3), "image3d": (6, 3, 2)}[kind]
    shape = (*(1,) * (3 - len(axes)), *reversed(axes), 4)
    random = np.random.default_rng(g.choices.number(0, 2**31))
    array = input_values(_STORED[channel], random, False, math.prod(shape)).reshape(shape)
    name, sampler = g.name("m"), f"{g.prefix}{g.name('r')}"
    g.choices.note(f"image/fractions {channel}")
    g.parameter(Parameter(f"read_only {kind}_t {name}", name, oracle.Image(array, kind, "RGBA", channel, output=False)))
    mode = g.choices.pick(("CLAMP_TO_EDGE", "CLAMP", "REPEAT", "MIRRORED_REPEAT"))
    g.choices.note(f"image/normalised {mode.lower()}")
    value = f"CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_{mode} | CLK_FILTER_NEAREST"
    g.declarations.append(f"constant sampler_t {sampler} = {value};\n")
    # never on an edge between two texels, where rounding would decide
    places = vector(kind, [f"((float)((@i & 31) - 8) + 0.5f) / {extent}.0f" for extent in axes], "float")
    read = f"convert_int4(rint(read_imagef({name}, {sampler}, {places}) * {_STEPS[channel]}.0f))"
    result = Type("int", 4)
    g.scope.add(Name(result, read, False, "image/normalised coordinates"))
    variable = g.name("v")
    first = g.read(g.scope.frames[-1][-1])
    g.scope.add(Name(result, variable))
    return Stmt((f"{result} {variable} = ", first, ";"))
