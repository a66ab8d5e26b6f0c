"""Image arguments in emitters: fields of the descriptor, and extents by axis."""

from __future__ import annotations

from ...image.formats import Format
from ...ir import ir
from ...records import dataclass
from ..abi import argument_block
from .argument_slots import ArgumentSlots

AXES = {"image1d": 1, "image1d_buffer": 1, "image1d_array": 1, "image2d": 2, "image2d_array": 2, "image3d": 3}
"""The number of filtered and addressed axes by image kind. An array has its layer as one more coordinate."""


@dataclass(frozen=True)
class ImageRef:
    """An image argument in one function. Extents are i32 operands for x, y and depth or layers."""

    slots: ArgumentSlots
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
        at = 8 * argument_block.IMAGE_FIELDS.index(name)
        return self.slots.field(self.param.index, at, "ptr" if name == "address" else "i64")

    def extent(self, dimension: int) -> str:
        """How many texels (or layers) there are along a coordinate, as i32."""
        layer = self.layered and dimension == self.axes
        name = "depth_or_layers" if layer else ("width", "height", "depth_or_layers")[dimension]
        return self.slots.narrow_field(self.param.index, 8 * argument_block.IMAGE_FIELDS.index(name))

    def pitches(self) -> list[str | int]:
        """Bytes from one texel to the next along each coordinate."""
        along: list[str | int] = [self.format.texel_bytes, "row_pitch", "slice_pitch"]
        along = along[: self.axes]
        if self.layered:
            along.append("slice_pitch")
        return [self.field(p) if isinstance(p, str) else p for p in along]
