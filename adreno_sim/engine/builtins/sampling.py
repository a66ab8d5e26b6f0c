"""Reads at float coordinates: normalised or not, NEAREST and LINEAR, all addressing modes (OpenCL C 3.0, section 8.2).

Undefined coordinates have fixed results: NaN counts as 0, an infinity as the largest index.
"""

from __future__ import annotations

from ...base.specs import Sampler
from ...findings import Kind
from ...ir import ir, llvm_types
from ..emit.builtin_registry import emit_intrinsic
from ..emit.diagnostic_sites import DiagnosticSite
from ..emit.emitter import Emitter
from ..emit.image_refs import ImageRef
from ..llvm import constants
from . import texels
from .conversions import emit_to_int, resize_float
from .image_access import emit_read_at

_INT, _FLOAT, _DOUBLE = ir.Int(32), ir.Float(32), ir.Float(64)
_FAR = 1 << 30  # beyond every image, and its neighbours still fit in an int


def _number(value: float) -> str:
    return constants.number(_FLOAT, value)


def _float(e: Emitter, op: str, a: str, b: str) -> str:
    return e.body.op(f"{op} float {a}, {b}")


def _index(e: Emitter, value: str) -> str:
    """Converts a float to an index. NaN yields 0; large values stay away from the limits of int."""
    whole = emit_to_int(e, _FLOAT, _INT, value, True)
    return emit_intrinsic(e, "smax", _INT, emit_intrinsic(e, "smin", _INT, whole, str(_FAR)), str(-_FAR))


def _scale(e: Emitter, coordinate: str, extent: str, sampler: Sampler) -> str:
    """Returns the unnormalised u along one axis."""
    size = e.body.op(f"uitofp i32 {extent} to float")
    if sampler.addressing == "repeat":
        whole = emit_intrinsic(e, "floor", _FLOAT, coordinate)
        return _float(e, "fmul", _float(e, "fsub", coordinate, whole), size)
    if sampler.addressing == "mirrored_repeat":
        nearest = emit_intrinsic(e, "roundeven", _FLOAT, _float(e, "fmul", _number(0.5), coordinate))
        distance = _float(e, "fsub", coordinate, _float(e, "fmul", _number(2.0), nearest))
        return _float(e, "fmul", emit_intrinsic(e, "fabs", _FLOAT, distance), size)
    return _float(e, "fmul", coordinate, size) if sampler.normalized else coordinate


def emit_sample(e: Emitter, image: ImageRef, suffix: str, sampler: Sampler, where: list[str]) -> str:
    """Returns the colour at float coordinates."""
    sampler = _check_sampler(e, image, suffix, sampler)
    axes = [_scale(e, c, image.extent(d), sampler) for d, c in enumerate(where[: image.axes])]
    layer = _layer(e, image, where) if image.layered else []
    if sampler.filter == "linear":
        return _emit_blend(e, image, suffix, sampler, axes, layer)
    indices = [_nearest(e, u, image.extent(d), sampler) for d, u in enumerate(axes)]
    inside = Sampler(False, "clamp_to_edge" if sampler.addressing.endswith("repeat") else sampler.addressing, "nearest")
    return emit_read_at(e, image, suffix, inside, [*indices, *layer], sampled=True)


def _check_sampler(e: Emitter, image: ImageRef, suffix: str, sampler: Sampler) -> Sampler:
    """Reports combinations that the language leaves undefined. Returns a sampler that is used for them."""
    wrong = ""
    if sampler.addressing.endswith("repeat") and not sampler.normalized:
        wrong = f"addressing {sampler.addressing} needs normalized coordinates"
    if sampler.filter == "linear" and suffix in ("i", "ui"):
        wrong = "linear filtering of integers is undefined"
        sampler = Sampler(sampler.normalized, sampler.addressing, "nearest")
    if wrong and e.unit.checked:
        e.unit.add_static_finding(
            DiagnosticSite(Kind.UNDEFINED_SAMPLER, e.loc, view=image.param.name, text=f"{image.param.name}: {wrong}")
        )
    return sampler


def _layer(e: Emitter, image: ImageRef, where: list[str]) -> list[str]:
    return [_index(e, emit_intrinsic(e, "roundeven", _FLOAT, where[image.axes]))]


