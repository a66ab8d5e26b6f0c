"""Images of every kind, read through samplers and without."""

from __future__ import annotations

import math

import numpy as np
import oracle

from ..generator import Generator
from ..parameters import Parameter, input_values
from ..productions import in_kernel, statement
from ..scope import Name
from ..tree import Stmt
from ..value_types import Type

SIZES = {  # (layers or depth, height, width)
    "image1d": (1, 1, 7), "image1d_buffer": (1, 1, 9), "image1d_array": (3, 1, 5), "image2d": (1, 3, 5),
    "image2d_array": (3, 2, 5), "image3d": (2, 3, 4),
}  # fmt: skip
CHANNELS = {
    "FLOAT": "float", "HALF_FLOAT": "half", "SIGNED_INT8": "char", "SIGNED_INT16": "short", "SIGNED_INT32": "int",
    "UNSIGNED_INT8": "uchar", "UNSIGNED_INT16": "ushort", "UNSIGNED_INT32": "uint",
}  # fmt: skip
CORDINATES = {1: "int", 2: "int2", 3: "int4", 4: "int4"}


def colour_of(channel: str) -> Type:
    """What read_image gives."""
    return Type("int" if channel.startswith("SIGNED") else "uint" if channel.startswith("UNSIGNED") else "float", 4)


def suffix(colour: Type) -> str:
    """Of the functions that read and write such colours."""
    return {"int": "i", "uint": "ui", "float": "f"}[colour.kind]


def _contents(g: Generator, kind: str, channel: str) -> np.ndarray:
    shape = (*SIZES[kind], 4)
    random = np.random.default_rng(g.choices.number(0, 2**31))
    return input_values(CHANNELS[channel], random, False, math.prod(shape)).reshape(shape)


def _axes(kind: str) -> tuple[int, ...]:
    """Extents in the order of a coordinate."""
    layers, height, width = SIZES[kind]
    return {"image1d": (width,), "image1d_buffer": (width,), "image1d_array": (width, layers), "image2d": (width, height)}.get(
        kind, (width, height, layers)
    )


def vector(kind: str, components: list[str], name: str = "int") -> str:
    """A coordinate; three components take the room of four."""
    if len(components) == 1:
        return components[0]
    return f"({name}{2 if len(components) == 2 else 4})({', '.join(components + ['0'] * (len(components) == 3))})"


def _inside(kind: str) -> str:
    return vector(kind, [f"(int)(@u % {extent}u)" for extent in _axes(kind)])


def _around(kind: str) -> str:
    """Coordinates within the image and beside it; layers beside it too, which samplers clamp."""
    return vector(kind, [f"(@i & 15) - {16 - extent >> 1}" for extent in _axes(kind)])


def _floats(kind: str) -> str:
    return vector(kind, [f"(float)((@i & 31) - 8) * {scale}f" for scale in (0.37, 0.41, 0.3)[: len(_axes(kind))]], "float")


@statement("image", 0.9, in_kernel)
def _read_only(g: Generator, nesting: int) -> Stmt:
    """An image to read: its reads are names of float4, int4 or uint4 from here on."""
    kind = g.choices.pick([name for name in SIZES if name != "image1d_buffer" or "buffer images" in g.features.can])
    channel = g.choices.pick(tuple(CHANNELS))
    image_name, colour = g.name("m"), colour_of(channel)
    g.choices.note(f"image/{kind}")
    g.choices.note(f"image/{channel}")
    image = oracle.Image(_contents(g, kind, channel), kind, "RGBA", channel, output=False)
    g.parameter(Parameter(f"read_only {kind}_t {image_name}", image_name, image))
    read = f"read_image{suffix(colour)}"
    g.scope.add(Name(colour, f"{read}({image_name}, {_inside(kind)})", False, "image/read without sampler"))
    if kind != "image1d_buffer":
        modes = ["CLK_ADDRESS_CLAMP_TO_EDGE"] + ["CLK_ADDRESS_CLAMP"] * (f"image/clamp:{kind}" not in g.features.avoid)
        mode = g.choices.pick(modes)
        sampler = _sampler(g, mode)
        g.scope.add(Name(colour, f"{read}({image_name}, {sampler}, {_around(kind)})", False, f"image/{mode[12:].lower()}"))
        g.scope.add(Name(colour, f"{read}({image_name}, {sampler}, {_floats(kind)})", False, "image/float coordinates"))
        g.scope.add(Name(Type("int"), f"get_image_width({image_name})", False, "image/query"))
    variable, value = g.name("v"), g.expression(colour, 2)
    first = g.read(g.choices.pick([name for name in g.scope.frames[-1] if name.text.startswith(f"{read}({image_name},")]))
    g.scope.add(Name(colour, variable))
    if not g.exact_sum(colour):
        return Stmt((f"{colour} {variable} = gid & 1 ? ", first, " : ", value, ";"))
    return Stmt((f"{colour} {variable} = ", first, " + " if colour.kind != "int" else " ^ ", value, ";"))


def _sampler(g: Generator, mode: str) -> str:
    """A sampler for unnormalised coordinates, nearest: at program scope or a parameter."""
    if g.choices.chance(0.4):
        name = g.name("r")
        g.choices.note("sampler/parameter")
        g.parameter(Parameter(f"sampler_t {name}", name, oracle.Sampler(False, mode[12:].lower(), "nearest")))
        return name
    g.choices.note("sampler/constant")
    name = f"{g.prefix}{g.name('r')}"
    value = f"CLK_NORMALIZED_COORDS_FALSE | {mode} | CLK_FILTER_NEAREST"
    g.declarations.append(f"constant sampler_t {name} = {value};\n")
    return name
