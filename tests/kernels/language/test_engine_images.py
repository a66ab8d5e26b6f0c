# ruff: noqa: E501 (kernel sources read better unbroken)
"""Images against the reference sampler: formats, addressing modes, filters, kinds; and what out-of-range accesses become."""

from __future__ import annotations

import numpy as np
import pytest
from image_sampling import read_image
from oracle import Buffer, Image, Local, Sampler, Scalar

from adreno_sim.base.specs import Sampler as Rules
from adreno_sim.image.formats import CHANNEL_TYPES, ORDERS, format_of

_RNG = np.random.default_rng(11)
READ = {"float": "f", "unorm": "f", "snorm": "f", "int": "i", "uint": "ui"}
COLOUR = {"f": "float4", "i": "int4", "ui": "uint4"}
COORDINATE = {
    "image1d": "int",
    "image1d_buffer": "int",
    "image1d_array": "int2",
    "image2d": "int2",
    "image2d_array": "int4",
    "image3d": "int4",
}
FORMATS = [(order, kind) for order in ORDERS for kind in CHANNEL_TYPES]


def legal(order: str, channel_type: str) -> bool:
    try:
        format_of(order, channel_type)
    except Exception:
        return False
    return True


def texels(order: str, channel_type: str, shape: tuple[int, int, int]) -> np.ndarray:
    dtype = np.dtype(CHANNEL_TYPES[channel_type][0])
    full = (*shape, len(ORDERS[order]))
    if dtype.kind == "f":
        return _RNG.normal(0, 3, full).astype(dtype)
    limits = np.iinfo(dtype)
    return _RNG.integers(limits.min, limits.max, full, dtype, endpoint=True)


def pick(kind: str, coordinate: str) -> str:
    """How a kernel makes the coordinate of `kind` from an int4 or float4."""
    lanes = {"image1d": "x", "image1d_buffer": "x", "image1d_array": "xy", "image2d": "xy"}.get(kind)
    return f"{coordinate}.{lanes}" if lanes else coordinate


def reader(kind: str, suffix: str, coordinate: str, sampler: bool) -> str:
    type = COLOUR[suffix]
    return f"""__kernel void k(read_only {kind}_t im, {"sampler_t s, " if sampler else ""}__global const {coordinate}4* c, __global {type}* r) {{
      int i = get_global_id(0); r[i] = read_image{suffix}(im, {"s, " if sampler else ""}{pick(kind, "c[i]")}); }}"""


@pytest.mark.share(2)
@pytest.mark.parametrize("format", [f for f in FORMATS if legal(*f)], ids="-".join)
def test_every_format_reads_as_the_reference_does(engine, format):
    info = format_of(*format)
    suffix = READ[info.meaning]
    array = texels(*format, (1, 5, 7))
    where = np.array([(x, y, 0, 0) for y in range(5) for x in range(7)], np.int32)
    args = [Image(array, "image2d", *format), Buffer(where), Buffer(np.zeros((35, 4), info.colour_dtype))]
    result = engine.run(reader("image2d", suffix, "int", False), "k", [35], [5], args, pad=24)
    expected = read_image(array, info, "image2d", Rules(False, "none", "nearest"), where)
    np.testing.assert_array_equal(result.outputs[2], expected)
    assert not result.findings


@pytest.mark.share(2)
@pytest.mark.parametrize("format", [f for f in FORMATS if legal(*f)], ids="-".join)
def test_every_format_writes_as_the_reference_does(engine, format):
    info = format_of(*format)
    suffix = READ[info.meaning]
    colours = _RNG.normal(0, 2, (35, 4)).astype(np.float32)
    colours[0], colours[1], colours[2] = [np.nan, np.inf, -np.inf, 0.5], [1.0, -1.0, 0.0, -0.0], [70000.0, 65520.0, 1e-7, 65519.0]
    if suffix != "f":
        bits = {"i": np.int32, "ui": np.uint32}[suffix]
        colours = _RNG.integers(np.iinfo(bits).min, np.iinfo(bits).max, (35, 4), bits)
        colours[:4] = [[0, 1, 2, 3], [127, 128, 255, 256], [32767, 32768, 65535, 65536], [5, 6, 7, 8]]
    source = f"""__kernel void k(write_only image2d_t im, __global const {COLOUR[suffix]}* c) {{
      int i = get_global_id(0); write_image{suffix}(im, (int2)(i % 7, i / 7), c[i]); }}"""
    result = engine.run(
        source,
        "k",
        [35],
        [5],
        [Image(np.zeros((1, 5, 7, info.channels), info.dtype), "image2d", *format), Buffer(colours)],
        pad=8,
    )
    with np.errstate(all="ignore"):
        expected = info.encode(colours).reshape(1, 5, 7, -1)
    same = result.outputs[0] == expected
    assert (same | (np.isnan(expected) & np.isnan(result.outputs[0])) if info.dtype.kind == "f" else same).all()
    assert not result.findings


