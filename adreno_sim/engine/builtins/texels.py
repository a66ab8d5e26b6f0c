"""Texels: conversion of stored bytes to a colour and back, for a format known at compile time (OpenCL C 3.0, section 8.3).

A function of another kind than the format (read_imagef on integers) is undefined. Here it passes the stored bits, extended or
cut to the lane's width, on which TVM's integer textures rely. read_imageh of floats is undefined too; here it rounds them, on
which llama.cpp's kernels for Adreno rely.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...image.formats import ORDERS, Format
from ...ir import ir, llvm_types
from ..emit import access
from ..emit.builtin_registry import emit_intrinsic
from ..emit.emitter import Emitter
from ..llvm import constants
from . import srgb
from .arith import splat_int
from .conversions import emit_to_int, resize_float

LANE_TYPES: dict[str, ir.Int | ir.Float] = {"f": ir.Float(32), "h": ir.Float(16), "i": ir.Int(32), "ui": ir.Int(32)}
_FITS = {"f": {"unorm", "snorm", "float"}, "h": {"unorm", "snorm", "float"}, "i": {"int"}, "ui": {"uint"}}
BORDER_ONE = {"f": "1.0", "h": "0xH3C00", "i": "1", "ui": "1"}


def colour_type(suffix: str) -> ir.Vector:
    """Returns the result type of read_image`suffix`."""
    return ir.Vector(LANE_TYPES[suffix], 4)


def converts(format: Format, suffix: str) -> bool:
    """Returns whether the lanes of read_image or write_image with `suffix` mean what the channels of `format` mean."""
    return format.meaning in _FITS[suffix]


def is_defined(format: Format, suffix: str, write: bool) -> bool:
    """Returns whether read_image or write_image with `suffix` is defined on `format`. read_imageh is not on FLOAT."""
    return converts(format, suffix) and (write or suffix != "h" or format.channel_type != "FLOAT")


def passes_bits(format: Format, suffix: str) -> bool:
    """Returns whether a function that does not convert still moves every bit unchanged."""
    lane = LANE_TYPES[suffix]
    return format.channels == 4 and format.dtype.itemsize * 8 == lane.bits


def stored_type(format: Format) -> ir.Type:
    """Returns the type of the channels of a texel in memory."""
    bits = format.dtype.itemsize * 8
    elem: ir.Int | ir.Float = ir.Float(bits) if format.meaning == "float" else ir.Int(bits)
    return ir.Vector(elem, format.channels) if format.channels > 1 else elem


def border(format: Format, suffix: str) -> str:
    """Returns the border colour as a constant."""
    lane = llvm_types.spell(LANE_TYPES[suffix])
    values = [BORDER_ONE[suffix] if component else llvm_types.zero(LANE_TYPES[suffix]) for component in format.border]
    return "<" + ", ".join(f"{lane} {v}" for v in values) + ">"


def emit_fetch(e: Emitter, format: Format, suffix: str, address: str) -> str:
    """Returns the colour of the texel at `address`."""
    type = stored_type(format)
    stored = e.body.op(f"load {llvm_types.spell(type)}, ptr {address}, align 1")
    lanes = (
        decode_channel(e, format, suffix, type, stored)
        if converts(format, suffix)
        else reinterpret_channel(e, format, suffix, type, stored)
    )
    wide = llvm_types.with_elem(type, LANE_TYPES[suffix])
    return _spread_channels(e, format, suffix, wide, lanes)


def decode_channel(e: Emitter, format: Format, suffix: str, type: ir.Type, stored: str) -> str:
    lane = LANE_TYPES[suffix]
    if format.meaning in ("int", "uint"):
        return _resize_int(e, type, llvm_types.with_elem(type, lane), stored, format.meaning == "int")
    if format.meaning == "float":
        return resize_float(e, type, llvm_types.with_elem(type, lane), stored, "")
    single = llvm_types.with_elem(type, ir.Float(32))
    spelled = llvm_types.spell(single)
    if format.srgb:
        return resize_float(e, single, llvm_types.with_elem(type, lane), _decode_srgb(e, format, type, single, stored), "")
    word = "sitofp" if format.meaning == "snorm" else "uitofp"
    wide = e.body.op(f"{word} {llvm_types.spell(type)} {stored} to {spelled}")
    most = constants.number(single, float(np.iinfo(format.dtype).max))
    value = e.body.op(f"fdiv {spelled} {wide}, {most}")
    if format.meaning == "snorm":
        low = e.body.op(f"fcmp olt {spelled} {value}, {constants.number(single, -1.0)}")
        flags = llvm_types.spell(llvm_types.with_elem(type, ir.Int(1)))
        value = e.body.op(f"select {flags} {low}, {spelled} {constants.number(single, -1.0)}, {spelled} {value}")
    return resize_float(e, single, llvm_types.with_elem(type, lane), value, "")


def _decode_srgb(e: Emitter, format: Format, type: ir.Type, single: ir.Type, stored: str) -> str:
    """Returns the channels of an sRGB texel as linear floats. Alpha is linear already."""
    result = "zeroinitializer"
    for channel, component in enumerate(ORDERS[format.order]):
        byte = e.body.op(f"extractelement {llvm_types.spell(type)} {stored}, i32 {channel}")
        if component in srgb.COMPONENTS:
            item = srgb.emit_decode(e, byte)
        else:
            item = e.body.op(f"fdiv float {e.body.op(f'uitofp i8 {byte} to float')}, {constants.number(ir.Float(32), 255.0)}")
        result = e.body.op(f"insertelement {llvm_types.spell(single)} {result}, float {item}, i32 {channel}")
    return result


def _resize_int(e: Emitter, type: ir.Type, target: ir.Type, value: str, signed: bool) -> str:
    """Returns an integer (vector) with another width, cut or extended."""
    here, there = llvm_types.elem_of(type), llvm_types.elem_of(target)
    assert isinstance(here, ir.Int)
    assert isinstance(there, ir.Int)
    if here.bits == there.bits:
        return value
    word = "trunc" if there.bits < here.bits else ("sext" if signed else "zext")
    return e.body.op(f"{word} {llvm_types.spell(type)} {value} to {llvm_types.spell(target)}")


def _as_integers(e: Emitter, type: ir.Type, value: str) -> tuple[ir.Type, str]:
    """Returns a value as integers of the same width."""
    elem = llvm_types.elem_of(type)
    if not isinstance(elem, ir.Float):
        return type, value
    words = llvm_types.with_elem(type, ir.Int(elem.bits))
    return words, e.body.op(f"bitcast {llvm_types.spell(type)} {value} to {llvm_types.spell(words)}")


def reinterpret_channel(e: Emitter, format: Format, suffix: str, type: ir.Type, stored: str) -> str:
    lane = LANE_TYPES[suffix]
    words, pattern = _as_integers(e, type, stored)
    target = llvm_types.with_elem(type, ir.Int(lane.bits))
    pattern = _resize_int(e, words, target, pattern, format.meaning in ("int", "snorm"))
    wide = llvm_types.with_elem(type, lane)
    return pattern if wide == target else e.body.op(f"bitcast {llvm_types.spell(target)} {pattern} to {llvm_types.spell(wide)}")


def _spread_channels(e: Emitter, format: Format, suffix: str, type: ir.Type, lanes: str) -> str:
    """Returns the stored channels in the order r, g, b, a. Missing components are 0, alpha 1."""
    if format.order in ("RGBA", "sRGBA"):
        return lanes
    lane = LANE_TYPES[suffix]
    sources = stored_components(format.order)
    vector = llvm_types.spell(colour_type(suffix))
    one = BORDER_ONE[suffix] if format.order != "A" else llvm_types.zero(lane)
    colour = f"<{', '.join(f'{llvm_types.spell(lane)} {v}' for v in [llvm_types.zero(lane)] * 3 + [one])}>"
    for position, channel in sources:
        item = lanes
        if isinstance(type, ir.Vector):
            item = e.body.op(f"extractelement {llvm_types.spell(type)} {lanes}, i32 {channel}")
        colour = e.body.op(f"insertelement {vector} {colour}, {llvm_types.spell(lane)} {item}, i32 {position}")
    return colour


def stored_components(order: str) -> list[tuple[int, int]]:
    """Returns pairs of a component (0 is r) and the stored channel it is read from."""
    if order == "INTENSITY":
        return [(position, 0) for position in range(4)]
    if order == "LUMINANCE":
        return [(position, 0) for position in range(3)]
    return [("rgba".index(component), channel) for channel, component in enumerate(ORDERS[order]) if component != "x"]


def emit_store(
    e: Emitter, format: Format, suffix: str, address: str, colour: str, before: Callable[[ir.Type, str], None] | None = None
) -> None:
    """Emits the store of a colour as a texel. Floats are rounded to nearest even, integers saturate.

    `before` is called with type and operand of what is about to be stored.
    """
    type = stored_type(format)
    wide = llvm_types.with_elem(type, LANE_TYPES[suffix])
    lanes = _gather_channels(e, format, suffix, wide, colour)
    if converts(format, suffix):
        stored = encode_channel(e, format, type, wide, lanes)
    else:
        stored = pass_channel_bits(e, type, wide, lanes, format.meaning in ("int", "snorm"))
    if before is not None:
        before(type, stored)
    e.body.do(f"store {llvm_types.spell(type)} {stored}, ptr {address}, align 1")
    access.emit_watch(e, address, format.texel_bytes)


def _gather_channels(e: Emitter, format: Format, suffix: str, type: ir.Type, colour: str) -> str:
    """Returns the components that the order stores, in memory order."""
    if format.order == "RGBA":
        return colour
    vector, lane = llvm_types.spell(colour_type(suffix)), llvm_types.spell(LANE_TYPES[suffix])
    items = [
        (channel, e.body.op(f"extractelement {vector} {colour}, i32 {'rgba'.index(component)}"))
        for channel, component in enumerate(ORDERS[format.order])
        if component != "x"
    ]
    if format.channels == 1:
        return items[0][1]
    result = "zeroinitializer"
    for position, item in items:
        result = e.body.op(f"insertelement {llvm_types.spell(type)} {result}, {lane} {item}, i32 {position}")
    return result


def encode_channel(e: Emitter, format: Format, type: ir.Type, wide: ir.Type, lanes: str) -> str:
    if format.meaning == "float":
        return resize_float(e, wide, type, lanes, "")
    limits = np.iinfo(format.dtype)
    if format.meaning in ("int", "uint"):
        sign = "s" if format.meaning == "int" else "u"
        if format.dtype.itemsize < 4:
            lanes = emit_intrinsic(e, f"{sign}min", wide, lanes, splat_int(wide, int(limits.max)))
            lanes = emit_intrinsic(e, "smax", wide, lanes, splat_int(wide, int(limits.min))) if sign == "s" else lanes
        return _resize_int(e, wide, type, lanes, sign == "s")
    single = llvm_types.with_elem(type, ir.Float(32))
    value = resize_float(e, wide, single, lanes, "")
    spelled = llvm_types.spell(single)
    if format.srgb:
        return _encode_srgb(e, format, type, single, value)
    emit_mul_i64 = e.body.op(f"fmul {spelled} {value}, {constants.number(single, float(limits.max))}")
    return emit_to_int(e, single, type, emit_intrinsic(e, "roundeven", single, emit_mul_i64), format.meaning == "snorm")


def _encode_srgb(e: Emitter, format: Format, type: ir.Type, single: ir.Type, value: str) -> str:
    """Returns linear floats as the channels of an sRGB texel."""
    result = "zeroinitializer"
    for channel, component in enumerate(ORDERS[format.order]):
        item = e.body.op(f"extractelement {llvm_types.spell(single)} {value}, i32 {channel}")
        if component in srgb.COMPONENTS:
            byte = srgb.emit_encode(e, item)
        else:
            emit_mul_i64 = e.body.op(f"fmul float {item}, {constants.number(ir.Float(32), 255.0)}")
            byte = emit_to_int(e, ir.Float(32), ir.Int(8), emit_intrinsic(e, "roundeven", ir.Float(32), emit_mul_i64), False)
        result = e.body.op(f"insertelement {llvm_types.spell(type)} {result}, i8 {byte}, i32 {channel}")
    return result


def pass_channel_bits(e: Emitter, type: ir.Type, wide: ir.Type, lanes: str, signed: bool) -> str:
    words, pattern = _as_integers(e, wide, lanes)
    elem = llvm_types.elem_of(type)
    assert isinstance(elem, (ir.Int, ir.Float))
    target = llvm_types.with_elem(type, ir.Int(elem.bits))
    pattern = _resize_int(e, words, target, pattern, signed)
    return pattern if target == type else e.body.op(f"bitcast {llvm_types.spell(target)} {pattern} to {llvm_types.spell(type)}")
