"""Recordings that a stranger made or that are damaged: they reach no file, lower no check, and are refused in one line."""

from __future__ import annotations

import io
import json
import struct
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorded_client import SCALE, record, replay, rewrite

from adreno_sim.cli.main import main
from adreno_sim.icd.messages import encode_list, encode_text
from adreno_sim.icd.protocol import Command
from adreno_sim.icd.trace.archive import RecordedSession, Trace, open_session, open_trace, write_trace
from adreno_sim.icd.trace.events import MAGIC, Event, EventKind, encode_event, encode_seen, read_events


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    return record(tmp_path_factory.mktemp("good"), SCALE, ITEMS=16)[2].read_bytes()


def test_a_recording_reads_no_file_of_the_machine_that_replays_it(tmp_path, capfd) -> None:
    """The source of one that a stranger made names a file; what a recorder writes holds its files."""
    secret = tmp_path / "secret.h"
    secret.write_text("int secret_words;\n#error secret words\n")
    source = f'#include "{secret}"\nkernel void f(global int *o) {{ o[0] = 1; }}'
    body = struct.pack("<I", 1) + encode_text(source) + encode_text("") + encode_list([])
    events = tmp_path / "events"
    events.write_bytes(MAGIC + encode_event(Event(EventKind.BUILD, body, 1)))
    path = tmp_path / "stranger.asim"
    write_trace(path, Trace(("x",), "sim:adreno-740", "bounds", (RecordedSession("x", 1, "session-0"),)), [events])
    status, data = replay(tmp_path, path)
    assert status == 2
    assert "none of 1 programs was built" in data["verdict"]
    shown = capfd.readouterr()
    assert "secret words" not in json.dumps(data) + shown.out + shown.err
    assert [sentence for sentence in data["unchecked"] if "BUILD failed" in sentence and "not found" in sentence]


def test_a_recording_switches_no_check_off(tmp_path, capfd) -> None:
    """A stranger's says that it was made without checks; its kernel walks from a variable of its own to the environment."""
    source = """kernel void f(global uchar *o) {
  int x = 1;
  uchar *at = (uchar *)&x;
  for (int i = 0; i < 4096; ++i)
    o[i] = at[i];
}"""
    body = f"""
shim.build(1, {source!r})
shim.buffer(1, 4096)
shim.launch(1, 0, (1,), (), [buffer(1)])
"""
    _, recorded, trace = record(tmp_path, body, "--checks", "bounds")
    assert {found["kind"] for found in recorded["findings"]} == {"out-of-bounds-read"}
    for device, checks in (("sim:adreno-740", "off"), ("sim:adreno-740,checks=off,unsafe_includes=true", "")):
        rewrite(trace, lambda event: event, device=device, checks=checks)
        status, data = replay(tmp_path, trace)
        assert status == 1
        assert data["checks"] == "bounds"
        assert data["findings"] == recorded["findings"]
        (said,) = [sentence for sentence in data["unchecked"] if "checks=off" in sentence]
        assert "not as recorded: checks=off: a recording may ask for bounds or full" in said
        assert "--checks off" in said
        assert said in capfd.readouterr().err


def test_level_off_is_said_by_every_report(tmp_path, capfd) -> None:
    _, recorded, trace = record(tmp_path, SCALE, "--checks", "off", ITEMS=16)
    said = "level off checks none and keeps no kernel inside its memory"
    assert said in recorded["unchecked"][0]
    assert "level off: no access was checked" in recorded["verdict"]
    page, sarif = tmp_path / "page.html", tmp_path / "found.sarif"
    status, data = replay(tmp_path, trace, "--checks", "off", "--html", str(page), "--sarif", str(sarif))
    assert status == 0
    assert said in data["unchecked"][0]
    assert data["checks"] == "off"
    assert said in page.read_text()
    assert said in sarif.read_text()
    assert said in capfd.readouterr().err
    status, data = replay(tmp_path, trace, "--sarif", str(sarif))
    assert status == 0
    assert data["checks"] == "bounds"
    assert said not in sarif.read_text()
    assert "level off" not in data["verdict"]
    assert not any(said in sentence for sentence in data["unchecked"])


