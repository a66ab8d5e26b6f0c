"""Work in a child by fork: its result comes back, and whatever goes wrong there happens here instead."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from adreno_sim.base.processes.beside import count_native_threads, doing_beside

ME = os.getpid()


def in_child():
    return os.getpid() != ME


@pytest.mark.parametrize(("fork", "where"), [(True, True), (False, False)])
def test_the_result_comes_back(fork, where):
    with doing_beside(lambda: (in_child(), np.arange(1 << 20)), fork) as result:
        child, array = result()
    assert child is where and array.sum() == (1 << 19) * ((1 << 20) - 1)


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


def test_a_result_that_does_not_pickle_is_made_here():
    with doing_beside(lambda: lambda: in_child()) as result:
        assert result()() is False


@pytest.mark.parametrize("asked", [True, False])
def test_the_child_ends_with_the_block(asked):
    known = os.memfd_create("child")

    def work():
        os.write(known, str(os.getpid()).encode())
        while in_child():
            time.sleep(1)

    with pytest.raises(KeyboardInterrupt), doing_beside(work) as result:
        while not os.fstat(known).st_size:
            time.sleep(0.01)
        if asked:
            threading.Timer(0.1, os.kill, (ME, signal.SIGINT)).start()
            result()
        raise KeyboardInterrupt
    with pytest.raises(ProcessLookupError):
        os.kill(int(os.pread(known, 20, 0)), 0)
    os.close(known)


def test_threads_of_python_are_not_native():
    natives, end = count_native_threads(), threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    assert count_native_threads() == natives
    end.set()
    thread.join()
