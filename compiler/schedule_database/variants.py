"""The parts of the space that no tile size expresses: where operands are read from, and how padding is done.

Each variant is a design space of its own, because it has stages that others lack; within one, tile sizes and unrolling are
sampled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ...records import dataclass

KEY = "adreno_sim.variant"
"""Annotation of the root block that names the variant."""


@dataclass(frozen=True)
class Variant:
    """padding: "guarded" reads the unpadded operand behind a condition, "copied" writes a padded copy first, "" has none.

    data, weight: what the sum reads. A "texture" is filled by a separate stage, since a task does not know that its
    argument may be one already; "local" is a tile of weights shared by the work-group. registers: texels of the data are
    held in private memory while their four channels are used.
    """

    padding: Literal["", "guarded", "copied"] = ""
    data: Literal["buffer", "texture"] = "buffer"
    weight: Literal["buffer", "texture", "local"] = "buffer"
    registers: bool = False

    def __str__(self) -> str:
        parts = [f"data {self.data}", f"weight {self.weight}"]
        parts += [f"padding {self.padding}"] if self.padding else []
        return ", ".join(parts + (["registers"] if self.registers else []))


def variants(padded: bool, textures: bool, weight_texture: bool, registers: bool) -> Iterator[Variant]:
    """Every variant that fits: whether there is padding to copy, and what can be a texture or be held in registers."""
    for padding, data in _data(padded, textures):
        for weight in ("buffer", "texture", "local"):
            if weight == "texture" and not weight_texture:
                continue
            yield Variant(padding, data, weight, False)  # type: ignore[arg-type]
            if registers:
                yield Variant(padding, data, weight, True)  # type: ignore[arg-type]


def _data(padded: bool, textures: bool) -> Iterator[tuple[str, str]]:
    """(padding, data)."""
    guarded = "guarded" if padded else ""
    yield guarded, "buffer"
    if textures:
        yield guarded, "texture"
        if padded:
            yield "copied", "texture"
