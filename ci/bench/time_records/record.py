"""Tuning records of convolutions: a workload, a schedule of TVM's AutoTVM for Adreno, and its measured time.

The schedule is that of TVM up to 0.18 (python/tvm/topi/adreno/conv2d_nchw.py, depthwise_conv2d_nchw.py, utils.py; apache/tvm).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

CONV, DEPTHWISE = "conv2d_nchwc.image2d", "depthwise_conv2d_nchwc.image2d"
BLOCK = 4
"""Channels of a texel."""
MOST_ROWS = 16384
"""Rows, and columns, of the largest texture that TVM makes."""


class Split(NamedTuple):
    """An axis of outputs in three: groups, parts that one work-item computes, and work-items of a group."""

    parts: int
    items: int


class Texture(NamedTuple):
    """A tensor of five axes as a texture. place: row and column of a texel, as text, by the text of its first four axes."""

    rows: int
    columns: int
    place: Callable[[str, str, str, str], tuple[str, str]]

    @property
    def texels(self) -> int:
        return self.rows * self.columns


@dataclass(frozen=True)
class Record:
    """A row of a file of records. shape: batch, channels, height, width. seconds: of all that the tuned function launches."""

    operator: str
    dtype: str
    shape: tuple[int, int, int, int]
    weight: tuple[int, int, int, int]
    strides: tuple[int, int]
    padding: tuple[int, int, int, int]
    dilation: tuple[int, int]
    fc: Split
    y: Split
    x: Split
    rc: int
    ry: int
    rx: int
    seconds: float

    @property
    def depthwise(self) -> bool:
        return self.operator == DEPTHWISE

    @property
    def half(self) -> bool:
        return self.dtype == "float16"

    @property
    def texel_bytes(self) -> int:
        return BLOCK * (2 if self.half else 4)

    @property
    def workload(self) -> tuple[object, ...]:
        return self.operator, self.dtype, self.shape, self.weight, self.strides, self.padding, self.dilation

    @cached_property
    def output(self) -> tuple[int, int]:
        """Height and width of the output."""
        _, _, height, width = self.shape
        top, left, bottom, right = self.padding
        (dy, dx), (_, _, kh, kw) = self.dilation, self.weight
        return (
            (height + top + bottom - (kh - 1) * dy - 1) // self.strides[0] + 1,
            (width + left + right - (kw - 1) * dx - 1) // self.strides[1] + 1,
        )

    @cached_property
    def channel_blocks(self) -> int:
        """Texels of channels of the output."""
        return -(-(self.shape[1] if self.depthwise else self.weight[0]) // BLOCK)

    @cached_property
    def input_blocks(self) -> int:
        return -(-self.shape[1] // BLOCK)

    @cached_property
    def grid(self) -> tuple[int, int, int]:
        """Groups along x, y and z."""
        (height, width), batch = self.output, self.shape[0]
        return (
            -(-width // (self.x.parts * self.x.items)),
            -(-height // (self.y.parts * self.y.items)),
            batch * -(-self.channel_blocks // (self.fc.parts * self.fc.items)),
        )

    @property
    def local(self) -> tuple[int, int, int]:
        return self.x.items, self.y.items, self.fc.items

    def real_parts(self) -> tuple[int, int, int]:
        """Parts of a work-item along fc, y and x whose outputs exist: a compiler removes the others."""
        extents = zip((self.fc, self.y, self.x), (self.channel_blocks, *self.output), strict=True)
        fc, y, x = (min(split.parts, math.ceil(extent / split.items)) for split, extent in extents)
        return fc, y, x

    @cached_property
    def data_texture(self) -> Texture:
        """The input with its padding: as much as the taps of the outputs read."""
        _, _, height, width = self.shape
        if any(self.padding):
            (dy, dx), (_, _, kh, kw), (oh, ow) = self.dilation, self.weight, self.output
            height, width = (oh - 1) * self.strides[0] + (kh - 1) * dy + 1, (ow - 1) * self.strides[1] + (kw - 1) * dx + 1
        axes = self.shape[0], self.input_blocks, height, width
        return _by_rows(axes) if self.depthwise and axes[0] * axes[1] * axes[2] <= MOST_ROWS else store(axes)

    @cached_property
    def weight_texture(self) -> Texture:
        _, inputs, kh, kw = self.weight
        axes = self.channel_blocks, 1 if self.depthwise else inputs, kh, kw
        return _by_filters(axes) if self.depthwise else store(axes)

    @property
    def output_bytes(self) -> int:
        height, width = self.output
        return self.shape[0] * self.channel_blocks * height * width * self.texel_bytes


def _by_rows(axes: tuple[int, int, int, int]) -> Texture:
    a, b, c, d = axes
    return Texture(a * b * c, d, lambda i, j, k, l: (f"(({i}) * {b} + ({j})) * {c} + ({k})", l))  # noqa: E741


def _by_filters(axes: tuple[int, int, int, int]) -> Texture:
    a, b, c, d = axes
    return Texture(a, b * c * d, lambda i, j, k, l: (i, f"(({j}) * {c} + ({k})) * {d} + ({l})"))  # noqa: E741


def store(axes: tuple[int, int, int, int]) -> Texture:
    """The layout that TVM chooses by the largest texture."""
    a, b, c, d = axes
    if a * b * c < MOST_ROWS and d < MOST_ROWS:
        return _by_rows(axes)
    if a * b < MOST_ROWS and c * d < MOST_ROWS:
        return Texture(a * b, c * d, lambda i, j, k, l: (f"({i}) * {b} + ({j})", f"({k}) * {d} + ({l})"))  # noqa: E741
    return _by_filters(axes)


def read_records(path: Path) -> tuple[list[Record], dict[str, int]]:
    """Returns the records of a file whose kernels can be rebuilt, and how many others there are of each operator."""
    records, others = [], dict[str, int]()
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["operator"] in (CONV, DEPTHWISE):
                records.append(_read(row))
            else:
                others[row["operator"]] = others.get(row["operator"], 0) + 1
    return records, others


def _read(row: dict[str, str]) -> Record:
    def numbers(name: str) -> tuple[int, ...]:
        return tuple(map(int, row[name].split("x")))

    padding = numbers("padding")
    return Record(
        operator=row["operator"],
        dtype=row["dtype"],
        shape=numbers("data"),  # type: ignore[arg-type]
        weight=numbers("weight"),  # type: ignore[arg-type]
        strides=numbers("strides"),  # type: ignore[arg-type]
        padding=padding * 2 if len(padding) == 2 else padding,  # type: ignore[arg-type]
        dilation=numbers("dilation"),  # type: ignore[arg-type]
        fc=Split(*numbers("tile_fc")),
        y=Split(*numbers("tile_y")),
        x=Split(*numbers("tile_x")),
        rc=int(row["tile_rcc"] or 1),
        ry=int(row["tile_ry"]),
        rx=int(row["tile_rx"]),
        seconds=float(row["seconds"]),
    )


SLOW_HEIGHTS = frozenset((75, 38, 19, 10, 5, 3, 2))
SLOW_HEIGHTS_OF_FLOATS = frozenset((150, 300))
SLOW_OUTPUTS = frozenset((24, 546))


def is_slow(record: Record) -> bool:
    """Whether the record is of the session whose clock was lower: that of MobileNet-SSD, whose shapes no other network
    has."""
    height = record.shape[2]
    return (
        height in SLOW_HEIGHTS
        or (not record.half and height in SLOW_HEIGHTS_OF_FLOATS)
        or (record.shape == (1, 128, 1, 1) and record.weight[0] in SLOW_OUTPUTS)
    )