def _nearest(e: Emitter, u: str, extent: str, sampler: Sampler) -> str:
    index = _index(e, emit_intrinsic(e, "floor", _FLOAT, u))
    if sampler.addressing == "repeat":
        past = e.body.op(f"icmp sge i32 {index}, {extent}")
        return e.body.op(f"select i1 {past}, i32 {e.body.op(f'sub i32 {index}, {extent}')}, i32 {index}")
    if sampler.addressing == "mirrored_repeat":
        return emit_intrinsic(e, "smin", _INT, index, e.body.op(f"sub i32 {extent}, 1"))
    return index


def _emit_neighbours(e: Emitter, u: str, extent: str, sampler: Sampler) -> tuple[str, str, str]:
    """Returns the two texels to blend along one axis, and the weight of the second as a double."""
    t = e.body
    shifted = _float(e, "fsub", u, _number(0.5))
    if bits := e.unit.spec.filter_bits:
        steps = emit_intrinsic(e, "roundeven", _FLOAT, _float(e, "fmul", shifted, _number(2.0**bits)))
        shifted = _float(e, "fmul", steps, _number(2.0**-bits))
    whole = emit_intrinsic(e, "floor", _FLOAT, shifted)
    low = _index(e, whole)
    share = _float(e, "fsub", shifted, whole)
    proper = t.op(f"fcmp ord float {share}, {share}")
    weight = t.op(f"fpext float {t.op(f'select i1 {proper}, float {share}, float 0.0')} to double")
    high = t.op(f"add i32 {low}, 1")
    if sampler.addressing == "repeat":
        under = t.op(f"icmp slt i32 {low}, 0")
        over = t.op(f"icmp sge i32 {high}, {extent}")
        low = t.op(f"select i1 {under}, i32 {t.op(f'add i32 {low}, {extent}')}, i32 {low}")
        high = t.op(f"select i1 {over}, i32 {t.op(f'sub i32 {high}, {extent}')}, i32 {high}")
    elif sampler.addressing == "mirrored_repeat":
        low = emit_intrinsic(e, "smax", _INT, low, "0")
        high = emit_intrinsic(e, "smin", _INT, high, t.op(f"sub i32 {extent}, 1"))
    return low, high, weight


def _emit_blend(e: Emitter, image: ImageRef, suffix: str, sampler: Sampler, axes: list[str], layer: list[str]) -> str:
    """Blends 2, 4 or 8 texels in double, x innermost. A texel of weight 0 is not read, so it may be out of range."""
    corners = [_emit_neighbours(e, u, image.extent(d), sampler) for d, u in enumerate(axes)]
    inside = Sampler(False, "clamp_to_edge" if sampler.addressing.endswith("repeat") else sampler.addressing, "nearest")
    colour = texels.colour_type(suffix)
    wide = llvm_types.with_elem(colour, _DOUBLE)
    spelled = llvm_types.spell(wide)

    def splat(value: str) -> str:
        first = e.body.op(f"insertelement {spelled} zeroinitializer, double {value}, i32 0")
        return e.body.op(f"shufflevector {spelled} {first}, {spelled} zeroinitializer, <4 x i32> zeroinitializer")

    def blend(axis: int, chosen: list[str], unused: str | None) -> str:
        if axis < 0:
            texel = emit_read_at(e, image, suffix, inside, [*chosen, *layer], sampled=True, unused=unused)
            return resize_float(e, colour, wide, texel, "")
        low, high, weight = corners[axis]
        none = e.body.op(f"fcmp oeq double {weight}, 0.0")
        near = blend(axis - 1, [low, *chosen], unused)
        far = blend(axis - 1, [high, *chosen], none if unused is None else e.body.op(f"or i1 {unused}, {none}"))
        rest = e.body.op(f"fsub double 1.0, {weight}")
        first = e.body.op(f"fmul {spelled} {splat(rest)}, {near}")
        second = e.body.op(f"fmul {spelled} {splat(weight)}, {far}")
        return e.body.op(f"fadd {spelled} {first}, {second}")

    return resize_float(e, wide, colour, blend(len(axes) - 1, [], None), "")
