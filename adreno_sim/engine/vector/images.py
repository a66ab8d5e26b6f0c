"""read_image and write_image at integer coordinates for all lanes. A row of adjacent texels is one access."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...findings import Kind
from ...image.formats import ORDERS, Format
from ...ir import ir, llvm_types
from ...ir.provenance import Ptr
from ..builtins import images as scalar_images
from ..builtins import texels
from ..builtins.image_access import coordinate_site, coordinate_values, emit_clamp
from ..emit.image_operands import NO_SAMPLER, image_of, sampler_of
from ..emit.image_refs import ImageRef
from ..emit.pointers import LanePtr
from ..llvm import constants
from ..llvm import vector_text as vt
from ..llvm.text import Text, emit_mul_i64
from .emitter import VectorEmitter
from .lane_access import memory

_INT = ir.Int(32)


class Coordinate:
    """A coordinate along one dimension: lane 0's scalar with lane offsets, or a vector."""

    def __init__(self, e: VectorEmitter, value: ir.Value | None, whole: ir.Value, at: int):
        self.lane_offsets = (0,) * e.count
        self.scalar: str | None = None
        if value is not None and not e.lanes.varies(value):
            self.scalar, self.lane_offsets = e.value(value), e.lanes.lane_offsets(value)
            self._never_wraps = not any(self.lane_offsets) or e.shapes.never_wraps(value, e.shapes.of(value))
        else:
            parts = e.lanes.components(value) if value is not None else e.lanes.components(whole)
            self.vector = parts[0 if value is not None else at]
            self._never_wraps = False

    @property
    def uniform(self) -> bool:
        return self.scalar is not None and not any(self.lane_offsets)

    @property
    def is_row(self) -> bool:
        """Whether lanes have consecutive coordinates, without wrapping."""
        return self._never_wraps and self.lane_offsets == tuple(range(len(self.lane_offsets)))

    def of(self, t: Text, lane: str) -> str:
        """Returns the coordinate of one lane, as i32."""
        spelled = f"<{len(self.lane_offsets)} x i32>"
        if self.scalar is None:
            return t.op(f"extractelement {spelled} {self.vector}, i32 {lane}")
        if not any(self.lane_offsets):
            return self.scalar
        own = t.op(f"extractelement {spelled} {vt.numbers(_INT, self.lane_offsets)}, i32 {lane}")
        return t.op(f"add i32 {self.scalar}, {own}")

    def lanes(self, e: VectorEmitter) -> str:
        return vt.emit_add_pattern(e.body, _INT, self.scalar, self.lane_offsets) if self.scalar is not None else self.vector


def component(value: ir.Value, at: int) -> ir.Value | None:
    """Returns the scalar inserted as component `at` of a vector; None if it is not visible."""
    while isinstance(value, ir.Instr) and value.op == "insertelement" and isinstance(value.operands[2], ir.Const):
        if value.operands[2].value == at:
            return value.operands[1]
        value = value.operands[0]
    if isinstance(value, ir.Const) and isinstance(value.value, tuple):
        item = value.value[at]
        return item if isinstance(item, ir.Const) else None
    if isinstance(value, ir.Const) and value.value is None and isinstance(value.type, ir.Vector):
        return ir.Const(value.type.elem, 0)
    return value if not isinstance(value.type, ir.Vector) else None


def _plain(format: Format) -> bool:
    """Returns whether every stored channel is a component and none is on an sRGB curve."""
    return not format.srgb and "x" not in ORDERS.get(format.order, "")


def _coordinates(e: VectorEmitter, image: ImageRef, where: ir.Value) -> list[Coordinate]:
    parts = [component(where, at) for at in range(image.dimensions)]
    known = [part if part is not None and e.lanes.is_available(part) else None for part in parts]
    return [Coordinate(e, part, where, at) for at, part in enumerate(known)]


