"""One access to an image at integer coordinates: its address, and its behaviour out of range."""

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


def emit_out_of_range(e: Emitter, image: ImageRef, where: Sequence[str]) -> str:
    """Returns an i1 that is true if any coordinate (i32) is outside the image."""
    result = ""
    for dimension, coordinate in enumerate(where):
        outside = e.body.op(f"icmp uge i32 {coordinate}, {image.extent(dimension)}")
        result = e.body.op(f"or i1 {result}, {outside}") if result else outside
    return result


def emit_offset(e: Emitter, image: ImageRef, where: Sequence[str]) -> str:
    """Returns the byte offset of the texel at coordinates that are in range."""
    t = e.body
    offset = ""
    for coordinate, pitch in zip(where, image.pitches(), strict=True):
        wide = t.op(f"zext i32 {coordinate} to i64")
        step = emit_mul_i64(t, wide, pitch) if isinstance(pitch, int) else t.op(f"mul i64 {wide}, {pitch}")
        offset = t.op(f"add i64 {offset}, {step}") if offset else step
    return offset


def emit_address(e: Emitter, image: ImageRef, offset: str) -> str:
    """Returns the address of the texel at a byte offset."""
    return e.body.op(f"getelementptr i8, ptr {image.field('address')}, i64 {offset}")


def _emit_fetch(e: Emitter, image: ImageRef, suffix: str, where: Sequence[str], instr: ir.Instr | None) -> str:
    """Returns the colour at coordinates that are in range."""
    offset = emit_offset(e, image, where)
    e.hooks.on_image_read(image, where, offset, None if instr is None else e.current)
    return texels.emit_fetch(e, image.format, suffix, emit_address(e, image, offset))


def report_coordinate(e: Emitter, t: Text, image: ImageRef, kind: Kind, where: Sequence[str]) -> None:
    """Emits a report of coordinates and extents."""
    if not e.unit.checked:
        return
    e.report(t, coordinate_site(e, image, kind), *coordinate_values(t, image, where))


def coordinate_site(e: Emitter, image: ImageRef, kind: Kind) -> DiagnosticSite:
    """Returns the diagnostic site of the current access's coordinates."""
    return DiagnosticSite(kind, e.loc, "coordinate", image.param.name, image.format.texel_bytes, image.dimensions, _MEANING[kind])


def coordinate_values(t: Text, image: ImageRef, where: Sequence[str]) -> list[str]:
    """Returns the reported values: coordinates and extents, three of each."""
    values = [t.op(f"sext i32 {c} to i64") for c in where] + ["0"] * (3 - len(where))
    extents = [t.op(f"sext i32 {image.extent(d)} to i64") for d in range(len(where))] + ["0"] * (3 - len(where))
    return values + extents


_MEANING = {
    Kind.IMAGE_READ_OUT_OF_RANGE: "reads {view} at {coordinate}, outside its extents {extent}, where that is undefined",
    Kind.IMAGE_WRITE_OUT_OF_RANGE: "writes {view} at {coordinate}, outside its extents {extent}; nothing is written",
    Kind.CLAMPED_READ: "reads {view} at {coordinate}, outside its extents {extent}; the addressing mode makes that defined",
}


def _report_unless(e: Emitter, t: Text, image: ImageRef, kind: Kind, where: Sequence[str], unused: str | None) -> None:
    """Emits a report of coordinates unless the i1 `unused` is true."""
    if unused is None or not e.unit.checked:
        report_coordinate(e, t, image, kind, where)
        return
    report, on = t.fresh("told"), t.fresh("on")
    t.branch(unused, on, report)
    t.block(report)
    report_coordinate(e, t, image, kind, where)
    t.jump(on)
    t.block(on)


def emit_read_at(
    e: Emitter,
    image: ImageRef,
    suffix: str,
    sampler: Sampler,
    where: list[str],
    sampled: bool,
    instr: ir.Instr | None = None,
    unused: str | None = None,
) -> str:
    """Returns the colour at integer coordinates. With a sampler, the layer is clamped in every addressing mode.

    `instr` is the instruction whose result the colour is. `unused` is an i1 that is true if the colour has no part in that
    result.
    """
    t, proven = e.body, e.unit.proves_in_range(e.current)
    if sampled and image.layered and not proven:
        where = [*where[:-1], emit_clamp(e, where[-1], image.extent(image.axes))]
    colour = llvm_types.spell(texels.colour_type(suffix))
    if proven or (sampler.addressing == "none" and not e.unit.checked):
        return _emit_fetch(e, image, suffix, where, instr)
    failed, ok, done = t.fresh("outside"), t.fresh("ok"), t.fresh("read")
    kind = Kind.IMAGE_READ_OUT_OF_RANGE if sampler.addressing == "none" else Kind.CLAMPED_READ
    if kind in BENIGN_KINDS:
        t.branch(emit_out_of_range(e, image, where), failed, ok, unlikely=True)
    else:
        e.branch_on_failure(emit_out_of_range(e, image, where), failed, ok)
    cold = t.aside()
    cold.block(failed)
    _report_unless(e, cold, image, kind, where, unused)
    reported = cold.label
    edge = sampler.addressing == "clamp_to_edge"
    if edge:
        before = t.label
        nearest = [_emit_clamp_into(e, cold, c, image.extent(d)) for d, c in enumerate(where)]
        cold.jump(ok)
        t.put_aside(cold)
        t.block(ok)
        where = [t.op(f"phi i32 [ {c}, %{before} ], [ {n}, %{reported} ]") for c, n in zip(where, nearest, strict=True)]
        return _emit_fetch(e, image, suffix, where, instr)
    cold.jump(done)
    t.put_aside(cold)
    t.block(ok)
    value = _emit_fetch(e, image, suffix, where, instr)
    last = t.label
    t.jump(done)
    t.block(done)
    instead = texels.border(image.format, suffix) if sampler.addressing == "clamp" else "zeroinitializer"
    return t.op(f"phi {colour} [ {instead}, %{reported} ], [ {value}, %{last} ]")


def emit_clamp(e: Emitter, index: str, extent: str) -> str:
    """Returns an i32 clamped to [0, extent)."""
    last = e.body.op(f"sub i32 {extent}, 1")
    return emit_intrinsic(e, "smin", _INT, emit_intrinsic(e, "smax", _INT, index, "0"), last)


def _emit_clamp_into(e: Emitter, t: Text, index: str, extent: str) -> str:
    """Returns `emit_clamp` emitted into the cold code `t`."""
    with e.writing_to(t):
        return emit_clamp(e, index, extent)
