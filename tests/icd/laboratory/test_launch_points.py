"""A launch is taken out of a recording at its moment: arguments and memory are those that it had."""

from __future__ import annotations

import json

import numpy as np
import pytest
from recorded_client import record

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.icd.trace.launch_point import open_launch

CHAIN = """
shim.build(1, '''kernel void twice(global float *o, global const float *i) { int n = get_global_id(0); o[n] = 2 * i[n]; }
kernel void add(global float *o, int by) { o[get_global_id(0)] += by; }''')
(place, *_) = shim.buffer(1, 64)
shim.buffer(2, 64)
host(1, place, np.arange(16, dtype=np.float32))
shim.launch(1, 0, (8,), (4,), [buffer(2), buffer(1)])
shim.launch(1, 1, (8,), (), [buffer(2), value(struct.pack("<i", 5))])
shim.launch(1, 1, (16,), (8,), [buffer(2), value(struct.pack("<i", 7))])
try:
    shim.build(2, "kernel void f(global int *o) { nothing; }")
except RefusedError:
    pass
shim.launch(2, 0, (1,), (), [buffer(2)])
shim.host_read(2, 0, 32)
"""


@pytest.fixture(scope="module")
def chain(tmp_path_factory) -> str:
    """Launches `twice`, `add`, `add`, then one of a program that did not build."""
    return str(record(tmp_path_factory.mktemp("chain"), CHAIN)[2])


def test_memory_is_that_before_the_launch(chain) -> None:
    for number, left in ((1, 0), (2, 8), (3, 8)):
        with open_launch(chain, number, checks="full") as point:
            view = point.launch.arguments[0]
            written = view.marks().view(np.uint8).astype(bool)
            assert written.sum() == 4 * left
            assert point.number == number
            expected = 2 * np.arange(8, dtype=np.float32) + (5 if number == 3 else 0)
            assert (view.array().view(np.float32)[:left] == expected[:left]).all()
    with open_launch(chain, 3, checks="full") as point:
        assert (point.launch.kernel.name, point.launch.global_size, point.launch.local_size) == ("add", (16,), (8,))
        assert point.launch.arguments[1] == b"\x07\0\0\0"
        assert "by = 7" in str(point.call)
        assert {found.kind.label for found in point.device.run_prepared(point.prepare()).findings} == {"uninitialized-read"}
        assert (point.launch.arguments[0].array().view(np.float32)[:8] == 2 * np.arange(8) + 12).all()


def test_settings_are_the_recorded_ones_or_the_caller_s(chain) -> None:
    with open_launch(chain, 1) as point:
        assert (point.device.options.checks, point.device.info.name) == ("full", "adreno-740")
    with open_launch(chain, 1, device="sim:adreno-650", seed=3) as point:
        assert (point.device.options.seed, point.device.info.name) == (3, "adreno-650")


@pytest.mark.parametrize(
    ("number", "limit", "said"),
    [
        (0, 9, "launch 0: expected one of its launches, which are numbered 1 to 4"),
        (5, 9, "launch 5: expected one of its launches, which are numbered 1 to 4"),
        (2, 1e-9, "launch 2: what was recorded from call"),
        (4, 9, "launch 4: CL_INVALID_PROGRAM"),
    ],
)
def test_what_cannot_be_taken_out_is_refused_in_one_line(chain, number, limit, said) -> None:
    with pytest.raises(AdrenoSimError, match=said) as refused, open_launch(chain, number, time_limit=limit):
        pass
    assert "\n" not in str(refused.value)
    assert json.dumps(chain)[1:-1] in str(refused.value)
