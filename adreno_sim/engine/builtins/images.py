"""read_image, write_image and image queries.

An access in range is one address computation and one load or store; everything else is cold code. Out of range, the
addressing mode decides: CLAMP yields the border colour and CLAMP_TO_EDGE the nearest texel, both counted as benign events.
NONE, and a read without sampler, is a finding and yields 0. A write is dropped with a finding.
"""

from __future__ import annotations

import re

from ...base.specs import Sampler
from ...findings import Kind
from ...ir import ir, llvm_types
from ..emit.builtin_registry import builtin, builtin_family
from ..emit.diagnostic_sites import DiagnosticSite
from ..emit.emitter import Emitter
from ..emit.image_operands import NO_SAMPLER, image_of, sampler_of
from ..emit.image_refs import ImageRef
from . import texels
from .image_access import emit_address, emit_offset, emit_out_of_range, emit_read_at, report_coordinate
from .sampling import emit_sample

_NAME = re.compile(r"(?:read|write)_image(f|h|i|ui)")


@builtin_family(r"read_image(f|h|i|ui)")
def _read(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    image = image_of(e, instr.operands[0], instr)
    suffix = function_suffix(instr)
    sampled = isinstance(instr.operands[1].type, ir.Sampler)
    sampler = sampler_of(e, instr.operands[1], instr) if sampled else NO_SAMPLER
    where = instr.operands[2 if sampled else 1]
    check_format(e, image, suffix, write=False)
    if isinstance(llvm_types.elem_of(where.type), ir.Float):
        colour = emit_sample(e, image, suffix, sampler, emit_coordinates(e, image, where))
    else:
        sampler = integer_sampler(e, image, sampler)
        colour = emit_read_at(e, image, suffix, sampler, emit_coordinates(e, image, where), sampled, instr)
    e.hooks.after_load(instr)
    e.define(instr, colour)


@builtin_family(r"write_image(f|h|i|ui)")
def _write(e: Emitter, instr: ir.Instr) -> None:
    image = image_of(e, instr.operands[0], instr)
    suffix, colour = function_suffix(instr), e.value(instr.operands[-1])
    check_format(e, image, suffix, write=True)
    where = emit_coordinates(e, image, instr.operands[1])
    t = e.body
    done = t.fresh("written")
    outside = emit_out_of_range(e, image, where) if e.unit.checked and not e.unit.proves_in_range(instr) else None
    if outside is not None:
        failed, ok = t.fresh("outside"), t.fresh("ok")
        e.branch_on_failure(outside, failed, ok)
        cold = t.aside()
        cold.block(failed)
        report_coordinate(e, cold, image, Kind.IMAGE_WRITE_OUT_OF_RANGE, where)
        cold.jump(done)
        t.put_aside(cold)
        t.block(ok)
    offset = emit_offset(e, image, where)
    texels.emit_store(
        e, image.format, suffix, emit_address(e, image, offset), colour,
        lambda type, stored: e.hooks.on_image_write(image, where, offset, type, stored),
    )  # fmt: skip
    t.jump(done)
    t.block(done)


def function_suffix(instr: ir.Instr) -> str:
    assert instr.callee is not None
    match = _NAME.fullmatch(instr.callee.name)
    assert match is not None
    return match[1]


def emit_coordinates(e: Emitter, image: ImageRef, value: ir.Value) -> list[str]:
    """Returns the coordinates of an access, one operand each (i32 or float)."""
    if not isinstance(value.type, ir.Vector):
        return [e.value(value)]
    return [e.body.op(f"extractelement {e.typed_operand(value)}, i32 {lane}") for lane in range(image.dimensions)]


def check_format(e: Emitter, image: ImageRef, suffix: str, write: bool) -> None:
    """Adds a finding if a function does not fit the format. It is known at compile time, so there is one per location."""
    if write and image.format.srgb and not e.unit.spec.srgb_writes and e.unit.checked:
        what = f"{image.param.name}, an image of {image.format.order}, is written: undefined without cl_khr_srgb_image_writes"
        e.unit.add_static_finding(
            DiagnosticSite(Kind.FORMAT_MISMATCH, e.loc, view=image.param.name, text=f"{what}, which the device does not have")
        )
    if texels.is_defined(image.format, suffix, write) or not e.unit.checked:
        return
    function = f"{'write' if write else 'read'}_image{suffix}"
    what = f"{function} on {image.param.name}, an image of {image.format.order} {image.format.channel_type}, is undefined"
    kind, here = Kind.FORMAT_MISMATCH, "stored bits are cut or extended"
    if texels.converts(image.format, suffix):
        here = "values are rounded to half here"
    elif texels.passes_bits(image.format, suffix):
        kind, here = Kind.REINTERPRETED_FORMAT, "its bits pass unchanged here"
    e.unit.add_static_finding(DiagnosticSite(kind, e.loc, view=image.param.name, text=f"{what}; {here}"))


def integer_sampler(e: Emitter, image: ImageRef, sampler: Sampler) -> Sampler:
    """Returns the sampler as integer coordinates use it. What is undefined with them is reported and treated as NONE, NEAREST."""
    proper = not sampler.normalized and sampler.filter == "nearest" and not sampler.addressing.endswith("repeat")
    if proper:
        return sampler
    if e.unit.checked:
        text = (
            f"{image.param.name} is read at integer coordinates with a sampler that needs float ones "
            f"(normalized={sampler.normalized}, {sampler.addressing}, {sampler.filter}): undefined"
        )
        e.unit.add_static_finding(DiagnosticSite(Kind.UNDEFINED_SAMPLER, e.loc, view=image.param.name, text=text))
    return NO_SAMPLER


# Queries


@builtin("get_image_width", "get_image_height", "get_image_depth", "get_image_array_size")
def _extent(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    image = image_of(e, instr.operands[0], instr)
    name = {"width": "width", "height": "height"}.get(instr.callee.name.rpartition("_")[2], "depth_or_layers")
    value = image.field(name)
    e.define(instr, value if instr.type == ir.Int(64) else e.body.op(f"trunc i64 {value} to {llvm_types.spell(instr.type)}"))


@builtin("get_image_dim")
def _dimensions(e: Emitter, instr: ir.Instr) -> None:
    """Emits width and height, and depth for a 3D image, in an int2 or int4."""
    image = image_of(e, instr.operands[0], instr)
    result = "zeroinitializer"
    for axis in range(3 if image.kind == "image3d" else 2):
        item = image.extent(axis)
        result = e.body.op(f"insertelement {llvm_types.spell(instr.type)} {result}, i32 {item}, i32 {axis}")
    e.define(instr, result)


_CHANNEL_TYPES = {
    "SNORM_INT8": 0x10D0, "SNORM_INT16": 0x10D1, "UNORM_INT8": 0x10D2, "UNORM_INT16": 0x10D3, "SIGNED_INT8": 0x10D7,
    "SIGNED_INT16": 0x10D8, "SIGNED_INT32": 0x10D9, "UNSIGNED_INT8": 0x10DA, "UNSIGNED_INT16": 0x10DB,
    "UNSIGNED_INT32": 0x10DC, "HALF_FLOAT": 0x10DD, "FLOAT": 0x10DE,
}  # fmt: skip
_ORDERS = {
    "R": 0x10B0, "A": 0x10B1, "RG": 0x10B2, "RA": 0x10B3, "RGBA": 0x10B5, "BGRA": 0x10B6, "ARGB": 0x10B7,
    "INTENSITY": 0x10B8, "LUMINANCE": 0x10B9, "sRGB": 0x10BF, "sRGBx": 0x10C0, "sRGBA": 0x10C1, "sBGRA": 0x10C2, "ABGR": 0x10C3,
}  # fmt: skip


@builtin("get_image_channel_data_type")
def _channel_type(e: Emitter, instr: ir.Instr) -> None:
    e.define(instr, str(_CHANNEL_TYPES[image_of(e, instr.operands[0], instr).format.channel_type]))


@builtin("get_image_channel_order")
def _order(e: Emitter, instr: ir.Instr) -> None:
    e.define(instr, str(_ORDERS[image_of(e, instr.operands[0], instr).format.order]))
