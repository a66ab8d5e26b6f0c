"""The page of a replay: launches, and of one with a finding the stores to its element and what the memory held there."""

from __future__ import annotations

import json
import re

from recorded_client import record, replay

CLIENT = """
shim.build(1, '''kernel void scale(global float *out, global const float *in, float f) {
  int i = get_global_id(0);
  out[i] = in[i] * f;
}
kernel void fold(global float *out, global const float *in) {
  int i = get_global_id(0);
  out[i / 4] = in[i];
}''')
(place, *_) = shim.buffer(1, 64)
shim.buffer(2, 64)
shim.buffer(3, 64)
host(1, place, np.arange(16, dtype=np.float32))
shim.launch(1, 0, (16,), (), [buffer(2), buffer(1), value(struct.pack("<f", 3))])
shim.launch(1, 1, (16,), (), [buffer(3), buffer(2)])
shim.host_read(3, 0, 16)
"""


def test_a_race_of_the_second_launch(tmp_path):
    _, _, trace = record(tmp_path, CLIENT, "--checks", "full")
    page = tmp_path / "page.html"
    status, data = replay(tmp_path, trace, "--html", str(page))
    assert status == 1
    assert [found["kind"] for found in data["findings"]] == ["data-race"]
    drawn = json.loads(re.search(r'id="view">(.*?)</script>', page.read_text())[1])
    assert [call[:2] for call in drawn["calls"]] == [["scale", "launch 1"], ["fold", "launch 2"]]
    assert drawn["calls"][0][4] == drawn["calls"][1][3] == ["buffer 2"]
    assert drawn["calls"][1][4] == ["buffer 3"]
    (found,) = drawn["findings"]
    assert found["calls"] == [1]
    assert found["at"] >= 0
    assert drawn["arrays"][found["array"]]["dtype"] == "float32"
    values = {store[0] for store in found["stores"]}
    first = 4 * found["at"]
    assert values == {f"{3 * (first + n)}" for n in range(4)}, "what the first launch left, read by four work-items"
    assert {store[4] for store in found["stores"]} == {7}
    assert not drawn["cut"]


def test_a_clean_replay_has_nothing_to_look_into(tmp_path):
    _, _, trace = record(tmp_path, CLIENT.replace("out[i / 4]", "out[i]"), "--checks", "full")
    page = tmp_path / "page.html"
    status, _ = replay(tmp_path, trace, "--html", str(page))
    drawn = json.loads(re.search(r'id="view">(.*?)</script>', page.read_text())[1])
    assert status == 0
    assert len(drawn["calls"]) == 2
    assert not drawn["arrays"]
    assert not drawn["findings"]
