"""Clients whose sessions are recorded, recordings that are changed, and their replay; for the tests of `recordings`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fake_shim import __file__ as fake_shim_file

from adreno_sim.cli.main import main
from adreno_sim.icd.messages import encode_list, encode_text
from adreno_sim.icd.trace.archive import open_session, open_trace, write_trace
from adreno_sim.icd.trace.events import MAGIC, Event, EventKind, encode_event, read_events

HEAD = f"""\
import struct, sys
import numpy as np
sys.path.insert(0, {str(Path(fake_shim_file).parent)!r})
from fake_shim import *
from adreno_sim.icd.protocol import COPY_BODY, FILL_BODY
shim = Shim()
shim.hello()

def host(memory, place, array):
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    shim.heap[place:place + data.size] = data
    shim.written(memory, 0, data.size)
"""

TAIL = """
assert shim.finish() in (0, -5)
sys.stderr.write(shim.close()[2])
"""

SCALE = """
shim.build(1, '''kernel void scale(global float *out, global const float *in, float f) {
  int i = get_global_id(0);
  out[i] = in[i] * f;
}''')
(place, *_) = shim.buffer(1, 64)
shim.buffer(2, 64)
host(1, place, np.arange(16, dtype=np.float32))
shim.launch(1, 0, (ITEMS,), (), [buffer(2), buffer(1), value(struct.pack("<f", 3))])
shim.host_read(2, 0, 64)
"""

BUILT_NOT = """
try:
    shim.build(1, "kernel void f(global int *o) { o[0] = nothing; }")
except RefusedError:
    pass
(place, *_) = shim.buffer(1, 16)
host(1, place, np.arange(4, dtype=np.int32))
"""

GOOD = """
shim.build(2, "kernel void f(global int *o) { o[0] = 1; }")
shim.buffer(2, 16)
shim.launch(2, 0, (1,), (), [buffer(2)])
"""


def record(tmp_path: Path, body: str, *words: str, **values: object) -> tuple[int, dict, Path]:
    """Run a client under --record; exit code, report, recording."""
    for name, value in values.items():
        body = body.replace(name, str(value))
    script, trace, report = tmp_path / "client.py", tmp_path / "trace.asim", tmp_path / "recorded.json"
    script.write_text(HEAD + body + TAIL)
    command = ["run", "--record", str(trace), "--json", str(report), *words, "--", sys.executable, str(script)]
    return main(command), json.loads(report.read_text()), trace


def replay(tmp_path: Path, trace: Path, *words: str) -> tuple[int, dict]:
    report = tmp_path / "replayed.json"
    return main(["replay", str(trace), "--json", str(report), *words]), json.loads(report.read_text())


def rewrite(trace: Path, change: Callable[[Event], Event | None], **manifest: object) -> None:
    """Write a recording again, with other events."""
    with open_trace(trace) as (made, archive), open_session(archive, made.sessions[0]) as stream:
        kept = [event for event in map(change, filter(None, read_events(stream))) if event is not None]
    events = trace.with_suffix(".events")
    events.write_bytes(MAGIC + b"".join(map(encode_event, kept)))
    write_trace(trace, replace(made, **manifest), [events])


def with_source(event: Event, source: str) -> Event:
    if event.kind is not EventKind.BUILD:
        return event
    return replace(event, body=event.body[:4] + encode_text(source) + encode_text("") + encode_list([]))
