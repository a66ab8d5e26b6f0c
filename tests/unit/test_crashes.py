"""Whose crash it was, told from the frames that the process left."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import adreno_sim
from adreno_sim.base.processes.crashes import CrashOrigin, read_crash
from adreno_sim.base.processes.isolation import judge_crash
from adreno_sim.cli.main import main

NATIVE = "Fatal Python error: Segmentation fault\n\nThread 0x7f (most recent call first):\n"
CURRENT = 'Fatal Python error: Aborted\n\nThread 0x70 (most recent call first):\n  File "/x/threading.py", line 5 in wait\n\n'
CURRENT += "Current thread 0x7f (most recent call first):\n"


def frame(path, function="call", line=7):
    return f'  File "{path}", line {line} in {function}\n'


@pytest.mark.parametrize(
    ("frames", "place"),
    [
        (["/s/pyopencl/__init__.py", "/w/adreno_sim/backends/opencl/program.py"], ("the OpenCL driver", "call, __init__.py:7")),
        (["/w/adreno_sim/backends/opencl/memory.py", "/w/tvm/x.py"], ("the OpenCL driver", "call, memory.py:7")),
        (["/s/tvm/ir/transform.py", "/w/compiler/lower/pipeline.py"], ("TVM", "call, transform.py:7")),
        (["/w/golden/model_reference.py"], ("TVM", "call, model_reference.py:7")),
        (["/s/onnxruntime/capi/session.py", "/w/golden/model_reference.py"], ("ONNX Runtime", "call, session.py:7")),
        (["/s/numpy/core.py", "/w/adreno_sim/engine/run/launch.py"], ("adreno-sim", "call, launch.py:7")),
        (["/v/site-packages/onnx/shape_inference.py", "/w/compiler/importers/onnx.py"], ("ONNX", "call, shape_inference.py:7")),
        (["/v/site-packages/tvm/relax/frontend/onnx/onnx_frontend.py"], ("TVM", "call, onnx_frontend.py:7")),
        (["/s/llvmlite/binding/ffi.py", "/w/adreno_sim/engine/llvm/objects.py"], ("LLVM", "call, ffi.py:7")),
        (["/home/me/tvm/onnx/torch/.venv/lib/site-packages/adreno_sim/engine/x.py"], ("adreno-sim", "call, x.py:7")),
        (["/s/somewhere.py"], ("", "")),
    ],
)
@pytest.mark.parametrize("head", [NATIVE, CURRENT])
def test_the_innermost_known_frame_decides(tmp_path, head, frames, place):
    file = tmp_path / "crash"
    file.write_text(head + "".join(map(frame, frames)) + "\nExtension modules: numpy (total: 1)\n")
    assert read_crash(file) == CrashOrigin(*place)


def test_of_a_librarys_own_thread_others_tell(tmp_path):
    file = tmp_path / "crash"
    other = "\nThread 0x71 (most recent call first):\n"
    ours, drivers = frame("/w/adreno_sim/base/processes/isolation.py"), frame("/w/adreno_sim/backends/opencl/device.py", "finish")
    file.write_text(NATIVE + ours + other + drivers + "\nExtension modules: numpy (total: 1)\n")
    assert read_crash(file) == CrashOrigin("the OpenCL driver", "finish, device.py:7")


@pytest.mark.parametrize(
    ("step", "code", "said"),
    [("references", 3, "unsupported: a library that computes references crashes"), ("run: k", 4, "internal error: ended by")],
)
def test_a_dump_that_ends_early_blames_no_thread_that_it_has(tmp_path, step, code, said):
    """A thread that ended while it was written took the rest away: of the references, as those alone have no frames before."""
    file = tmp_path / "crash"
    (tmp_path / "noted").write_text(step)
    file.write_text(NATIVE + frame("/w/adreno_sim/frontend/compiler_process.py", "_wait"))
    assert read_crash(file) == CrashOrigin()
    found = judge_crash(signal.SIGSEGV, tmp_path / "noted", file, ["check", "model.onnx"])
    assert (found.code, found.problem.partition(":")[0]) == (code, said.partition(":")[0])
    assert said in found.problem
    file.write_text(CURRENT + frame("/w/adreno_sim/frontend/compiler_process.py", "_wait"))
    assert read_crash(file).owner == "adreno-sim"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGXCPU])
def test_a_signal_from_outside_is_nobodys_bug(tmp_path, number):
    (tmp_path / "noted").write_text("run: k")
    found = judge_crash(number, tmp_path / "noted", tmp_path / "none", ["check", "m.onnx", "--device", "cl:pocl"])
    assert (found.code, found.finding) == (2, None)
    assert found.problem.startswith(f"the process was ended by {number.name}; it was at run: k: a signal from outside")


def test_nothing_left_is_nothing_known(tmp_path):
    assert read_crash(tmp_path / "none") == CrashOrigin()


SITE = """
import ctypes
import adreno_sim.launch_spec.run as launches
import adreno_sim.engine.run.launch as launch
launch.run = lambda *args, **options: BODY
"""


@pytest.mark.share()
@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ("ctypes.string_at(8)", 4, "error: internal error: ended by SIGSEGV; it was at run: "),
        ("__import__('os').kill(__import__('os').getpid(), 9)", 2, "error: the process was ended by SIGKILL; it was at run: "),
    ],
)
def test_a_crash_of_ours_is_no_device_that_crashed(tmp_path, monkeypatch, capfd, body, code, said):
    import handmade

    (tmp_path / "sitecustomize.py").write_text(SITE.replace("BODY", body))
    handmade.texture().save(tmp_path / "m.asim")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(adreno_sim.__file__).parents[1]}")
    assert main(["check", str(tmp_path / "m.asim"), "--isolate"]) == code
    out, err = capfd.readouterr()
    assert err.splitlines()[-1].startswith(said)
    assert "device-crashed" not in out + err


def test_noting_survives_a_library_that_takes_the_signal(tmp_path):
    """As TVM does when it is loaded."""
    code = (
        "import ctypes, signal, sys; from pathlib import Path; from adreno_sim.base.processes import crashes\n"
        "crashes.note_crash(Path(sys.argv[1])); signal.signal(signal.SIGSEGV, signal.SIG_DFL)\n"
        "crashes.keep_noting(); ctypes.string_at(8)"
    )
    file = tmp_path / "crash"
    assert subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, timeout=60).returncode == -11
    assert "Segmentation fault" in file.read_text()