def test_a_recording_names_no_other_device(tmp_path, capfd) -> None:
    _, _, trace = record(tmp_path, SCALE, ITEMS=16)
    for device in ("cl:0", "cl", "sim:/etc/phone.toml"):
        rewrite(trace, lambda event: event, device=device)
        assert main(["replay", str(trace)]) == 2
        assert f"{trace}: device '{device}'" in capfd.readouterr().err.replace(f"device {device}", f"device '{device}'")
        assert main(["replay", str(trace), "--device", "sim:adreno-740"]) == 0


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutations_are_refused_in_one_line(tmp_path, good, data, capfd) -> None:
    changed = bytearray(good)
    if data.draw(st.booleans()):
        del changed[data.draw(st.integers(0, len(good) - 1)) :]
    for _ in range(data.draw(st.integers(0, 3))):
        if changed:
            changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "mutated.asim"
    path.write_bytes(changed)
    status = main(["replay", str(path)])
    error = capfd.readouterr().err
    assert status in (0, 1, 2, 3)
    assert "Traceback" not in error
    assert "internal error" not in error
    assert status != 2 or error.count("\n") == 1, error


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_recording_is_refused(tmp_path, content, capfd) -> None:
    path = tmp_path / "x.asim"
    path.write_bytes(content)
    assert main(["replay", str(path)]) == 2
    assert "expected a file that adreno-sim run --record wrote" in capfd.readouterr().err


@pytest.mark.parametrize(("member", "code"), [("session-0", 2), ("other", 0)])
def test_events_are_played_for_one_session_only(tmp_path, good, member, code, capfd) -> None:
    """A small file could name the same events a million times."""
    path = tmp_path / "twice.asim"
    with zipfile.ZipFile(io.BytesIO(good)) as archive, zipfile.ZipFile(path, "w") as changed:
        members = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(members["trace.json"])
        manifest["sessions"] += [{**manifest["sessions"][0], "member": member}]
        for name, data in {**members, "other": members["session-0"], "trace.json": json.dumps(manifest).encode()}.items():
            changed.writestr(name, data)
    assert main(["replay", str(path)]) == code
    assert ("two sessions have the same events" in capfd.readouterr().err) == (code == 2)


def test_a_recording_is_told_from_a_bundle(tmp_path, good, capfd) -> None:
    path = tmp_path / "x.asim"
    path.write_bytes(good)
    assert main(["check", str(path)]) == 2
    assert "adreno-sim replay" in capfd.readouterr().err


def test_a_deflated_body_is_no_longer_than_it_says() -> None:
    bomb = encode_event(Event(EventKind.BUILD, bytes(1 << 20), 1))
    events = read_events(io.BytesIO(MAGIC + bomb))
    assert next(events) == Event(EventKind.BUILD, bytes(1 << 20), 1)
    head = bytearray(bomb)
    head[32:40] = (1 << 19).to_bytes(8, "little")
    with pytest.raises(ValueError, match="expected 524288"):
        list(read_events(io.BytesIO(MAGIC + bytes(head))))


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        ([encode_seen(Command.NOTHING, 2, (), b"", True), encode_seen(Command.NOTHING, 2, (), b"", True)], "numbers that grow"),
        ([encode_seen(Command.NOTHING, 2, (3,), b"", True)], "waits for (3,)"),
        ([encode_seen(Command.NOTHING, 2, (1,), b"", True)[:-1]], "expected its kind, number and waits"),
        ([b"\xff" + encode_seen(Command.NOTHING, 2, (), b"", True)[1:]], "255 is not a valid Command"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(tmp_path, bodies, expected, capfd) -> None:
    events, path = tmp_path / "events", tmp_path / "x.asim"
    events.write_bytes(MAGIC + b"".join(encode_event(Event(EventKind.SEEN, body, 1, 1, 1)) for body in bodies))
    write_trace(path, Trace(("x",), "sim:adreno-740", "bounds", (RecordedSession("x", 1, "session-0"),)), [events])
    assert main(["replay", str(path)]) == 2
    error = capfd.readouterr().err
    assert expected in error
    assert error.count("\n") == 1


def test_sessions_are_cut_short_anywhere(tmp_path, good) -> None:
    path = tmp_path / "x.asim"
    path.write_bytes(good)
    with open_trace(path) as (trace, archive), open_session(archive, trace.sessions[0]) as stream:
        data = stream.read()
    whole = list(read_events(io.BytesIO(data)))
    assert None not in whole
    for end in range(len(MAGIC), len(data)):
        part = list(read_events(io.BytesIO(data[:end])))
        found = [event for event in part if event is not None]
        assert found == whole[: len(found)]
        assert part.count(None) == (len(MAGIC + b"".join(map(encode_event, found))) != end)
