"""Tuning of OpenCL ML: the environment, the cache file, refusals, and a process killed while it writes."""

import hashlib
import os
import signal
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.mlops import environment, tuning
from adreno_sim.mlops.graph import Entry, Graph, Node
from adreno_sim.mlops.tuning import Tuning, TuningCacheError

GRAPH = Graph(
    (
        Node("input", "x", ((1, 8),), ("float32",)),
        Node("const", "w", ((4, 8),), ("float32",)),
        Node("kernel", "nn.dense", ((1, 4),), ("float32",), (Entry(0), Entry(1))),
        Node("kernel", "openclml.relax.nn.relu", ((1, 4),), ("float32",), (Entry(2),)),
        Node("kernel", "openclml.relax.add", ((1, 4),), ("float32",), (Entry(3), Entry(3))),
    ),
    (Entry(4),),
)
WEIGHTS = {"w": np.ones((4, 8), np.float32)}


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in (*environment.RUN, *environment.CACHE, environment.DIRECT):
        monkeypatch.delenv(name, raising=False)


def _build(symbol="clml_0", graph=GRAPH, device="sim:adreno-740"):
    program = adreno_sim.open_device(device).build_graph(graph, WEIGHTS, symbol)
    said, plan = program.tuned, program.plan
    program.close()
    return said, plan


@pytest.mark.parametrize("run", environment.RUN)
@pytest.mark.parametrize("cache", environment.CACHE)
def test_a_tuning_run_writes_and_others_read(monkeypatch, tmp_path, run, cache):
    file = tmp_path / "tuned.bin"
    monkeypatch.setenv(cache, str(file))
    monkeypatch.setenv(run, "1")
    assert _build()[0] == f"1 operators tuned into {file}"
    assert _build("clml_1")[0].startswith("1 operators tuned")
    monkeypatch.setenv(run, "0")
    assert _build()[0] == _build("clml_1")[0] == f"tuned by {file}"
    assert _build("clml_2")[0] == f"nothing for clml_2 in {file}"
    assert "of the device adreno-740: tune again" in _build(device="sim:adreno-750")[0]
    other = Graph(GRAPH.nodes[:3], (Entry(2),))
    assert "of another graph: tune again" in _build(graph=other)[0]


def test_a_tuning_run_needs_a_file(monkeypatch):
    monkeypatch.setenv("CLML_IS_TUNING_RUN", "1")
    assert environment.read() == environment.ClmlSettings()
    assert _build()[0] == ""


def test_spelling_of_the_sources_goes_first():
    given = {"CLML_IS_TUNING_RUN": "0", "CLML_IS_TUNNING_RUN": "1", "CLML_TUNING_CACHE": "a", "CLML_TUNNING_CACHE": "b"}
    found = environment.read(given)
    assert not found.tuning
    assert str(found.cache) == "a"


def test_a_flag_that_is_no_number():
    with pytest.raises(AdrenoSimError, match="CLML_IS_TUNING_RUN=yes: expected a number"):
        environment.read({"CLML_IS_TUNING_RUN": "yes"})


def test_without_recordable_queues_nothing_is_on_chip(monkeypatch):
    assert _build()[1].on_chip > 0
    monkeypatch.setenv("CLML_DISABLE_RECORDABLE_QUEUE", "")
    assert (_build()[1].on_chip, _build()[1].on_chip_size) == (0, 0)


def test_records_are_in_tvms_container(tmp_path):
    file = tmp_path / "cache"
    tuning.save(file, "clml_0", Tuning("g", "d", {"2": 1024}))
    data = file.read_bytes()
    magic, reserved, length = struct.unpack("<QQQ", data[:24])
    assert (magic, reserved, data[24 : 24 + length]) == (0x434C4D4C54554E45, 0, b"clml_0")
    (size,) = struct.unpack("<Q", data[24 + length : 32 + length])
    assert len(data) == 32 + length + size
    assert tuning.load(file) == {"clml_0": Tuning("g", "d", {"2": 1024})}


