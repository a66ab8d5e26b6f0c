"""The cyclic collector rests while a kernel is compiled, and is as it was afterwards; in our own process it walks no modules."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

import pytest

from adreno_sim.base.garbage import gc_paused

OWN = """
import gc
from adreno_sim.base import garbage

def state():
    return gc.isenabled(), gc.get_freeze_count() > 0

class Cycle:
    def __init__(self):
        self.itself = self

shown = []
with garbage.importing():
    import json
shown.append(state())  # somebody else's process: as it was
garbage.begin_own_process()
shown.append(state())
garbage.begin_collecting()
shown.append(state())
before = gc.get_freeze_count()
with garbage.importing():
    import email.message
shown.append((gc.isenabled(), gc.get_freeze_count() - before > 1000))
Cycle()
shown.append(gc.collect() > 0)  # what is garbage is still found
print(shown)
"""

CHILD = """
import gc, os
from adreno_sim.base import garbage
from adreno_sim.base.processes.beside import doing_beside

def look():
    before = gc.isenabled(), gc.get_freeze_count() > 1000
    with garbage.gc_paused():
        return *before, gc.isenabled()

with garbage.gc_paused():  # of a thread that the child does not have
    with doing_beside(look) as found:
        print(found(), gc.get_freeze_count())
"""


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_process_of_our_own_walks_no_modules_and_another_keeps_its_settings():
    assert printed(OWN) == "[(True, False), (False, False), (True, True), (True, True), True]"


def test_a_child_walks_nothing_that_it_shares_and_has_no_pause_of_its_parents():
    assert printed(CHILD) == "(True, True, False) 0"


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