def test_srgb_is_written_to_the_nearest_byte(engine):
    """Around each value where one byte gives way to the next, and what is no colour; the curve as the specification has it."""
    middle = (np.arange(1, 256) - 0.5) / 255
    middle = np.where(middle <= 0.04045, middle / 12.92, ((middle + 0.055) / 1.055) ** 2.4).astype(np.float32)
    linear = np.concatenate([middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(1))])
    linear = np.concatenate([linear, np.array([np.nan, -1, -np.inf, 0, -0.0, 1e-30, 1, 1.5, np.inf], np.float32)])
    colours = np.repeat(linear[:, None], 4, axis=1)
    source = """__kernel void k(write_only image1d_t im, __global const float4* c) {
      int i = get_global_id(0); write_imagef(im, i, c[i]); }"""
    image = Image(np.zeros((1, 1, len(linear), 4), np.uint8), "image1d", "sBGRA", "UNORM_INT8")
    result = engine.run(source, "k", [len(linear)], [1], [image, Buffer(colours)])
    wide = np.clip(np.nan_to_num(linear.astype(np.float64), nan=0.0), 0, 1)
    exact = 255 * np.where(wide < 0.0031308, 12.92 * wide, 1.055 * wide ** (1 / 2.4) - 0.055)
    written = result.outputs[0].reshape(-1, 4)
    assert (np.abs(written[:, :3] - exact[:, None]) <= 0.5 + 1e-9).all()
    assert not result.findings
    assert written[:765, 0].tolist() == written[:765, 2].tolist()
    assert len(set(written[:, 0])) == 256