def emit_read(e: VectorEmitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    image = image_of(e, instr.operands[0], instr)
    sampled = isinstance(instr.operands[1].type, ir.Sampler)
    where = instr.operands[2 if sampled else 1]
    if isinstance(llvm_types.elem_of(where.type), ir.Float) or not _plain(image.format):
        e.turns.emit(instr)
        return
    suffix = scalar_images.function_suffix(instr)
    sampler = sampler_of(e, instr.operands[1], instr) if sampled else NO_SAMPLER
    scalar_images.check_format(e, image, suffix, write=False)
    addressing = scalar_images.integer_sampler(e, image, sampler).addressing
    coordinates = _coordinates(e, image, where)
    if sampled and image.layered and not e.unit.proves_in_range(e.current):
        _clamp(e, image, coordinates, image.axes)
    stored = _plan_row_read(e, image, coordinates) if e.active.mask is None else None
    if stored is None:
        parts, outside = _emit_lane_reads(e, image, coordinates, addressing)
        e.lanes.define(instr, _emit_colour(e, image.format, suffix, parts, outside, addressing))
        return
    inside, read_row = stored
    t = e.body
    quick, slow, done = t.fresh("row"), t.fresh("apart"), t.fresh("read")
    t.branch(inside, quick, slow)
    t.block(quick)
    near = read_row()
    t.jump(done)
    t.block(slow)
    far, outside = _emit_lane_reads(e, image, coordinates, addressing)
    slow_end = t.label
    t.jump(done)
    t.block(done)
    type = e.lanes.spelled(texels.stored_type(image.format))
    parts = [t.op(f"phi {type} [ {a}, %{quick} ], [ {b}, %{slow_end} ]") for a, b in zip(near, far, strict=True)]
    if outside is not None:
        outside = t.op(f"phi <{e.count} x i1> [ zeroinitializer, %{quick} ], [ {outside}, %{slow_end} ]")
    e.lanes.define(instr, _emit_colour(e, image.format, suffix, parts, outside, addressing))


def _clamp(e: VectorEmitter, image: ImageRef, coordinates: list[Coordinate], at: int) -> None:
    """Clamps a coordinate to the image."""
    one = coordinates[at]
    if one.uniform:
        assert one.scalar is not None
        one.scalar = emit_clamp(e, one.scalar, image.extent(at))
        return
    vector = one.lanes(e)
    coordinates[at].scalar, coordinates[at].lane_offsets = None, (0,) * e.count
    coordinates[at].vector = _emit_clamp(e, vector, image.extent(at))


def _emit_clamp(e: VectorEmitter, vector: str, extent: str) -> str:
    t, spelled = e.body, f"<{e.count} x i32>"
    last = vt.splat(t, _INT, t.op(f"sub i32 {extent}, 1"), e.count)
    name = f"v{e.count}i32"
    low = e.unit.declare(f"llvm.smax.{name}", spelled, f"{spelled}, {spelled}")
    high = e.unit.declare(f"llvm.smin.{name}", spelled, f"{spelled}, {spelled}")
    raised = t.op(f"call {low}({spelled} {vector}, {spelled} zeroinitializer)")
    return t.op(f"call {high}({spelled} {raised}, {spelled} {last})")


def _plan_row_read(
    e: VectorEmitter, image: ImageRef, coordinates: list[Coordinate]
) -> tuple[str, Callable[[], list[str]]] | None:
    """Returns an i1 (all lanes read adjacent texels in range) and a function that emits this read; None if lanes never form a
    row."""
    if not coordinates[0].is_row or not all(c.uniform for c in coordinates[1:]):
        return None
    t, x = e.body, coordinates[0].scalar
    room = t.op(f"sub i32 {image.extent(0)}, {e.count}")
    inside = t.op(f"and i1 {t.op(f'icmp sge i32 {x}, 0')}, {t.op(f'icmp sle i32 {x}, {room}')}")
    for at, one in enumerate(coordinates[1:], 1):
        inside = t.op(f"and i1 {inside}, {t.op(f'icmp ult i32 {one.scalar}, {image.extent(at)}')}")
    return inside, lambda: _emit_fetch(e, image, coordinates, None)


def _lane_pointer(e: VectorEmitter, image: ImageRef, coordinates: list[Coordinate], base: str) -> LanePtr:
    """Returns the texel addresses of the lanes in memory at `base` with the layout of the image."""
    t, index = e.body, None
    lane_offsets = (0,) * e.count
    for one, pitch in zip(coordinates, image.pitches(), strict=True):
        if one.scalar is not None and (one.uniform or (isinstance(pitch, int) and one.is_row)):
            wide = t.op(f"sext i32 {one.scalar} to i64")
            step = emit_mul_i64(t, wide, pitch) if isinstance(pitch, int) else t.op(f"mul i64 {wide}, {pitch}")
            base = t.op(f"getelementptr i8, ptr {base}, i64 {step}")
            if not one.uniform:
                assert isinstance(pitch, int)
                lane_offsets = tuple(p * pitch for p in one.lane_offsets)
            continue
        vector = t.op(f"sext <{e.count} x i32> {one.lanes(e)} to <{e.count} x i64>")
        spread = vt.splat(t, ir.Int(64), str(pitch), e.count)
        step = t.op(f"mul <{e.count} x i64> {vector}, {spread}")
        index = t.op(f"add <{e.count} x i64> {index}, {step}") if index else step
    if index is not None and any(lane_offsets):
        index = t.op(f"add <{e.count} x i64> {index}, {vt.numbers(ir.Int(64), lane_offsets)}")
        lane_offsets = (0,) * e.count
    return LanePtr(Ptr(base, 0, 0), lane_offsets, index)


def _emit_lane_reads(
    e: VectorEmitter, image: ImageRef, coordinates: list[Coordinate], addressing: str
) -> tuple[list[str], str | None]:
    """Returns the stored channels of each lane's texel, and the lanes that are out of range."""
    t = e.body
    if e.unit.proves_in_range(e.current) or (addressing == "none" and not e.unit.checked):
        return _emit_fetch(e, image, coordinates, e.active.mask), None
    outside = _emit_outside(e, image, coordinates)
    if e.unit.checked and addressing == "none":
        e.faults.raise_lanes(outside)
    elif e.unit.checked:
        _count_clamped_reads(e, image, coordinates, outside)
    if addressing == "clamp_to_edge":
        for at in range(len(coordinates)):
            _clamp(e, image, coordinates, at)
        return _emit_fetch(e, image, coordinates, e.active.mask), None
    mask = vt.emit_and_masks(t, e.active.mask, vt.emit_not_mask(t, outside, e.count), e.count)
    return _emit_fetch(e, image, coordinates, mask), outside


def _count_clamped_reads(e: VectorEmitter, image: ImageRef, coordinates: list[Coordinate], outside: str) -> None:
    """Counts the lanes whose out-of-range read the addressing mode defines."""

    def values(t: Text, lane: str) -> list[str]:
        return coordinate_values(t, image, [one.of(t, lane) for one in coordinates])

    e.faults.count_lanes(outside, coordinate_site(e, image, Kind.CLAMPED_READ), values)


def _emit_outside(e: VectorEmitter, image: ImageRef, coordinates: list[Coordinate]) -> str:
    t, result, same = e.body, "", ""
    for at, one in enumerate(coordinates):
        if one.uniform:
            out = t.op(f"icmp uge i32 {one.scalar}, {image.extent(at)}")
            same = t.op(f"or i1 {same}, {out}") if same else out
            continue
        limit = vt.splat(t, _INT, image.extent(at), e.count)
        out = t.op(f"icmp uge <{e.count} x i32> {one.lanes(e)}, {limit}")
        result = t.op(f"or <{e.count} x i1> {result}, {out}") if result else out
    if same:
        spread = vt.splat(t, ir.Int(1), same, e.count)
        result = t.op(f"or <{e.count} x i1> {result}, {spread}") if result else spread
    return result


# Texels


def _emit_fetch(e: VectorEmitter, image: ImageRef, coordinates: list[Coordinate], mask: str | None) -> list[str]:
    """Returns the stored channels, one vector each."""
    e.hooks.on_vector_image_read(image, lambda base: _lane_pointer(e, image, coordinates, base), mask)
    where = _lane_pointer(e, image, coordinates, image.field("address"))
    format = image.format
    return memory.emit_load_elements(e, where, llvm_types.elem_of(texels.stored_type(format)), format.channels, mask, 1)


def _emit_colour(
    e: VectorEmitter, format: Format, suffix: str, stored: list[str], outside: str | None, addressing: str
) -> list[str]:
    """Returns red, green, blue and alpha, decoded from the stored channels."""
    type = e.lanes.wide(texels.stored_type(format))
    lane = texels.LANE_TYPES[suffix]
    decode = texels.decode_channel if texels.converts(format, suffix) else texels.reinterpret_channel
    channels = [decode(e, format, suffix, type, part) for part in stored]
    one = texels.BORDER_ONE[suffix] if format.order != "A" else llvm_types.zero(lane)
    vector = e.lanes.wide(lane)
    colour = [constants.splat(vector, text) for text in [llvm_types.zero(lane)] * 3 + [one]]
    sources = [(i, i) for i in range(4)] if format.order == "RGBA" else texels.stored_components(format.order)
    for position, channel in sources:
        colour[position] = channels[channel]
    if outside is None:
        return colour
    border = [texels.BORDER_ONE[suffix] if c else llvm_types.zero(lane) for c in format.border] if addressing == "clamp" else None
    instead = [constants.splat(vector, border[at] if border else llvm_types.zero(lane)) for at in range(4)]
    spelled = llvm_types.spell(vector)
    return [
        e.body.op(f"select <{e.count} x i1> {outside}, {spelled} {b}, {spelled} {c}")
        for b, c in zip(instead, colour, strict=True)
    ]


def emit_write(e: VectorEmitter, instr: ir.Instr) -> None:
    image = image_of(e, instr.operands[0], instr)
    format, suffix = image.format, scalar_images.function_suffix(instr)
    if not _plain(format):
        e.turns.emit(instr)
        return
    scalar_images.check_format(e, image, suffix, write=True)
    coordinates = _coordinates(e, image, instr.operands[1])
    mask, t = e.active.mask, e.body
    if e.unit.checked and not e.unit.proves_in_range(e.current):
        outside = _emit_outside(e, image, coordinates)
        e.faults.raise_lanes(outside)
        mask = vt.emit_and_masks(t, mask, vt.emit_not_mask(t, outside, e.count), e.count)
    stored = _encode(e, format, suffix, e.lanes.components(instr.operands[-1]))

    def target(base: str) -> LanePtr:
        where = _lane_pointer(e, image, coordinates, base)
        one = where.index is None and not any(where.lane_offsets)  # all lanes write one texel: the last one's stays
        return replace(where, index="zeroinitializer") if one else where

    e.hooks.on_vector_image_write(image, target, mask)
    elem = llvm_types.elem_of(texels.stored_type(format))
    memory.emit_store_elements(e, target(image.field("address")), elem, stored, mask, 1)


def _encode(e: VectorEmitter, format: Format, suffix: str, colour: list[str]) -> list[str]:
    """Returns the channels in their stored form."""
    type = e.lanes.wide(texels.stored_type(format))
    wide = e.lanes.wide(texels.LANE_TYPES[suffix])
    components = colour if format.order == "RGBA" else [colour["rgba".index(c)] for c in ORDERS[format.order]]
    if texels.converts(format, suffix):
        return [texels.encode_channel(e, format, type, wide, c) for c in components]
    return [texels.pass_channel_bits(e, type, wide, c, format.meaning in ("int", "snorm")) for c in components]
