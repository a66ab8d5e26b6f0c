"""Image layouts, the address map, packing and conversions, against hand-worked cases and properties."""

import xml.etree.ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim import image
from adreno_sim.base.errors import DeviceError
from adreno_sim.base.pitch_rules import PITCH_RULES
from adreno_sim.base.specs import ImageSpec
from adreno_sim.image.drawing import layout_svg
from adreno_sim.profiles import profile

FORMATS = [
    image.Format(order, kind)
    for order in image.ORDERS
    for kind in image.CHANNEL_TYPES
    if kind in image.formats.combined_with(order)
]


def test_nothing_heavy_is_imported():
    import subprocess
    import sys

    code = "import sys, adreno_sim, adreno_sim.image; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# TVM's runtime: row_pitch = align_up(width * 4 * element bytes, 64), size = row_pitch * height * depth, worked by hand.
@pytest.mark.parametrize(
    "width, height, layers, channel_type, row_pitch, nbytes",
    [
        (28, 28, 4, "FLOAT", 448, 50176),  # (1, 4, 28, 28, 4) float32: 28 * 16 = 448 = 7 * 64
        (5, 3, 2, "FLOAT", 128, 768),  # 80 -> 128
        (7, 7, 1, "HALF_FLOAT", 64, 448),  # 56 -> 64
        (9, 1, 1, "HALF_FLOAT", 128, 128),  # 72 -> 128
        (1, 1, 1, "SIGNED_INT8", 64, 64),  # 4 -> 64
        (112, 112, 16, "FLOAT", 1792, 3211264),
    ],
)
def test_bytes_rule_is_tvms_formula(width, height, layers, channel_type, row_pitch, nbytes):
    layout = image.layout_of(ImageSpec("image2d_array", width, height, layers, "RGBA", channel_type), profile.load("adreno-740"))
    assert (layout.row_pitch, layout.slice_pitch, layout.nbytes) == (row_pitch, row_pitch * height, nbytes)


# Khronos: the alignment is in pixels. 28 -> 64 pixels of 16 bytes; hardware adds layers at multiples of 4096.
def test_pixels_and_hardware_rules_by_hand():
    spec, device = ImageSpec("image2d_array", 28, 5, 3), profile.load("adreno-740")
    pixels, hardware = image.layout_of(spec, device, "pixels"), image.layout_of(spec, device, "hardware")
    assert (pixels.row_pitch, pixels.slice_pitch, pixels.nbytes) == (1024, 5120, 15360)
    assert (hardware.row_pitch, hardware.slice_pitch, hardware.nbytes) == (1024, 8192, 24576)


def test_the_rule_is_the_profiles_unless_another_is_asked_for():
    spec, device = ImageSpec("image2d", 28, 5), profile.load("adreno-740").with_values({"pitch_rule": "pixels"})
    assert image.layout_of(spec, device).row_pitch == 1024
    assert image.layout_of(spec, device, "bytes").row_pitch == 448
    assert image.layout_of(spec).row_pitch == 448


def test_a_pitch_of_the_users():
    layout = image.layout_of(ImageSpec("image2d_array", 4, 2, 2, row_pitch=80, slice_pitch=256), profile.load("adreno-740"))
    assert (layout.row_pitch, layout.slice_pitch, layout.nbytes) == (80, 256, 512)


@pytest.mark.parametrize(
    "spec, code",
    [
        (ImageSpec("image4d", 4), "CL_INVALID_IMAGE_DESCRIPTOR"),
        (ImageSpec("image2d", 0, 4), "CL_INVALID_IMAGE_SIZE"),
        (ImageSpec("image2d", 4, 4, 2), "CL_INVALID_IMAGE_DESCRIPTOR"),
        (ImageSpec("image1d", 4, 4), "CL_INVALID_IMAGE_DESCRIPTOR"),
        (ImageSpec("image2d", 4, 4, row_pitch=48), "CL_INVALID_IMAGE_DESCRIPTOR"),
        (ImageSpec("image2d", 4, 4, row_pitch=72), "CL_INVALID_IMAGE_DESCRIPTOR"),
        (ImageSpec("image2d_array", 4, 4, 2, slice_pitch=64), "CL_INVALID_IMAGE_DESCRIPTOR"),
        (ImageSpec("image2d", 4, 4, order="BGRA", channel_type="FLOAT"), "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"),
        (ImageSpec("image2d", 4, 4, order="RGBX"), "CL_IMAGE_FORMAT_NOT_SUPPORTED"),
        (ImageSpec("image2d", 4, 4, channel_type="DOUBLE"), "CL_IMAGE_FORMAT_NOT_SUPPORTED"),
    ],
)
def test_impossible_images_are_refused_with_opencls_code(spec, code):
    with pytest.raises(DeviceError) as refused:
        image.layout_of(spec, profile.load("adreno-740"))
    assert refused.value.code == code


