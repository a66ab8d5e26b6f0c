"""Plans, traces, profiles, dumps and launch files that no program would write: one line each, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from adreno_sim.cli.main import main

pytestmark = pytest.mark.e2e

TEXTS = {
    "empty": b"", "binary": bytes(range(256)), "deep": b"[" * 100_000, "deep objects": b'{"a":' * 100_000,
    "a number of 6000 digits": b'{"schema": ' + b"9" * 6000 + b"}", "not a number": b"NaN", "nothing": b"null",
    "a list": b"[1, 2]", "text": b'"x"', "infinity for a schema": b'{"schema": 1e999}',
}  # fmt: skip

BODIES = {
    "plan": ['"tensors": 5', '"storages": [{"id": []}]', '"tensors": [{"id": 1}]'],
    "trace": ['"items": {}', '"items": [[[]]]', '"items": [{"id": "a", "start": 0, "end": 1e400, "size": 1}]',
              '"items": [{"id": "a", "start": 0, "end": 2, "size": true}]'],
    "footprint": ['"plan": []', '"lives": [], "planners": [[1]]', '"lives": [], "planners": 5',
                  '"lives": [], "planners": [{"planner": "a", "total": 1e999}]'],
}  # fmt: skip
TEXTS |= {
    f"{kind} {number}": f'{{"schema": "adreno-sim/{kind}/1", {body}}}'.encode()
    for kind, bodies in BODIES.items()
    for number, body in enumerate(bodies)
}

TRACES = {
    "a long field": b"a" * 200_000, "5000 digits": b"a,0,1," + b"9" * 5000, "a zero byte": b'"a\0,1,2,3',
    "a negative size": b"a,0,2,-1", "no text": b"\xff,1,2,3", "a late end": b"a,0,99999999999999999999999,4",
}  # fmt: skip

HEAD, BUFFER = 'source = "k.cl"\nglobal_size = [4]\n', '[[argument]]\nkind = "buffer"\ndtype = "float32"\ncount = 4\n'
LAUNCHES = {
    "a zero byte in the source": HEAD.replace("k.cl", "k\\u0000.cl") + BUFFER,
    "a zero byte in a file": HEAD + BUFFER + 'data = {file = "a\\u0000b.npy"}\n',
    "a folder for a source": HEAD.replace("k.cl", ".") + BUFFER,
    "no end of a source": HEAD.replace("k.cl", "/dev/zero") + BUFFER,
    "no end of data": HEAD + BUFFER + 'data = {file = "/dev/zero"}\n',
    "a folder of data": HEAD + BUFFER + 'data = {file = "."}\n',
    "a long name": HEAD.replace("k.cl", "a" * 5000) + BUFFER,
    "5000 digits": HEAD + "x = " + "9" * 5000 + "\n" + BUFFER,
    "a date": HEAD.replace("[4]", "1979-05-27") + BUFFER,
    "deep": "a = " + "[" * 100_000,
    "deep tables": "[" + "a." * 10_000 + "b]",
    "a long key": HEAD + "x" * 100_000 + " = 1\n" + BUFFER,
    "a name of two lines": HEAD + BUFFER + 'name = "\\n"\n',
    "a zero byte in an option": 'options = "\\u0000"\n' + HEAD + BUFFER,
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text("id,lower,upper,size\na,0,2,64\n")
    Path("k.cl").write_text("kernel void k(global float *a) { a[get_global_id(0)] = 1; }\n")


def refused(capsys, *args: str) -> None:
    code = main([*args])
    out, err = capsys.readouterr()
    assert code == 2, err[:500]
    assert not out, err[:500]
    assert err.startswith("error: "), err[:500]
    assert err.count("\n") == 1, err[:500]
    assert "internal error" not in err, err[:500]
    assert len(err) < 1300


@pytest.mark.share()
@pytest.mark.parametrize("name", TEXTS)
def test_json_files(capsys, name):
    Path("x.json").write_bytes(TEXTS[name])
    refused(capsys, "footprint", "x.json")
    refused(capsys, "footprint", "good.csv", "--compare", "x.json")
    refused(capsys, "devices", "--profile", "x.json")
    refused(capsys, "layout", "image2d", "4x4", "--profile", "sim:x.json")


@pytest.mark.parametrize("name", TRACES)
def test_traces(capsys, name):
    Path("x.csv").write_bytes(b"id,lower,upper,size\n" + TRACES[name])
    refused(capsys, "footprint", "x.csv")


@pytest.mark.share()
@pytest.mark.parametrize("name", LAUNCHES)
def test_launch_files_and_profiles(capsys, name):
    Path("x.toml").write_text(LAUNCHES[name])
    refused(capsys, "kernel", "--launch", "x.toml")
    refused(capsys, "devices", "--profile", "x.toml")


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_files_without_end(capsys, kind):
    Path(f"x.{kind}").symlink_to("/dev/zero")
    refused(capsys, "footprint", f"x.{kind}")


def test_good_files_are_read(capsys):
    Path("x.toml").write_text(HEAD + BUFFER)
    for args in (("footprint", "good.csv", "--json", "x.json"), ("footprint", "good.csv", "--compare", "x.json")):
        assert main([*args]) == 0
    assert main(["kernel", "--launch", "x.toml"]) == 0
