"""One access to an image at integer coordinates: its address, and what becomes of it out of range."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.specs import Sampler
from ...findings import Kind
from ...ir import ir, llvm_types
from ..emit.builtin_registry import emit_intrinsic
from ..emit.diagnostic_sites import BENIGN_KINDS, DiagnosticSite
from ..emit.emitter import Emitter
from ..emit.image_refs import ImageRef
from ..llvm.text import Text, emit_mul_i64
from . import texels

_INT = ir.Int(32)


def out_of_range(e: Emitter, image: ImageRef, where: Sequence[str]) -> str:
    """An i1 that holds where any coordinate (i32) lies outside the image."""
    result = ""
    for dimension, coordinate in enumerate(where):
        outside = e.body.op(f"icmp uge i32 {coordinate}, {image.extent(dimension)}")
        result = e.body.op(f"or i1 {result}, {outside}") if result else outside
    return result


def offset_of(e: Emitter, image: ImageRef, where: Sequence[str]) -> str:
    """The byte offset of the texel at coordinates that are in range."""
    t = e.body
    offset = ""
    for coordinate, pitch in zip(where, image.pitches(), strict=True):
        wide = t.op(f"zext i32 {coordinate} to i64")
        step = emit_mul_i64(t, wide, pitch) if isinstance(pitch, int) else t.op(f"mul i64 {wide}, {pitch}")
        offset = t.op(f"add i64 {offset}, {step}") if offset else step
    return offset


def address_of(e: Emitter, image: ImageRef, offset: str) -> str:
    """The address of the texel at a byte offset."""
    return e.body.op(f"getelementptr i8, ptr {image.field('address')}, i64 {offset}")


def _fetched(e: Emitter, image: ImageRef, suffix: str, where: Sequence[str], instr: ir.Instr | None) -> str:
    """The colour at coordinates that are in range."""
    offset = offset_of(e, image, where)
    e.hooks.on_image_read(image, where, offset, instr)
    return texels.fetch(e, image.format, suffix, address_of(e, image, offset))


def report_coordinate(e: Emitter, t: Text, image: ImageRef, kind: Kind, where: Sequence[str]) -> None:
    """Report coordinates and extents."""
    if not e.unit.checked:
        return
    e.report(t, coordinate_site(e, image, kind), *coordinate_values(t, image, where))


def coordinate_site(e: Emitter, image: ImageRef, kind: Kind) -> DiagnosticSite:
    """The check of an access's coordinates here."""
    return DiagnosticSite(kind, e.loc, "coordinate", image.param.name, image.format.texel_bytes, image.dimensions, _MEANING[kind])


def coordinate_values(t: Text, image: ImageRef, where: Sequence[str]) -> list[str]:
    """What is reported of coordinates: them and the extents, each of three dimensions."""
    values = [t.op(f"sext i32 {c} to i64") for c in where] + ["0"] * (3 - len(where))
    extents = [t.op(f"sext i32 {image.extent(d)} to i64") for d in range(len(where))] + ["0"] * (3 - len(where))
    return values + extents


_MEANING = {
    Kind.IMAGE_READ_OUT_OF_RANGE: "reads {view} at {coordinate}, outside its extents {extent}, where that is undefined",
    Kind.IMAGE_WRITE_OUT_OF_RANGE: "writes {view} at {coordinate}, outside its extents {extent}; nothing is written",
    Kind.CLAMPED_READ: "reads {view} at {coordinate}, outside its extents {extent}; the addressing mode makes that defined",
}


def _report_unless(e: Emitter, t: Text, image: ImageRef, kind: Kind, where: Sequence[str], unused: str | None) -> None:
    """Report coordinates, but not where the i1 `unused` holds."""
    if unused is None or not e.unit.checked:
        report_coordinate(e, t, image, kind, where)
        return
    told, on = t.fresh("told"), t.fresh("on")
    t.branch(unused, on, told)
    t.block(told)
    report_coordinate(e, t, image, kind, where)
    t.jump(on)
    t.block(on)


def read_at(
    e: Emitter,
    image: ImageRef,
    suffix: str,
    sampler: Sampler,
    where: list[str],
    sampled: bool,
    instr: ir.Instr | None = None,
    unused: str | None = None,
) -> str:
    """The colour at integer coordinates. With a sampler the layer is clamped, whatever the addressing mode.

    `instr`: whose result the colour is. `unused`: an i1 that holds where the colour has no part in that result.
    """
    t, proven = e.body, e.unit.proves_in_range(e.current)
    if sampled and image.layered and not proven:
        where = [*where[:-1], clamped(e, where[-1], image.extent(image.axes))]
    colour = llvm_types.spell(texels.colour_type(suffix))
    if proven or (sampler.addressing == "none" and not e.unit.checked):
        return _fetched(e, image, suffix, where, instr)
    failed, ok, done = t.fresh("outside"), t.fresh("ok"), t.fresh("read")
    kind = Kind.IMAGE_READ_OUT_OF_RANGE if sampler.addressing == "none" else Kind.CLAMPED_READ
    if kind in BENIGN_KINDS:
        t.branch(out_of_range(e, image, where), failed, ok, unlikely=True)
    else:
        e.branch_on_failure(out_of_range(e, image, where), failed, ok)
    cold = t.aside()
    cold.block(failed)
    _report_unless(e, cold, image, kind, where, unused)
    reported = cold.label
    edge = sampler.addressing == "clamp_to_edge"
    if edge:
        before = t.label
        nearest = [_clamped_into(e, cold, c, image.extent(d)) for d, c in enumerate(where)]
        cold.jump(ok)
        t.put_aside(cold)
        t.block(ok)
        where = [t.op(f"phi i32 [ {c}, %{before} ], [ {n}, %{reported} ]") for c, n in zip(where, nearest, strict=True)]
        return _fetched(e, image, suffix, where, instr)
    cold.jump(done)
    t.put_aside(cold)
    t.block(ok)
    value = _fetched(e, image, suffix, where, instr)
    last = t.label
    t.jump(done)
    t.block(done)
    instead = texels.border(image.format, suffix) if sampler.addressing == "clamp" else "zeroinitializer"
    return t.op(f"phi {colour} [ {instead}, %{reported} ], [ {value}, %{last} ]")


def clamped(e: Emitter, index: str, extent: str) -> str:
    """An i32 clamped to [0, extent)."""
    last = e.body.op(f"sub i32 {extent}, 1")
    return emit_intrinsic(e, "smin", _INT, emit_intrinsic(e, "smax", _INT, index, "0"), last)


def _clamped_into(e: Emitter, t: Text, index: str, extent: str) -> str:
    """`clamped`, written into cold code."""
    body, e.body = e.body, t
    result = clamped(e, index, extent)
    e.body = body
    return result
