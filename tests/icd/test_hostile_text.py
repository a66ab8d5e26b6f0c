"""A client whose sources, names and words are hostile: the server prints and reports them without harm, and always reports."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import hostile_text
import pytest
from fake_shim import RefusedError, Shim, buffer
from fake_shim import __file__ as fake_shim_file
from hostile_text import PARAMS, TEXTS, is_byte

from adreno_sim.cli.main import main
from adreno_sim.icd.finding_log import FindingLog
from adreno_sim.icd.messages import encode_list, encode_text
from adreno_sim.icd.protocol import Misuse, Request
from adreno_sim.icd.report_files import collect_reports
from adreno_sim.icd.trace.archive import RecordedSession, Trace, open_trace, write_trace
from adreno_sim.icd.trace.events import MAGIC
from adreno_sim.results.run_report import ProcessReport

SOURCE = """\
kernel void walk(global int *out) {{ // {comment}
  printf("%s\\n%s", {printed}, {printed});
  out[get_global_id(0)] = 1; // {comment}
}}
"""


@pytest.fixture(params=PARAMS)
def text(request):
    """What can be in a C string."""
    kept = TEXTS[request.param].replace("\0", "")
    return "".join(char for char in kept if is_byte(char) or not "\ud800" <= char <= "\udfff")


def source_of(text: str) -> str:
    printed = "".join(f"\\{byte:03o}" for byte in text.encode("utf-8", "surrogateescape"))
    return SOURCE.format(comment=" ".join(text.split()).replace("\\", ""), printed=f'"{printed}"')


def test_what_a_server_prints_and_reports(tmp_path, text):
    shim = Shim(reports=str(tmp_path))
    try:
        shim.hello(text)
        log, _ = shim.build(1, source_of(text))
        with contextlib.suppress(RefusedError):
            shim.build(2, source_of("plain"), f'-DA="{text}"')
        shim.buffer(1, 8)
        shim.launch(1, 0, (4,), (), [buffer(1)])
        shim.launch(1, 0, (1,), (), [buffer(1)])
        shim.finish()
        misuse = struct.pack("<III", Misuse.NEVER_UNMAPPED, 1, 1) + encode_text(text) + encode_text(text)
        shim.ask(Request.MISUSE, misuse)
        shim.ask(Request.CLOSE, encode_list([encode_text(text) + encode_text(text)]))
        status, out, said = shim.close()
    finally:
        shim.server.kill()
        shim.server.communicate()
    assert status == 0, (log, said)
    assert not log, (log, said)
    hostile_text.check_printed(out)
    hostile_text.check_printed(said)
    (path,) = tmp_path.glob("process-*.json")
    data = hostile_text.check_json(path.read_text(encoding="utf-8"))
    assert [found["kind"] for found in data["findings"]] == ["out-of-bounds-write", "never-unmapped"]
    assert data["kernels"]["walk"]["launches"] == 2
    assert len(data["leaks"]) == 1
    assert not data["failed"]


def test_what_a_kernel_prints_is_no_command_however_it_is_cut(tmp_path):
    parts = [":", ":stop-commands::x", "\n", "  :", ":error::y\n", "##", "[error]z", "#", "#vso[a]\n", "plain: a::b #1 [c]\n"]
    shim = Shim(reports=str(tmp_path))
    try:
        shim.hello()
        shim.buffer(1, 8)
        for number, part in enumerate(parts, 1):
            literal = json.dumps(part).replace("%", "%%")
            shim.build(number, f"kernel void f(global int *a) {{ printf({literal}); }}")
            shim.launch(number, 0, (1,), (), [buffer(1)])
        shim.finish()
        _, out, _ = shim.close()
    finally:
        shim.server.kill()
        shim.server.communicate()
    hostile_text.check_printed(out)
    shown = [":\\x3astop-commands::x", "  :\\x3aerror::y", "##\\x5berror]z##vso\\x5ba]", "plain: a::b #1 [c]"]
    assert out.split("\n") == [*shown, ""]


CLIENT = """\
import sys
sys.path[:0] = {folders!r}
from fake_shim import *
from adreno_sim.icd.protocol import *
shim = Shim()
shim.hello({text!r})
shim.build(1, {source!r})
shim.buffer(1, 8)
shim.launch(1, 0, (4,), (), [buffer(1)])
shim.finish()
_, out, said = shim.close()
print(out)
sys.stderr.write(said)
"""


@pytest.mark.parametrize("name", ["all", "Latin-1", "lines"])
def test_a_run_and_its_replay(tmp_path, monkeypatch, capfd, name):
    monkeypatch.chdir(tmp_path)
    text = "".join(char for char in TEXTS[name].replace("\0", "") if is_byte(char) or not "\ud800" <= char <= "\udfff")
    folders = [str(Path(fake_shim_file).parent)]
    Path("client.py").write_text(CLIENT.format(folders=folders, text=text, source=source_of(text)))
    program = hostile_text.file_name(text) + ".py"
    os.rename("client.py", program)
    outputs = ["--json", "out.json", "--sarif", "out.sarif", "--html", "out.html"]
    assert main(["run", *outputs, "--record", "trace.asim", "--", sys.executable, f"./{program}"]) == 1
    check_outputs(capfd)
    assert main(["replay", "trace.asim", *outputs]) == 1
    check_outputs(capfd)


def test_the_strings_of_a_recording(tmp_path, monkeypatch, capfd, text):
    monkeypatch.chdir(tmp_path)
    Path("events").write_bytes(MAGIC)
    trace = Trace((text, text), "sim:adreno-740", "bounds", (RecordedSession(text, 1, "session-0"),))
    write_trace("trace.asim", trace, [Path("events")])
    with open_trace("trace.asim") as (read, _):
        assert read == trace
    assert main(["replay", "trace.asim", "--json", "out.json", "--sarif", "out.sarif", "--html", "out.html"]) in (0, 2)
    check_outputs(capfd)


def check_outputs(capfd):
    for said in capfd.readouterr():
        hostile_text.check_printed(said)
        assert "Traceback (most" not in said
    assert hostile_text.check_outputs() == ["out.html", "out.json", "out.sarif"]


UNWRITABLE = """\
import sys
from adreno_sim.findings import Finding, Kind
from adreno_sim.icd.report_files import ReportFile
from adreno_sim.results.run_report import ProcessReport
found = Finding(Kind.DATA_RACE, "two write", "caf\\udce9", 3, detail={"odd": object()})
report = ProcessReport("p\\udce9", 7, "sim:adreno-740", "full", [found], opened=True, failed=sys.argv[2])
file = ReportFile(sys.argv[1], report)
file.journal.add_finding(found)
file.write(report)
"""


@pytest.mark.parametrize("failed", ["", "the client's socket: gone"])
def test_a_report_that_cannot_be_encoded_has_its_findings_kinds(tmp_path, failed):
    subprocess.run([sys.executable, "-c", UNWRITABLE, str(tmp_path), failed], check=True)
    (report,) = collect_reports(tmp_path, "sim:adreno-740", 0)
    assert [(found.kind.label, found.kernel, found.line) for found in report.findings] == [("data-race", "caf\\xe9", 3)]
    assert report.opened
    assert report.checks == "full"
    assert report.program == "p\\xe9"
    assert report.failed.startswith(f"{failed}; " if failed else "internal error: TypeError while the report was written")
    assert not list(tmp_path.glob("*.open"))


def test_lines_that_are_printed_are_shown(capfd):
    log = FindingLog(ProcessReport("p", 1, "sim:adreno-740", "full"))
    log.add_unsupported("\x1b]0;x\x07\n::error::caf\udce9")
    assert capfd.readouterr().err == "adreno-sim: \\x1b]0;x\\x07\\n::error::caf\\xe9\n"
