"""Commands on inputs whose names, paths and texts are hostile: no traceback, and nothing that is put out does harm."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import hostile_text
import pytest
from hostile_text import PARAMS, TEXTS, file_name

from adreno_sim.base.launch_folder import toml_value
from adreno_sim.cli.main import main

pytestmark = pytest.mark.e2e

KERNEL = """\
// {comment}
kernel void walk(global float *out, global const float *in) {{
  int i = get_global_id(0);
  printf("%s %d\\n", {printed}, i);
  out[i] = in[i]; // {comment}
  out[i + 8] = 1;
}}
"""

LAUNCH = """\
source = "k.cl"
kernel = "walk"
global_size = [4]
[[argument]]
kind = "buffer"
name = {name}
dtype = "float32"
count = 8
[[argument]]
kind = "buffer"
dtype = "float32"
count = 8
data = "ones"
[[allow]]
kernel = "walk"
kind = "out-of-bounds-write"
place = {place}
reason = {name}
expires = 2099-01-01
[[allow]]
kernel = {name}
kind = "data-race"
reason = {name}
expires = 2099-01-01
"""


@pytest.fixture(params=PARAMS)
def text(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return TEXTS[request.param]


@pytest.fixture
def run(capfd):
    """run(codes, arguments...) checks what a command prints and writes into this folder; returns what it printed."""

    def command(codes, *arguments):
        code = main([*map(str, arguments)])
        out, err = capfd.readouterr()
        for said in (out, err):
            hostile_text.check_printed(said)
            assert "Traceback (most" not in said
            assert "internal error" not in said
        assert code in codes, (code, err)
        hostile_text.check_outputs()
        return out + err

    return command


def c_literal(text: str) -> str:
    """A string of OpenCL C that has these bytes."""
    data = text.encode("utf-8", "surrogateescape" if is_encodable(text) else "surrogatepass").replace(b"\0", b"")
    return '"' + "".join(f"\\{byte:03o}" for byte in data) + '"'


def is_encodable(text: str) -> bool:
    return all(hostile_text.is_byte(char) for char in text if "\ud800" <= char <= "\udfff")


def source_of(text: str) -> bytes:
    """A kernel with the text in a comment, byte by byte, and in what it prints."""
    comment = " ".join(text.replace("\0", "").split()).replace("\\", "")
    source = KERNEL.format(comment=comment, printed=c_literal(text))
    return source.encode("utf-8", "surrogateescape" if is_encodable(text) else "surrogatepass")


def without_surrogates(text: str) -> str:
    return "".join(char for char in text if not "\ud800" <= char <= "\udfff")


def as_toml(text: str) -> str:
    """The text as a string of TOML, which holds no surrogates and of control characters all."""
    return toml_value(without_surrogates(text))


OUTPUTS = ("--json", "out.json", "--sarif", "out.sarif", "--html", "out.html")


def test_a_kernel_and_its_launch_file(text, run):
    Path("k.cl").write_bytes(source_of(text))
    Path("k.toml").write_text(LAUNCH.format(name=as_toml(text), place='"1"'), encoding="utf-8")
    said = run({1, 2}, "kernel", "--launch", "k.toml", "--explain", *OUTPUTS)
    if "adreno-sim/failure/" not in Path("out.json").read_text():
        assert "out-of-bounds-write" in said
        run({1}, "kernel", "--launch", "k.toml", "--json", "-")
        Path("k.toml").write_text(LAUNCH.format(name=as_toml(text), place='"6"'), encoding="utf-8")
        assert "allowed: error: out-of-bounds-write" in run({0}, "kernel", "--launch", "k.toml")


def test_annotations_are_the_only_commands(text, capfd):
    Path("k.cl").write_bytes(source_of(text))
    Path("k.toml").write_text(LAUNCH.format(name=as_toml("out"), place='"1"'), encoding="utf-8")
    assert main(["kernel", "--launch", "k.toml", "--annotations"]) == 1
    commands = [line for line in capfd.readouterr().out.split("\n") if line.lstrip().startswith("::")]
    assert [line[:30] for line in commands] == ["::error file=k.cl,line=6,col=1"]


def test_a_file_of_such_a_name(text, run):
    name = file_name(text) or "x"
    Path(f"{name}.cl").write_bytes(source_of("plain"))
    launch = LAUNCH.format(name='"x"', place='"1"').replace('source = "k.cl"\n', "")
    Path("k.toml").write_text(launch, encoding="utf-8")
    run({1, 2}, "kernel", f"./{name}.cl", "--launch", "k.toml", *OUTPUTS)
    run({0, 2}, "init", f"./{name}.cl", "-o", "made.toml")
    if Path("made.toml").exists():
        run({0, 1}, "kernel", "--launch", "made.toml")


@pytest.mark.parametrize(
    "command", ["kernel", "footprint", "init", "replay", "devices --profile", "layout image2d 4x4 --profile"]
)
def test_a_file_that_is_not_there(text, run, command):
    said = run({2}, *command.split(), f"./no{file_name(text)}")
    assert said.startswith("error: ")
    assert said.count("\n") == 1


def test_build_options_and_line_directives(text, run):
    options = '-DA="' + text.replace("\0", "") + '"'
    Path("k.cl").write_bytes(f"#line 1 {c_literal(text)}\n".encode() + source_of("plain"))
    launch = f"options = {as_toml(options)}\n" + LAUNCH.format(name='"x"', place='"1"')
    Path("k.toml").write_text(launch, encoding="utf-8")
    run({1, 2, 3}, "kernel", "--launch", "k.toml", "--explain", *OUTPUTS)
    Path("k.cl").write_bytes(f"#line 1 {c_literal(text)}\n#error ".encode() + source_of(text)[3:] + b"\n#warning x\n")
    run({2}, "kernel", "--launch", "k.toml")


def test_a_trace_and_a_plan(text, run):
    if text != without_surrogates(text):  # JSON can write what is no text
        items = [{"id": text, "start": 0, "end": 1, "size": 64}]
        Path("x.json").write_text(json.dumps({"schema": "adreno-sim/trace/1", "name": "x", "items": items}))
        assert run({2}, "footprint", "x.json").count("\n") == 1
    text = without_surrogates(text)
    rows = [{"id": f"{text}{n}", "start": n, "end": n + 2, "size": 64} for n in range(3)]
    Path("x.json").write_text(json.dumps({"schema": "adreno-sim/trace/1", "name": text, "items": rows}))
    outputs = ("--json", "out.json", "--html", "out.html", "--svg", "out.svg", "--markdown", "out.md")
    run({0}, "footprint", "x.json", *outputs)
    assert Path("out.html").exists()
    Path("new.json").write_text(json.dumps({"schema": "adreno-sim/trace/1", "name": text, "items": rows[:2]}))
    run({0}, "footprint", "new.json", "--compare", "out.json", "--markdown", "out.md")
    run({0}, "footprint", "x.json", "--json", "-")


def test_a_profile(text, run):
    quoted = as_toml(text)
    Path("p.toml").write_text(f'base = "adreno-740"\n[values]\n{quoted} = 1\nDEVICE_NAME = {quoted}\n', encoding="utf-8")
    run({0, 2}, "devices", "--profile", "p.toml")
    Path("q.toml").write_text(
        f'base = "adreno-740"\nname = {quoted}\nDEVICE_NAME = {quoted}\nNAME = {quoted}\n', encoding="utf-8"
    )
    run({0, 2}, "devices", "--profile", "q.toml")
    run({0, 2}, "layout", "image2d", "4x4", "--profile", "q.toml", "--svg", "out.svg")


def test_a_device_string(text, run):
    for words in (f"sim:{text}", f"sim:adreno-740,{text}=1", f"cl:{text}", text):
        Path("k.cl").write_bytes(source_of("plain"))
        Path("k.toml").write_text(LAUNCH.format(name='"x"', place='"1"'), encoding="utf-8")
        run({2}, "kernel", "--launch", "k.toml", f"--device={words}")


def test_a_command_that_is_run(text, run):
    word = text.replace("\0", "")
    if not is_encodable(text):
        pytest.skip("no program is given such words")
    said = run({0, 1, 2}, "run", "--json", "out.json", "--html", "out.html", "--", sys.executable, "-c", "pass", word)
    assert "failed: no process opened the simulated device" in said
    name = file_name(text) or "x"
    Path(name).write_text("#!/bin/sh\nexit 3\n")
    Path(name).chmod(0o755)
    run({3}, "run", "--json", "out.json", "--html", "out.html", "--", f"./{name}")
