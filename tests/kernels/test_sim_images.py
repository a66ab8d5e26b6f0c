"""The engine's image built-ins against the reference sampler: formats, samplers, layouts, coordinates of every kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image_sampling import read_image, write_image

import adreno_sim
from adreno_sim.base.specs import BufferSpec, ImageSpec, Sampler
from adreno_sim.findings import Kind, Severity
from adreno_sim.image import CHANNEL_TYPES, ORDERS, Format, format_of
from adreno_sim.image.formats import combined_with

COMPONENTS = {
    "image1d": "c.x", "image1d_buffer": "c.x", "image1d_array": "c.xy", "image2d": "c.xy", "image2d_array": "c", "image3d": "c",
}  # fmt: skip
READERS = {"float32": ("float4", "read_imagef"), "int32": ("int4", "read_imagei"), "uint32": ("uint4", "read_imageui")}
FORMATS = [Format(order, kind) for order in ORDERS for kind in CHANNEL_TYPES if kind in combined_with(order)]
ADDRESSING = ["clamp_to_edge", "clamp", "repeat", "mirrored_repeat"]
COUNT = 32
WILD = [np.nan, np.inf, -np.inf, 3e38, -3e38, 2.0**31, -(2.0**31), 2.0**63, 1e-40, -1e-40, -0.0, 0.5 - 2.0**-25]
"""Coordinates that are no position, or none near the image."""

READ = """
kernel void get(read_only IMAGE image, SAMPLER global const COORD4 *at, global VALUE *out) {
    COORD4 c = at[get_global_id(0)];
    out[get_global_id(0)] = READ(image, USE COORDINATES);
}"""
WRITE = """
kernel void put(write_only IMAGE image, global const int4 *at, global const VALUE *in) {
    int4 c = at[get_global_id(0)];
    WRITE(image, COORDINATES, in[get_global_id(0)]);
}"""


@pytest.fixture(scope="module")
def devices():
    return [adreno_sim.open_device(f"sim:reference,pitch_rule={rule},cache=false") for rule in ("bytes", "hardware")]


@st.composite
def images(draw, kinds=sorted(COMPONENTS.keys() - {"image1d_buffer"})):
    """An image of any format and of any kind that a sampler reads, unless others are named; filled at random."""
    texel_format = draw(st.sampled_from(FORMATS))
    kind = draw(st.sampled_from(kinds))
    width, height, depth = (draw(st.integers(1, 9)) for _ in range(3))
    height = height if kind in ("image2d", "image2d_array", "image3d") else 1
    depth = depth if kind in ("image1d_array", "image2d_array", "image3d") else 1
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (depth, height, width, texel_format.channels)
    if texel_format.meaning == "float":
        texels = rng.normal(size=shape).astype(texel_format.dtype)
    else:
        texels = rng.integers(0, 256, (*shape[:-1], texel_format.texel_bytes), np.uint8).view(texel_format.dtype)
    spec = ImageSpec(kind, width, height, depth, texel_format.order, texel_format.channel_type)
    return spec, texel_format, texels, rng


def upload(device, array, spec=None):
    spec = spec or BufferSpec(array.nbytes, array.dtype.name)
    view = device.view(device.allocate(device.view_nbytes(spec)), spec)
    device.write(view, array)
    return view


def options(**names):
    return "-cl-std=CL2.0 " + " ".join(f'"-D{name}={text}"' for name, text in names.items())


def constant(sampler):
    """A sampler of the program's own instead of an argument."""
    words = [f"CLK_NORMALIZED_COORDS_{str(sampler.normalized).upper()}", f"CLK_ADDRESS_{sampler.addressing.upper()}"]
    return f"constant sampler_t s = {' | '.join([*words, f'CLK_FILTER_{sampler.filter.upper()}'])};"