@st.composite
def layouts(draw):
    """A small image of any kind and format under any rule, and its format."""
    kind = draw(st.sampled_from(image.layout.KINDS))
    texel_format = draw(st.sampled_from(FORMATS))
    extent = st.integers(1, 9)
    width = draw(st.integers(1, 70))
    height = draw(extent) if kind in ("image2d", "image2d_array", "image3d") else 1
    layers = draw(extent) if kind in ("image1d_array", "image2d_array", "image3d") else 1
    spec = ImageSpec(kind, width, height, layers, texel_format.order, texel_format.channel_type)
    device = profile.load(draw(st.sampled_from(["adreno-740", "adreno-630,driver=mesa", "reference"])))
    return image.layout_of(spec, device, draw(st.sampled_from(PITCH_RULES))), texel_format


def all_texels(layout):
    z, y, x = np.meshgrid(np.arange(layout.layers), np.arange(layout.height), np.arange(layout.width), indexing="ij")
    return np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)


@given(layouts())
@settings(max_examples=60, deadline=None)
def test_address_map_is_a_bijection_onto_disjoint_texels_inside_the_image(case):
    layout, _ = case
    coordinates = all_texels(layout)
    offsets = image.offsets_of(layout, coordinates)
    assert offsets.min() >= 0
    assert offsets.max() + layout.texel_bytes <= layout.nbytes
    assert np.diff(np.sort(offsets)).min(initial=layout.texel_bytes) >= layout.texel_bytes
    for byte in (0, layout.texel_bytes - 1):
        assert (image.texels_at(layout, offsets + byte) == coordinates).all()


@given(layouts())
@settings(max_examples=30, deadline=None)
def test_bytes_that_are_no_texel_are_padding(case):
    layout, _ = case
    texels = image.texels_at(layout, np.arange(layout.nbytes))
    assert (texels[:, 0] >= 0).sum() == layout.dense_bytes
    outside = image.texels_at(layout, [-1, layout.nbytes, layout.nbytes + layout.row_pitch])
    assert (outside == -1).all()


def test_coordinates_outside_have_no_address():
    layout = image.layout_of(ImageSpec("image2d", 8, 4), profile.load("adreno-740"))
    assert image.offsets_of(layout, [[7, 3, 0], [8, 2, 0], [-1, 0, 0], [0, 4, 0], [0, 0, 1]]).tolist() == [
        3 * 128 + 112,
        -1,
        -1,
        -1,
        -1,
    ]


@given(layouts(), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_packing_round_trips_and_leaves_the_padding_alone(case, shift):
    layout, texel_format = case
    memory = np.full(layout.nbytes + 64 * shift, 0xA5, np.uint8)
    dense = np.arange(layout.dense_bytes, dtype=np.uint8)
    dense = dense.view(texel_format.dtype).reshape(layout.layers, layout.height, layout.width, texel_format.channels)
    image.texel_array(memory, layout, texel_format, 64 * shift)[...] = dense
    back = image.texel_array(memory, layout, texel_format, 64 * shift)
    assert back.tobytes() == dense.tobytes()
    offsets = image.offsets_of(layout, all_texels(layout))[:, None] + np.arange(layout.texel_bytes)
    assert memory[64 * shift + offsets.ravel()].tobytes() == dense.tobytes()
    untouched = np.ones(memory.size, bool)
    untouched[64 * shift + offsets.ravel()] = False
    assert (memory[untouched] == 0xA5).all()


def test_packing_into_too_little_memory_is_refused():
    layout = image.layout_of(ImageSpec("image2d", 8, 4))
    with pytest.raises(ValueError, match="expected at least 576"):
        image.texel_array(np.zeros(512, np.uint8), layout, image.Format("RGBA", "FLOAT"), 64)


@pytest.mark.parametrize(
    "order, channel_type, stored, colour",
    [
        ("R", "UNORM_INT8", [255], (1, 0, 0, 1)),
        ("A", "UNORM_INT8", [255], (0, 0, 0, 1)),
        ("RG", "UNORM_INT16", [0, 65535], (0, 1, 0, 1)),
        ("BGRA", "UNORM_INT8", [0, 51, 255, 255], (1, 0.2, 0, 1)),
        ("RGBA", "SNORM_INT8", [-128, -127, 127, 0], (-1, -1, 1, 0)),
        ("RGBA", "SIGNED_INT16", [-32768, 1, 2, 3], (-32768, 1, 2, 3)),
        ("RGBA", "UNSIGNED_INT32", [2**32 - 1, 1, 2, 3], (2**32 - 1, 1, 2, 3)),
        ("INTENSITY", "FLOAT", [0.5], (0.5, 0.5, 0.5, 0.5)),
        ("LUMINANCE", "FLOAT", [0.5], (0.5, 0.5, 0.5, 1)),
        ("sRGBA", "UNORM_INT8", [255, 0, 188, 51], (1, 0, 0.5028865, 0.2)),
        ("sBGRA", "UNORM_INT8", [188, 0, 255, 51], (1, 0, 0.5028865, 0.2)),
        ("sRGB", "UNORM_INT8", [255, 0, 188], (1, 0, 0.5028865, 1)),
        ("sRGBx", "UNORM_INT8", [255, 0, 188, 51], (1, 0, 0.5028865, 1)),
    ],
)
def test_reads_convert_as_the_specification_says(order, channel_type, stored, colour):
    texel_format = image.format_of(order, channel_type)
    decoded = texel_format.decode(np.array([stored], texel_format.dtype))[0]
    assert decoded.dtype == texel_format.colour_dtype
    np.testing.assert_allclose(decoded, np.array(colour, texel_format.colour_dtype), rtol=1e-6)


@pytest.mark.parametrize(
    "channel_type, values, stored",
    [
        ("UNORM_INT8", [-1.0, 2.0, 0.5, np.nan], [0, 255, 128, 0]),  # 127.5 rounds to even
        ("SNORM_INT8", [-2.0, 2.0, -1.0, 0.5], [-128, 127, -127, 64]),
        ("HALF_FLOAT", [1 + 2**-11, 1 + 3 * 2**-11, 65520.0, -0.0], [1.0, 1 + 2**-9, np.inf, -0.0]),
        ("SIGNED_INT8", [-300, 300, 5, -5], [-128, 127, 5, -5]),
        ("UNSIGNED_INT16", [0, 70000, 5, 65535], [0, 65535, 5, 65535]),
    ],
)
def test_writes_round_and_saturate(channel_type, values, stored):
    texel_format = image.format_of("RGBA", channel_type)
    encoded = texel_format.encode(np.array([values], texel_format.colour_dtype))[0]
    np.testing.assert_array_equal(encoded, np.array(stored, texel_format.dtype))


@given(st.sampled_from([f for f in FORMATS if f.channel_type != "FLOAT"]), st.integers(0, 2**32 - 1))
@settings(max_examples=80, deadline=None)
def test_what_is_read_writes_back_to_the_same_bits(texel_format, seed):
    rng = np.random.default_rng(seed)
    texels = rng.integers(0, 256, (5, texel_format.texel_bytes), np.uint8).view(texel_format.dtype)
    if texel_format.meaning == "snorm":  # the most negative value reads as -1 and is written as the next
        texels = np.maximum(texels, -np.iinfo(texels.dtype).max)
    if texel_format.meaning == "float":
        texels = np.nan_to_num(texels)
    if texel_format.order == "sRGBx":  # the channel that holds nothing
        texels[..., 3] = 0
    np.testing.assert_array_equal(texel_format.encode(texel_format.decode(texels)), texels)


def srgb_of(linear):
    """The curve as the specification writes it (OpenCL C 3.0, 8.3.1), 0 to 255, in double."""
    return 255 * np.where(linear < 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=50))
