"""Work in a child by fork: its result comes back, and whatever goes wrong there happens here instead."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from adreno_sim.base.processes.beside import EndedError, count_native_threads, doing_beside

ME = os.getpid()


def in_child():
    return os.getpid() != ME


@pytest.mark.parametrize(("fork", "where"), [(True, True), (False, False)])
def test_the_result_comes_back(fork, where):
    with doing_beside(lambda: (in_child(), np.arange(1 << 20)), fork) as result:
        child, array = result()
    assert child is where
    assert array.sum() == (1 << 19) * ((1 << 20) - 1)


def test_an_error_of_the_child_is_raised_here():
    with doing_beside(lambda: [][os.getpid()]) as result, pytest.raises(IndexError):
        result()


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_child_that_crashes_leaves_the_work_to_this_process(number):
    def work():
        if in_child():
            os.kill(os.getpid(), number)
        return os.getpid()

    with doing_beside(work) as result:
        assert result() == ME


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_the_crash_of_risky_work_stays_with_the_child(number):
    with (
        doing_beside(lambda: os.kill(os.getpid(), number), risky=True) as result,
        pytest.raises(EndedError, match=f"^ended by {number.name}$"),
    ):
        result()


def test_an_error_of_risky_work_is_raised_here():
    with doing_beside(lambda: [][os.getpid()], risky=True) as result, pytest.raises(IndexError):
        result()


def test_a_result_that_does_not_pickle_is_made_here():
    with doing_beside(lambda: lambda: in_child()) as result:
        assert result()() is False


INTERRUPTED = """
import os, signal, sys, time
from adreno_sim.base.processes.beside import doing_beside

me = os.getpid()
signal.signal(signal.SIGINT, signal.default_int_handler)

def work():
    print(os.getpid(), flush=True)
    if sys.argv[1] == "asked":
        time.sleep(0.2)
        os.kill(me, signal.SIGINT)
    time.sleep(600)

try:
    with doing_beside(work) as result:
        if sys.argv[1] == "asked":
            result()
        sys.stdin.readline()
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("when", ["asked", "not asked"])
def test_the_child_ends_with_the_block(when):
    """In a process of its own: a driver in this one may have put its own handler in the place of Python's."""
    command = [sys.executable, "-c", INTERRUPTED, when]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        child = int(process.stdout.readline())
        if when == "not asked":
            process.stdin.write("\n")
            process.stdin.flush()
        assert process.stdout.readline() == "interrupted\n"
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    assert process.returncode == 0


def test_threads_of_python_are_not_native():
    natives, end = count_native_threads(), threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    assert count_native_threads() == natives
    end.set()
    thread.join()
