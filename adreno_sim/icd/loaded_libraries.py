"""Why no process of a command came to the simulated device: which libOpenCL they have loaded, or what keeps them away."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

_LIBRARY = re.compile(r"/\S*[Oo]pen[Cc][Ll]\S*\.so\S*")
_PERIOD = 0.1
_FIRST = 0.002
"""Seconds until the first look; then twice as long each time, up to _PERIOD: a command may be short."""
_DRIVER = b"OCL_ICD_VENDORS="
"""What the environment of every process has in which the driver is found."""


class LibraryWatch:
    """Looks now and then at a process and its descendants, until `is_over`. found: libraries of OpenCL that they have mapped,
    each once. roots: root folders of those that have another than this process; cleared: names of programs without the driver's
    environment."""

    def __init__(self, pid: int, is_over: Callable[[], bool]):
        self.found: dict[str, None] = {}
        self.roots: dict[str, None] = {}
        self.cleared: dict[str, None] = {}
        self._pid, self._is_over = pid, is_over
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def explain(self) -> str:
        """The known reasons why none came."""
        if self.roots:
            return (
                f"a process ran in another root folder ({', '.join(self.roots)}), which has neither the driver nor its Python: "
                "run adreno-sim inside it"
            )
        if self.found:
            loaded = ", ".join(self.found)
            return f"its processes loaded {loaded}: a library that heeds OCL_ICD_VENDORS or LD_LIBRARY_PATH is expected"
        if self.cleared:
            return f"{', '.join(self.cleared)} ran without the environment of the driver, as under sudo or env -i: keep it"
        return "no libOpenCL was seen in its processes"

    def _look(self) -> None:
        wait = _FIRST
        seen: set[int] = set()
        while not self._stopped.wait(wait) and not self._is_over():
            wait = min(2 * wait, _PERIOD)
            for pid in _family(self._pid):
                self.found.update(dict.fromkeys(_libraries_of(pid)))
                if root := _other_root_of(pid):
                    self.roots[root] = None
                if name := _cleared_name_of(pid):  # twice: amid its start a process has no environment yet
                    if pid in seen:
                        self.cleared[name] = None
                    seen.add(pid)


def _other_root_of(pid: int) -> str:
    """The root folder of a process where it is not that of this one; "" else, and where that cannot be known."""
    try:
        here, there = os.stat("/proc/self/root/"), os.stat(f"/proc/{pid}/root/")
        same = (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
        return "" if same else os.readlink(f"/proc/{pid}/root")
    except OSError:
        return ""


def _cleared_name_of(pid: int) -> str:
    """The name of a process whose environment lacks the driver; "" for another, and where that cannot be known."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes()
        os.readlink(f"/proc/{pid}/exe")  # not of one that has ended
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return ""
    return "" if any(variable.startswith(_DRIVER) for variable in variables.split(b"\0")) else name


def _libraries_of(pid: int) -> list[str]:
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    return _LIBRARY.findall(maps)


def _family(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for known in found:
        for tasks in Path(f"/proc/{known}/task").glob("*/children"):
            try:
                found += map(int, tasks.read_text(encoding="ascii").split())
            except OSError:
                continue
    return found