def test_srgb_is_written_to_the_nearest_byte(values):
    linear = np.array(values, np.float32)
    colours = np.repeat(linear[:, None], 4, axis=1)
    stored = image.format_of("sRGBA", "UNORM_INT8").encode(colours)
    assert (np.abs(stored[:, :3] - srgb_of(linear.astype(np.float64))[:, None]) <= 0.5 + 1e-6).all()
    np.testing.assert_array_equal(stored[:, 3], np.rint(linear * np.float32(255)))


def test_the_drawing_shows_rows_padding_and_layers():
    layout = image.layout_of(ImageSpec("image2d_array", 28, 40, 9), profile.load("adreno-740"), "hardware")
    svg = layout_svg(layout, "conv <0>")
    root = xml.etree.ElementTree.fromstring(svg)
    texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0].startswith("conv <0>: 28 x 40 x 9 texels of 16 B")
    assert "row pitch 1024 B" in texts
    assert "... 24 more rows" in texts
    assert "... 5 more layers" in texts
    assert f"layer 3 at byte {3 * layout.slice_pitch}" in texts
    tight = layout_svg(image.layout_of(ImageSpec("image2d", 4, 4)))
    assert 'class="padding"' not in tight
    assert 'class="padding"' in svg
    assert 'class="mark"' not in svg


def test_the_drawing_marks_texels_wherever_they_are():
    layout = image.layout_of(ImageSpec("image2d_array", 28, 40, 9), profile.load("adreno-740"), "hardware")
    svg = layout_svg(layout, marked=[(27, 39, 8), (3, 2, 0)])
    root = xml.etree.ElementTree.fromstring(svg)
    named = "{http://www.w3.org/2000/svg}"
    texts = ["".join(node.itertext()) for node in root.iter(f"{named}text")]
    far = 8 * layout.slice_pitch + 39 * layout.row_pitch + 27 * 16
    assert f"(27, 39) at byte {far}" in texts
    assert f"(3, 2) at byte {2 * layout.row_pitch + 48}" in texts
    assert texts.count("... 4 more layers") == 1
    assert "layer 8 at byte" in " ".join(texts)
    assert "... 23 more rows" in texts
    first, second = [node for node in root.iter(f"{named}rect") if node.get("class") == "mark"]
    rows = [node for node in root.iter(f"{named}rect") if node.get("class") == "texels"]
    edge = float(rows[0].get("x")) + float(rows[0].get("width"))
    assert float(second.get("x")) + float(second.get("width")) == pytest.approx(edge, abs=0.02)  # the last texel of its row
    assert first.get("y") == rows[2].get("y")
