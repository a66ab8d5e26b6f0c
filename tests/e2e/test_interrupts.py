"""Ctrl-C gives exit code 130 at every moment, also inside TVM and while processes of ours run."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import adreno_sim
from adreno_sim.base.processes import interrupts
from adreno_sim.cli import main as command_line

pytestmark = pytest.mark.e2e

MOMENTS = """
import os, signal, sys
import numpy, onnx, onnxruntime
from adreno_sim.__main__ import run_here
from adreno_sim.compiler.check import check
from adreno_sim.compiler.tvm_bridge.versions import import_tvm
import_tvm()


def run_until(stop_at):
    '''Exit code of a check that gets SIGINT at this call of a Python function (0 = never), and the number of calls.'''
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        calls = 0

        def count(frame, event, argument):
            nonlocal calls
            if event == "call":
                calls += 1
                if calls == stop_at:
                    sys.setprofile(None)
                    os.kill(os.getpid(), signal.SIGINT)

        sys.setprofile(count)
        code = run_here()
        sys.setprofile(None)
        os.write(tell, str(calls).encode())
        os._exit(code)
    os.close(tell)
    status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status), int(os.read(told, 100) or 0)


run_until(0)  # fills the caches, so that the others make the same calls
code, calls = run_until(0)
print(code, *(run_until(20 + calls * number // 5)[0] for number in range(5)))
"""

SLOW_MODEL = """
import os, time
from pathlib import Path
Path("began").write_text(str(os.getpid()))
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(adreno_sim.__file__).parents[1]), prepend=os.pathsep)


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not come"
        time.sleep(0.05)


def catch_interrupts() -> None:
    """In a child process: what a shell starts in the background ignores them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


ONE_KERNEL = """from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y
"""


@pytest.mark.tvm
def test_at_any_moment_of_a_check(tmp_path):
    (tmp_path / "model.py").write_text(ONE_KERNEL)
    command = [sys.executable, "-c", MOMENTS, "check", "model.py", "--target", "buffer", "--json", "report.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "0 " + " ".join(["130"] * 5), done.stdout[-500:] + done.stderr[-500:]
    assert done.stderr.count("error: interrupted\n") == 5
    assert "Traceback" not in done.stderr
    assert sorted(os.listdir()) == ["model.py", "report.json"]


@pytest.mark.tvm
@pytest.mark.parametrize(
    "command", [["check", "slow.py", "--isolate"], ["sweep", "slow.py", "--jobs", "1"], ["check", "slow.py"]]
)
def test_processes_of_ours_end_too(command, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW_MODEL)
    line = [sys.executable, "-m", "adreno_sim", *command]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=catch_interrupts
    ) as process:
        began = tmp_path / "began"
        wait_for(lambda: began.exists() and began.read_text())
        child = int(began.read_text())
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == "error: interrupted\n"
    wait_for(lambda: not Path(f"/proc/{child}").exists())


def swallow(args):
    with contextlib.suppress(BaseException):
        os.kill(os.getpid(), signal.SIGINT)
    return 0


def convert(args):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt as error:
        raise RuntimeError("something failed") from error


def die_interrupted(args):
    """The interrupt comes where Python can raise nothing, as in the import system's callbacks."""

    class Mortal:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)

    Mortal()
    return 0


@pytest.mark.parametrize("run", [swallow, convert, die_interrupted])
def test_an_interrupt_that_a_library_took_is_none_the_less_one(monkeypatch, capsys, run):
    catch_interrupts()
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)  # as without pytest
    monkeypatch.setattr("adreno_sim.cli.devices._devices", run)
    assert command_line.main(["devices"]) == 130
    assert capsys.readouterr().err == "error: interrupted\n"
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


def test_a_run_without_one_ends_as_it_ends(capsys):
    assert command_line.main(["devices"]) == 0
    assert not interrupts.was_interrupted()
    interrupts.raise_if_interrupted()


def test_what_else_python_cannot_raise_is_still_printed(monkeypatch, capsys):
    class Mortal:
        def __del__(self):
            raise ValueError("a defect of somebody's")

    catch_interrupts()
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    with interrupts.watching_interrupts():
        Mortal()
    assert sys.unraisablehook is sys.__unraisablehook__
    assert "a defect of somebody's" in capsys.readouterr().err


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.watching_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
        assert not interrupts.was_interrupted()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.tvm
def test_tvm_hands_an_interrupt_on_as_one():
    from adreno_sim.compiler.tvm_bridge.versions import import_tvm

    tvm = import_tvm()

    @tvm.transform.module_pass(opt_level=0)
    def stopped(module, context):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tvm.transform.Sequential([stopped])(tvm.IRModule())