def _foreign(data):
    return struct.pack("<QQQ", tuning.MAGIC, 0, 6) + b"clml_0" + struct.pack("<Q", 4) + b"blob"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[:-1], "damaged: it ends inside a record"),
        (lambda data: data[:-5] + b"?" + data[-4:], "do not match their digest"),
        (lambda data: data + b"x" * 40, "damaged: byte"),
        (lambda data: b"PK" + data, "not a tuning cache of OpenCL ML"),
        (lambda data: b"", "it is empty"),
        (_foreign, "tuned by another runtime"),
    ],
)
def test_foreign_and_damaged_files_are_refused_and_left(monkeypatch, tmp_path, change, words):
    file = tmp_path / "cache"
    tuning.save(file, "clml_0", Tuning("g", "d", {"2": 1024}))
    file.write_bytes(changed := change(file.read_bytes()))
    monkeypatch.setenv("CLML_TUNING_CACHE", str(file))
    for run in ("0", "1"):
        monkeypatch.setenv("CLML_IS_TUNING_RUN", run)
        with pytest.raises(TuningCacheError) as error:
            _build()
        assert words in str(error.value)
        assert file.read_bytes() == changed


def test_a_missing_file(monkeypatch, tmp_path):
    monkeypatch.setenv("CLML_TUNING_CACHE", str(tmp_path / "none"))
    with pytest.raises(TuningCacheError, match="cannot be read: No such file"):
        _build()
    monkeypatch.setenv("CLML_IS_TUNING_RUN", "1")
    monkeypatch.setenv("CLML_TUNING_CACHE", str(tmp_path / "none" / "cache"))
    with pytest.raises(TuningCacheError, match="cannot be written: No such file"):
        _build()


WRITER = """
import sys
from pathlib import Path
from adreno_sim.mlops import tuning
print("ready", flush=True)
for turn in range(10**9):
    tuning.save(Path(sys.argv[1]), "clml_0", tuning.Tuning(str(turn), "d", {str(n): turn for n in range(5000)}))
"""


def _kill_while_writing(file, seconds):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE, env=os.environ)
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"ready\n"
    while not file.exists():
        time.sleep(0.001)
    time.sleep(seconds)
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    writer.stdout.close()


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path, kills):
    file, random = tmp_path / "cache", np.random.default_rng(1)
    tuning.save(file, "other", Tuning("kept", "d", {}))
    for _ in range(kills):
        _kill_while_writing(file, random.uniform(0, 0.03))
        found = tuning.load(file)
        assert found["other"] == Tuning("kept", "d", {})
        written = found.get("clml_0")
        assert written is None or written.blocks == {str(n): int(written.graph) for n in range(5000)}


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.binary(max_size=12), st.booleans())
def test_any_file_is_a_cache_or_refused(at, piece, cut):
    """A valid file with bytes put in or taken out somewhere."""
    data = tuning._file({name: tuning._blob(Tuning("g", "d", {"2": 4})) for name in ("clml_0", "clml_1")})
    at %= len(data)
    changed = data[:at] + piece + (b"" if cut else data[at + len(piece) :])
    try:
        found = dict(tuning._records(Path("cache"), changed))
        for symbol, blob in found.items():
            assert tuning._tuning(Path("cache"), symbol, blob) == Tuning("g", "d", {"2": 4})
    except TuningCacheError:
        return


def test_results_of_another_version(tmp_path):
    text = b'{"graph": "g"}'
    blob = tuning.SIGNATURE + hashlib.sha256(text).digest() + text
    (tmp_path / "cache").write_bytes(tuning._file({"clml_0": blob}))
    with pytest.raises(TuningCacheError, match="another version"):
        tuning.load(tmp_path / "cache")


def test_writers_do_not_lose_each_others_records(tmp_path):
    file = tmp_path / "cache"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: tuning.save(file, f"clml_{n}", Tuning(str(n), "d", {})), range(24)))
    assert tuning.load(file) == {f"clml_{n}": Tuning(str(n), "d", {}) for n in range(24)}
