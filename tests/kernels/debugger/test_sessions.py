"""Sessions of the debugger: breakpoints, steps both ways, values, and who stored what."""

from __future__ import annotations

import pytest
from debug_sessions import buffer, debugging, say

from adreno_sim.debugger.values import DebugError

MIRROR = """float twice(float v) {
  float r = v * 2.0f;
  return r;
}

kernel void mirror(global const float *in, global float *out) {
  int i = get_global_id(0);
  int j = 999 - i;
  if (i % 250 == 249)
    j = j + 1;
  out[j] = twice(in[i]);
}
"""
ARRAYS = buffer("in", 1000, data="arange"), buffer("out", 1000)


@pytest.fixture
def mirror(tmp_path):
    with debugging(tmp_path, MIRROR, 1000, 50, *ARRAYS) as session:
        yield session


def test_a_wrong_value_is_traced_back_to_the_store_that_made_it(mirror):
    """out[751] should be 496 and is 498: work-item 249 stored where 248 had."""
    assert say(mirror, "continue") == ["the launch ended after 7004 statements"]
    assert say(mirror, "print out[751]") == ["out[751] = 498.0"]
    told = say(mirror, "who out[751]")
    assert told[0] == "out[751]: 2 stores in the launch, in order:"
    assert "work-item (248) made it 496.0" in told[1]
    assert "work-item (249) made it 498.0" in told[3]
    assert told[4] == "     11    out[j] = twice(in[i]);"
    moment = told[3].split()[1].rstrip(":")
    assert "k.cl:11 in work-item (249)" in say(mirror, f"goto {moment}")[0]
    assert say(mirror, "print j") == ["j = 751"]
    assert "k.cl:10" in say(mirror, "back-next", "back-next")[0]
    assert say(mirror, "print j") == ["j = 750"]
    assert "(248) made it 496.0" in say(mirror, "who out[751]")[1]
    assert say(mirror, "who out[750]") == ["out[750]: no work-item stored to it before this moment; it is 0.0"]


def test_steps_back_are_the_steps_forwards(mirror):
    def here():
        frames = [(frame.function, frame.line) for frame in mirror.frames()]
        return mirror.run.count, frames, say(mirror, "info locals"), say(mirror, "print out[751]")

    say(mirror, "break 9 item 249", "continue")
    way = [here()]
    for _ in range(5):
        mirror.step()
        way.append(here())
    assert [place[1][0] for place in way] == [
        ("mirror", 9), ("mirror", 10), ("mirror", 11), ("twice", 2), ("mirror", 12), ("mirror", 7)
    ]  # fmt: skip
    mirror.go_to(way[-2][0])
    for place in way[-2::-1]:
        assert here() == place
        mirror.back()
    assert mirror.frames()[0].line == 8


def test_helpers_are_stepped_over_and_out_of(mirror):
    say(mirror, "break 11 item 3", "continue")
    assert mirror.frames()[0].line == 11
    say(mirror, "step")
    assert say(mirror, "where")[1:] == [
        "> 0  twice at " + mirror.debuggee.path + ":2",
        "  1  mirror at " + mirror.debuggee.path + ":11",
    ]
    assert say(mirror, "print v") == ["v = 3.0"]
    with pytest.raises(DebugError, match="r has no value yet"):
        say(mirror, "print r")
    assert say(mirror, "up", "print j") == ["j = 996"]
    say(mirror, "finish")
    assert [frame.line for frame in mirror.frames()] == [12]
    say(mirror, "back-next")
    assert [(frame.function, frame.line) for frame in mirror.frames()] == [("mirror", 11)]
    say(mirror, "next")
    assert mirror.frames()[0].line == 12


def test_breakpoints_backwards(mirror):
    say(mirror, "break 10", "continue", "continue", "continue")
    assert say(mirror, "print i") == ["i = 749"]
    say(mirror, "back-continue")
    assert say(mirror, "print i") == ["i = 499"]
    say(mirror, "back-continue", "back-continue")
    assert mirror.run.count == 1
    assert mirror.reason == "beginning of the launch"


def test_a_finding_is_a_breakpoint(tmp_path):
    source = "kernel void k(global int *a) {\n  int i = get_global_id(0);\n  int j = i * 3;\n  a[j] = i;\n}\n"
    with debugging(tmp_path, source, 64, 16, buffer("a", 100, "int32")) as session:
        assert say(session, "break finding", "continue")[0].startswith("finding out-of-bounds-write at 4:8: ")
        assert say(session, "print j") == ["j = 102"]
        assert say(session, "print i") == ["i = 34"]