def read_on(device, case, coordinates, sampler, is_argument=True):
    spec, texel_format, texels, _ = case
    value, reader = READERS[texel_format.colour_dtype.name]
    number = "int" if coordinates.dtype == np.int32 else "float"
    names = {"IMAGE": f"{spec.kind}_t", "COORD4": f"{number}4", "VALUE": value, "READ": reader}
    names |= {"COORDINATES": COMPONENTS[spec.kind], "USE": "s," if sampler else ""}
    names["SAMPLER"] = "sampler_t s," if sampler and is_argument else ""
    source = READ if is_argument else constant(sampler) + READ
    out = upload(device, np.zeros((len(coordinates), 4), texel_format.colour_dtype))
    args = [upload(device, texels, spec), *([sampler] if sampler and is_argument else []), upload(device, coordinates), out]
    result = device.launch(device.build(source, options(**names))["get"], (len(coordinates),), None, args)
    return device.read(out).reshape(-1, 4), result


def float_coordinates(spec, rng, sampler):
    """Inside, at the edges, far outside, and what is no number; in units of the image where normalized."""
    extents = np.array([spec.width, spec.height, spec.depth_or_layers, 1], np.float32)
    coordinates = rng.uniform(-2.5, 2.5, (COUNT, 4)).astype(np.float32) * extents
    coordinates[: COUNT // 2] = rng.uniform(0, 1, (COUNT // 2, 4)).astype(np.float32) * extents
    coordinates[:4] = np.floor(coordinates[:4])
    layer_axis = {"image1d_array": 1, "image2d_array": 2}.get(spec.kind)
    layer = coordinates[:, layer_axis].copy() if layer_axis else None
    if sampler.normalized:
        coordinates /= extents
    if layer_axis:
        coordinates[:, layer_axis] = layer
    wild = rng.choice(np.array(WILD, np.float32), (8, 4))
    coordinates[-8:] = np.where(rng.random((8, 4)) < 0.5, wild, coordinates[-8:])
    return coordinates


@given(case=images(), addressing=st.sampled_from(ADDRESSING), normalized=st.booleans(), is_argument=st.booleans())
@settings(max_examples=30, deadline=None)
def test_nearest_reads(devices, case, addressing, normalized, is_argument):
    sampler = Sampler(normalized or addressing.endswith("repeat"), addressing, "nearest")
    coordinates = float_coordinates(case[0], case[3], sampler)
    compare(devices, case, coordinates, sampler, is_argument)


@given(case=images(), addressing=st.sampled_from(["clamp_to_edge", "clamp"]), is_argument=st.booleans())
@settings(max_examples=20, deadline=None)
def test_integer_coordinates(devices, case, addressing, is_argument):
    coordinates = case[3].integers(-3, 12, (COUNT, 4)).astype(np.int32)
    coordinates[0], coordinates[1] = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    compare(devices, case, coordinates, Sampler(False, addressing, "nearest"), is_argument)


def compare(devices, case, coordinates, sampler, is_argument):
    spec, texel_format, texels, _ = case
    expected = read_image(texels, texel_format, spec.kind, sampler, coordinates)
    for device in devices:
        got, result = read_on(device, case, coordinates, sampler, is_argument)
        np.testing.assert_array_equal(got, expected)
        assert [f for f in result.findings if f.severity is Severity.ERROR] == []


@given(case=images(sorted(COMPONENTS)))
@settings(max_examples=15, deadline=None)
def test_reads_without_a_sampler(devices, case):
    spec, texel_format, texels, rng = case
    extents = [spec.width, spec.height, spec.depth_or_layers]
    if spec.kind == "image1d_array":
        extents = [spec.width, spec.depth_or_layers, 1]
    coordinates = rng.integers(0, [*extents, 1], (COUNT, 4)).astype(np.int32)
    got, result = read_on(devices[0], case, coordinates, None)
    expected = read_image(texels, texel_format, spec.kind, Sampler(addressing="none"), coordinates)
    np.testing.assert_array_equal(got, expected)
    assert result.findings == []
    coordinates[5, 0] = spec.width
    _, outside = read_on(devices[0], case, coordinates, None)
    assert [(f.kind, f.work_item.global_id[0], f.count) for f in outside.findings] == [(Kind.IMAGE_READ_OUT_OF_RANGE, 5, 1)]


@given(case=images(), addressing=st.sampled_from(ADDRESSING), normalized=st.booleans(), is_argument=st.booleans())
@settings(max_examples=20, deadline=None)
def test_linear_reads(devices, case, addressing, normalized, is_argument):
    spec, texel_format, texels, rng = case
    if texel_format.colour_dtype != np.float32:
        return  # defined for read_imagef only
    sampler = Sampler(normalized or addressing.endswith("repeat"), addressing, "linear")
    coordinates = float_coordinates(spec, rng, sampler)
    got, _ = read_on(devices[0], case, coordinates, sampler, is_argument)
    expected = read_image(texels, texel_format, spec.kind, sampler, coordinates)
    largest = np.abs(texel_format.decode(texels)).max()
    np.testing.assert_allclose(got, expected, rtol=2**-7, atol=2**-7 * largest)


@pytest.mark.parametrize("addressing", ["clamp_to_edge", "repeat"])
@pytest.mark.parametrize("bits", [0, 4, 8])
def test_the_bits_of_filter_weights_are_an_option(addressing, bits):
    texels = np.random.default_rng(9).integers(0, 1 << 12, (1, 5, 7, 1)).astype(np.float32)
    case = (ImageSpec("image2d", 7, 5, order="R"), format_of("R", "FLOAT"), texels, None)
    coordinates = (np.random.default_rng(8).random((COUNT, 4)) * 1.2 - 0.1).astype(np.float32)
    sampler = Sampler(True, addressing, "linear")
    got, _ = read_on(adreno_sim.open_device(f"sim:adreno-740,filter_bits={bits}"), case, coordinates, sampler)
    same = read_image(texels, case[1], "image2d", sampler, coordinates, bits)
    np.testing.assert_allclose(got, same, rtol=1e-6, atol=1e-3)
    other = read_image(texels, case[1], "image2d", sampler, coordinates, 0 if bits else 8)
    assert np.abs(got - other).max() > 1  # the weights tell on texels so far apart


@pytest.mark.parametrize("addressing", ADDRESSING)
@pytest.mark.parametrize("filtering", ["nearest", "linear"])
def test_coordinates_that_are_no_position_read_something(devices, addressing, filtering):
    texels = np.arange(1, 13, dtype=np.float32).reshape(1, 3, 4, 1)
    case = (ImageSpec("image2d", 4, 3, order="R"), format_of("R", "FLOAT"), texels, None)
    odd = [np.nan, np.inf, -np.inf, 3e38, -3e38, 2.0**31, -(2.0**63)]
    coordinates = np.array([[x, y, 0, 0] for x in odd for y in (0.5, np.nan)], np.float32)
    got, _ = read_on(devices[0], case, coordinates, Sampler(True, addressing, filtering))
    assert ((got[:, 0] >= 0) & (got[:, 0] <= 12) | np.isnan(got[:, 0])).all()


@given(case=images(sorted(COMPONENTS)))
@settings(max_examples=25, deadline=None)
def test_writes(devices, case):
    spec, texel_format, texels, rng = case
    value, reader = READERS[texel_format.colour_dtype.name]
    if texel_format.colour_dtype == np.float32:
        colours = (rng.normal(size=(COUNT, 4)) * rng.choice([0.5, 2, 1e5])).astype(np.float32)
        colours[0] = [np.nan, np.inf, -np.inf, -0.0]
    else:
        colours = rng.integers(0, 2**32, (COUNT, 4), np.uint64).astype(np.uint32).view(texel_format.colour_dtype)
        colours[: COUNT // 2] >>= 22
    room = {"image1d_array": [spec.width, spec.depth_or_layers, 1]}.get(
        spec.kind, [spec.width, spec.height, spec.depth_or_layers]
    )
    places = np.stack(np.meshgrid(*map(np.arange, room), indexing="ij"), -1).reshape(-1, 3)
    coordinates = np.zeros((COUNT, 4), np.int32)
    chosen = rng.permutation(len(places))[:COUNT]  # each texel once: the order of work-items is not defined
    coordinates[: len(chosen), :3] = places[chosen]
    coordinates[len(chosen) :, 0] = -1 - np.arange(COUNT - len(chosen))
    coordinates[-1, 0] = spec.width
    expected = texels.copy()
    inside = write_image(expected, texel_format, spec.kind, coordinates, colours)
    names = {"IMAGE": f"{spec.kind}_t", "VALUE": value, "WRITE": reader.replace("read", "write")}
    for device in devices:
        image = upload(device, texels, spec)
        kernel = device.build(WRITE, options(COORDINATES=COMPONENTS[spec.kind], **names))["put"]
        result = device.launch(kernel, (COUNT,), None, [image, upload(device, coordinates), upload(device, colours)])
        got = device.read(image)
        np.testing.assert_array_equal(got, expected)
        assert [(f.kind, f.count) for f in result.findings] == [(Kind.IMAGE_WRITE_OUT_OF_RANGE, int((~inside).sum()))]


QUERIES = {
    "image1d": (["width"], [7]),
    "image1d_buffer": (["width"], [7]),
    "image1d_array": (["width", "array_size"], [7, 3]),
    "image2d": (["width", "height"], [7, 5]),
    "image2d_array": (["width", "height", "array_size"], [7, 5, 3]),
    "image3d": (["width", "height", "depth"], [7, 5, 3]),
}


@pytest.mark.parametrize("kind", sorted(QUERIES))
def test_queries(devices, kind):
    names, expected = QUERIES[kind]
    height = 5 if "height" in names else 1
    layers = 3 if len(names) > 1 and kind != "image2d" else 1
    stores = "".join(f"out[{i}] = get_image_{name}(image);" for i, name in enumerate(names))
    stores += "out[4] = get_image_channel_order(image); out[5] = get_image_channel_data_type(image);"
    source = f"kernel void ask(read_only {kind}_t image, global int *out) {{ {stores} }}"
    for device in devices:
        spec = ImageSpec(kind, 7, height, layers, "RG", "HALF_FLOAT")
        image = device.view(device.allocate(device.view_nbytes(spec)), spec)
        out = upload(device, np.zeros(6, np.int32))
        device.launch(device.build(source)["ask"], (1,), None, [image, out])
        assert device.read(out)[: len(names)].tolist() == expected
        assert device.read(out)[4:].tolist() == [0x10B2, 0x10DD]  # CL_RG, CL_HALF_FLOAT


def test_an_image_read_and_written_by_one_kernel(devices):
    source = """kernel void add_one(read_write image2d_t image) {
        int2 at = (int2)(get_global_id(0), get_global_id(1));
        write_imagei(image, at, read_imagei(image, at) + 1); }"""
    texels = np.arange(4 * 3 * 4, dtype=np.int32).reshape(1, 3, 4, 4)
    for device in devices:
        image = upload(device, texels, ImageSpec("image2d", 4, 3, channel_type="SIGNED_INT32"))
        device.launch(device.build(source, "-cl-std=CL2.0")["add_one"], (4, 3), None, [image])
        np.testing.assert_array_equal(device.read(image), texels + 1)


def test_an_image_of_another_sort_of_number_is_reported(devices):
    source = "kernel void get(read_only image2d_t image, global int4 *out) { out[0] = read_imagei(image, (int2)(0, 0)); }"
    image = upload(devices[0], np.ones((1, 1, 1, 4), np.uint8), ImageSpec("image2d", 1, 1, channel_type="UNORM_INT8"))
    out = upload(devices[0], np.zeros(4, np.int32))
    result = devices[0].launch(devices[0].build(source)["get"], (1,), None, [image, out])
    assert [finding.kind for finding in result.findings] == [Kind.FORMAT_MISMATCH]
