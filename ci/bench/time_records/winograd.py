"""OpenCL C of a convolution by Winograd's algorithm, which TVM offers for square filters of 3 to 7 with a stride of 1.

Three launches: a tile of inputs is transformed, products of matrices add over channels, one product for each place of a tile, and
what comes out is transformed to a tile of outputs. The schedule is that of TVM up to 0.18
(python/tvm/topi/adreno/conv2d_winograd_common.py; apache/tvm).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .candidates import list_splits
from .kernels import HEAD, TimedKernel, copy_of, element_type, read_texel, write_texel
from .record import BLOCK, Record, Split, Texture, store

GROUP = 128
"""Work-items of a group of both transforms."""
POINTS = (0, -1, 1, 0.5, -2, -0.5, 2, -0.25)
"""Where the polynomials of the algorithm are evaluated, beside infinity."""
MOST_PARTS, MOST_SIDE = 16, 64
"""Of the space of the products: parts of an axis that a work-item computes, and its work-items in a group."""
ITEMS = range(32, 1024)
"""Work-items of a group of the products."""
MOST_OUTPUTS = 64
"""Texels of a work-item. TVM sets no limit; more need more registers than there are."""


def has_winograd(record: Record) -> bool:
    """Whether TVM may compute the convolution so."""
    _, _, height, width = record.weight
    return not record.depthwise and 3 <= height == width <= 7 and record.strides == record.dilation == (1, 1)


@dataclass(frozen=True)
class Winograd:
    """The sizes of a convolution: tiles of `tile` outputs along an axis, of `side` inputs. rows, columns: how the products are
    split, by places and channels, and by tiles."""

    record: Record
    rows: Split
    columns: Split

    @property
    def dtype(self) -> str:
        return self.record.dtype

    @cached_property
    def tile(self) -> int:
        return 4 if self.record.shape[2] % 8 == 0 else 2

    @cached_property
    def side(self) -> int:
        return self.tile + self.record.weight[2] - 1

    @cached_property
    def tiles(self) -> tuple[int, int]:
        """Along the height and the width of the output."""
        height, width = self.record.output
        return -(-height // self.tile), -(-width // self.tile)

    @cached_property
    def all_tiles(self) -> int:
        return self.record.shape[0] * math.prod(self.tiles)

    @property
    def inputs(self) -> Texture:
        """Transformed inputs."""
        return store((self.all_tiles, self.record.input_blocks, self.side, self.side))

    @property
    def weights(self) -> Texture:
        """Transformed weights, which a network has before it runs."""
        return store((self.side, self.side, self.record.input_blocks * BLOCK, self.record.channel_blocks))

    @property
    def products(self) -> Texture:
        return store((self.side, self.side, self.record.channel_blocks, self.all_tiles))


def winograd_kernels(w: Winograd) -> list[TimedKernel]:
    """Returns what the tuned function launches, in order: two copies, as of other convolutions, then the three launches."""
    copies = [copy_of(w.record, texture) for texture in (w.record.data_texture, w.weights)]
    return [*copies, transform_of(w), products_of(w), outputs_of(w)]


def draw_winograds(record: Record, count: int, seed: int) -> list[Winograd]:
    """Returns up to `count` schedules out of the space of the search, each once. A group computes within one place."""
    one = Winograd(record, Split(1, 1), Split(1, 1))
    least = max(some for some in range(1, 5) if one.all_tiles % some == 0)
    rows = list_splits(record.channel_blocks, 1, MOST_SIDE, MOST_PARTS)
    columns = [split for split in list_splits(one.all_tiles, 1, MOST_SIDE, MOST_PARTS) if split.parts >= least]
    every = [
        Winograd(record, y, x) for y in rows for x in columns if y.items * x.items in ITEMS and y.parts * x.parts <= MOST_OUTPUTS
    ]
    return random.Random(f"{seed} {record.workload}").sample(every, min(count, len(every)))


def find_matrices(tile: int, side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the matrices of Cook and Toom's algorithm: of outputs (side x tile), of inputs (side x side), and of weights (side
    x taps), so that along an axis outputs are A^T ((G weights) * (B^T inputs))."""
    taps, points = side - tile + 1, np.array(POINTS[: side - 1], float)

    def powers(count: int) -> np.ndarray:
        last = np.eye(count)[-1:]
        return np.concatenate([points[:, None] ** np.arange(count), last])

    # The transform of inputs is the inverse of evaluation at all points, transposed.
    return powers(tile), np.linalg.inv(powers(side)), powers(taps)


def transform_of(w: Winograd) -> TimedKernel:
    """Returns the transform of inputs: a work-item computes a texel, for which it reads its tile."""
    r, places, blocks = w.record, w.side**2, w.record.input_blocks
    (_, across), (_, inputs, _) = w.tiles, find_matrices(w.tile, w.side)
    total = w.all_tiles * blocks * places
    body = [
        f"  int place = i % {places}, c = i / {places} % {blocks}, p = i / {places * blocks};",
        f"  int row = place / {w.side}, column = place % {w.side};",
        f"  int n = p / {math.prod(w.tiles)}, y = p / {across} % {w.tiles[0]} * {w.tile}, x = p % {across} * {w.tile};",
        *_sum_tile(r, inputs, lambda a, b: r.data_texture.place("n", "c", f"y + {a}", f"x + {b}")),
        f"  {write_texel(r, 'to', w.inputs.place('p', 'c', 'row', 'column'), 'sum')}",
    ]
    source = _kernel("transform", "read_only image2d_t from, write_only image2d_t to", total, body)
    return TimedKernel(source, "transform", (_round_up(total),), (GROUP,), _sizes(r.data_texture, w.inputs), 0, False)


