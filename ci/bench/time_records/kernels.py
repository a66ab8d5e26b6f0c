"""OpenCL C of a record: two copies into textures, and the convolution that reads both."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from .record import BLOCK, Record, Texture

HEAD = """\
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
"""


@dataclass(frozen=True)
class TimedKernel:
    """A kernel with its launch. textures: rows and columns of those that it takes; writes: whether it writes these, from a buffer
    of `buffer_bytes`, which comes first then; else it writes the buffer, which comes last, or without one the last texture."""

    source: str
    name: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    textures: tuple[tuple[int, int], ...]
    buffer_bytes: int
    writes: bool


def kernels_of(record: Record) -> list[TimedKernel]:
    """Returns what the tuned function launches, in order."""
    return [copy_of(record, record.data_texture), copy_of(record, record.weight_texture), convolution_of(record)]


def copy_of(record: Record, texture: Texture) -> TimedKernel:
    """Returns the copy of a packed buffer into a texture: a work-item a texel, and groups of the largest divisor up to 64."""
    kind, columns = element_type(record), texture.columns
    items = max(size for size in range(1, 65) if texture.texels % size == 0)
    source = f"""{HEAD}
kernel void copy(global const {kind} *from, write_only image2d_t to) {{
  int at = get_group_id(0) * {items} + get_local_id(0);
  {write_texel(record, "to", (f"at / {columns}", f"at % {columns}"), "vload4(at, from)")}
}}
"""
    size = texture.rows, texture.columns
    return TimedKernel(source, "copy", (texture.texels,), (items,), (size,), texture.texels * record.texel_bytes, True)


def convolution_of(record: Record) -> TimedKernel:
    """Returns the convolution: a work-item computes some texels of output, which it keeps, around loops over the reduction."""
    r, kind = record, element_type(record)
    parts_fc, parts_y, parts_x = (range(some) for some in r.real_parts())
    outputs = list(itertools.product(parts_fc, parts_y, parts_x))
    height, width = r.output
    blocks = -(-r.channel_blocks // (r.fc.parts * r.fc.items))
    lines = [
        f"{HEAD}\nkernel void convolve(read_only image2d_t data, read_only image2d_t weights, global {kind} *out) {{",
        f"  int n = get_group_id(2) / {blocks}, bf = get_group_id(2) % {blocks}, by = get_group_id(1), bx = get_group_id(0);",
        "  int tf = get_local_id(2), ty = get_local_id(1), tx = get_local_id(0);",
        *(f"  int f{f} = (bf * {r.fc.parts} + {f}) * {r.fc.items} + tf;" for f in parts_fc),
        *(f"  int y{y} = (by * {r.y.parts} + {y}) * {r.y.items} + ty;" for y in parts_y),
        *(f"  int x{x} = (bx * {r.x.parts} + {x}) * {r.x.items} + tx;" for x in parts_x),
        *(f"  {kind}4 a{f}_{y}_{x} = ({kind}4)(0);" for f, y, x in outputs),
    ]
    loops = [("ryo", -(-r.weight[2] // r.ry)), ("rxo", -(-r.weight[3] // r.rx)), ("ryi", r.ry), ("rxi", r.rx)]
    if not r.depthwise:
        loops = [("rco", -(-r.input_blocks // r.rc)), *loops[:2], ("rci", r.rc), *loops[2:]]
    lines += [f"  for (int {name} = 0; {name} < {count}; ++{name}) {{" for name, count in loops if count > 1]
    lines += [f"    const int {name} = 0;" for name, count in loops if count <= 1]
    lines.append(f"    int ry = ryo * {r.ry} + ryi, rx = rxo * {r.rx} + rxi;")
    lines += _depthwise_step(r) if r.depthwise else _step(r)
    lines += ["  }" for _, count in loops if count > 1]
    for f, y, x in outputs:
        guards = [
            f"{axis}{part} < {extent}"
            for axis, part, extent, split in (("f", f, r.channel_blocks, r.fc), ("y", y, height, r.y), ("x", x, width, r.x))
            if extent % (split.parts * split.items)
        ]
        at = f"((n * {r.channel_blocks} + f{f}) * {height} + y{y}) * {width} + x{x}"
        guard = f"if ({' && '.join(guards)}) " if guards else ""
        lines.append(f"  {guard}vstore4(a{f}_{y}_{x}, {at}, out);")
    lines.append("}\n")
    sizes = tuple((texture.rows, texture.columns) for texture in (r.data_texture, r.weight_texture))
    total = tuple(map(math.prod, zip(r.grid, r.local, strict=True)))
    return TimedKernel("\n".join(lines), "convolve", total, r.local, sizes, r.output_bytes, False)


def _step(r: Record) -> list[str]:
    """One step of the reduction of a convolution: texels of data, then a texel of weights for each channel of theirs."""
    kind = element_type(r)
    parts_fc, parts_y, parts_x = (range(some) for some in r.real_parts())
    lines = [f"    int rc = rco * {r.rc} + rci;"]
    for y, x in itertools.product(parts_y, parts_x):
        lines.append(f"    {kind}4 d{y}_{x} = {_read_data(r, 'rc', y, x)};")
    for channel, f in itertools.product(range(BLOCK), parts_fc):
        place = r.weight_texture.place(f"f{f}", f"rc * {BLOCK} + {channel}", "ry", "rx")
        lines.append(f"    {kind}4 w{channel}_{f} = {read_texel(r, 'weights', place)};")
        for y, x in itertools.product(parts_y, parts_x):
            lines.append(f"    a{f}_{y}_{x} = a{f}_{y}_{x} + d{y}_{x}.s{channel} * w{channel}_{f};")
    return lines


def _depthwise_step(r: Record) -> list[str]:
    """One tap of a depthwise convolution: a texel of weights for each part along the channels."""
    kind = element_type(r)
    parts_fc, parts_y, parts_x = (range(some) for some in r.real_parts())
    lines = []
    for f in parts_fc:
        lines.append(f"    {kind}4 w{f} = {read_texel(r, 'weights', r.weight_texture.place(f'f{f}', '0', 'ry', 'rx'))};")
    for f, y, x in itertools.product(parts_fc, parts_y, parts_x):
        lines.append(f"    a{f}_{y}_{x} = a{f}_{y}_{x} + {_read_data(r, f'f{f}', y, x)} * w{f};")
    return lines


def _read_data(r: Record, block: str, y: int, x: int) -> str:
    (sy, sx), (dy, dx) = r.strides, r.dilation
    return read_texel(r, "data", r.data_texture.place("n", block, f"y{y} * {sy} + ry * {dy}", f"x{x} * {sx} + rx * {dx}"))


def read_texel(r: Record, image: str, place: tuple[str, str]) -> str:
    """Returns the text of a read. place: row and column, as text."""
    row, column = place
    return f"read_image{'h' if r.half else 'f'}({image}, nearest, (int2)({column}, {row}))"


def write_texel(r: Record, image: str, place: tuple[str, str], value: str) -> str:
    """Returns the text of a write. place: row and column, as text."""
    row, column = place
    return f"write_image{'h' if r.half else 'f'}({image}, (int2)({column}, {row}), {value});"


def element_type(r: Record) -> str:
    """The type of an element in OpenCL C."""
    return "half" if r.half else "float"
