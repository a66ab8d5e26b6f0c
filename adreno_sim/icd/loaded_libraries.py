"""Which libOpenCL the processes of a command have loaded: said where none of them came to the simulated device."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path

_LIBRARY = re.compile(r"/\S*[Oo]pen[Cc][Ll]\S*\.so\S*")
_PERIOD = 0.1


class LibraryWatch:
    """Looks now and then at the mapped files of a process and its descendants, until `is_over`. found: libraries of OpenCL,
    each once."""

    def __init__(self, pid: int, is_over: Callable[[], bool]):
        self.found: dict[str, None] = {}
        self._pid, self._is_over = pid, is_over
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stopped.wait(_PERIOD) and not self._is_over():
            for pid in _family(self._pid):
                self.found.update(dict.fromkeys(_libraries_of(pid)))


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
