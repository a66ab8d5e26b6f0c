"""Children: one process for each device that is measured, so that no driver's LLVM, threads or caches meet another's.

A child runs one of the worker scripts and answers one request at a time over a socket; while one works the others sleep.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
KERNELS, NETWORKS, TVM = "kernel_worker.py", "network_worker.py", "tvm_worker.py"
"""Worker scripts."""
YARDSTICK = "pocl"
CHECKED = {"unchecked": "off", "bounds": "bounds", "full": "full"}
"""Columns of the simulator and the level of checks in each."""


class ChildError(Exception):
    """What a child answered in place of a result, or how it died."""


def device_of(column: str, threads: int = 2, cache: bool = False, timeout: float = 600) -> str:
    """The device string of a column: "pocl", "oclgrind", "unchecked", "bounds" or "full"."""
    if column in CHECKED:
        return f"sim:adreno-740,checks={CHECKED[column]},threads={threads},cache={str(cache).lower()},timeout={timeout:g}"
    return {"pocl": "cl:pocl", "oclgrind": "cl:oclgrind"}[column]


def import_path(checkout: Path = FOLDER.parents[1]) -> str:
    """PYTHONPATH of a child: the package of the checkout comes first, which is the one beside this folder unless named."""
    return os.pathsep.join(filter(None, [str(checkout), os.environ.get("PYTHONPATH")]))


def ask(command: list[str], folder: str | Path, unset: Iterable[str] = (), **environment: str) -> Any:
    """What a command of Python's says as JSON in its last line. It runs in `folder`, without the variables of `unset`. Raises
    ChildError."""
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    environment = {**inherited, **environment, "PYTHONPATH": import_path()}
    done = subprocess.run([sys.executable, *command], env=environment, cwd=folder, capture_output=True, text=True)
    if done.returncode or not done.stdout:
        raise ChildError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


class Child:
    """A process that runs `script` for `device`.

    threads: of the device. environment: added to this process's. checkout: whose package the script, always of this one, uses;
    it has its environment in .venv. None is this checkout in this process's environment.
    """

    def __init__(
        self,
        script: str,
        device: str,
        threads: int = 2,
        environment: dict[str, str] | None = None,
        checkout: Path | None = None,
    ):
        self.device, self._script = device, FOLDER / script
        self._python = str(checkout / ".venv/bin/python") if checkout else sys.executable
        self._folder = tempfile.TemporaryDirectory(prefix="bench-")
        path = import_path(checkout) if checkout else import_path()
        self._environment = {**os.environ, **self._drivers(threads), **(environment or {}), "PYTHONPATH": path}
        self._log = Path(self._folder.name) / "log"
        self._start()

    def call(self, method: str, *args: Any, timeout: float = 300.0) -> Any:
        """What the worker's `method` returns. Raises ChildError; after a crash or a time-out the next call finds a new worker."""
        try:
            self._pipe.send((method, args))
            if not self._pipe.poll(timeout):
                raise ChildError(f"{self.device}: {method}: no answer within {timeout:g} s")
            done, answer = self._pipe.recv()
        except (EOFError, OSError):
            self._restart()
            raise ChildError(f"{self.device}: {method}: the process died: {self._last_words()}") from None
        except ChildError:
            self._restart()
            raise
        if not done:
            raise ChildError(f"{self.device}: {answer}")
        return answer

    def close(self) -> None:
        """End the worker."""
        self._pipe.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        command = [self._python, str(self._script), self.device, str(theirs.fileno())]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env=self._environment,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        theirs.close()
        self._pipe = Connection(ours.detach())

    def _restart(self) -> None:
        self.close()
        self._start()

    def _last_words(self) -> str:
        return (self._log.read_text(errors="replace").strip().splitlines() or ["no output"])[-1]

    def _drivers(self, threads: int) -> dict[str, str]:
        count = str(threads)
        settings = {
            "POCL_MAX_PTHREAD_COUNT": count,
            "POCL_KERNEL_CACHE": "0",
            "POCL_CACHE_DIR": self._folder.name,
            "OCLGRIND_NUM_THREADS": count,
            "PYOPENCL_NO_CACHE": "1",
            "TVM_NUM_THREADS": count,
        }
        if self.device == device_of("oclgrind"):
            icd = Path(self._folder.name) / "oclgrind.icd"
            icd.write_text(f"{oclgrind_library()}\n")
            settings["OCL_ICD_VENDORS"] = str(icd)
        return settings


def oclgrind_library() -> Path | None:
    """The OpenCL driver that belongs to the `oclgrind` on the path; None if there is none."""
    program = shutil.which("oclgrind")
    library = Path(program).resolve().parents[1] / "lib/oclgrind/liboclgrind-rt-icd.so" if program else None
    return library if library and library.exists() else None


@contextlib.contextmanager
def opened(columns: Iterable[str], script: str = KERNELS, threads: int = 2) -> Iterator[tuple[dict[str, Child], dict[str, str]]]:
    """A child for each column that has a device here, and by column why others have none."""
    children: dict[str, Child] = {}
    missing: dict[str, str] = {}
    try:
        for column in columns:
            if column == "oclgrind" and oclgrind_library() is None:
                missing[column] = "oclgrind is not installed"
                continue
            children[column] = Child(script, device_of(column, threads), threads)
            try:
                children[column].call("open_device")
            except ChildError as error:
                missing[column] = str(error)
                children.pop(column).close()
        yield children, missing
    finally:
        for child in children.values():
            child.close()
