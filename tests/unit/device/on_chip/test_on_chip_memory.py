"""On-chip global memory: what it keeps and when it is lost, each misuse with a clean twin, devices without it."""

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.errors import DeviceError, UnsupportedError
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.findings import Kind
from adreno_sim.profiles.profile import load

SOURCE = """
kernel void fill(global float *o) { int i = get_global_id(0); o[i] = i; }
kernel void twice(global const float *a, global float *b) { int i = get_global_id(0); b[i] = a[i] * 2; }
kernel void say(global float *o) { int i = get_global_id(0); o[i] = i; if (i == 0) printf("%d\\n", i); }
"""
COUNT = 64


class Chip:
    """A device with a buffer of COUNT floats on the chip and one in memory."""

    def __init__(self, checks="full"):
        self.device = open_device("sim:adreno-740", checks=checks)
        self.kernels = self.device.build(SOURCE)
        self.chip = self.device.on_chip
        self.storage = self.chip.storage()
        self.inside = self.device.view(self.storage, BufferSpec(4 * COUNT, "float32"), 256)
        self.outside = self.device.view(self.device.allocate(4 * COUNT), BufferSpec(4 * COUNT, "float32"))

    def launch(self, name, *args):
        return [f.kind for f in self.device.launch(self.kernels[name], (COUNT,), (COUNT,), args).findings]

    def warnings(self):
        return [finding.kind for finding in self.device.take_warnings()]


@pytest.fixture
def chip():
    return Chip()


def test_a_recording_keeps_contents_between_its_kernels(chip):
    chip.chip.begin_recording()
    assert chip.launch("fill", chip.inside) == []
    assert chip.launch("twice", chip.inside, chip.outside) == []
    chip.chip.end_recording()
    assert np.array_equal(chip.device.read(chip.outside), 2 * np.arange(COUNT, dtype="float32"))
    assert chip.warnings() == []


def test_without_a_recording_contents_end_with_the_kernel(chip):
    assert chip.launch("fill", chip.inside) == []
    assert chip.launch("twice", chip.inside, chip.outside) == [Kind.ON_CHIP_LOST]
    assert np.isnan(chip.device.read(chip.outside)).all()


def test_another_enqueue_of_the_recording_finds_nothing(chip):
    for _ in range(2):
        chip.chip.begin_recording()
        assert chip.launch("fill", chip.inside) == []
        chip.chip.end_recording()
    chip.chip.begin_recording()
    assert chip.launch("twice", chip.inside, chip.outside) == [Kind.ON_CHIP_LOST]
    chip.chip.end_recording()


def test_what_no_kernel_ever_wrote_is_plainly_unwritten(chip):
    chip.chip.begin_recording()
    assert chip.launch("twice", chip.inside, chip.outside) == [Kind.UNINITIALIZED_READ]
    chip.chip.end_recording()


def test_one_kernel_may_write_and_then_overwrite(chip):
    for _ in range(2):  # each writes all that it uses: nothing is read of the launch before
        assert chip.launch("fill", chip.inside) == []


@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_the_host_finds_nothing_and_leaves_nothing(checks):
    chip = Chip(checks)
    chip.launch("fill", chip.inside)
    assert np.isnan(chip.device.read(chip.inside)).all()
    assert chip.warnings() == [Kind.ON_CHIP_LOST]
    chip.device.write(chip.inside, np.zeros(COUNT, "float32"))
    assert chip.warnings() == [Kind.ON_CHIP_LOST]
    chip.device.copy(chip.inside, chip.outside)
    assert chip.warnings() == [Kind.ON_CHIP_LOST]
    chip.device.write(chip.outside, np.zeros(COUNT, "float32"))
    assert np.array_equal(chip.device.read(chip.outside), np.zeros(COUNT))
    assert chip.warnings() == []


def test_kernels_with_printf_are_not_recorded(chip):
    assert chip.launch("say", chip.inside) == []
    chip.chip.begin_recording()
    with pytest.raises(UnsupportedError, match=r"kernel say in a recording: it has printf \(80-NB295-11, 9\.1\.3\)"):
        chip.launch("say", chip.inside)
    with pytest.raises(DeviceError, match="a recording inside a recording"):
        chip.chip.begin_recording()
    chip.chip.end_recording()


def test_buffers_beyond_its_end_and_images(chip):
    size = chip.storage.nbytes
    assert size == load("adreno-740")["ONCHIP_GLOBAL_MEM_SIZE"]
    assert chip.device.view(chip.storage, BufferSpec(64), size - 64).nbytes == 64
    with pytest.raises(DeviceError, match=f"64 bytes at offset {size - 32}: the storage has {size} bytes"):
        chip.device.view(chip.storage, BufferSpec(64), size - 32)
    with pytest.raises(UnsupportedError, match="how images lie there is in no public text"):
        chip.device.view(chip.storage, ImageSpec("image2d_array", 4, 4))


def test_there_is_one_and_it_takes_no_device_memory(chip):
    used = chip.device.pool_stats().used
    with pytest.raises(DeviceError, match="somebody has it already"):
        chip.chip.storage()
    chip.device.free(chip.storage)
    assert chip.device.pool_stats().used == used
    chip.device.view(chip.chip.storage(), BufferSpec(64))


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("sim:adreno-640", "adreno-640 has no cl_qcom_onchip_global_memory"),
        ("sim:adreno-740,ONCHIP_GLOBAL_MEM_SIZE=0", "its profile gives ONCHIP_GLOBAL_MEM_SIZE = 0"),
    ],
)
def test_a_device_without_it_refuses(device, words):
    with pytest.raises(UnsupportedError, match=words):
        open_device(device).on_chip.storage()
