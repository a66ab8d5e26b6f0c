"""A real device may leave something else where OpenCL leaves it open: in what is undefined, and in how floats become pixels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from recorded_client import record

from adreno_sim.backends.sim.device import SimDevice
from adreno_sim.base.run_options import RunOptions
from adreno_sim.icd.settings import DriverSettings
from adreno_sim.icd.trace.archive import open_session, open_trace
from adreno_sim.icd.trace.player import Playing, play_session
from adreno_sim.icd.trace.time_limit import TimeLimit
from adreno_sim.profiles import profile

CLIENT = """
shim.build(1, '''kernel void pixels(write_only image2d_t o, float rest) {
  int x = get_global_id(0);
  write_imagef(o, (int2)(x, 0), (float4)(x + 100 + rest, 7, 255, 0) / 255);
}
kernel void halves(global int *o, global const int *i) { int n = get_global_id(0); o[n] = n % 2 ? n + 40 : i[n]; }
kernel void race(global int *o) { o[0] = get_global_id(0); }
kernel void some(global int *o, global const int *i) { if (get_global_id(0) > 3) o[get_global_id(0)] = i[0]; }''')
shim.image(1, "image2d", (64, 1, 1, 1), (0x10B5, 0x10D2))
shim.buffer(2, 64)
(place, *_) = shim.buffer(3, 64)
host(3, place, np.arange(16, dtype=np.int32))
shim.buffer(4, 64)
CALL
"""
CALLS = {
    "tie": 'shim.launch(1, 0, (64, 1), (), [image(1), value(struct.pack("<f", 0.5))])',
    "nearly": 'shim.launch(1, 0, (64, 1), (), [image(1), value(struct.pack("<f", 0.9))])',
    "halves": "shim.launch(1, 1, (16,), (), [buffer(4), buffer(2)])",
    "whole": "shim.launch(1, 1, (16,), (), [buffer(4), buffer(3)])",
    "race": "shim.launch(1, 2, (64,), (), [buffer(4)])",
    "some": "shim.launch(1, 3, (16,), (), [buffer(4), buffer(3)])",
}


class Other(SimDevice):
    """A device that leaves something else in what a launch writes."""

    def __init__(self, change: Callable[[np.ndarray], None]):
        super().__init__(profile.load("adreno-740"), RunOptions())
        self._change = change

    def read(self, view):
        array = super().read(view)
        flat = array.reshape(-1) if array.ndim > 1 else array.view(np.int32)
        self._change(flat)
        return array


def add(first: int, step: int, amount: int) -> Callable[[np.ndarray], None]:
    def change(flat: np.ndarray) -> None:
        flat[first::step] += np.array(amount).astype(flat.dtype)

    return change


@pytest.mark.parametrize(
    ("call", "change", "found"),
    [
        ("tie", add(0, 8, 1), set()),  # 148.5 is 148 here and 149 there
        ("tie", add(1, 4, 1), {"wrong-value"}),  # 7 is 7
        ("tie", add(0, 4, -1), {"wrong-value"}),  # 147 for 148.5
        ("nearly", add(0, 4, -1), {"wrong-value"}),  # cut off, not rounded: 148 for 148.9
        ("halves", add(0, 2, 5), set()),  # what nothing set
        ("halves", add(1, 2, 5), {"wrong-value"}),
        ("whole", add(0, 2, 5), {"wrong-value"}),
        ("some", add(1, 16, 5), set()),  # what nothing wrote before and nothing writes
        ("some", add(4, 16, 5), {"wrong-value"}),
        ("race", add(0, 16, 1), {"data-race"}),
        ("race", add(0, 16, 0), set()),
    ],
)
@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_what_opencl_leaves_open_is_no_wrong_value(recordings, call, change, found, checks) -> None:
    with open_trace(recordings(call)) as (trace, archive), open_session(archive, trace.sessions[0]) as stream:
        how = Playing(DriverSettings("sim:adreno-740", checks, "", False), TimeLimit(60), Other(change))
        report, _ = play_session(stream, trace.sessions[0], how)
    kinds = {one.kind.label for one in report.findings}
    assert report.compared == (0 if call == "race" and checks == "full" else 1)
    assert kinds == ({"data-race"} if call == "race" and checks == "full" else found), report.findings
    said = " ".join(report.unchecked)
    assert ("undefined at level full were not compared" in said) == (call in ("halves", "some"))


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    made = {}

    def find(call: str):
        if call not in made:
            made[call] = record(tmp_path_factory.mktemp(call), CLIENT, CALL=CALLS[call])[2]
        return made[call]

    return find