def products_of(w: Winograd) -> TimedKernel:
    """Returns the products: a work-item computes some texels, which it keeps, around a loop over channels."""
    r, (rows, columns), kind = w.record, (w.rows, w.columns), element_type(w.record)
    outputs = [(y, x) for y in range(rows.parts) for x in range(columns.parts)]
    across = r.channel_blocks // (rows.parts * rows.items)
    lines = [
        f"{HEAD}\nkernel void multiply(read_only image2d_t data, read_only image2d_t weights, write_only image2d_t to) {{",
        f"  int place = get_group_id(1) / {across}, by = get_group_id(1) % {across}, bx = get_group_id(0);",
        f"  int row = place / {w.side}, column = place % {w.side}, ty = get_local_id(1), tx = get_local_id(0);",
        *(f"  int k{y} = (by * {rows.parts} + {y}) * {rows.items} + ty;" for y in range(rows.parts)),
        *(f"  int p{x} = (bx * {columns.parts} + {x}) * {columns.items} + tx;" for x in range(columns.parts)),
        *(f"  {kind}4 a{y}_{x} = ({kind}4)(0);" for y, x in outputs),
        f"  for (int c = 0; c < {r.input_blocks}; ++c) {{",
    ]
    for x in range(columns.parts):
        lines.append(f"    {kind}4 d{x} = {read_texel(r, 'data', w.inputs.place(f'p{x}', 'c', 'row', 'column'))};")
    for lane in range(BLOCK):
        for y in range(rows.parts):
            place = w.weights.place("row", "column", f"c * {BLOCK} + {lane}", f"k{y}")
            lines.append(f"    {kind}4 w{lane}_{y} = {read_texel(r, 'weights', place)};")
            lines += [f"    a{y}_{x} = a{y}_{x} + d{x}.s{lane} * w{lane}_{y};" for x in range(columns.parts)]
    lines.append("  }")
    for y, x in outputs:
        lines.append(f"  {write_texel(r, 'to', w.products.place('row', 'column', f'k{y}', f'p{x}'), f'a{y}_{x}')}")
    total = w.all_tiles // columns.parts, w.side**2 * r.channel_blocks // rows.parts
    local = columns.items, rows.items
    return TimedKernel("\n".join([*lines, "}\n"]), "multiply", total, local, _sizes(w.inputs, w.weights, w.products), 0, False)


def outputs_of(w: Winograd) -> TimedKernel:
    """Returns the transform of outputs: a work-item computes a texel, for which it reads a texel of each product."""
    r, (height, width), (_, across) = w.record, w.record.output, w.tiles
    outputs, _, _ = find_matrices(w.tile, w.side)
    total = r.shape[0] * r.channel_blocks * height * width
    body = [
        f"  int x = i % {width}, y = i / {width} % {height}, k = i / {width * height} % {r.channel_blocks};",
        f"  int n = i / {width * height * r.channel_blocks};",
        f"  int p = (n * {w.tiles[0]} + y / {w.tile}) * {across} + x / {w.tile};",
        f"  int row = y % {w.tile}, column = x % {w.tile};",
        *_sum_tile(r, outputs, lambda a, b: w.products.place(str(a), str(b), "k", "p")),
        "  vstore4(sum, i, out);",
    ]
    source = _kernel("finish", f"read_only image2d_t from, global {element_type(r)} *out", total, body)
    return TimedKernel(source, "finish", (_round_up(total),), (GROUP,), _sizes(w.products), r.output_bytes, False)


def _kernel(name: str, parameters: str, total: int, body: list[str]) -> str:
    guard = [f"  if (i >= {total}) return;"] if total % GROUP else []
    return "\n".join([f"{HEAD}\nkernel void {name}({parameters}) {{", "  int i = get_global_id(0);", *guard, *body, "}\n"])


def _sum_tile(r: Record, matrix: np.ndarray, place: Callable[[int, int], tuple[str, str]]) -> list[str]:
    """A texel of a tile that `matrix` transforms along both axes: its column is the texel's row, then its column. Which one that
    is, a work-item chooses when it runs, as TVM's code does."""
    kind, side = element_type(r), len(matrix)
    lines = []
    for name, axis in (("u", "row"), ("v", "column")):
        for a, row in enumerate(matrix):
            chosen = f"({kind})({float(row[0])!r}f)"
            for number, value in enumerate(row[1:], 1):
                chosen = f"{axis} == {number} ? ({kind})({float(value)!r}f) : ({chosen})"
            lines.append(f"  {kind} {name}{a} = {chosen};")
    lines.append(f"  {kind}4 sum = ({kind}4)(0);")
    for a in range(side):
        lines += [f"  sum = sum + {read_texel(r, 'from', place(a, b))} * u{a} * v{b};" for b in range(side)]
    return lines


def _round_up(total: int) -> int:
    return -(-total // GROUP) * GROUP


def _sizes(*textures: Texture) -> tuple[tuple[int, int], ...]:
    return tuple((texture.rows, texture.columns) for texture in textures)
