"""The reference sampler against hand-worked reads and the drivers' own samplers."""

import numpy as np
import oracle
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from image_sampling import read_image, write_image

from adreno_sim.base.specs import Sampler
from adreno_sim.image import format_of

ROW = np.array([10, 20, 30, 40], np.float32).reshape(1, 1, 4, 1)
R = format_of("R", "FLOAT")


def read_row(x, **sampler):
    coordinates = np.array([[value, 0, 0, 0] for value in np.atleast_1d(x)])
    coordinates = coordinates.astype(np.int32 if coordinates.dtype.kind == "i" else np.float32)
    return read_image(ROW, R, "image1d", Sampler(**sampler), coordinates)[:, 0].tolist()


def test_nearest_by_hand():
    x = [-0.1, 0.0, 0.9, 1.0, 3.9, 4.0]
    assert read_row(x, addressing="clamp_to_edge") == [10, 10, 10, 20, 40, 40]
    assert read_row(x, addressing="clamp") == [0, 10, 10, 20, 40, 0]
    assert read_row(x, addressing="none") == [0, 10, 10, 20, 40, 0]
    assert read_row([-1, 0, 3, 4], addressing="clamp_to_edge") == [10, 10, 40, 40]


def test_repeating_by_hand():
    # In units of the image: -0.1 wraps to 0.9 (texel 3), 1.3 to 0.3 (texel 1); mirrored they read texels 0 and 2.
    assert read_row([-0.1, 0.3, 1.3], normalized=True, addressing="repeat") == [40, 20, 20]
    assert read_row([-0.1, 0.3, 1.3], normalized=True, addressing="mirrored_repeat") == [10, 20, 30]


def test_linear_by_hand():
    # Texel centres are at .5: 1.0 lies half way between texels 0 and 1, 0.25 a quarter of the way towards the border.
    assert read_row([0.5, 1.0, 1.75, 0.25], filter="linear") == [10, 15, 22.5, 10]
    assert read_row([0.25, 4.0], filter="linear", addressing="clamp") == [7.5, 20]
    assert read_row([0.0], filter="linear", normalized=True, addressing="repeat") == [25]


def test_border_has_alpha_only_where_the_format_has_none():
    for order, border in (("R", [0, 0, 0, 1]), ("RG", [0, 0, 0, 1]), ("RGBA", [0, 0, 0, 0]), ("A", [0, 0, 0, 0])):
        texel_format = format_of(order, "FLOAT")
        texels = np.ones((1, 1, 2, texel_format.channels), np.float32)
        far = np.array([[5, 0, 0, 0]], np.int32)
        assert read_image(texels, texel_format, "image1d", Sampler(addressing="clamp"), far)[0].tolist() == border


def test_layers_are_rounded_to_even_and_clamped():
    texels = np.arange(4, dtype=np.float32).reshape(4, 1, 1, 1)
    layers = [-3.0, 0.5, 0.51, 1.5, 2.5, 9.0]
    coordinates = np.array([[0, 0, layer, 0] for layer in layers], np.float32)
    assert read_image(texels, R, "image2d_array", Sampler(), coordinates)[:, 0].tolist() == [0, 0, 1, 2, 2, 3]


def test_undefined_coordinates_have_a_fixed_answer():
    assert read_row([np.nan, np.inf, -np.inf]) == [10, 40, 10]
    assert read_row([np.nan, np.inf], normalized=True, addressing="repeat") == [10, 10]


def test_writes_outside_are_dropped():
    texels = np.zeros((2, 2, 2, 4), np.uint8)
    coordinates = np.array([[0, 1, 1, 0], [2, 0, 0, 0], [0, -1, 0, 0], [0, 0, 2, 0]], np.int32)
    inside = write_image(texels, format_of("RGBA", "UNORM_INT8"), "image2d_array", coordinates, np.ones((4, 4), np.float32))
    assert inside.tolist() == [True, False, False, False]
    assert texels.sum() == 4 * 255
    assert (texels[1, 1, 0] == 255).all()


SOURCE = """
__kernel void read(read_only IMAGE image, sampler_t s, __global const COORD4 *at, __global VALUE *out) {
    size_t i = get_global_id(0);
    COORD4 c = at[i];
    out[i] = READ(image, s, COORDINATES);
}
"""
COMPONENTS = {"image1d": "c.x", "image1d_array": "c.xy", "image2d": "c.xy", "image2d_array": "c", "image3d": "c"}
READERS = {"float32": ("float4", "read_imagef"), "int32": ("int4", "read_imagei"), "uint32": ("uint4", "read_imageui")}
ORDERS = ["RGBA", "R", "RG", "BGRA"]


