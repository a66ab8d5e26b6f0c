"""One formula for the rows of a texture, that of TVM's runtime: what a plan reserves is what the device's view of it takes."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from adreno_sim import open_device
from adreno_sim.base.errors import DeviceError
from adreno_sim.base.pitch_rules import PITCH_RULES
from adreno_sim.base.run_options import RunOptions
from adreno_sim.base.specs import ImageSpec, TensorSpec
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.compiler.run.texture_views import device_view
from adreno_sim.image import layout_under
from adreno_sim.profiles.profile import load

TEXTURES = [
    TensorSpec(shape, dtype, scope)
    for shape in ((1, 8, 28, 28, 4), (2, 3, 5, 4), (1, 1, 1, 4), (3, 64, 65, 4))
    for dtype in ("float32", "float16", "int8", "uint8", "int32")
    for scope in ("global.texture", "global.texture-nhwc")
]
ANY, IMAGE2D = "cl_ext_image_from_buffer", "cl_khr_image2d_from_buffer"


@pytest.fixture
def opened(monkeypatch):
    """opened(extensions, limits): an OpenCLDevice of a driver that answers so."""
    pytest.importorskip("pyopencl")
    from adreno_sim.backends.opencl import info
    from adreno_sim.backends.opencl.device import OpenCLDevice

    def make(extensions: str, **limits: int) -> OpenCLDevice:
        monkeypatch.setattr(info, "_query", lambda driver, name: limits.get(name))
        driver = SimpleNamespace(
            name="Stub", version="OpenCL 3.0", platform=SimpleNamespace(name="Stub"), extensions=extensions, image_support=True
        )
        device = OpenCLDevice.__new__(OpenCLDevice)
        device.info, device.options = info.device_info(driver), RunOptions()
        return device

    return make


@pytest.mark.parametrize("alignment", [None, 0, 4, 64])
@pytest.mark.parametrize("extensions", ["", IMAGE2D, f"{IMAGE2D} {ANY}"])
def test_a_plan_for_a_real_device_has_the_room_of_its_views(extensions, alignment, opened):
    device = opened(extensions, **({} if alignment is None else {"IMAGE_PITCH_ALIGNMENT": alignment}))
    rules = DeviceRules.of_device(device)
    sizes = [device.view_nbytes(device_view(texture, device)) for texture in TEXTURES]
    assert [rules.view_size(texture) for texture in TEXTURES] == sizes
    assert rules.image_views == (ANY in extensions)
    is_dense = sizes == [texture.nbytes for texture in TEXTURES]
    assert is_dense == (ANY not in extensions or alignment == 4)  # a texel has 4 bytes at least


def test_a_texture_of_the_review(opened):
    device = opened(ANY, IMAGE_PITCH_ALIGNMENT=64)
    texture = TensorSpec((8, 28, 28, 4), "float32", "global.texture")
    rules, view = DeviceRules.of_device(device), device_view(texture, device)
    assert rules.size(texture) == device.view_nbytes(view) == 448 * 28 * 8 == 100_352
    assert view.row_pitch == 448
    assert device.view_nbytes(texture.lower()) == 64 * 16 * 28 * 8 == 229_376  # where the pitch is left to the device
    assert rules.refused_pitch(texture) == "row pitch 448: expected a multiple of 1,024 bytes, 64 texels"
    without = opened(ANY)
    assert DeviceRules.of_device(without).size(texture) == without.view_nbytes(device_view(texture, without)) == 100_352
    assert DeviceRules.of_device(without).refused_pitch(texture) == ""


@pytest.mark.parametrize("rule", PITCH_RULES)
@pytest.mark.parametrize("profile", ["adreno-740", "adreno-630,driver=mesa", "reference"])
def test_a_plan_for_a_simulated_device_has_the_room_of_its_views(profile, rule):
    device = open_device(f"sim:{profile},pitch_rule={rule}")
    for rules in (DeviceRules.of_device(device), DeviceRules.of_profile(load(profile), rule)):
        assert rules.image_views == ("image2d_array" in device.info.image_views)
        assert rules.pitch_rule == device.info.pitch_rule
        assert [rules.view_size(texture) for texture in TEXTURES] == [
            device.view_nbytes(device_view(texture, device)) for texture in TEXTURES
        ]


REFUSING = {("adreno-740", "pixels"), ("adreno-740,IMAGE_PITCH_ALIGNMENT=32", "pixels"),
            ("adreno-740,IMAGE_PITCH_ALIGNMENT=32", "hardware")}  # fmt: skip
"""The runtime's rows are multiples of the alignment in bytes: too few where the device counts texels, or wants 64 bytes."""


@pytest.mark.parametrize("rule", PITCH_RULES)
@pytest.mark.parametrize("profile", ["adreno-740", "adreno-740,IMAGE_PITCH_ALIGNMENT=32", "adreno-630,driver=mesa"])
def test_the_rules_refuse_the_row_pitches_that_the_device_refuses(profile, rule):
    device = open_device(f"sim:{profile},pitch_rule={rule}")
    rules = DeviceRules.of_device(device)
    refused = 0
    for texture in (*TEXTURES, *(TensorSpec((2, 3, 64 * n, 4), "float32", "global.texture") for n in (1, 2))):
        view, storage = device_view(texture, device), device.allocate(1 << 22)
        try:
            device.view(storage, view).release()
            assert rules.refused_pitch(texture) == ""
        except DeviceError as error:
            assert error.code == "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"
            assert rules.refused_pitch(texture)
            refused += 1
        device.free(storage)
    assert bool(refused) == ((profile, rule) in REFUSING)
    assert refused <= len(TEXTURES)


@pytest.mark.parametrize("kind", ["image1d", "image2d"])
def test_a_rule_that_does_not_exist_is_refused(kind, opened):
    with pytest.raises(DeviceError, match="pitch rule 'rows': expected one of bytes, pixels, hardware"):
        layout_under(ImageSpec(kind, 5), "rows", 64)
    device = opened(ANY)
    device.info = replace(device.info, pitch_rule="rows")
    rules, texture = DeviceRules.of_device(device), TEXTURES[0]
    for ask in (rules.size, rules.alignment, rules.refused_pitch):
        with pytest.raises(DeviceError, match="pitch rule 'rows'"):
            ask(texture)


def test_pitches_that_a_driver_is_told(opened):
    device = opened(ANY, IMAGE_PITCH_ALIGNMENT=64)
    assert device._pitches(ImageSpec("image2d", 5, 3)) == (1024, 0)
    assert device._pitches(ImageSpec("image2d_array", 5, 3, 2)) == (1024, 3072)
    assert device._pitches(ImageSpec("image2d", 5, 3, row_pitch=2048)) == (2048, 0)
    assert device._pitches(ImageSpec("image1d_buffer", 5)) == device._pitches(ImageSpec("image1d", 5)) == (0, 0)
    with pytest.raises(DeviceError, match="row_pitch 24: expected at least 80"):
        device.view_nbytes(ImageSpec("image2d", 5, 3, row_pitch=24))
