"""read_image, write_image and image queries.

An access in range is one address computation and one load or store; everything else is cold code. Out of range, the
addressing mode decides: CLAMP gives the border colour, CLAMP_TO_EDGE the nearest texel, both with a note; NONE (and a
read without sampler) is a finding and gives 0; a write is dropped with a finding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..clc import ir
from ..device import Sampler
from ..findings import Kind
from . import layout, texels
from .calls import call, family, intrinsic
from .emit import Emitter
from .image_refs import NO_SAMPLER, ImageRef, image_of, sampler_of
from .sampling import sample
from .sites import Site
from .text import Text, scaled

_INT = ir.Int(32)
_NAME = re.compile(r"(?:read|write)_image(f|h|i|ui)")


@family(r"read_image(f|h|i|ui)")
def _read(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    image = image_of(e, instr.operands[0], instr)
    suffix = _suffix(instr)
    sampled = isinstance(instr.operands[1].type, ir.Sampler)
    sampler = sampler_of(e, instr.operands[1], instr) if sampled else NO_SAMPLER
    where = instr.operands[2 if sampled else 1]
    _check_format(e, image, suffix, write=False)
    if isinstance(layout.elem_of(where.type), ir.Float):
        e.define(instr, sample(e, image, suffix, sampler, coordinates(e, image, where)))
    else:
        e.define(instr, read_at(e, image, suffix, _for_integers(e, image, sampler), coordinates(e, image, where), sampled))


@family(r"write_image(f|h|i|ui)")
def _write(e: Emitter, instr: ir.Instr) -> None:
    image = image_of(e, instr.operands[0], instr)
    suffix, colour = _suffix(instr), e.value(instr.operands[-1])
    _check_format(e, image, suffix, write=True)
    where = coordinates(e, image, instr.operands[1])
    t = e.body
    done = t.fresh("written")
    outside = out_of_range(e, image, where) if e.unit.checked else None
    if outside is not None:
        failed, ok = t.fresh("outside"), t.fresh("ok")
        t.branch(outside, failed, ok, unlikely=True)
        cold = t.aside()
        cold.block(failed)
        report_coordinate(e, cold, image, Kind.IMAGE_WRITE_OUT_OF_RANGE, where)
        cold.jump(done)
        t.put_aside(cold)
        t.block(ok)
    texels.store(e, image.format, suffix, address_of(e, image, where), colour)
    t.jump(done)
    t.block(done)


def _suffix(instr: ir.Instr) -> str:
    assert instr.callee is not None
    match = _NAME.fullmatch(instr.callee.name)
    assert match is not None
    return match[1]


def coordinates(e: Emitter, image: ImageRef, value: ir.Value) -> list[str]:
    """The coordinates an access uses, one operand each (i32 or float)."""
    if not isinstance(value.type, ir.Vector):
        return [e.value(value)]
    return [e.body.op(f"extractelement {e.typed(value)}, i32 {lane}") for lane in range(image.dimensions)]


def _check_format(e: Emitter, image: ImageRef, suffix: str, write: bool) -> None:
    """A function that does not fit the format: one finding per place, known when compiling."""
    if texels.fits(image.format, suffix, write) or not e.unit.checked:
        return
    function = f"{'write' if write else 'read'}_image{suffix}"
    what = f"{function} on {image.param.name}, an image of {image.format.order} {image.format.channel_type}, is undefined"
    if texels.passes_bits(image.format, suffix):
        e.unit.note(Site(Kind.REINTERPRETED_FORMAT, e.place, view=image.param.name, text=f"{what}; its bits pass unchanged here"))
    else:
        e.unit.note(Site(Kind.FORMAT_MISMATCH, e.place, view=image.param.name, text=f"{what}; stored bits are cut or extended"))


def _for_integers(e: Emitter, image: ImageRef, sampler: Sampler) -> Sampler:
    """The sampler as integer coordinates use it; what is undefined with them is reported and taken as NONE, NEAREST."""
    proper = not sampler.normalized and sampler.filter == "nearest" and not sampler.addressing.endswith("repeat")
    if proper:
        return sampler
    if e.unit.checked:
        text = (
            f"{image.param.name} is read at integer coordinates with a sampler that needs float ones "
            f"(normalized={sampler.normalized}, {sampler.addressing}, {sampler.filter}): undefined"
        )
        e.unit.note(Site(Kind.UNDEFINED_SAMPLER, e.place, view=image.param.name, text=text))
    return NO_SAMPLER


def out_of_range(e: Emitter, image: ImageRef, where: Sequence[str]) -> str:
    """An i1 that holds where any coordinate (i32) lies outside the image."""
    result = ""
    for dimension, coordinate in enumerate(where):
        outside = e.body.op(f"icmp uge i32 {coordinate}, {image.extent(dimension)}")
        result = e.body.op(f"or i1 {result}, {outside}") if result else outside
    return result


def address_of(e: Emitter, image: ImageRef, where: Sequence[str]) -> str:
    """The address of the texel at coordinates that are in range."""
    t = e.body
    offset = ""
    for coordinate, pitch in zip(where, image.pitches(), strict=True):
        wide = t.op(f"zext i32 {coordinate} to i64")
        step = scaled(t, wide, pitch) if isinstance(pitch, int) else t.op(f"mul i64 {wide}, {pitch}")
        offset = t.op(f"add i64 {offset}, {step}") if offset else step
    return t.op(f"getelementptr i8, ptr {image.field('address')}, i64 {offset}")


def report_coordinate(e: Emitter, t: Text, image: ImageRef, kind: Kind, where: Sequence[str]) -> None:
    """Report coordinates and extents."""
    if not e.unit.checked:
        return
    site = Site(kind, e.place, "coordinate", image.param.name, image.format.texel_bytes, len(where), _MEANING[kind])
    values = [t.op(f"sext i32 {c} to i64") for c in where] + ["0"] * (3 - len(where))
    extents = [t.op(f"sext i32 {image.extent(d)} to i64") for d in range(len(where))] + ["0"] * (3 - len(where))
    e.report(t, site, *values, *extents)


_MEANING = {
    Kind.IMAGE_READ_OUT_OF_RANGE: "reads {view} at {coordinate}, outside its extents {extent}, where that is undefined",
    Kind.IMAGE_WRITE_OUT_OF_RANGE: "writes {view} at {coordinate}, outside its extents {extent}; nothing is written",
    Kind.CLAMPED_READ: "reads {view} at {coordinate}, outside its extents {extent}; the addressing mode makes that defined",
}


def read_at(e: Emitter, image: ImageRef, suffix: str, sampler: Sampler, where: list[str], sampled: bool) -> str:
    """The colour at integer coordinates. With a sampler the layer is clamped, whatever the addressing mode."""
    t = e.body
    if sampled and image.layered:
        where = [*where[:-1], clamped(e, where[-1], image.extent(image.axes))]
    colour = layout.spell(texels.colour_type(suffix))
    if sampler.addressing == "none" and not e.unit.checked:
        return texels.fetch(e, image.format, suffix, address_of(e, image, where))
    failed, ok, done = t.fresh("outside"), t.fresh("ok"), t.fresh("read")
    t.branch(out_of_range(e, image, where), failed, ok, unlikely=True)
    kind = Kind.IMAGE_READ_OUT_OF_RANGE if sampler.addressing == "none" else Kind.CLAMPED_READ
    cold = t.aside()
    cold.block(failed)
    report_coordinate(e, cold, image, kind, where)
    edge = sampler.addressing == "clamp_to_edge"
    if edge:
        before = t.label
        nearest = [_clamped_into(e, cold, c, image.extent(d)) for d, c in enumerate(where)]
        cold.jump(ok)
        t.put_aside(cold)
        t.block(ok)
        where = [t.op(f"phi i32 [ {c}, %{before} ], [ {n}, %{failed} ]") for c, n in zip(where, nearest, strict=True)]
        return texels.fetch(e, image.format, suffix, address_of(e, image, where))
    cold.jump(done)
    t.put_aside(cold)
    t.block(ok)
    value = texels.fetch(e, image.format, suffix, address_of(e, image, where))
    last = t.label
    t.jump(done)
    t.block(done)
    instead = texels.border(image.format, suffix) if sampler.addressing == "clamp" else "zeroinitializer"
    return t.op(f"phi {colour} [ {instead}, %{failed} ], [ {value}, %{last} ]")


def clamped(e: Emitter, index: str, extent: str) -> str:
    """An i32 clamped to [0, extent)."""
    last = e.body.op(f"sub i32 {extent}, 1")
    return intrinsic(e, "smin", _INT, intrinsic(e, "smax", _INT, index, "0"), last)


def _clamped_into(e: Emitter, t: Text, index: str, extent: str) -> str:
    """`clamped`, written into cold code."""
    body, e.body = e.body, t
    result = clamped(e, index, extent)
    e.body = body
    return result


# Queries


@call("get_image_width", "get_image_height", "get_image_depth", "get_image_array_size")
def _extent(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    image = image_of(e, instr.operands[0], instr)
    name = {"width": "width", "height": "height"}.get(instr.callee.name.rpartition("_")[2], "depth_or_layers")
    value = image.field(name)
    e.define(instr, value if instr.type == ir.Int(64) else e.body.op(f"trunc i64 {value} to {layout.spell(instr.type)}"))


@call("get_image_dim")
def _dimensions(e: Emitter, instr: ir.Instr) -> None:
    """Width and height, and depth for a 3D image, in an int2 or int4."""
    image = image_of(e, instr.operands[0], instr)
    result = "zeroinitializer"
    for place in range(3 if image.kind == "image3d" else 2):
        item = image.extent(place)
        result = e.body.op(f"insertelement {layout.spell(instr.type)} {result}, i32 {item}, i32 {place}")
    e.define(instr, result)


_CHANNEL_TYPES = {
    "SNORM_INT8": 0x10D0, "SNORM_INT16": 0x10D1, "UNORM_INT8": 0x10D2, "UNORM_INT16": 0x10D3, "SIGNED_INT8": 0x10D7,
    "SIGNED_INT16": 0x10D8, "SIGNED_INT32": 0x10D9, "UNSIGNED_INT8": 0x10DA, "UNSIGNED_INT16": 0x10DB,
    "UNSIGNED_INT32": 0x10DC, "HALF_FLOAT": 0x10DD, "FLOAT": 0x10DE,
}  # fmt: skip
_ORDERS = {
    "R": 0x10B0, "A": 0x10B1, "RG": 0x10B2, "RA": 0x10B3, "RGBA": 0x10B5, "BGRA": 0x10B6, "ARGB": 0x10B7,
    "INTENSITY": 0x10B8, "LUMINANCE": 0x10B9, "sRGBA": 0x10C1, "sBGRA": 0x10C2, "ABGR": 0x10C3,
}  # fmt: skip


@call("get_image_channel_data_type")
def _channel_type(e: Emitter, instr: ir.Instr) -> None:
    e.define(instr, str(_CHANNEL_TYPES[image_of(e, instr.operands[0], instr).format.channel_type]))


@call("get_image_channel_order")
def _order(e: Emitter, instr: ir.Instr) -> None:
    e.define(instr, str(_ORDERS[image_of(e, instr.operands[0], instr).format.order]))
