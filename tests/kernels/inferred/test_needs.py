"""What a launch touches of each argument: to the byte, by code that LLVM does not optimise, which takes ten times as long."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.backends.simulated import find_bytes_of_launch
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine.run import counted
from adreno_sim.launch_spec.inferred.needs import find_end

SHIFTED = """
kernel void shifted(global const float *a, global ushort *b, int n) {
    int i = get_global_id(0);
    if (i < n) b[2 * i + 1] = a[i + 3];
}
"""


@pytest.fixture
def specs(monkeypatch):
    """The specializations for which launches are traced."""
    found, specialize = [], counted.specialize

    def note(kernel, spec, **options):
        found.append(spec)
        return specialize(kernel, spec, **options)

    monkeypatch.setattr(counted, "specialize", note)
    return found


def test_a_launch_touches_these_bytes(specs):
    device = open_device("sim:adreno-740")
    kernel = device.build(SHIFTED)["shifted"]
    views = [device.view(device.allocate(size * count), BufferSpec(count, name))
             for size, count, name in ((4, 64, "float32"), (2, 64, "uint16"))]  # fmt: skip
    touched = find_bytes_of_launch(device, kernel, (16,), (16,), [*views, 10])
    bits = [np.unpackbits(part, bitorder="little") for index in (0, 1) for part in touched[index]]
    read, nothing, unread, written = (set(np.flatnonzero(part).tolist()) for part in bits)
    assert read == set(range(12, 52))
    assert written == {byte for item in range(10) for byte in (4 * item + 2, 4 * item + 3)}
    assert not nothing | unread
    assert [spec.unoptimised for spec in specs] == [True]


@pytest.mark.parametrize("last", [None, *range(24)])
def test_the_end_of_bits_is_behind_the_last_one(last):
    bits = np.zeros(24, np.uint8)
    bits[: 0 if last is None else last : 5] = 1
    if last is not None:
        bits[last] = 1
    assert find_end(np.packbits(bits, bitorder="little")) == (0 if last is None else last + 1)