@st.composite
def reads(draw, orders):
    """An image, a sampler and coordinates around it, all defined by the specification."""
    order = draw(st.sampled_from(orders))
    channel_types = [
        "UNORM_INT8",
        "UNORM_INT16",
        "SIGNED_INT8",
        "SIGNED_INT16",
        "SIGNED_INT32",
        "UNSIGNED_INT8",
        "UNSIGNED_INT32",
    ]
    channel_types = ["UNORM_INT8"] if order == "BGRA" else [*channel_types, "HALF_FLOAT", "FLOAT"]
    texel_format = format_of(order, draw(st.sampled_from(channel_types)))
    kind = draw(st.sampled_from(sorted(COMPONENTS)))
    width, height, depth = (draw(st.integers(1, 7)) for _ in range(3))
    height = height if kind in ("image2d", "image2d_array", "image3d") else 1
    depth = depth if kind in ("image1d_array", "image2d_array", "image3d") else 1
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (depth, height, width, texel_format.channels)
    if texel_format.meaning == "float":
        texels = rng.normal(size=shape).astype(texel_format.dtype)
    else:
        texels = rng.integers(0, 256, (*shape[:-1], texel_format.texel_bytes), np.uint8).view(texel_format.dtype)
    integer = draw(st.booleans())
    modes = ["clamp_to_edge", "clamp"] + ([] if integer else ["repeat", "mirrored_repeat"])
    addressing = draw(st.sampled_from(modes))
    normalized = addressing.endswith("repeat") or (not integer and draw(st.booleans()))
    coordinates = rng.integers(-3, 11, (16, 4)).astype(np.int32 if integer else np.float32)
    if not integer:  # away from the edges between texels, where rounding of the coordinate may pick either side
        coordinates += rng.choice(np.array([0.25, 0.375, 0.625, 0.75], np.float32), coordinates.shape)
    layer_axis = {"image1d_array": 1, "image2d_array": 2}.get(kind)
    if normalized:
        coordinates /= np.array([width, height, depth, 1], np.float32)
    if layer_axis is not None:
        coordinates[:, layer_axis] = rng.integers(-2, depth + 2, 16)
    return kind, texel_format, texels, Sampler(normalized, addressing, "nearest"), coordinates


def compare(judge, case, linear=False):
    kind, texel_format, texels, sampler, coordinates = case
    if linear:
        sampler = Sampler(sampler.normalized, sampler.addressing, "linear")
    value, reader = READERS[texel_format.colour_dtype.name]
    number = "int" if coordinates.dtype == np.int32 else "float"
    names = {"IMAGE": f"{kind}_t", "COORD4": f"{number}4", "VALUE": value, "READ": reader}
    component = COMPONENTS[kind]
    options = " ".join(f"-D{name}={text}" for name, text in names.items()) + f" -DCOORDINATES={component} -cl-std=CL2.0"
    out = np.zeros((len(coordinates), 4), texel_format.colour_dtype)
    image = oracle.Image(texels, kind, texel_format.order, texel_format.channel_type, output=False)
    their_sampler = oracle.Sampler(sampler.normalized, sampler.addressing, sampler.filter)
    args = [image, their_sampler, oracle.Buffer(coordinates, output=False), oracle.Buffer(out)]
    (theirs,) = judge.run(SOURCE, options, "read", (len(coordinates),), None, args)
    return read_image(texels, texel_format, kind, sampler, coordinates), theirs.reshape(out.shape)


FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(case=reads(ORDERS))
@FEW
def test_nearest_reads_equal_intels(intel, case):
    ours, theirs = compare(intel, case)
    np.testing.assert_array_max_ulp(*map(_comparable, (ours, theirs)), maxulp=1)


@given(case=reads(ORDERS))
@FEW
def test_linear_reads_are_within_the_conformance_tolerance_of_intels(intel, case):
    if case[1].meaning in ("int", "uint") or case[4].dtype == np.int32:
        return  # linear filtering is defined for read_imagef at float coordinates only
    ours, theirs = compare(intel, case, linear=True)
    np.testing.assert_allclose(ours, theirs, rtol=2**-7, atol=2**-7 * np.abs(case[2].astype(np.float64)).max())


def _comparable(values):
    """Integers of any width as float64, exactly; floats as they are."""
    return values if values.dtype == np.float32 else values.astype(np.float64)


@pytest.mark.parametrize("channel_type", ["UNORM_INT8", "SNORM_INT16", "HALF_FLOAT", "SIGNED_INT8", "UNSIGNED_INT16"])
def test_writes_convert_as_intels(intel, channel_type):
    texel_format = format_of("RGBA", channel_type)
    rng = np.random.default_rng(5)
    size, scale = 64, 3 if texel_format.colour_dtype == np.float32 else 70000
    colours = (rng.normal(size=(size, 4)) * scale).astype(texel_format.colour_dtype)
    value, reader = READERS[texel_format.colour_dtype.name]
    source = f"""__kernel void put(write_only image1d_t image, __global const {value} *in) {{
        {reader.replace("read", "write")}(image, (int)get_global_id(0), in[get_global_id(0)]); }}"""
    texels = np.zeros((1, 1, size, 4), texel_format.dtype)
    args = [oracle.Image(texels, "image1d", "RGBA", channel_type), oracle.Buffer(colours, output=False)]
    (theirs,) = intel.run(source, "-cl-std=CL2.0", "put", (size,), None, args)
    np.testing.assert_array_equal(texel_format.encode(colours), theirs.reshape(size, 4))
