"""Textures on a device that counts its pitch alignment in texels: it refuses the row pitch that TVM's runtime passes."""

import re

import pytest

pytest.importorskip("tvm")
from tvm import relax

import adreno_sim
from adreno_sim.compiler.doctor.models import conv, module
from adreno_sim.findings import Kind

pytestmark = pytest.mark.tvm


def convolution(width):
    """Its textures are `width` texels wide: input, output, and the weights of a kernel of one element."""
    return module(lambda x: relax.op.nn.relu(conv(x, width, width, kernel=1)), (1, width, 6, width))


@pytest.mark.parametrize("rule", ["bytes", "pixels"])
@pytest.mark.parametrize(("width", "is_refused"), [(64, False), (128, False), (28, True)])
def test_rows_that_are_no_multiple_of_64_texels_are_refused(rule, width, is_refused):
    report = adreno_sim.check(convolution(width), device=f"sim:adreno-740,pitch_rule={rule}")
    refused = [finding for finding in report.findings if finding.kind is Kind.WRONG_ARGUMENT]
    if rule == "bytes" or not is_refused:
        assert report.ok
        assert report.checked == report.kernels_in_model
        assert not refused
        return
    assert not report.ok
    assert report.exit_code == 1
    assert re.search(r"row pitch [\d,]+: expected a multiple of 1,024 bytes, 64 texels", refused[0].message)
    assert "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR: " in report.stopped
    assert "with row_pitch" in report.stopped


def test_images_of_their_own_have_the_pitch_of_the_device():
    """TVM's runtime passes none where the device has no images over buffers."""
    report = adreno_sim.check(convolution(28), device="sim:adreno-630,driver=mesa,pitch_rule=pixels")
    assert report.ok
    assert report.checked == report.kernels_in_model
