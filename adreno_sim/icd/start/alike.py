"""Whether a process that this one would have been started by is like this one in all that is inherited.

A server that the shim starts inherits from its client: environment, folders, rights, limits, namespaces, priorities. One that
comes from beside `adreno-sim run` inherited the same from that command, unless the client, or what started it, has changed
something.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from ...base.wall.variables import is_kept

INHERITED = (
    "Umask", "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters",
    "Speculation_Store_Bypass", "SpeculationIndirectBranch", "Cpus_allowed", "Mems_allowed",
)  # fmt: skip
"""Lines of /proc/PID/status."""
_FILES = ("limits", "cgroup", "oom_score_adj", "attr/current")
_NAMESPACES = "ns"

PASSED = ("PWD", "PYTEST_")
"""Beginnings of variables that shells and pytest change all the time, and no library reads when it is imported: a server takes
its client's."""
_LEFT_OUT = ("LD_PRELOAD", "PYTHONSAFEPATH")
"""Variables that the shim changes for a server."""


def is_alike(thread: int, process: int) -> bool:
    """Whether a thread of another process inherited and kept what this process did, except for the working folder. What
    cannot be known is not alike."""
    try:
        return all(
            (
                _read_traits(f"/proc/{process}/task/{thread}") == _read_traits("/proc/self"),
                os.getpriority(os.PRIO_PROCESS, thread) == os.getpriority(os.PRIO_PROCESS, 0),
                os.sched_getscheduler(thread) == os.sched_getscheduler(0),
                os.sched_getparam(thread) == os.sched_getparam(0),
            )
        )
    except OSError:
        return False


def _read_traits(folder: str) -> dict[str, object]:
    """What is inherited of a process or thread, by name. Raises OSError."""
    with open(f"{folder}/status", encoding="utf-8", errors="surrogateescape") as file:
        lines = dict(line.rstrip("\n").split(":", 1) for line in file if ":" in line)
    traits: dict[str, object] = {name: lines.get(name) for name in INHERITED}
    traits |= {name: _read_if_there(f"{folder}/{name}") for name in _FILES}
    traits |= {name: os.readlink(f"{folder}/{_NAMESPACES}/{name}") for name in os.listdir(f"{folder}/{_NAMESPACES}")}
    root = os.stat(f"{folder}/root/")
    return traits | {"root": (root.st_dev, root.st_ino)}


def _read_if_there(path: str) -> bytes:
    """The file's bytes; nothing where the system has no such file, or nothing to say in it."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def read_variables(block: bytearray) -> dict[str, str]:
    """The variables of an environment, NAME=VALUE and a zero each, that a server would keep. The block is wiped: what is not kept
    is not for the code of kernels to find in this process's memory. ValueError where a name is there twice."""
    found: dict[str, str] = {}
    try:
        for start, end in _entries(block):
            name = os.fsdecode(bytes(block[start : max(start, block.find(b"=", start, end))]))
            if is_kept(name) and name not in _LEFT_OUT:
                if name in found:
                    raise ValueError(name)
                found[name] = os.fsdecode(bytes(block[start + len(os.fsencode(name)) + 1 : end]))
    finally:
        block[:] = bytes(len(block))
    return found


def _entries(block: bytearray) -> Iterable[tuple[int, int]]:
    start = 0
    while (end := block.find(b"\0", start)) >= 0:
        yield start, end
        start = end + 1


def find_passed(variables: dict[str, str], expected: dict[str, str]) -> dict[str, str] | None:
    """The variables of a client that a server takes over; None if others differ from what was expected."""
    passed = {name: text for name, text in variables.items() if name.startswith(PASSED)}
    others = variables.keys() - passed.keys()
    known = {name: text for name, text in expected.items() if name not in _LEFT_OUT and not name.startswith(PASSED)}
    return passed if {name: variables[name] for name in others} == known else None
