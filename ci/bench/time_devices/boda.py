"""Convolutions of boda as OpenCL C of our own: what its generated functions compute, load and store, and in which groups.

https://github.com/moskewcz/boda, 27ec86e0: src/gbt_tile.H and src/cnn_op.cc split the work, src/cnn_codegen.cc and
test/rtc/*.cucl have the functions. All are in float32, with the bias added at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

FUNCTIONS = {"c": "conv", "t": "tconv", "k": "k1conv", "s": "conv_simd", "ks": "k1conv_simd"}
"""By the letters of a file of rows."""

BLOCK_CHANNELS = 8
"""Input channels that k1conv takes at a time."""
LANES = 8
"""Floats of a vector of the functions without local memory."""


@dataclass(frozen=True)
class Tuning:
    """pixels, channels: of output that a work-item computes at most; items: of a group at most."""

    pixels: int
    channels: int
    items: int


TUNINGS = {
    "T0": Tuning(8, 8, 256), "T1": Tuning(4, 4, 64), "T2": Tuning(4, 4, 64), "T3": Tuning(4, 4, 64), "T4": Tuning(4, 4, 64),
    "T5": Tuning(8, 8, 128), "T6": Tuning(8, 8, 128),
}  # fmt: skip
"""By the column of a file of rows."""


@dataclass(frozen=True)
class Convolution:
    """A row of a file: images, channels, height and width of the input; channels of the output; the filter."""

    images: int
    inputs: int
    height: int
    width: int
    outputs: int
    ky: int
    kx: int
    stride: int
    pad: int

    @property
    def out_height(self) -> int:
        return (self.height + 2 * self.pad - self.ky) // self.stride + 1

    @property
    def out_width(self) -> int:
        return (self.width + 2 * self.pad - self.kx) // self.stride + 1


def find_good_divisor(extent: int, wanted: int) -> int:
    """Returns `wanted`, or the largest part below it that wastes less than a fifth of the extent."""
    if extent <= wanted:
        return extent
    return next(some for some in range(wanted, 0, -1) if (-(-extent // some) * some - extent) * 5 < extent)


@dataclass(frozen=True)
class Work:
    """How a product of pixels and channels of output is split: parts of a work-item, then work-items of a group, then groups."""

    pixels: int
    channels: int
    pixel_items: int
    channel_items: int
    pixel_groups: int
    channel_groups: int

    @property
    def items(self) -> int:
        return self.pixel_items * self.channel_items

    @property
    def group_channels(self) -> int:
        return self.channel_items * self.channels


def split_work(pixels: int, channels: int, tuning: Tuning) -> Work:
    """Returns the split of so many pixels (of all images) and channels."""
    own_pixels = find_good_divisor(pixels, tuning.pixels)
    own_channels = min(tuning.channels, 3 * own_pixels)
    along, across = -(-pixels // own_pixels), -(-channels // own_channels)
    channel_items = min(16, 3 * along, across)
    pixel_items = max(1, min(tuning.items // channel_items, along))
    return Work(own_pixels, own_channels, pixel_items, channel_items, -(-along // pixel_items), -(-across // channel_items))


@dataclass(frozen=True)
class Generated:
    """A kernel with its launch. floats: of its buffers: filters, biases, input, output."""

    source: str
    groups: int
    items: int
    floats: tuple[int, int, int, int]


class Generator:
    """Writes the function of one convolution."""

    def __init__(self, op: Convolution, tuning: Tuning):
        self.op, self.tuning = op, tuning

    @cached_property
    def work(self) -> Work:
        op = self.op
        return split_work(op.images * op.out_height * op.out_width, op.outputs, self.tuning)

    def make(self, function: str) -> Generated:
        """Returns the kernel of a function, by its name."""
        made: Generated = getattr(self, f"_{function}")()
        return made

    # -- with local memory

    def _conv(self) -> Generated:
        """A step for each element of the filters: pixels and filters of the group, through local memory."""
        op, w = self.op, self.work
        area, pixels = op.out_height * op.out_width, w.pixel_items * w.pixels
        taps = op.ky * op.kx
        loads = [
            f"    {guard}{{ int p = pb * {pixels} + {place};"
            f" int y = p / {op.out_width} % {op.out_height} * {op.stride} + e / {op.kx} % {op.ky} - {op.pad};"
            f" int x = p % {op.out_width} * {op.stride} + e % {op.kx} - {op.pad}; int n = p / {area};"
            f" int inside = y >= 0 && x >= 0 && n < {op.images} && x < {op.width} && y < {op.height};"
            f" pixels[{place}] = inside ? in[((n * {op.inputs} + e / {taps}) * {op.height} + y) * {op.width} + x] : 0.0f; }}"
            for guard, place in self._shares(pixels)
        ]
        body = [
            f"  local float pixels[{pixels}], taps[{w.group_channels}];",
            *self._head(w, f"cb * {op.inputs * taps * w.group_channels}"),
            f"  for (int e = 0; e < {op.inputs * taps}; ++e) {{",
            "    barrier(CLK_LOCAL_MEM_FENCE);",
            *self._load_filters(w.group_channels),
            *loads,
            f"    f += {w.group_channels};",
            "    barrier(CLK_LOCAL_MEM_FENCE);",
            *(f"    w{c} = taps[tc + {c * w.channel_items}];" for c in range(w.channels)),
            *(f"    d{p} = pixels[tp * {w.pixels} + {p}];" for p in range(w.pixels)),
            *self._multiply(range(w.pixels)),
            "  }",
            *self._load_biases(),
            *self._store_planar(f"(pb * {w.pixel_items} + tp) * {w.pixels}"),
        ]
        inputs = op.images * op.inputs * op.height * op.width
        return self._finish(body, w.pixel_groups, inputs, op.images * op.outputs * area, op.inputs * taps)

    def _k1conv(self) -> Generated:
        """A step for some channels of the input, which is ordered by blocks of pixels."""
        op, w = self.op, self.work
        pixels, channels = w.pixel_items * w.pixels, BLOCK_CHANNELS
        steps = -(-op.inputs // channels)
        some, most = channels * w.group_channels, channels * pixels
        loads = [f"    {guard}pixels[{place}] = in[b + {place}];" for guard, place in self._shares(most)]
        body = [
            f"  local float taps[{some}], pixels[{most}];",
            *self._head(w, f"cb * {op.inputs * w.group_channels}"),
            f"  int b = pb * {steps * most};",
            f"  for (int e = 0; e < {steps}; ++e) {{",
            "    barrier(CLK_LOCAL_MEM_FENCE);",
            *self._load_filters(some),
            *loads,
            "    barrier(CLK_LOCAL_MEM_FENCE);",
            f"    f += {some}; b += {most};",
        ]
        for k in range(channels):
            body += [f"    w{c} = taps[tc + {k * w.group_channels + c * w.channel_items}];" for c in range(w.channels)]
            body += [f"    d{p} = pixels[tp * {w.pixels} + {k * pixels + p}];" for p in range(w.pixels)]
            body += self._multiply(range(w.pixels))
        area = op.out_height * op.out_width
        body += ["  }", *self._load_biases(), *self._store_planar(f"(pb * {w.pixel_items} + tp) * {w.pixels}")]
        return self._finish(body, w.pixel_groups, w.pixel_groups * steps * most, op.images * op.outputs * area, steps * channels)

    def _tconv(self) -> Generated:
        """A group computes some lines of output, a work-item a part of one; its window of a channel is in local memory."""
        op, w = self.op, self.work
        lines = op.images * op.out_height
        blocks, parts = -(-lines // w.pixel_items), -(-op.out_width // w.pixels)
        images = max(
            min(op.images - 1, (first + w.pixel_items - 1) // op.out_height) - first // op.out_height + 1
            for first in range(0, lines, w.pixel_items)
        )
        rows, columns = (w.pixel_items - images) * op.stride + op.ky * images, (w.pixels - 1) * op.stride + op.kx
        taps, window = op.kx * w.group_channels, rows * columns
        inner = [f"      d{x} = line[{x}];" for x in range(columns)]
        for tap in range(op.kx):
            inner += [f"      w{c} = taps[tc + {tap * w.group_channels + c * w.channel_items}];" for c in range(w.channels)]
            inner += self._multiply([p * op.stride + tap for p in range(w.pixels)])
        body = [
            f"  local float taps[{taps}], pixels[{window}];",
            *self._head(w, f"cb * {op.inputs * op.ky * taps}", columns),
            f"  int bx = pb % {parts}, line0 = pb / {parts} * {w.pixel_items}, at = line0 + tp, n = at / {op.out_height};",
            f"  int first = (tp * {op.stride} + (n - line0 / {op.out_height}) * {op.ky - op.stride}) * {columns};",
            f"  int top = at % {op.out_height} * {op.stride} - {op.pad}, b = pb * {op.inputs * window};",
            f"  for (int e = 0; e < {op.inputs}; ++e) {{",
            "    barrier(CLK_LOCAL_MEM_FENCE);",
            *(f"    {guard}pixels[{place}] = in[b + {place}];" for guard, place in self._shares(window)),
            f"    b += {window};",
            f"    for (int ky = 0; ky < {op.ky}; ++ky) {{",
            "      if (ky != 0) barrier(CLK_LOCAL_MEM_FENCE);",
            *self._load_filters(taps),
            f"      f += {taps};",
            "      barrier(CLK_LOCAL_MEM_FENCE);",
            f"      if (n >= {op.images} || top + ky < 0 || top + ky > {op.height}) continue;",
            f"      local const float *line = pixels + first + ky * {columns};",
            *inner,
            "    }",
            "  }",
            *self._load_biases(),
            f"  if (n >= {op.images}) return;",
            f"  int x0 = bx * {w.pixels}, c0 = (cb * {w.channel_items} + tc) * {w.channels};",
            f"  int row = (n * {op.outputs} + c0) * {op.out_height} + at % {op.out_height};",
            f"  global float *to = out + row * {op.out_width} + x0;",
        ]
        area = op.out_height * op.out_width
        for p in range(w.pixels):
            body.append(f"  if (x0 + {p} >= {op.out_width}) return;")
            body += [f"  if (c0 + {c} < {op.outputs}) to[{c * area + p}] = a{p}_{c} + w{c};" for c in range(w.channels)]
        return self._finish(body, blocks * parts, blocks * parts * op.inputs * window, op.images * op.outputs * area,
                            op.inputs * op.ky * op.kx)  # fmt: skip

    # -- in vectors, without local memory

    def _conv_simd(self) -> Generated:
        """Pixels of the padded input one by one, filters in vectors; output by channels, padded as well."""
        op = self.op
        width, height = (-(-(extent + op.pad) // op.stride) * op.stride for extent in (op.width, op.height))
        out_width, out_height = width // op.stride, height // op.stride
        w = split_work(op.images * out_width * out_height, op.outputs, self.tuning)
        beyond = [max(size - op.stride, op.pad) for size in (op.ky, op.kx)]
        plane = -(-(op.images * width * height + beyond[0] * width + beyond[1]) // LANES) * LANES
        skipped = (op.stride - 1) * width
        steps = op.inputs * op.ky * op.kx
        reads = [
            f"    d{p} = in[b + {p * op.stride}{f' + (x0 + {p}) / {out_width} * {skipped}' if skipped else ''}];"
            for p in range(w.pixels)
        ]
        place = f"(pb * {w.pixel_items} + tp) * {w.pixels}"
        body = [
            *self._head(w, f"(cb * {w.channel_items} + tc) * {w.channels // LANES}"),
            f"  int p0 = {place}, x0 = p0 % {out_width};",
            f"  int start = x0 * {op.stride} + p0 / {out_width} * {op.stride * width};",
            f"  for (int e = 0; e < {steps}; ++e) {{",
            f"    int b = start + e / {op.ky * op.kx} * {plane} + e / {op.kx} % {op.ky} * {width} + e % {op.kx};",
            *reads,
            *self._vector_step(w, w.channel_groups * w.group_channels),
            "  }",
        ]
        lines = -(-w.pixel_groups * w.pixel_items * w.pixels // out_width) * op.stride + op.ky
        return self._finish_vectors(body, w, op.inputs * plane + lines * width, steps)

    def _k1conv_simd(self) -> Generated:
        """Pixels and filters in vectors."""
        op, w = self.op, self.work
        plane = w.pixel_groups * w.pixel_items * w.pixels
        reads = []
        for v in range(w.pixels // LANES):
            reads.append(f"    float{LANES} v{v} = vload{LANES}(b + {v}, in);")
            reads += [f"    d{LANES * v + lane} = v{v}.s{lane};" for lane in range(LANES)]
        body = [
            *self._head(w, f"(cb * {w.channel_items} + tc) * {w.channels // LANES}"),
            f"  int b = (pb * {w.pixel_items} + tp) * {w.pixels // LANES};",
            f"  for (int e = 0; e < {op.inputs}; ++e) {{",
            *reads,
            *self._vector_step(w, w.channel_groups * w.group_channels),
            f"    b += {plane // LANES};",
            "  }",
        ]
        return self._finish_vectors(body, w, op.inputs * plane, op.inputs)

    def _vector_step(self, w: Work, channels: int) -> list[str]:
        lines = []
        for v in range(w.channels // LANES):
            lines.append(f"    float{LANES} f{v} = vload{LANES}(f + {v}, filters);")
            lines += [f"    w{LANES * v + lane} = f{v}.s{lane};" for lane in range(LANES)]
        return [*lines, *self._multiply(range(w.pixels), w), f"    f += {channels // LANES};"]

    def _finish_vectors(self, body: list[str], w: Work, inputs: int, steps: int) -> Generated:
        """Stores of all pixels of a channel at a time, in vectors."""
        plane = w.pixel_groups * w.pixel_items * w.pixels
        body.append(f"  int c0 = (cb * {w.channel_items} + tc) * {w.channels}, p1 = (pb * {w.pixel_items} + tp) * {w.pixels};")
        for c in range(w.channels):
            for v in range(w.pixels // LANES):
                lanes = ", ".join(f"a{LANES * v + lane}_{c} + bias{c}" for lane in range(LANES))
                bias = f"  float bias{c} = biases[c0 + {c}];" if v == 0 else " "
                body.append(f"{bias} vstore{LANES}((float{LANES})({lanes}), 0, out + (c0 + {c}) * {plane} + p1 + {LANES * v});")
        return self._finish(body, w.pixel_groups, inputs, w.channel_groups * w.group_channels * plane, steps, w)

    # -- parts

    def _head(self, w: Work, first: str, strip: int = 0) -> list[str]:
        """Sums, parts of filters and pixels, and where the filters of a work-item or a group begin."""
        sums = ", ".join(f"a{p}_{c} = 0" for p in range(w.pixels) for c in range(w.channels))
        parts = [f"w{c}" for c in range(w.channels)] + [f"d{p}" for p in range(strip or w.pixels)]
        return [f"  float {sums};", f"  float {', '.join(parts)};", f"  int f = {first};"]

    def _shares(self, floats: int) -> Iterator[tuple[str, str]]:
        """What each work-item of a group loads: a guard for the last ones, and a place."""
        items = self.work.items
        for start in range(0, floats, items):
            place = f"t + {start}" if start else "t"
            yield (f"if ({place} < {floats}) " if start + items > floats else ""), place

    def _load_filters(self, floats: int) -> list[str]:
        return [f"    {guard}taps[{place}] = filters[f + {place}];" for guard, place in self._shares(floats)]

    def _load_biases(self) -> list[str]:
        w = self.work
        loads = []
        for guard, place in self._shares(w.group_channels):
            at = f"cb * {w.group_channels} + ({place}) % {w.channel_items} * {w.channels} + ({place}) / {w.channel_items}"
            loads.append(f"  {guard}{{ int c = {at}; if (c < {self.op.outputs}) taps[{place}] = biases[c]; }}")
        fence = "  barrier(CLK_LOCAL_MEM_FENCE);"
        return [fence, *loads, fence, *(f"  w{c} = taps[tc + {c * w.channel_items}];" for c in range(w.channels))]

    def _multiply(self, pixels: range | list[int], work: Work | None = None) -> list[str]:
        w = work or self.work
        return [f"      a{p}_{c} += w{c} * d{at};" for p, at in enumerate(pixels) for c in range(w.channels)]

    def _store_planar(self, first: str) -> list[str]:
        """Each pixel of each channel by itself, into images by channels."""
        op, w = self.op, self.work
        area = op.out_height * op.out_width
        lines = [f"  int p0 = {first}, c0 = (cb * {w.channel_items} + tc) * {w.channels};"]
        for p in range(w.pixels):
            lines.append(f"  if (p0 + {p} >= {op.images * area}) return;")
            lines.append(f"  int q{p} = (p0 + {p}) / {area} * {op.outputs * area} + (p0 + {p}) % {area};")
            lines += [
                f"  if (c0 + {c} < {op.outputs}) out[q{p} + (c0 + {c}) * {area}] = a{p}_{c} + w{c};" for c in range(w.channels)
            ]
        return lines

    def _finish(
        self, body: list[str], pixel_groups: int, inputs: int, outputs: int, steps: int, work: Work | None = None
    ) -> Generated:
        w = work or self.work
        head = (
            "kernel void convolve(\n"
            "    global const float *filters, global const float *biases, global const float *in, global float *out) {\n"
            f"  int t = get_local_id(0), tc = t % {w.channel_items}, tp = t / {w.channel_items};\n"
            f"  int g = get_group_id(0), cb = g % {w.channel_groups}, pb = g / {w.channel_groups};"
        )
        channels = w.channel_groups * w.group_channels
        source = "\n".join([head, *body, "}\n"])
        return Generated(source, pixel_groups * w.channel_groups, w.items, (steps * channels, channels, inputs, outputs))
