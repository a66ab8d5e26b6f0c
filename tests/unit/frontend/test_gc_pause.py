"""The cyclic collector rests while a kernel is compiled, and is as it was afterwards."""

from __future__ import annotations

import gc
import threading

import pytest

from adreno_sim.base.gc_pause import gc_paused


def test_it_is_as_it_was_afterwards():
    assert gc.isenabled()
    with gc_paused():
        assert not gc.isenabled()
        with gc_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_error_ends_the_pause():
    with pytest.raises(ValueError, match="no"), gc_paused():
        raise ValueError("no")
    assert gc.isenabled()


def test_threads_share_it():
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with gc_paused():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=work)
    with gc_paused():
        thread.start()
        assert inside.wait(10)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()
