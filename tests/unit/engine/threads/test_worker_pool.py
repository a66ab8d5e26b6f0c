"""Threads that help launches: every call is made once, and forks, signals, exits and other launches do no harm."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from adreno_sim.engine.caching import compiled_cache
from adreno_sim.engine.run import worker_pool
from adreno_sim.engine.run.aligned_memory import zeroed_aligned

CODE = """
@codes = constant [2 x ptr] [ptr @count, ptr @linger]

; counts at the context, and notes its private memory in the argument block, at the place of that number
define void @count(ptr %context, ptr %arguments, ptr %memory) {
  %n = atomicrmw add ptr %context, i64 1 seq_cst
  %at = getelementptr i64, ptr %arguments, i64 %n
  %address = ptrtoint ptr %memory to i64
  store i64 %address, ptr %at
  store i64 -1, ptr %memory
  ret void
}

; waits until the argument block holds something, and counts
define void @linger(ptr %context, ptr %arguments, ptr %memory) {
entry:
  br label %look
look:
  %flag = load atomic i64, ptr %arguments monotonic, align 8
  %on = icmp eq i64 %flag, 0
  br i1 %on, label %look, label %end
end:
  %n = atomicrmw add ptr %context, i64 1 seq_cst
  ret void
}
"""


@pytest.fixture(scope="module")
def codes() -> tuple[int, int]:
    """Addresses of the two functions above."""
    loaded = compiled_cache.load_linked(CODE, "codes")
    KEPT.append(loaded)
    return tuple(int(n) for n in np.ctypeslib.as_array((np.ctypeslib.ctypes.c_size_t * 2).from_address(loaded.address)))


KEPT: list[object] = []


def words(count: int) -> tuple[np.ndarray, int]:
    memory, address = zeroed_aligned(count * 8)
    return memory.view(np.uint64), address


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_call_is_made_once_in_memory_of_its_own(codes, size):
    mine = worker_pool.borrow(size)
    own, own_memory = words(8)
    for turn in range(50):
        counter, at = words(1)
        seen, seen_at = words(size + 1)
        taken = mine.run_and_join([(codes[0], at, seen_at)] * size, 64, (codes[0], at, seen_at), own_memory)
        assert counter[0] == size + 1
        assert 0 <= taken <= size
        assert len(set(seen.tolist())) == size + 1, turn
        assert own_memory in seen, turn
    worker_pool.give_back(mine)
    assert own[0] == 2**64 - 1
    assert worker_pool.borrow(size) is mine
    worker_pool.give_back(mine)


def test_a_team_does_fewer_calls_than_it_has_threads(codes):
    mine = worker_pool.borrow(5)
    counter, at = words(1)
    _seen, seen_at = words(3)
    _, memory = words(8)
    mine.run_and_join([(codes[0], at, seen_at)] * 2, 64, (codes[0], at, seen_at), memory)
    worker_pool.give_back(mine)
    assert counter[0] == 3


def test_calls_that_no_thread_begins_with_are_made_by_the_launching_one(codes, monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", lambda self: None)
    alone = worker_pool.WorkerPool(3)
    counter, at = words(1)
    seen, seen_at = words(8)
    _, memory = words(8)
    assert alone.run_and_join([(codes[0], at, seen_at)] * 3, 64, (codes[0], at, seen_at), memory) == 0
    assert counter[0] == 4
    assert len(set(seen[:4].tolist())) == 4
    alone.publish([(codes[0], at, seen_at)] * 3, 64)
    assert not alone.wait(3, 0.01)
    alone.join(3)
    assert counter[0] == 7


def test_threads_keep_off_the_processor_of_the_launching_one(monkeypatch):
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("needs two processors")
    mine = worker_pool.WorkerPool(2)
    processors = [min(allowed), max(allowed)]
    _, memory = words(8)
    call = (0, 0, 0)
    monkeypatch.setattr(mine, "_native", SimpleNamespace(run_and_join=lambda *a: 2, publish=lambda *a: None))
    monkeypatch.setattr(worker_pool, "_processor", lambda: processors[0])

    def masks() -> list[set[int]]:
        return [os.sched_getaffinity(thread.native_id) for thread in mine._threads]

    assert masks() == [allowed] * 2
    for _ in range(2):
        mine.run_and_join([call] * 2, 64, call, memory)
        assert masks() == [allowed - {min(allowed)}] * 2
    processors.pop(0)
    mine.run_and_join([call] * 2, 64, call, memory)
    assert masks() == [allowed - {max(allowed)}] * 2
    assert os.sched_getaffinity(0) == allowed
    mine.publish([call] * 2, 64)
    assert masks() == [allowed] * 2  # the launching one waits


def test_waiting_ends_with_the_calls_or_with_the_time(codes):
    mine = worker_pool.borrow(2)
    counter, at = words(4)
    flag, flag_at = words(1)
    start = time.perf_counter()
    mine.publish([(codes[1], at, flag_at)] * 2, 64)
    assert not mine.wait(2, 0.2)
    assert counter[0] == 0
    assert time.perf_counter() - start >= 0.2
    threading.Timer(0.2, flag.fill, [1]).start()
    start = time.perf_counter()
    assert mine.wait(2, 1000.0)
    assert time.perf_counter() - start < 500
    mine.join(2)
    worker_pool.give_back(mine)
    assert counter[0] == 2


def test_several_threads_launch_at_the_same_time(codes):
    def launches(number: int) -> None:
        _, memory = words(8)
        for turn in range(100):
            mine = worker_pool.borrow(1 + (turn + number) % 3)
            counter, at = words(1)
            _seen, seen_at = words(8)
            mine.run_and_join([(codes[0], at, seen_at)] * mine.size, 64, (codes[0], at, seen_at), memory)
            good.append(counter[0] == mine.size + 1)
            worker_pool.give_back(mine)

    good: list[bool] = []
    threads = [threading.Thread(target=launches, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert good == [True] * 400
    assert len(worker_pool._idle[os.getpid(), 3]) <= 4


def script(text: str) -> str:
    """Output of a Python script that runs a kernel on two threads, again and again; it must end by itself, and well."""
    head = """
    import os, signal, sys, threading, time
    import numpy as np
    import adreno_sim
    from adreno_sim.device import BufferSpec
    from adreno_sim.engine.run import workers
    workers.Pace.choose = lambda self, most, groups: most
    SOURCE = '''kernel void add(global int *a) { a[get_global_id(0)] += 1; }
    kernel void endless(global int *a, int n) { while (n) a[0] += n; }'''

    class Adder:
        def __init__(self, **options):
            self.device = adreno_sim.open_device("sim:reference", **{"threads": 2, **options})
            self.program = self.device.build(SOURCE)
            self.view = self.device.view(self.device.allocate(4 << 16), BufferSpec(4 << 16, "int32"))
            self.device.write(self.view, np.zeros(1 << 16, np.int32))

        def add(self, times):
            for _ in range(times):
                self.device.launch(self.program["add"], (1 << 16,), (64,), [self.view])
            return set(self.device.read(self.view).tolist())

        def endless(self):
            return self.device.launch(self.program["endless"], (512,), (64,), [self.view, np.int32(1)])
    """
    code = textwrap.dedent(head) + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_child_of_a_process_with_helping_threads_has_threads_of_its_own():
    out = script("""
        adder = Adder()
        assert adder.add(5) == {5}
        before = threading.active_count()
        child = os.fork()
        if not child:
            good = adder.add(5) == {10} and Adder().add(5) == {5} and threading.active_count() > 1
            os._exit(0 if good else 1)
        assert adder.add(5) == {10}
        print(before > 1, os.waitpid(child, 0)[1])
    """)
    assert out == "True 0\n"


def test_the_interpreter_ends_while_threads_wait_or_work():
    out = script("""
        adder = Adder()
        print(adder.add(5))
        threading.Thread(target=Adder(timeout=1000).endless, daemon=True).start()
        time.sleep(0.5)
        import atexit
        atexit.register(lambda: print(adder.add(1)))
    """)
    assert out == "{5}\n{6}\n"


def test_an_interrupt_ends_an_endless_launch_and_the_device_goes_on():
    out = script("""
        adder = Adder(timeout=1000)
        print(adder.add(5))
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
        threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
        start = time.perf_counter()
        try:
            adder.endless()
        except KeyboardInterrupt:
            print("interrupted", time.perf_counter() - start < 50)
        adder.device.write(adder.view, np.zeros(1 << 16, np.int32))
        print(adder.add(3))
    """)
    assert out == "{5}\ninterrupted True\n{3}\n"


def test_devices_with_other_numbers_of_threads_run_side_by_side():
    out = script("""
        good = []
        adders = [Adder(threads=n) for n in (1, 2, 3, 2)]
        threads = [threading.Thread(target=lambda a=a: good.append(a.add(40) == {40})) for a in adders]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(good)
    """)
    assert out == "[True, True, True, True]\n"


def test_without_more_threads_quick_launches_go_on_and_others_say_so():
    out = script("""
        adder = Adder()
        other = Adder(threads=4)
        assert adder.add(2) == {2}
        here, usual = os.getpid(), threading.Thread.start
        def start(self):
            if os.getpid() != here:  # the child in which LLVM compiles, if nothing has needed it before
                return usual(self)
            raise RuntimeError("can't start new thread")
        threading.Thread.start = start
        print(other.add(2))
        other.device.write(other.view, np.zeros(1 << 16, np.int32))
        try:
            other.endless()
        except adreno_sim.AdrenoSimError as error:
            print(error)
    """)
    expected = "kernel endless: expected 4 threads besides the calling one, got from the system: can't start new thread"
    assert out == f"{{2}}\n{expected}; the device option threads=1 asks for one\n"
