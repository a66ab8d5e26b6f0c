"""LLVM compiles in a child: what crashes it, or takes too long or too much memory, is refused, and the next module compiles."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.errors import UnsupportedError
from adreno_sim.base.processes.helper import Helper, HelperEndedError, Helpers, Limits
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine.llvm import objects

GOOD = "define i64 @f(i64 %x) {\n  %y = add i64 %x, 1\n  ret i64 %y\n}\n"
ABORTS = """define void @f(ptr %a) {
  %x = load <65536 x i32>, ptr %a
  %y = add <65536 x i32> %x, splat (i32 3)
  store <65536 x i32> %y, ptr %a
  ret void
}
"""
NAMED = Limits(seconds=1, wall=20, memory=256 << 20)


def work(request: bytes) -> bytes:
    """What a request asks for, with the number of the process that did it."""
    if request == b"abort":
        os.write(2, b"x: y.cpp:3: Assertion `it holds' failed.\n")
        os.abort()
    if request == b"spin":
        while True:
            pass
    if request == b"sleep":
        time.sleep(60)
    if request == b"memory":
        return bytes(1 << 30)
    if request == b"wrong":
        raise ValueError("no such thing")
    return request + str(os.getpid()).encode()


@pytest.fixture
def helper():
    return Helper(work, NAMED)


def test_one_child_does_all_that_is_asked(helper):
    first, second = helper.do(b"a"), helper.do(b"a")
    assert first == second != b"a" + str(os.getpid()).encode()
    assert len(helper.do(b"b" * (1 << 20))) > 1 << 20


@pytest.mark.share()
@pytest.mark.parametrize(
    ("request_of", "why"),
    [
        (b"abort", r"was ended by SIGABRT \(Assertion `it holds' failed\)"),
        (b"spin", "took longer than 1 s"),
    ],
)
def test_a_child_that_ends_is_said_and_another_goes_on(helper, request_of, why):
    before = helper.do(b"a")
    with pytest.raises(HelperEndedError, match=why):
        helper.do(request_of)
    assert helper.do(b"a") != before


def test_threads_that_ask_at_once_have_a_child_each(tmp_path: Path):
    def meet(request: bytes) -> bytes:
        """Ends when a second child has begun."""
        (tmp_path / str(os.getpid())).touch()
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.01)
        return str(os.getpid()).encode()

    helpers = Helpers(meet, NAMED)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(helpers.do, [b"", b""])
    assert first != second
    assert helpers.do(b"") in (first, second), "a child that is free does what comes next"


def test_time_by_the_clock_and_memory_are_limited():
    helper = Helper(work, Limits(seconds=5, wall=0.3, memory=256 << 20))
    with pytest.raises(HelperEndedError, match=r"took longer than 0\.3 s"):
        helper.do(b"sleep")
    with pytest.raises((RuntimeError, HelperEndedError)):
        helper.do(b"memory")
    assert helper.do(b"a")


def test_an_error_is_told_and_ends_nothing(helper):
    before = helper.do(b"a")
    with pytest.raises(RuntimeError, match="no such thing"):
        helper.do(b"wrong")
    assert helper.do(b"a") == before


def test_a_child_without_work_ends_and_is_begun_again():
    helper = Helper(work, Limits(seconds=1, wall=20, memory=256 << 20, idle=0.05))
    before = helper.do(b"a")
    time.sleep(0.5)
    assert helper.do(b"a") != before


def test_the_child_ends_with_its_parent(tmp_path: Path):
    """Also in the middle of work, and it holds no descriptor of its parent's meanwhile."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        helper = Helper(work, NAMED)
        helper.do(b"a")
        threading.Thread(target=helper.do, args=(b"sleep",), daemon=True).start()
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(write)
    began = time.monotonic()
    assert os.read(read, 1) == b""
    assert time.monotonic() - began < 15  # of the 60 that it had to work
    os.close(read)


def test_a_process_by_fork_has_a_child_of_its_own(helper):
    before = helper.do(b"a")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, helper.do(b"a"))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) != before == helper.do(b"a")
    os.close(read)
    os.close(write)


def test_an_abort_of_llvm_is_refused_each_time_and_others_compile(capfd):
    machine = objects.Machine()
    code = machine.compile(GOOD)
    for _ in range(2):
        with pytest.raises(
            UnsupportedError, match=r"unsupported: LLVM was ended by SIG\w+ \(Assertion .* failed\): a limit or a bug of LLVM"
        ):
            machine.compile(ABORTS)
    assert machine.compile(GOOD) == code == machine.compile_here(GOOD)
    assert capfd.readouterr().err == ""


def test_a_kernel_that_crashes_llvm_is_refused_by_name_and_others_run(monkeypatch):
    compile_here = objects.Machine.compile_here

    def crash(self: objects.Machine, text: str) -> bytes:
        return compile_here(self, ABORTS if "1234567" in text else text)

    monkeypatch.setattr(objects.Machine, "compile_here", crash)
    monkeypatch.setattr(objects, "_machine", objects.Machine())
    device = adreno_sim.open_device("sim:adreno-740", cache=False)
    spec = BufferSpec(4, "int32")
    view = device.view(device.allocate(4), spec)
    device.write(view, np.zeros(1, np.int32))
    source = "kernel void good(global int *a) { a[0] += 1; } kernel void bad(global int *a) { a[0] += 1234567; }"
    program = device.build(source)
    with pytest.raises(UnsupportedError, match=r"LLVM was ended by SIGABRT .*write it otherwise \(kernel bad\)"):
        device.launch(program["bad"], (1,), (1,), [view])
    device.launch(program["good"], (1,), (1,), [view])
    assert device.read(view).tolist() == [1]


def test_machine_code_that_is_garbage_gives_its_memory_back(monkeypatch):
    """What holds it may lie in a cycle, and a process has 65,530 mappings."""

    class Holder:
        pass

    monkeypatch.setattr(objects, "MOST_DROPPED", 5)
    machine, code, alive = objects.Machine(), objects.machine().compile_here(GOOD), []
    gc.disable()
    try:
        for _ in range(12):
            holder = Holder()
            holder.itself, holder.loaded = holder, machine.load(code, "f")
            alive.append(weakref.ref(holder.loaded))
    finally:
        gc.enable()
    assert sum(reference() is not None for reference in alive) < 7


def test_text_that_llvm_rejects_is_an_error_of_this_project():
    with pytest.raises(RuntimeError, match="expected"):
        objects.machine().compile("define nonsense")
