"""Shadows of texels: which colour components the channels of a format hold, and shadows of colours from those of channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...image.formats import ORDERS, Format
from ...ir import ir, llvm_types
from .propagation import Propagation, all_ones, shadow_type, spell_shadow

if TYPE_CHECKING:
    from ..llvm.text import Text

_COMPONENTS = "rgba"
_GREY = {"INTENSITY": (0, 1, 2, 3), "LUMINANCE": (0, 1, 2)}


def stored_type(format: Format) -> ir.Type:
    """Returns the type of the channels of a texel in memory, as integers."""
    elem = ir.Int(format.dtype.itemsize * 8)
    return ir.Vector(elem, format.channels) if format.channels > 1 else elem


def stored_lanes(format: Format) -> dict[int, int]:
    """Maps the lanes of a colour that a write stores to the channels that hold them."""
    if format.order in _GREY:
        return {0: 0}
    return {_COMPONENTS.index(component): channel for channel, component in enumerate(ORDERS[format.order]) if component != "x"}


def _fetched_lanes(format: Format) -> dict[int, int]:
    """Maps the lanes of a colour that a read takes from memory to their channels."""
    return dict.fromkeys(_GREY[format.order], 0) if format.order in _GREY else stored_lanes(format)


def emit_stored_shadow(rules: Propagation, format: Format, colour: ir.Value, type: ir.Type) -> str:
    """Emits the shadow of what a write of `colour` stores as a `type`: a channel is undefined if its component is."""
    t, stored, count = rules.e.body, stored_type(format), format.channels
    flags = rules.flags(colour)
    found = "zeroinitializer"
    for lane, channel in stored_lanes(format).items():
        flag = t.op(f"extractelement <4 x i1> {flags}, i32 {lane}")
        if not isinstance(stored, ir.Vector):
            return rules.convert(stored, type, rules.spread(stored, flag))
        found = t.op(f"insertelement <{count} x i1> {found}, i1 {flag}, i32 {channel}")
    return rules.convert(stored, type, rules.spread(stored, found))


def emit_fetched_shadow(format: Format, shadow: str, type: ir.Type, t: Text) -> str:
    """Emits the shadow of a colour of `type` from that of its texel in memory, into `t`."""
    stored, result = stored_type(format), "zeroinitializer"
    elem, spelled = llvm_types.spell(llvm_types.elem_of(stored)), spell_shadow(type)
    one = llvm_types.elem_of(shadow_type(type))
    for lane, channel in _fetched_lanes(format).items():
        bits = shadow
        if isinstance(stored, ir.Vector):
            bits = t.op(f"extractelement {llvm_types.spell(stored)} {shadow}, i32 {channel}")
        flag = t.op(f"icmp ne {elem} {bits}, 0")
        item = t.op(f"select i1 {flag}, {one} {all_ones(one)}, {one} 0")
        result = t.op(f"insertelement {spelled} {result}, {one} {item}, i32 {lane}")
    return result
