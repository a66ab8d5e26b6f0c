"""What crashed a process: its Python frames at the signal say whose machine code ran."""

from __future__ import annotations

import faulthandler
import re
import signal
from pathlib import Path
from typing import IO

from ...records import dataclass

CRASHES = frozenset((signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGKILL))
"""Signals that end a process for what it did, or for the memory that it took; any other is somebody's wish."""

DRIVER, ENGINE = "the OpenCL driver", "adreno-sim"

_OWNERS = (
    (DRIVER, ("/pyopencl/", "/adreno_sim/backends/opencl/")),
    ("TVM", ("/tvm/", "/tvm_ffi/", "/golden/model_reference.py", "/golden/kernel_reference.py")),
    ("ONNX Runtime", ("/onnxruntime/",)),
    ("ONNX", ("-packages/onnx/",)),  # TVM has a folder of this name
    ("PyTorch", ("/torch/",)),
    ("LLVM", ("/llvmlite/",)),
    ("protobuf", ("/google/protobuf/", "/google/_upb/")),
    ("OR-tools", ("/ortools/",)),
    (ENGINE, ("/adreno_sim/", "/golden/", "/compiler/")),
)
"""Whose code runs below a Python frame, by parts of its file's path: the last part that fits, as the folders before it may have
any name, and of equal ones the first. TVM's functions have no frame."""

_THREAD = re.compile(r"^(Current thread|Thread) .*\(most recent call first\):\n((?:  .*\n?)*)", re.MULTILINE)
_WHOLE = re.compile(r"^Extension modules: ", re.MULTILINE)
"""What faulthandler writes behind the last thread."""
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)


@dataclass(frozen=True)
class CrashOrigin:
    """Whose code it was, and the Python frame that called it; "" for unknown."""

    owner: str = ""
    frame: str = ""


_file: IO[str] | None = None


def note_crash(file: Path) -> None:
    """From now on a signal that ends this process leaves the frames of its threads in `file`."""
    global _file
    _file = file.open("w")
    faulthandler.enable(_file)


def keep_noting() -> None:
    """After a library that handles such signals itself was loaded: `note_crash` holds again, where it did."""
    if _file is not None:
        faulthandler.disable()
        faulthandler.enable(_file)


def read_crash(file: Path) -> CrashOrigin:
    """Returns where the process was that left `file`.

    A thread that has no Python frames was a library's: then whoever some thread called, this package last. A dump that ends
    early, as where a thread ends meanwhile, and does not have the thread says nothing.
    """
    text = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
    threads = _THREAD.findall(text)
    current = [frames for head, frames in threads if head == "Current thread"]
    if not current and threads and not _WHOLE.search(text):
        return CrashOrigin()
    found = [_innermost(frames) for frames in current or [frames for _, frames in threads]]
    owners = [owner for owner, _ in _OWNERS]
    return min((place for place in found if place.owner), key=lambda place: owners.index(place.owner), default=CrashOrigin())


def _innermost(frames: str) -> CrashOrigin:
    for path, line, function in _FRAME.findall(frames):
        owner, place = max(((owner, max(map(path.rfind, parts))) for owner, parts in _OWNERS), key=lambda found: found[1])
        if place >= 0:
            return CrashOrigin(owner, f"{function}, {Path(path).name}:{line}")
    return CrashOrigin()