TILES = """typedef struct { int key; float4 v; } pair;

kernel void tiles(global const float *in, global float *out, read_only image2d_t img) {
  local float tile[8];
  int lid = get_local_id(0);
  pair p;
  p.key = lid * 10;
  p.v = (float4)(1, 2, 3, in[get_global_id(0)]);
  tile[lid] = p.v.w;
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int n = 0; n < 3; n++) sum += tile[(lid + n) % 8];
  uchar4 c = (uchar4)(1, 2, 3, lid);
  global const float *q = in + lid;
  out[get_global_id(0)] = sum + c.w + read_imagef(img, (int2)(1, 0)).x + *q;
}
"""
IMAGE = """
[[argument]]
kind = "image2d"
name = "img"
width = 3
height = 2
order = "RGBA"
channel_type = "FLOAT"
data = "arange"
"""


@pytest.fixture
def tiles(tmp_path):
    with debugging(tmp_path, TILES, 16, 8, buffer("in", 16, data="arange"), buffer("out", 16), IMAGE) as session:
        yield session


def test_a_group_at_a_barrier(tiles):
    say(tiles, "break 12 item 9", "continue")
    assert say(tiles, "info items")[1:] == [
        "  0: is finished",
        "  1: runs, line 12",
        "  2-7: waits for the others, line 10",
    ]
    assert say(tiles, "print p.key --all")[1:3] == ["  0: 0", "  1: 10"]
    assert say(tiles, "print tile") == ["tile = {8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0}"]
    assert "work-item (13) made it 13.0" in say(tiles, "who tile[5]")[1]


def test_values_of_every_kind(tiles):
    say(tiles, "break 15 item 10", "continue")
    shown = {
        "p": "{key = 20, v = (1.0, 2.0, 3.0, 10.0)}", "p.v.w": "10.0", "c": "(1, 2, 3, 2)", "c.w": "2", "sum": "33.0",
        "q": "&in[2] (64 bytes)", "*q": "2.0", "q[1]": "3.0", "in[3:6]": "3.0, 4.0, 5.0", "img(1, 0)": "(4.0, 5.0, 6.0, 7.0)",
        "get_global_id(0)": "10", "get_local_id(0) + 2 * get_group_id(0)": "4", "sum > 3 && !(c.x == 2)": "1", "-7 / 2": "-3",
        "-7 % 4": "-3", "0x10 << 2": "64", "1 / 4.0f": "0.25",
    }  # fmt: skip
    for text, value in shown.items():
        assert say(tiles, f"print {text}") == [f"{text} = {value}"]


@pytest.mark.share()
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("print nothing", "nothing is called nothing here: there are"),
        ("print in[16]", "address .* lies in no argument|4 bytes from"),
        ("print tile[8]", r"index 8: float\[8\] has 8 elements"),
        ("print img(3, 0)", "img has 3 x 2 x 1 texels"),
        ("print p.other", "has no member other"),
        ("print c.q", "has no component q"),
        ("print 1 +", "expected a value, got the end"),
        ("print __import__('os')", "unexpected"),
        ("print " + "(" * 190, "expected a value|nested"),
        ("print 1 / 0", "division by zero"),
        ("print sum[0]", "a float has no elements"),
        ("break 99", "no code of the kernel lies"),
        ("break item 16", "no work-item of the global size"),
        ("break 12 if", "expected LINE or FILE:LINE"),
        ("item 3", "group 0, which does not run"),
        ("goto 0", "the first is 1"),
        ("goto 99999", "the launch has"),
        ("fly", "no command of the debugger"),
        ("who sum", "expected an element of a buffer"),
    ],
)
def test_what_makes_no_sense_is_said(tiles, text, why):
    say(tiles, "break 15 item 10", "continue")
    with pytest.raises(DebugError, match=why):
        say(tiles, text)


def test_a_loop_in_one_line_stops_in_each_iteration(tiles):
    say(tiles, "break 12 if n == 2", "continue")
    assert say(tiles, "print n") == ["n = 2"]
    assert say(tiles, "print sum") == ["sum = 1.0"]


def test_a_condition_that_makes_no_sense_stops_and_is_said(tiles):
    with pytest.raises(DebugError, match="condition of breakpoint 1: nothing is called nothing"):
        say(tiles, "break 12 if nothing == 2", "continue")
    assert tiles.state == "stopped"


def test_an_endless_loop_is_stopped(tmp_path):
    source = "kernel void k(global volatile int *a) {\n  while (a[0] == 0)\n    a[1] += 1;\n}\n"
    with debugging(tmp_path, source, 1, 1, buffer("a", 2, "int32")) as session:
        session.seconds = 0.2
        assert say(session, "continue")[0].startswith("interrupted: ")
        count = session.run.count
        assert say(session, "back")
        assert session.run.count < count
