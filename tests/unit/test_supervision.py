"""A command in a child of its process: exit codes, signals and crashes are told as if there were one process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import adreno_sim

SCRIPT = """
import ctypes, os, signal, sys, time
from adreno_sim.base.processes.supervision import supervise
from adreno_sim.base.progress import show_progress

def run():
    with show_progress(sys.stderr) as progress:
        progress.stage("references")
        BODY

sys.exit(supervise(run, ARGUMENTS))
"""

HEARS = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, sys.argv[1]])
"""
"""nohup, which many suites run under, ignores SIGHUP, and so do the children of what runs under it."""


def begin(body, arguments=("check", "m.onnx"), file="script.py", folder=None):
    path = Path(folder, file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SCRIPT.replace("BODY", body).replace("ARGUMENTS", repr(arguments)))
    environment = {**os.environ, "PYTHONPATH": str(Path(adreno_sim.__file__).parents[1])}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", HEARS, str(path)]
    return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("code", [0, 1, 3, 130])
def test_the_exit_code_is_the_childs(tmp_path, code):
    child = begin(f"print('said'); return {code}", folder=tmp_path)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (code, "said\n", "")


@pytest.mark.parametrize(
    ("file", "arguments", "code", "said"),
    [
        ("tvm/x.py", ("check", "m.onnx"), 3, "unsupported: TVM crashes: ended by SIGABRT; it was at references in run, x.py:"),
        ("onnxruntime/x.py", ("check", "m.onnx"), 3, "unsupported: ONNX Runtime crashes: ended by SIGABRT; it was at"),
        ("adreno_sim/x.py", ("check", "m.onnx"), 4, "internal error: ended by SIGABRT; it was at references in run, x.py:"),
        ("pyopencl/x.py", ("check", "m.onnx", "--device", "cl"), 1, "the device crashed: ended by SIGABRT; it was at"),
    ],
)  # fmt: skip
def test_a_crash_is_one_line_that_names_whose_it_was(tmp_path, file, arguments, code, said):
    child = begin("ctypes.CDLL(None).abort()", arguments, file, tmp_path)
    out, err = child.communicate(timeout=60)
    assert child.returncode == code
    assert out == ""
    assert err.startswith(f"error: {said}")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("code", [0, 1, 3, 11])
def test_who_ends_the_process_gives_no_verdict(tmp_path, code):
    child = begin(f"os._exit({code})", folder=tmp_path)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (2, "")
    assert err.startswith(f"error: the process ended with exit code {code} and without a verdict; it was at references: ")
    assert len(err.splitlines()) == 1


def test_an_interrupted_process_needs_no_verdict(tmp_path):
    child = begin("os._exit(130)", folder=tmp_path)
    assert child.communicate(timeout=60) == ("", "")
    assert child.returncode == 130


def test_memory_that_was_short_is_no_crash_of_a_library(tmp_path):
    child = begin("os.kill(os.getpid(), signal.SIGKILL)", file="tvm/x.py", folder=tmp_path)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 2
    assert "killed from outside" in err


WAITS = "print(os.getpid(), flush=True); time.sleep(600); return 0"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_to_the_parent_ends_both(tmp_path, number):
    child = begin(WAITS, folder=tmp_path)
    worker = int(child.stdout.readline())
    child.send_signal(number)
    assert child.wait(60) == -number
    assert _ends(worker)


def test_a_wish_to_end_the_child_ends_the_parent_by_the_same_signal(tmp_path):
    child = begin(WAITS, folder=tmp_path)
    os.kill(int(child.stdout.readline()), signal.SIGTERM)
    _, err = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGTERM
    assert err == ""


def test_an_interrupt_sent_to_the_parent_alone_reaches_the_child(tmp_path):
    # Short sleeps: an interrupt that comes just before a sleep begins is seen when it ends.
    waits = "try:\n            print(os.getpid(), flush=True)\n            for _ in range(6000): time.sleep(0.1)\n"
    waits += "        except KeyboardInterrupt: return 130"
    child = begin(waits, folder=tmp_path)
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 130


def _ends(process: int) -> bool:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


ENDS = """
import atexit, ctypes, sys, threading, time
from adreno_sim import __main__ as program

class Freed:
    def __del__(self):
        print("freed", flush=True)

def print_late():
    time.sleep(0.2)
    print("thread")

def command():
    global kept
    kept = Freed()
    atexit.register(print, "registered")
    threading.Thread(target=print_late).start()
    ctypes.CDLL(None).printf(b"by C\\n")
    print("done")
    return 3

program.run_here = command
sys.argv = ["adreno-sim", "kernel", "k.cl"]
PROFILER
sys.exit(program.run())
"""

AT_THE_END = ["by C", "done", "registered", "thread"]


@pytest.mark.parametrize(
    ("profiler", "said"),
    [("", AT_THE_END), ("import cProfile; profile = cProfile.Profile(); profile.enable()", sorted([*AT_THE_END, "freed"]))],
    ids=["alone", "profiled"],
)
def test_a_child_does_what_was_registered_for_its_end_and_frees_nothing(profiler, said):
    code = ENDS.replace("PROFILER", profiler)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, sorted(done.stdout.splitlines()), done.stderr) == (3, said, "")
