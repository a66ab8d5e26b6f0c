"""Images with memory of their own are laid out as Qualcomm's driver does; over a buffer, the host's pitches are what rules judge.

Mesa keeps layouts that were captured from that driver on an Adreno 630. Its file is read where ADRENO_SIM_MESA_LAYOUTS names
it: src/freedreno/fdl/fd6_layout_test.c of Mesa's sources.
"""

import json
import os
import re
from pathlib import Path

import pytest

from adreno_sim import open_device
from adreno_sim.base.errors import DeviceError
from adreno_sim.base.specs import ImageSpec
from adreno_sim.cli.main import main
from adreno_sim.findings import Kind
from adreno_sim.image import find_disagreement, layout_of, own_layout_of
from adreno_sim.profiles.profile import load, names

BYTE_FORMATS = {"R8_UNORM": ("R", "UNORM_INT8"), "R16_UINT": ("R", "UNSIGNED_INT16"), "R8G8B8A8_UNORM": ("RGBA", "UNORM_INT8"),
                "R32G32B32A32_FLOAT": ("RGBA", "FLOAT"), "R9G9B9E5_FLOAT": ("RGBA", "UNORM_INT8")}  # fmt: skip
"""Mesa's format -> one of OpenCL's with as many bytes."""


def captured_cases(text):
    """(format, extents, row pitch, slice pitch or 0) of each linear case that Mesa's test runs."""
    text = re.sub(r"#if 0.*?#endif", "", text, flags=re.DOTALL)
    for case in text.split(".format = PIPE_FORMAT_")[1:]:
        tiled = re.search(r"\.tile_mode = (\w+)", case)
        if tiled and tiled[1] != "TILE6_LINEAR":
            continue
        extents = [
            int(found[1]) if (found := re.search(rf"\.{name}0 = (\d+)", case)) else 1 for name in ("width", "height", "depth")
        ]
        first = re.search(r"\.offset = 0, \.pitch = (\d+)(?:, \.size0 = (\d+))?", case)
        yield re.match(r"\w+", case)[0], extents, int(first[1]), int(first[2] or 0)


@pytest.mark.skipif("ADRENO_SIM_MESA_LAYOUTS" not in os.environ, reason="ADRENO_SIM_MESA_LAYOUTS: Mesa's fd6_layout_test.c")
def test_every_linear_layout_that_mesa_captured(capsys):
    cases = list(captured_cases(Path(os.environ["ADRENO_SIM_MESA_LAYOUTS"]).read_text(encoding="utf-8")))
    assert len(cases) >= 15
    for form, (width, height, depth), row_pitch, slice_pitch in cases:
        order, channel_type = BYTE_FORMATS[form]
        kind, size = ("image3d", f"{width}x{height}x{depth}") if depth > 1 else ("image2d", f"{width}x{height}")
        words = ["layout", kind, size, "--order", order, "--type", channel_type, "--profile", "adreno-630", "--json", "-"]
        assert main(words) == 0
        data = json.loads(capsys.readouterr().out)
        found = data["layouts"][data["rule"]]
        assert found["row_pitch"] == row_pitch, (form, size)
        assert slice_pitch in (0, found["slice_pitch"]), (form, size)


FORMATS = [("R", "UNORM_INT8", 192), ("R", "HALF_FLOAT", 384), ("RGBA", "UNORM_INT8", 768), ("RGBA", "FLOAT", 3072)]


@pytest.mark.parametrize(("order", "channel_type", "row_pitch"), FORMATS)
def test_rows_of_129_texels_as_the_driver_lays_them_out(order, channel_type, row_pitch):
    for profile in [load(name) for name in names() if name != "reference"]:
        assert own_layout_of(ImageSpec("image2d", 129, 4, 1, order, channel_type), profile).row_pitch == row_pitch


@pytest.mark.parametrize("kind", ["image2d_array", "image3d"])
def test_layers_of_an_image_of_its_own_start_at_multiples_of_4096_bytes(kind):
    spec, profile = ImageSpec(kind, 28, 5, 3, "RGBA", "HALF_FLOAT"), load("adreno-740")
    assert (own_layout_of(spec, profile).row_pitch, own_layout_of(spec, profile).slice_pitch) == (512, 4096)
    assert (layout_of(spec, profile).row_pitch, layout_of(spec, profile).slice_pitch) == (256, 1280)
    image = open_device("sim:adreno-740").create_image(spec)
    assert image.layout == own_layout_of(spec, profile)


WIDE = ImageSpec("image2d", 28, 4, row_pitch=448)
"""Rows of 28 texels of 16 bytes: a multiple of 64 bytes, of no 64 texels."""
LAYERS = ImageSpec("image2d_array", 64, 3, 2, row_pitch=1024)
"""Layers of 3,072 bytes."""


@pytest.mark.parametrize(
    ("spec", "offset", "refusing"),
    [
        (WIDE, 0, ["pixels"]),
        (ImageSpec("image2d", 28, 4, row_pitch=1024), 0, []),
        (ImageSpec("image2d", 28, 4, row_pitch=1024), 128, ["pixels"]),
        (ImageSpec("image2d", 28, 4), 0, []),  # the pitch is the device's
        (LAYERS, 0, ["hardware"]),
        (ImageSpec("image2d_array", 64, 3, 2, row_pitch=1024, slice_pitch=3072), 0, ["hardware"]),
        (ImageSpec("image2d_array", 64, 4, 2, row_pitch=1024), 0, []),
        (ImageSpec("image2d_array", 28, 3, 2, row_pitch=448), 0, ["pixels", "hardware"]),
    ],
)
def test_where_rules_disagree_the_device_says_so_once(spec, offset, refusing):
    device = open_device("sim:adreno-740")
    storage = device.allocate(offset + layout_of(spec, device.profile).nbytes)
    found = find_disagreement(spec, offset, storage.nbytes - offset, device.profile)
    assert re.findall(r"rule (\w+)\)", found) == refusing
    for _ in range(2):
        device.view(storage, spec, offset).release()
    told = [one for one in device.take_warnings() if one.kind is Kind.PITCH_RULES_DISAGREE]
    assert len(told) == bool(refusing)
    assert all("taken by the rule bytes" in one.message for one in told)


def test_a_device_whose_layers_are_pages_refuses_others():
    device = open_device("sim:adreno-740,pitch_rule=hardware")
    spec = ImageSpec("image2d_array", 64, 3, 2, row_pitch=1024, slice_pitch=3072)
    with pytest.raises(DeviceError, match="slice_pitch 3072: expected a multiple of 4096 bytes"):
        device.view(device.allocate(1 << 14), spec)
    device.view(device.allocate(1 << 14), ImageSpec("image2d_array", 64, 3, 2, row_pitch=1024, slice_pitch=4096))