def test_srgb_images_read_as_halves(engine):
    source = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
    __kernel void k(read_only image1d_t im, __global half4* r) { int i = get_global_id(0); r[i] = read_imageh(im, i); }"""
    array = np.arange(256, dtype=np.uint8).repeat(3).reshape(1, 1, 256, 3)
    result = engine.run(
        source, "k", [256], [8], [Image(array, "image1d", "sRGB", "UNORM_INT8"), Buffer(np.zeros((256, 4), np.float16))]
    )
    np.testing.assert_array_equal(result.outputs[1], format_of("sRGB", "UNORM_INT8").decode(array[0, 0]).astype(np.float16))


def test_srgb_is_not_written_by_a_device_that_cannot(engine):
    source = "__kernel void k(write_only image2d_t im) { write_imagef(im, (int2)(0, 0), (float4)(0.5f)); }"
    image = Image(np.zeros((1, 1, 1, 4), np.uint8), "image2d", "sRGBA", "UNORM_INT8")
    assert engine.run(source, "k", [1], [1], [image], srgb_writes=False).kinds() == ["format-mismatch"]
    assert engine.run(source, "k", [1], [1], [image]).outputs[0].ravel().tolist() == [188, 188, 188, 128]


@pytest.mark.parametrize(
    ("kind", "addressing"),
    [(k, a) for k in COORDINATE for a in ("clamp", "clamp_to_edge", "none") if k != "image1d_buffer" or a == "none"],
)
def test_integer_coordinates_in_and_out_of_range(engine, kind, addressing):
    shape = {"image1d": (1, 1, 6), "image1d_buffer": (1, 1, 6), "image1d_array": (3, 1, 6), "image2d": (1, 4, 6)}.get(
        kind, (3, 4, 6)
    )
    array = texels("RGBA", "FLOAT", shape)
    where = _RNG.integers(-3, 9, (96, 4)).astype(np.int32)
    where[0] = [2**31 - 1, -(2**31), 2**30, 0]
    if kind == "image1d_buffer":  # takes no sampler
        source, extra = reader(kind, "f", "int", False), []
    else:
        source, extra = reader(kind, "f", "int", True), [Sampler(False, addressing, "nearest")]
    result = engine.run(
        source, "k", [96], [8], [Image(array, kind), *extra, Buffer(where), Buffer(np.zeros((96, 4), np.float32))]
    )
    info = format_of("RGBA", "FLOAT")
    expected = read_image(array, info, kind, Rules(False, addressing, "nearest"), where)
    if addressing == "none":
        assert result.kinds() == ["image-read-out-of-range"]
    else:
        assert result.kinds() == ["clamped-read"]
        assert result.findings[0].severity == 0
    np.testing.assert_array_equal(result.outputs[-1], expected)


@pytest.mark.each_value
@pytest.mark.parametrize("kind", ["image1d", "image1d_array", "image2d", "image2d_array", "image3d"])
@pytest.mark.parametrize("filter", ["nearest", "linear"])
@pytest.mark.parametrize(
    "rules",
    [
        (False, "clamp"),
        (False, "clamp_to_edge"),
        (True, "clamp"),
        (True, "clamp_to_edge"),
        (True, "repeat"),
        (True, "mirrored_repeat"),
    ],
)
def test_float_coordinates(engine, kind, filter, rules):
    shape = {"image1d": (1, 1, 6), "image1d_array": (3, 1, 6), "image2d": (1, 4, 6)}.get(kind, (3, 4, 6))
    array = texels("R", "UNORM_INT8", shape)
    scale = 1.0 if rules[0] else 6.0
    where = _RNG.uniform(-1.5 * scale, 2.5 * scale, (128, 4)).astype(np.float32)
    where[:32] = np.round(where[:32] * 4) / 4
    layer = {"image1d_array": 1, "image2d_array": 2}.get(kind)
    if layer is not None:
        where[:, layer] = _RNG.uniform(-1, 4, 128)
    where[0], where[1] = [np.nan, 0.5, 0.5, 0], [0.25, np.inf, -np.inf, 0]
    args = [
        Image(array, kind, "R", "UNORM_INT8"),
        Sampler(rules[0], rules[1], filter),
        Buffer(where),
        Buffer(np.zeros((128, 4), np.float32)),
    ]
    result = engine.run(reader(kind, "f", "float", True), "k", [128], [8], args)
    info = format_of("R", "UNORM_INT8")
    expected = read_image(array, info, kind, Rules(rules[0], rules[1], filter), where)
    finite = np.isfinite(where).all(axis=1)
    np.testing.assert_array_equal(result.outputs[-1][finite], expected[finite])
    assert np.isfinite(result.outputs[-1][~finite]).all()


@pytest.mark.parametrize("addressing", ["none", "clamp", "clamp_to_edge"])
def test_a_neighbour_of_weight_zero_is_not_read(engine, addressing):
    """At the centre of a texel the others have no part in the result; a little beside it those on that side have."""
    array = texels("RGBA", "FLOAT", (1, 4, 6))
    corners = np.array([(x, y, 0, 0) for x in (0.5, 5.5) for y in (0.5, 3.5)], np.float32)
    args = [Image(array), Sampler(False, addressing, "linear"), Buffer(corners), Buffer(np.zeros((4, 4), np.float32))]
    result = engine.run(reader("image2d", "f", "float", True), "k", [4], [4], args)
    np.testing.assert_array_equal(result.outputs[-1], array[0, [0, 3, 0, 3], [0, 0, 5, 5]])
    assert not result.findings
    corners[:, 1] += np.float32(0.25)  # below the last row for two of them
    result = engine.run(reader("image2d", "f", "float", True), "k", [4], [4], args)
    kind = "image-read-out-of-range" if addressing == "none" else "clamped-read"
    assert {f.kind.label for f in result.findings} == {kind}
    assert {(f.access.coordinate, f.work_item.global_id[0], f.count) for f in result.findings} == {((0, 4), 1, 2)}


def test_constant_sampler_and_layers_agree_with_another_implementation(engine, judge):
    source = """__constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
    __kernel void k(read_only image2d_array_t im, write_only image2d_array_t out) {
      const sampler_t e = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
      int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
      float4 v = read_imagef(im, s, (int4)(x - 1, y - 1, z, 0)) + read_imagef(im, e, (int4)(x + 3, y, z, 0)) * 2.0f;
      write_imagef(out, (int4)(x, y, z, 0), v + (float)(get_image_width(im) + 10 * get_image_height(im) + 100 * (int)get_image_array_size(im)));
    }"""
    array = texels("RGBA", "FLOAT", (2, 4, 6))
    args = [Image(array, "image2d_array"), Image(np.zeros_like(array), "image2d_array")]
    ours = engine.run(source, "k", [6, 4, 2], [3, 2, 1], args, pad=64).outputs[1]
    np.testing.assert_array_equal(ours, judge.run(source, "-cl-std=CL2.0", "k", [6, 4, 2], [3, 2, 1], args)[1])


def test_writes_out_of_range_are_dropped_and_named(engine):
    source = """__kernel void k(write_only image2d_t im) {
      int x = get_global_id(0);
      write_imagef(im, (int2)(x, 1), (float4)(x));
    }"""
    result = engine.run(source, "k", [6], [3], [Image(np.full((1, 2, 4, 4), 9, np.float32))])
    assert result.outputs[0][0, 1, :, 0].tolist() == [0, 1, 2, 3]
    assert (result.outputs[0][0, 0] == 9).all()
    (finding,) = result.findings
    assert (finding.kind.label, finding.line, finding.count) == ("image-write-out-of-range", 3, 2)
    assert (finding.access.view, finding.access.coordinate, finding.access.extent) == ("im", (4, 1), (4, 2))
    assert finding.work_item.global_id == (4, 0, 0)


def test_integers_pass_through_float_functions_bit_by_bit(engine):
    source = """__kernel void k(read_only image2d_t a, write_only image2d_t b) {
      int2 c = (int2)(get_global_id(0), get_global_id(1)); write_imagef(b, c, read_imagef(a, c)); }"""
    array = _RNG.integers(-(2**31), 2**31, (1, 3, 4, 4)).astype(np.int32)
    array[0, 0, 0] = [1, 0x7F800001, 0xFF800001 - 2**32, 3]  # denormals and signalling NaNs
    result = engine.run(source, "k", [4, 3], [2, 1], [Image(array, "image2d", "RGBA", "SIGNED_INT32"), Image(np.zeros_like(array), "image2d", "RGBA", "SIGNED_INT32")],
                        flush_denormals=True)  # fmt: skip
    np.testing.assert_array_equal(result.outputs[1], array)
    assert result.kinds() == ["format-reinterpreted"] * 2
    assert all(f.severity == 1 for f in result.findings)


def test_format_that_loses_bits_is_an_error(engine):
    source = "__kernel void k(read_only image2d_t a, __global int4* r) { r[0] = read_imagei(a, (int2)(0, 0)); }"
    result = engine.run(
        source,
        "k",
        [1],
        [1],
        [Image(np.ones((1, 1, 1, 4), np.uint8), "image2d", "RGBA", "UNORM_INT8"), Buffer(np.zeros(4, np.int32))],
    )
    assert result.kinds() == ["format-mismatch"]
    assert result.findings[0].severity == 2


def test_sampler_that_integers_cannot_use(engine):
    source = reader("image2d", "f", "int", True)
    args = [
        Image(texels("RGBA", "FLOAT", (1, 2, 2))),
        Sampler(True, "repeat", "nearest"),
        Buffer(np.zeros((1, 4), np.int32)),
        Buffer(np.zeros((1, 4), np.float32)),
    ]
    assert engine.run(source, "k", [1], [1], args).kinds() == ["undefined-sampler"]


def test_half_images_keep_their_bits(engine):
    source = """__kernel void k(read_only image2d_t a, write_only image2d_t b, __global half4* r) {
      #pragma OPENCL EXTENSION cl_khr_fp16 : enable
      int2 c = (int2)(get_global_id(0), 0); half4 v = read_imageh(a, c); r[get_global_id(0)] = v; write_imageh(b, c, v); }"""
    array = _RNG.integers(0, 65536, (1, 1, 8, 4)).astype(np.uint16).view(np.float16)
    args = [
        Image(array, "image2d", "RGBA", "HALF_FLOAT"),
        Image(np.zeros_like(array), "image2d", "RGBA", "HALF_FLOAT"),
        Buffer(np.zeros((8, 4), np.float16)),
    ]
    result = engine.run(source, "k", [8], [4], args, flush_denormals=True)
    np.testing.assert_array_equal(result.outputs[1].view(np.uint16), array.view(np.uint16))
    np.testing.assert_array_equal(result.outputs[2].view(np.uint16).reshape(-1), array.view(np.uint16).reshape(-1))


@pytest.mark.parametrize("order", ["RGBA", "R"])
def test_floats_read_as_halves_are_rounded_and_named(engine, order):
    source = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
    __kernel void k(read_only image1d_t im, __global half4* r) { int i = get_global_id(0); r[i] = read_imageh(im, i); }"""
    array = (_RNG.normal(size=(1, 1, 16, 4)) * 100).astype(np.float32)[..., : len(order)]
    args = [Image(array, "image1d", order, "FLOAT"), Buffer(np.zeros((16, 4), np.float16))]
    result = engine.run(source, "k", [16], [8], args)
    assert result.kinds() == ["format-mismatch"]
    assert "rounded to half" in result.findings[0].message
    expected = format_of(order, "FLOAT").decode(array[0, 0]).astype(np.float16)
    np.testing.assert_array_equal(result.outputs[1].reshape(16, 4), expected.reshape(16, 4))


