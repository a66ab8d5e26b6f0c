"""Image and sampler arguments as the emitter sees them: fields of the descriptor, extents by axis, the sampler in force."""

from __future__ import annotations

from dataclasses import dataclass

from ..base.specs import Sampler
from ..clc import ir
from ..clc.unsupported import unsupported
from ..image.formats import Format, format_of
from . import arguments
from .emit import Emitter
from .kernel import KernelEmitter
from .specialisation import ImageArg, SamplerArg

AXES = {"image1d": 1, "image1d_buffer": 1, "image1d_array": 1, "image2d": 2, "image2d_array": 2, "image3d": 3}
"""Axes that are filtered and addressed, by image kind; an array has its layer as one coordinate more."""

NO_SAMPLER = Sampler(False, "none", "nearest")
"""What a read without a sampler means."""

_ADDRESSING = ("none", "clamp_to_edge", "clamp", "repeat", "mirrored_repeat")


@dataclass(frozen=True)
class ImageRef:
    """An image argument in one function. Extents are i32 operands for x, y and depth or layers."""

    emitter: KernelEmitter
    param: ir.Param
    kind: str
    format: Format

    @property
    def axes(self) -> int:
        return AXES[self.kind]

    @property
    def layered(self) -> bool:
        return self.kind.endswith("_array")

    @property
    def dimensions(self) -> int:
        """Coordinates an access takes."""
        return self.axes + (1 if self.layered else 0)

    def field(self, name: str) -> str:
        """A field of the descriptor: `ptr` for the address, i64 for the rest."""
        at = 8 * arguments.IMAGE_FIELDS.index(name)
        return self.emitter.argument_field(self.param.index, at, "ptr" if name == "address" else "i64")

    def extent(self, dimension: int) -> str:
        """How many texels (or layers) there are along a coordinate, as i32."""
        layer = self.layered and dimension == self.axes
        name = "depth_or_layers" if layer else ("width", "height", "depth_or_layers")[dimension]
        return self.emitter.narrow_field(self.param.index, 8 * arguments.IMAGE_FIELDS.index(name))

    def pitches(self) -> list[str | int]:
        """Bytes from one texel to the next along each coordinate."""
        along: list[str | int] = [self.format.texel_bytes, "row_pitch", "slice_pitch"]
        along = along[: self.axes]
        if self.layered:
            along.append("slice_pitch")
        return [self.field(p) if isinstance(p, str) else p for p in along]


def image_of(e: Emitter, value: ir.Value, instr: ir.Instr) -> ImageRef:
    """The image an operand stands for."""
    if not isinstance(value, ir.Param) or not isinstance(e, KernelEmitter):
        raise unsupported("an image that is no kernel argument", instr.place)
    arg = e.unit.key.args[value.index]
    assert isinstance(arg, ImageArg)
    if arg.kind not in AXES:
        raise unsupported(f"images of kind {arg.kind}", instr.place)
    return ImageRef(e, value, arg.kind, format_of(arg.order, arg.channel_type))


def sampler_of(e: Emitter, value: ir.Value, instr: ir.Instr) -> Sampler:
    """The sampler an operand stands for; it is always known when compiling."""
    if isinstance(value, ir.Param):
        arg = e.unit.key.args[value.index]
        assert isinstance(arg, SamplerArg)
        return arg.sampler
    if isinstance(value, ir.Instr) and value.callee is not None and value.callee.name == "__translate_sampler_initializer":
        bits = value.operands[0]
        if isinstance(bits, ir.Const) and isinstance(bits.value, int):
            return decoded(bits.value, instr)
    raise unsupported("a sampler that is neither a constant nor a kernel argument", instr.place)


def decoded(bits: int, instr: ir.Instr) -> Sampler:
    """A sampler from the bits of its CLK_ constants (bit 0 normalised, bits 1-3 addressing, bits 4-5 filter)."""
    addressing, filter = bits >> 1 & 7, bits >> 4 & 3
    if addressing >= len(_ADDRESSING) or filter not in (1, 2):
        raise unsupported(f"sampler value {bits:#x}", instr.place)
    return Sampler(bool(bits & 1), _ADDRESSING[addressing], "nearest" if filter == 1 else "linear")
