"""Processes whose parents have ended are taken over and forgotten; a child that somebody else waits for keeps its exit code."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable

from adreno_sim.base.processes.descendants import find_children
from adreno_sim.base.processes.orphans import adopting_orphans


def wait_until(holds: Callable[[], bool]) -> bool:
    ends = time.monotonic() + 60
    while not (held := holds()) and time.monotonic() < ends:
        time.sleep(0.01)
    return held


def test_an_orphan_is_reaped_and_a_child_of_somebody_else_is_not(tmp_path) -> None:
    before = subprocess.Popen(["sh", "-c", "read line; exit 3"], stdin=subprocess.PIPE)
    known = set(find_children(os.getpid()))
    left = tmp_path / "left"
    with adopting_orphans() as orphans:
        kept = subprocess.Popen(["sh", "-c", f"(sleep 0.3; echo $$ > {left}) & exit 5"])
        orphans.kept = kept.pid
        before.communicate(b"\n")  # waits for it, as its owner does; the handler runs meanwhile
        assert kept.wait() == 5
        assert before.returncode == 3
        assert wait_until(left.exists)
        assert wait_until(lambda: set(find_children(os.getpid())) <= known)


def test_one_that_has_ended_hides_no_other() -> None:
    """Nobody has waited for the first yet: orphans that end later are reaped all the same."""
    hiding = subprocess.Popen(["true"])
    assert wait_until(lambda: os.waitid(os.P_PID, hiding.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None)
    known = set(find_children(os.getpid()))
    with adopting_orphans() as orphans:
        kept = subprocess.Popen(["sh", "-c", "(sleep 0.1; true) & exit 0"])
        orphans.kept = kept.pid
        assert kept.wait() == 0
        assert wait_until(lambda: set(find_children(os.getpid())) <= known)
    assert hiding.wait() == 0
