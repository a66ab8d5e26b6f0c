"""Resolves the image and sampler operands of calls."""

from __future__ import annotations

from ...base.specs import Sampler
from ...image.formats import format_of
from ...ir import ir
from ...ir.unsupported import unsupported
from ..abi.specialization import ImageArg, SamplerArg
from .emitter import Emitter
from .image_refs import AXES, ImageRef
from .region import RegionEmitter

NO_SAMPLER = Sampler(False, "none", "nearest")
"""The sampler of a read without a sampler operand."""

_ADDRESSING = ("none", "clamp_to_edge", "clamp", "repeat", "mirrored_repeat")


def image_of(e: Emitter, value: ir.Value, instr: ir.Instr) -> ImageRef:
    """Returns the image that an operand denotes."""
    if not isinstance(value, ir.Param) or not isinstance(e, RegionEmitter):
        raise unsupported("an image that is not a kernel argument", instr.loc)
    arg = e.unit.spec.args[value.index]
    assert isinstance(arg, ImageArg)
    if arg.kind not in AXES:
        raise unsupported(f"images of kind {arg.kind}", instr.loc)
    return ImageRef(e.argument_slots, value, arg.kind, format_of(arg.order, arg.channel_type))


def sampler_of(e: Emitter, value: ir.Value, instr: ir.Instr) -> Sampler:
    """Returns the sampler that an operand denotes. It is always known at compile time."""
    if isinstance(value, ir.Param):
        arg = e.unit.spec.args[value.index]
        assert isinstance(arg, SamplerArg)
        return arg.sampler
    if isinstance(value, ir.Instr) and value.callee is not None and value.callee.name == "__translate_sampler_initializer":
        bits = value.operands[0]
        if isinstance(bits, ir.Const) and isinstance(bits.value, int):
            return decode_sampler(bits.value, instr)
    raise unsupported("a sampler that is neither a constant nor a kernel argument", instr.loc)


def decode_sampler(bits: int, instr: ir.Instr) -> Sampler:
    """Returns the sampler of CLK_ bits: bit 0 normalised, bits 1-3 addressing, bits 4-5 filter."""
    addressing, filter = bits >> 1 & 7, bits >> 4 & 3
    if addressing >= len(_ADDRESSING) or filter not in (1, 2):
        raise unsupported(f"sampler value {bits:#x}", instr.loc)
    return Sampler(bool(bits & 1), _ADDRESSING[addressing], "nearest" if filter == 1 else "linear")
