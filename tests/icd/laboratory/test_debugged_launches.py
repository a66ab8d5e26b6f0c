"""A launch of a recording under the debugger: with the memory that it found, and refused where it is no one source."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from recorded_client import record

from adreno_sim.cli.main import main

SOURCE = """
shim.build(1, '''kernel void add(global float *o, global const float *i, int by) {
  int x = get_global_id(0);
  o[x] = i[x] + by;
}''', "")
shim.buffer(1, 64)
shim.buffer(2, 64)
(place, *_) = shim.buffer(3, 64)
host(3, place, np.arange(16, dtype=np.float32))
shim.launch(1, 0, (16,), (8,), [buffer(1), buffer(3), value(struct.pack("<i", 10))])
shim.launch(1, 0, (16,), (8,), [buffer(2), buffer(1), value(struct.pack("<i", 100))])
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return record(tmp_path_factory.mktemp("debugged"), SOURCE)[2]


def test_a_launch_is_debugged_with_the_memory_that_it_found(trace, tmp_path):
    """In a process of its own: `run`, which recorded in this one, waits for all of its children, LLVM's among them."""
    script = tmp_path / "s.txt"
    script.write_text("break 3 if x == 5\ncontinue\nprint i[x]\nprint o[x]\nprint by\nstep\nwho o[5]\n")
    command = ["debug", "--replay", str(trace), "--launch", "2", "--commands", str(script)]
    done = subprocess.run([sys.executable, "-m", "adreno_sim", *command], capture_output=True, text=True, check=True)
    said = done.stdout
    assert "i[x] = 15.0" in said
    assert "by = 100" in said
    assert "work-item (5) made it 115.0 at kernel.cl:3" in said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--launch", "3"], "numbered 1 to 2"),
        (["--launch", "x.toml"], "--launch: expected with --replay the number of a launch"),
        ([], "--launch: expected with --replay the number of a launch"),
        (["--launch", "1", "--variant", "a"], "--variant: is for a launch file"),
        (["--launch", "1", "--dap"], "--replay: is for the terminal"),
    ],
)
def test_what_is_no_launch_is_refused_in_a_line(trace, words, why, capsys):
    assert main(["debug", "--replay", str(trace), *words]) == 2
    assert why in capsys.readouterr().err


def test_a_file_that_is_no_recording_is_refused(tmp_path, capsys):
    Path(tmp_path / "no.asim").write_bytes(b"hello")
    assert main(["debug", "--replay", str(tmp_path / "no.asim"), "--launch", "1"]) == 2
    assert "no.asim" in capsys.readouterr().err