def test_queries(engine):
    source = """__kernel void k(read_only image3d_t a, read_only image1d_array_t b, __global int* r) {
      int4 d = get_image_dim(a); r[0] = d.x; r[1] = d.y; r[2] = d.z; r[3] = get_image_depth(a); r[4] = get_image_width(b);
      r[5] = get_image_array_size(b); r[6] = get_image_channel_data_type(a) == CLK_HALF_FLOAT; r[7] = get_image_channel_order(b) == CLK_R; }"""
    args = [
        Image(texels("RGBA", "HALF_FLOAT", (2, 3, 5)), "image3d", "RGBA", "HALF_FLOAT"),
        Image(texels("R", "FLOAT", (4, 1, 6)), "image1d_array", "R", "FLOAT"),
    ]
    assert engine.run(source, "k", [1], [1], [*args, Buffer(np.zeros(8, np.int32))]).outputs[2].tolist() == [
        5,
        3,
        2,
        2,
        6,
        4,
        1,
        1,
    ]


def test_watch_sees_image_stores(engine):
    source = "__kernel void k(write_only image2d_t im, int n) { write_imagef(im, (int2)(get_global_id(0) / n, 0), (float4)(get_global_id(0))); }"
    result = engine.run(
        source, "k", [8], [4], [Image(np.zeros((1, 1, 4, 4), np.float32)), Scalar(np.int32(2))], watch=(0, 16 + 8, 4)
    )
    assert [np.array([s.value], np.uint64).view(np.float32)[0] for s in result.stores] == [2, 3]


@pytest.mark.parametrize("items", [3, 8, 37])
def test_coordinates_are_kept_across_a_barrier(engine, items):
    """The vector of a coordinate outlives the barrier, the scalars that it was made of do not."""
    source = """__kernel void k(read_only image2d_t im, write_only image2d_t to, __local int *l, __global const int *in) {
      int2 at = (int2)(get_global_id(0), get_global_id(1));
      l[get_local_id(0)] = in[get_global_id(0)];
      barrier(CLK_LOCAL_MEM_FENCE);
      int other = l[get_local_size(0) - 1 - get_local_id(0)];
      write_imagef(to, at, read_imagef(im, CLK_ADDRESS_NONE | CLK_FILTER_NEAREST, at) + (float)other); }"""
    array = _RNG.normal(0, 3, (1, 4, items, 4)).astype(np.float32)
    numbers = np.arange(items, dtype=np.int32)
    args = [Image(array, "image2d"), Image(np.zeros_like(array), "image2d"), Local(4 * items), Buffer(numbers)]
    result = engine.run(source, "k", [items, 4], [items, 1], args)
    np.testing.assert_array_equal(result.outputs[1], array + numbers[::-1].astype(np.float32)[None, None, :, None])
    assert not result.findings
